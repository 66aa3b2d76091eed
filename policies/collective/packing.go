package collective

import (
	"context"
	"math"

	"sim/engine"
)

// Packing are the options of "tree-packing".
type Packing struct {
	Sweeps int `key:"sweeps" doc:"how often all trees are grown anew, for links that carry more equally" default:"4" min:"0" max:"1000"`
}

// packing cuts the data into chunks, each of which goes along a spanning tree of the links among the ranks: it is
// reduced on the way up to the root, copied on the way down from it, or first the one and then the other. There are as
// many trees as chunks, of low depth, grown so that all links carry about as much: the fractional packing of spanning
// trees that Tutte and Nash-Williams (1961) bound for an all-reduce, and of arborescences that Edmonds (1973) bounds
// for a broadcast and, from all roots at once, Zhao et al. ("ForestColl", 2024) for a gather. In what order each link
// serves the chunks is found by list scheduling.
func packing(ctx context.Context, b *builder, j *job) error {
	if j.kind == AllToAll || j.kind == SendReceive {
		return unserved(j, "a call that reduces or copies")
	}
	n, m := len(j.ranks), b.mesh(j)
	how := flow{
		down: j.kind == AllReduce || j.kind == Broadcast || j.kind == AllGather,
		up:   j.kind == AllReduce || j.kind == Reduce || j.kind == ReduceScatter,
	}
	far := m.hops(how)
	var roots []int32
	var chunks []data
	switch j.kind {
	case AllReduce:
		middle := middles(far)
		for k, d := range j.data.pieces(b.treeChunks(m, j.data.bytes(), 2*far[middle[0]], hiddenShare)) {
			roots, chunks = append(roots, middle[spread(k, len(middle))]), append(chunks, d)
		}
	case Broadcast, Reduce:
		for _, d := range j.data.pieces(b.treeChunks(m, j.data.bytes(), far[j.root], fillShare)) {
			roots, chunks = append(roots, int32(j.root)), append(chunks, d)
		}
	default:
		all := join(j.block...).bytes()
		each := b.treeChunks(m, all, far[middles(far)[0]], hiddenShare) / n
		for i, block := range j.block {
			for _, d := range block.pieces(max(1, each)) {
				roots, chunks = append(roots, int32(i)), append(chunks, d)
			}
		}
	}
	f := m.newForest(how, roots, b.o.Packing.Sweeps)
	if f == nil {
		return unserved(j, "ranks that are connected by links among them")
	}
	bytes := make([]int64, len(chunks))
	for k, d := range chunks {
		bytes[k] = d.bytes()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	z := newPipeline(f, bytes, b.p.Network.Links)
	for _, op := range z.best() {
		k, v, up := z.of(op)
		t := &f.trees[k]
		child, parent := j.ranks[v], j.ranks[t.parent[v]]
		if up {
			b.sendOver(t.by[v].in, child, parent, chunks[k], true)
		} else {
			b.sendOver(t.by[v].out, parent, child, chunks[k], false)
		}
	}
	return nil
}

// middles returns the places whose furthest ones are about as near as those of any.
func middles(far []int) []int32 {
	least := far[0]
	for _, hops := range far {
		least = min(least, hops)
	}
	var all []int32
	for i, hops := range far {
		if 5*hops <= 6*least {
			all = append(all, int32(i))
		}
	}
	return all
}

// spread returns number k of a sequence of which every part is spread over 0 to n-1.
func spread(k, n int) int {
	_, turn := math.Modf(float64(k) * (math.Sqrt(5) - 1) / 2)
	return int(turn * float64(n))
}

// treeChunks returns in how many chunks to send some bytes over trees of some depth, by the time that a link is busy
// with them.
func (b *builder) treeChunks(m *mesh, bytes int64, depth int, share float64) int {
	slowest, links := engine.Link{Rate: math.Inf(1)}, 0
	for _, at := range m.at {
		for _, w := range at {
			if w.out >= 0 {
				l := b.p.Network.Links[w.out]
				slowest.Rate, slowest.Latency = min(slowest.Rate, l.Rate), max(slowest.Latency, l.Latency)
				links++
			}
		}
	}
	per := max(1, float64(links)/float64(len(m.at)-1)) // links that a chunk may choose from, for one that it takes
	chunks := b.chunks(int64(float64(bytes)/per), slowest, depth, share)
	if b.o.Chunk > 0 {
		chunks = b.chunks(bytes, slowest, depth, share)
	} else {
		chunks = int(math.Ceil(float64(chunks) * per))
	}
	const mostMoves = 1 << 20
	return max(1, min(chunks, mostMoves/(2*len(m.at))))
}
