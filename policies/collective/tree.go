package collective

import (
	"context"
	"math"
	"slices"

	"sim/policies/graph"
)

// mesh is the links among the ranks of a job, by place.
type mesh struct {
	arcs     [2][][]meshArc // by direction and place: where trees that data goes up or down may grow to
	byteTime []float64      // by link of the network: of a byte, in units of the fastest link's
	count    int            // of links
}

// Data goes up a tree to its root, or down from it.
const (
	up = iota
	down
)

// meshArc is a link between a place and another: out of the other for data that goes up, and to it for data that goes down.
type meshArc struct{ to, link int32 }

// newMesh returns the links among the ranks of a job.
func (b *builder) newMesh(j *subCall) *mesh {
	n := len(j.ranks)
	m := &mesh{arcs: [2][][]meshArc{make([][]meshArc, n), make([][]meshArc, n)}, byteTime: make([]float64, len(b.problem.Network.Links))}
	members := map[int32]int32{}
	for i, r := range j.ranks {
		members[r] = int32(i)
	}
	fastest := 0.0
	for i, r := range j.ranks {
		for _, q := range b.rankLinks.neighbours[r] {
			k, ok := members[q]
			if !ok {
				continue
			}
			for _, l := range b.rankLinks.links[[2]int32{r, q}] {
				m.arcs[down][i] = append(m.arcs[down][i], meshArc{k, l})
				fastest = max(fastest, b.problem.Network.Links[l].Rate)
				m.count++
			}
			for _, l := range b.rankLinks.links[[2]int32{q, r}] {
				m.arcs[up][i] = append(m.arcs[up][i], meshArc{k, l})
			}
		}
	}
	for l, link := range b.problem.Network.Links {
		m.byteTime[l] = fastest / link.Rate
	}
	return m
}

// eccentricities returns how many links the furthest place that can be reached is from each.
func (m *mesh) eccentricities() []int {
	n := len(m.arcs[down])
	eccentricity := make([]int, n)
	for root := range n {
		depth := slices.Repeat([]int{-1}, n)
		depth[root] = 0
		for queue := []int32{int32(root)}; len(queue) > 0; queue = queue[1:] {
			u := queue[0]
			eccentricity[root] = depth[u]
			for _, w := range m.arcs[down][u] {
				if depth[w.to] < 0 {
					depth[w.to] = depth[u] + 1
					queue = append(queue, w.to)
				}
			}
		}
	}
	return eccentricity
}

// tree is a spanning tree: places in an order in which parents come before their children, the root first, and by place
// its parent and the link between them. A tree of no places is none.
type tree struct {
	order  []int32
	parent []int32
	link   []int32
}

// forest is the spanning trees of chunks: each has one by which it is reduced on the way up, one by which it is copied on
// the way down from the same root, or only one of these.
type forest struct {
	*mesh
	trees     [2][]tree // by direction and chunk
	hopLength float64
	growth    float64
	load      [2][]float64 // by direction and link, in chunks
	length    [2][]float64 // likewise
	depth     []int32
}

// Trees are grown by the lengths of links and the depth of places. Each chunk that a link carries more than another
// makes it longer by the factor e^loadGrowth, so that growing trees in turn leads to links that are equally loaded: it
// approaches a packing of fractional trees (Plotkin, Shmoys and Tardos 1995; Young 1995). Each chunk of one direction
// that a link carries more than of the other makes it longer by e^skewGrowth: chunks go up before they go down, so that
// links with much of one are idle in the time of the other. That factor is at most e^skewMost, as a place with few links
// sends about as much up over each of them as others, whatever their length; e^mostGrowth is as long as links get.
const (
	loadGrowth        = 1.5
	upDownGrowth      = 0.5 // in place of loadGrowth, of chunks that go up and down
	skewGrowth        = 0.1
	maxSkew           = 0.3
	maxLengthExponent = 50
)

// newForest grows trees from each root in turn, of one direction or both. Chunks that are sent about together thus go
// over different links. A hop of depth counts as so many links that carry most. It returns nil where no tree spans the
// mesh, and when ctx ends.
func (m *mesh) newForest(ctx context.Context, directions [2]bool, roots []int32, hopLength float64) *forest {
	n, links := len(m.arcs[down]), len(m.byteTime)
	f := &forest{mesh: m, hopLength: hopLength, growth: loadGrowth, depth: make([]int32, n)}
	if directions[up] && directions[down] {
		f.growth = upDownGrowth
	}
	for d := range directions {
		f.trees[d] = make([]tree, len(roots))
		f.load[d], f.length[d] = make([]float64, links), make([]float64, links)
	}
	for k, root := range roots {
		for d, wanted := range directions {
			if wanted && (ctx.Err() != nil || !f.grow(d, k, root)) {
				return nil
			}
		}
	}
	return f
}

// updateLengths finds the lengths of links.
func (f *forest) updateLengths(d int) {
	maxLoad := 0.0
	for l, x := range f.load[d] {
		maxLoad = max(maxLoad, x+f.load[1-d][l])
	}
	for l, byteTime := range f.byteTime {
		load, other := f.load[d][l], f.load[1-d][l]
		x := f.growth * (load + other + byteTime - maxLoad)
		if other > 0 {
			x += min(max(skewGrowth*(load-other), -maxSkew), maxSkew)
		}
		f.length[d][l] = math.Exp(min(x, maxLengthExponent))
	}
}

// growthBranch is how a tree may grow.
type growthBranch struct {
	key  float64
	seq  int32
	from int32
	arc  meshArc
}

// grow grows the tree of a chunk from a root, always by the branch of the least length and depth (the trade-off of Prim's
// and Dijkstra's trees of Alpert et al. 1995). It returns false where the tree does not span the mesh.
func (f *forest) grow(d, chunk int, root int32) bool {
	f.updateLengths(d)
	t := &f.trees[d][chunk]
	t.parent, t.link = make([]int32, len(f.depth)), make([]int32, len(f.depth))
	for i := range f.depth {
		f.depth[i] = -1
	}
	f.depth[root], t.parent[root] = 0, -1
	t.order = append(make([]int32, 0, len(f.depth)), root)
	heap := graph.NewHeap(func(a, b growthBranch) bool { return a.key < b.key || a.key == b.key && a.seq < b.seq })
	seq, waiting := int32(0), 0
	for scanned := 0; ; {
		for ; scanned < len(t.order); scanned++ { // what the newest place leads to
			u := t.order[scanned]
			for _, w := range f.arcs[d][u] {
				if f.depth[w.to] < 0 {
					heap.Push(growthBranch{f.hopLength*float64(f.depth[u]+1) + f.length[d][w.link], seq, u, w})
					seq++
					waiting++
				}
			}
		}
		if waiting == 0 || len(t.order) == len(f.depth) {
			return len(t.order) == len(f.depth)
		}
		x := heap.Pop()
		waiting--
		if v := x.arc.to; f.depth[v] < 0 {
			f.depth[v], t.parent[v], t.link[v] = f.depth[x.from]+1, x.from, x.arc.link
			f.load[d][x.arc.link] += f.byteTime[x.arc.link]
			t.order = append(t.order, v)
		}
	}
}
