package collective

import (
	"math"
	"slices"

	"sim/engine"
)

// expandTreePacking cuts the data into chunks, each of which goes along a spanning tree of the links among the ranks: it is
// reduced on the way up to the root, copied on the way down from it, or first the one and then the other. There are as
// many trees as chunks, of low depth, grown so that all links carry about as much: the fractional packing of spanning
// trees that Tutte and Nash-Williams (1961) bound for an all-reduce, and of arborescences that Edmonds (1973) bounds
// for a broadcast and, from all roots at once, Zhao et al. ("ForestColl", 2024) for a gather. In what order each link
// serves the chunks is found by list scheduling.
func expandTreePacking(b *builder, j *subCall) error {
	if j.kind == AllToAll || j.kind == SendReceive {
		return unserved(j, "a call that reduces or copies")
	}
	n, m := len(j.ranks), b.newMesh(j)
	if m.count == 0 {
		return unserved(j, "ranks that are connected by links among them")
	}
	var directions [2]bool
	directions[up] = j.kind == AllReduce || j.kind == Reduce || j.kind == ReduceScatter
	directions[down] = j.kind == AllReduce || j.kind == Broadcast || j.kind == AllGather
	eccentricity := m.eccentricities()
	var roots []int32
	var chunks []data
	staggers := multiRootStaggers
	switch j.kind {
	case AllReduce:
		middle := centralMembers(eccentricity)
		for k, d := range j.data.pieces(b.treeChunkCount(m, j.data.bytes(), 2*eccentricity[middle[0]], 2, hiddenShare)) {
			roots, chunks = append(roots, middle[goldenIndex(k, len(middle))]), append(chunks, d)
		}
	case Broadcast, Reduce:
		staggers = singleRootStaggers
		for _, d := range j.data.pieces(b.treeChunkCount(m, j.data.bytes(), eccentricity[j.root], 1, fillShare/2)) {
			roots, chunks = append(roots, int32(j.root)), append(chunks, d)
		}
	default:
		all := join(j.blocks...).bytes()
		each := b.treeChunkCount(m, all, eccentricity[centralMembers(eccentricity)[0]], 1, hiddenShare) / n
		each = max(1, each)
		for c := range each {
			for i, block := range j.blocks {
				roots, chunks = append(roots, int32(i)), append(chunks, block.piece(c, each))
			}
		}
	}
	bytes := make([]int64, len(chunks))
	for k, d := range chunks {
		bytes[k] = d.bytes()
	}
	var z *pipeline
	var moves []int32
	earliest := engine.Never
	for _, hop := range hopLengths {
		f := m.newForest(b.ctx, directions, roots, hop)
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		if f == nil {
			return unserved(j, "ranks that are connected by links among them")
		}
		try := newPipeline(f, bytes, b.problem.Network.Links)
		order, end := try.bestSchedule(b.ctx, staggers)
		if end < earliest {
			z, moves, earliest = try, order, end
		}
		if try.isNearFull(earliest) {
			break
		}
	}
	b.planned = true
	defer func() { b.planned = false }()
	for _, move := range moves {
		k, d, v := z.locate(move)
		t := &z.f.trees[d][k]
		child, parent := j.ranks[v], j.ranks[t.parent[v]]
		if d == up {
			b.sendOver(t.link[v:v+1], child, parent, chunks[k], true)
		} else {
			b.sendOver(t.link[v:v+1], parent, child, chunks[k], false)
		}
	}
	return nil
}

// hopLengths are tried in turn: trees of low depth, which are best where all links are about as scarce, and then such
// as take fewer of the scarce ones.
var hopLengths = []float64{1, 0.1}

// centralMembers returns the places whose furthest ones are about as near as those of any.
func centralMembers(eccentricity []int) []int32 {
	radius := slices.Min(eccentricity)
	var all []int32
	for i, hops := range eccentricity {
		if 5*hops <= 6*radius {
			all = append(all, int32(i))
		}
	}
	return all
}

// goldenIndex returns number k of a sequence of which every part is spread over 0 to n-1.
func goldenIndex(k, n int) int {
	_, turn := math.Modf(float64(k) * (math.Sqrt(5) - 1) / 2)
	return int(turn * float64(n))
}

// Chunks are four times smaller than their share of the time asks for while they make no more than fineMoves, and larger
// where they would make more than mostMoves.
const (
	maxFineMoves = 1 << 16
	maxMoves     = 1 << 20
)

// treeChunkCount returns in how many chunks to send some bytes over trees of some depth in so many directions, by the time
// that a link is busy with them.
func (b *builder) treeChunkCount(m *mesh, bytes int64, depth, directions int, share float64) int {
	slowest := engine.Link{Rate: math.Inf(1)}
	for _, arcs := range m.arcs[down] {
		for _, w := range arcs {
			l := b.problem.Network.Links[w.link]
			slowest.Rate, slowest.Latency = min(slowest.Rate, l.Rate), max(slowest.Latency, l.Latency)
		}
	}
	moves := directions * (len(m.arcs[down]) - 1)
	maxChunks := maxMoves / moves
	if b.options.Chunk > 0 {
		return max(1, min(b.chunkCount(bytes, slowest, depth, share), maxChunks))
	}
	busyLinks := max(1, float64(m.count)/float64(moves)) // links that can be busy, for one that a chunk takes
	count := func(share float64) int {
		return int(math.Ceil(busyLinks * float64(b.chunkCount(int64(float64(bytes)/busyLinks), slowest, depth, share))))
	}
	return max(1, min(max(count(share), min(count(share/4), maxFineMoves/moves)), maxChunks))
}
