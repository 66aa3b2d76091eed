package collective

import (
	"math"
	"slices"

	"sim/engine"
)

// expandTreePacking cuts the data into chunks and sends each along a spanning tree of the links
// among the ranks. A chunk is reduced up to the root, copied down from it, or first reduced and
// then copied. There is one tree per chunk, of low depth, and all links carry about the same
// load.
//
// The trees approximate a fractional packing: of spanning trees for an all-reduce (bounded by
// Tutte and Nash-Williams, 1961), of arborescences for a broadcast (Edmonds 1973), and of
// arborescences with all roots for a gather (Zhao et al., "ForestColl", 2024). List scheduling
// determines in which order links serve chunks.
func expandTreePacking(b *builder, j *subCall) error {
	if j.kind == AllToAll || j.kind == SendReceive {
		return unserved(j, "a call that reduces or copies")
	}

	// The links, and the directions in which chunks move.
	n, m := len(j.ranks), b.newMesh(j)
	if m.count == 0 {
		return unserved(j, "ranks that are connected by links among them")
	}
	var directions [2]bool
	directions[up] = j.kind == AllReduce || j.kind == Reduce || j.kind == ReduceScatter
	directions[down] = j.kind == AllReduce || j.kind == Broadcast || j.kind == AllGather
	eccentricity := m.eccentricities()

	// Divide the data into chunks and give each a root. The depth of a pipeline is the distance of
	// the root from the farthest member, twice for an all-reduce. Other chunks hide the fill time
	// except with a single root.
	var roots []int32
	var chunks []data
	staggers := multiRootStaggers
	switch j.kind {
	case AllReduce:
		middle := centralMembers(eccentricity)
		for k, d := range j.data.pieces(b.treeChunkCount(m, j.data.bytes(),
			2*eccentricity[middle[0]], 2, hiddenShare)) {
			roots = append(roots, middle[goldenIndex(k, len(middle))])
			chunks = append(chunks, d)
		}

	case Broadcast, Reduce:
		staggers = singleRootStaggers
		for _, d := range j.data.pieces(b.treeChunkCount(m, j.data.bytes(), eccentricity[j.root], 1,
			fillShare/2)) {
			roots = append(roots, int32(j.root))
			chunks = append(chunks, d)
		}

	default:
		// Every member is the root of the chunks of its block.
		all := join(j.blocks...).bytes()
		each := b.treeChunkCount(m, all, eccentricity[centralMembers(eccentricity)[0]], 1,
			hiddenShare) / n
		each = max(1, each)
		for c := range each {
			for i, block := range j.blocks {
				roots, chunks = append(roots, int32(i)), append(chunks, block.piece(c, each))
			}
		}
	}

	// Grow and schedule the trees, for each hop length until one is nearly optimal.
	bytes := make([]int64, len(chunks))
	for k, d := range chunks {
		bytes[k] = d.bytes()
	}
	var z *pipeline
	var moves []int32 // of the best schedule

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

	// Send the moves in the order of the best schedule, which links then keep. The last argument of
	// sendOver is true if the parent adds the chunk to its own.
	b.keepsOrder = true
	defer func() { b.keepsOrder = false }()
	for _, move := range moves {
		k, d, v := z.locate(move)
		t := &z.f.trees[d][k]
		child := j.ranks[v]
		parent := j.ranks[t.parent[v]]
		if d == up {
			b.sendOver(t.link[v:v+1], child, parent, chunks[k], true)
		} else {
			b.sendOver(t.link[v:v+1], parent, child, chunks[k], false)
		}
	}

	return nil
}

// hopLengths are the values of forest.hopLength, tried in turn. The first yields trees of low
// depth, which are best if all links are about equally scarce. The second yields trees that use
// fewer scarce links.
var hopLengths = []float64{1, 0.1}

// centralMembers returns the members whose eccentricity is at most 1.2 times the radius, the
// minimum eccentricity. Trees with these roots are almost as low as from the centre, and many roots
// spread the load.
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

// goldenIndex returns element k of a golden-ratio sequence: any consecutive elements are spread
// evenly over 0 to n-1.
func goldenIndex(k, n int) int {
	_, turn := math.Modf(float64(k) * (math.Sqrt(5) - 1) / 2)
	return int(turn * float64(n))
}

// maxFineMoves limits how far chunks may be divided into quarters of their size by the time
// share. Above maxMoves moves, chunks are made larger. Both bound the work of list scheduling.
const (
	maxFineMoves = 1 << 16
	maxMoves     = 1 << 20
)

// treeChunkCount returns the number of chunks for some bytes over trees of a given depth, in one
// or two directions. The time share is relative to the time that a link is busy with the data.
func (b *builder) treeChunkCount(m *mesh, bytes int64, depth, directions int, share float64) int {
	slowest := engine.Link{Rate: math.Inf(1)}
	for _, arcs := range m.arcs[down] {
		for _, w := range arcs {
			l := b.problem.Network.Links[w.link]
			slowest.Rate = min(slowest.Rate, l.Rate)
			slowest.Latency = max(slowest.Latency, l.Latency)
		}
	}

	moves := directions * (len(m.arcs[down]) - 1)
	maxChunks := maxMoves / moves
	if b.options.Chunk > 0 {
		return max(1, min(b.chunkCount(bytes, slowest, depth, share), maxChunks))
	}

	// Without a chunk size, chunks are as large as the time share allows, or up to four times
	// smaller. busyLinks is the number of links per link that a chunk uses. These work in parallel
	// on different chunks.
	busyLinks := max(1, float64(m.count)/float64(moves))
	count := func(share float64) int {
		return int(math.Ceil(busyLinks * float64(b.chunkCount(int64(float64(bytes)/busyLinks),
			slowest, depth, share))))
	}
	return max(1, min(max(count(share), min(count(share/4), maxFineMoves/moves)), maxChunks))
}
