package collective

import (
	"context"
	"math"
	"slices"

	"sim/policies/graph"
)

// mesh is the links among the ranks of a job, by place.
type mesh struct {
	way   [2][][]arc // by direction and place: where trees that data goes up or down may grow to
	time  []float64  // by link of the network: of a byte, in units of the fastest link's
	count int        // of links
}

// Data goes up a tree to its root, or down from it.
const (
	up = iota
	down
)

// arc is a link between a place and another: out of the other for data that goes up, and to it for data that goes down.
type arc struct{ to, link int32 }

// mesh returns the links among the ranks of a job.
func (b *builder) mesh(j *job) *mesh {
	n := len(j.ranks)
	m := &mesh{way: [2][][]arc{make([][]arc, n), make([][]arc, n)}, time: make([]float64, len(b.p.Network.Links))}
	place := map[int32]int32{}
	for i, r := range j.ranks {
		place[r] = int32(i)
	}
	fastest := 0.0
	for i, r := range j.ranks {
		for _, q := range b.net.near[r] {
			k, ok := place[q]
			if !ok {
				continue
			}
			for _, l := range b.net.links[[2]int32{r, q}] {
				m.way[down][i] = append(m.way[down][i], arc{k, l})
				fastest = max(fastest, b.p.Network.Links[l].Rate)
				m.count++
			}
			for _, l := range b.net.links[[2]int32{q, r}] {
				m.way[up][i] = append(m.way[up][i], arc{k, l})
			}
		}
	}
	for l, link := range b.p.Network.Links {
		m.time[l] = fastest / link.Rate
	}
	return m
}

// hops returns how many links the furthest place that can be reached is from each.
func (m *mesh) hops() []int {
	n := len(m.way[down])
	far := make([]int, n)
	for root := range n {
		depth := slices.Repeat([]int{-1}, n)
		depth[root] = 0
		for queue := []int32{int32(root)}; len(queue) > 0; queue = queue[1:] {
			u := queue[0]
			far[root] = depth[u]
			for _, w := range m.way[down][u] {
				if depth[w.to] < 0 {
					depth[w.to] = depth[u] + 1
					queue = append(queue, w.to)
				}
			}
		}
	}
	return far
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
	trees  [2][]tree // by direction and chunk
	hop    float64
	growth float64
	load   [2][]float64 // by direction and link, in chunks
	length [2][]float64 // likewise
	depth  []int32
}

// Trees are grown by the lengths of links and the depth of places. Each chunk that a link carries more than another
// makes it longer by the factor e^loadGrowth, so that growing trees in turn leads to links that are equally loaded: it
// approaches a packing of fractional trees (Plotkin, Shmoys and Tardos 1995; Young 1995). Each chunk of one direction
// that a link carries more than of the other makes it longer by e^skewGrowth: chunks go up before they go down, so that
// links with much of one are idle in the time of the other. That factor is at most e^skewMost, as a place with few links
// sends about as much up over each of them as others, whatever their length; e^mostGrowth is as long as links get.
const (
	loadGrowth = 1.5
	bothGrowth = 0.5 // in place of loadGrowth, of chunks that go up and down
	skewGrowth = 0.1
	skewMost   = 0.3
	mostGrowth = 50
)

// newForest grows trees from each root in turn, of one direction or both. Chunks that are sent about together thus go
// over different links. A hop of depth counts as so many links that carry most. It returns nil where no tree spans the
// mesh, and when ctx ends.
func (m *mesh) newForest(ctx context.Context, both [2]bool, roots []int32, hop float64) *forest {
	n, links := len(m.way[down]), len(m.time)
	f := &forest{mesh: m, hop: hop, growth: loadGrowth, depth: make([]int32, n)}
	if both[up] && both[down] {
		f.growth = bothGrowth
	}
	for d := range both {
		f.trees[d] = make([]tree, len(roots))
		f.load[d], f.length[d] = make([]float64, links), make([]float64, links)
	}
	for k, root := range roots {
		for d, wanted := range both {
			if wanted && (ctx.Err() != nil || !f.grow(d, k, root)) {
				return nil
			}
		}
	}
	return f
}

// measure finds the lengths of links.
func (f *forest) measure(d int) {
	most := 0.0
	for l, x := range f.load[d] {
		most = max(most, x+f.load[1-d][l])
	}
	for l, took := range f.time {
		mine, other := f.load[d][l], f.load[1-d][l]
		x := f.growth * (mine + other + took - most)
		if other > 0 {
			x += min(max(skewGrowth*(mine-other), -skewMost), skewMost)
		}
		f.length[d][l] = math.Exp(min(x, mostGrowth))
	}
}

// branch is how a tree may grow.
type branch struct {
	key  float64
	seq  int32
	from int32
	by   arc
}

// grow grows the tree of a chunk from a root, always by the branch of the least length and depth (the trade-off of Prim's
// and Dijkstra's trees of Alpert et al. 1995). It returns false where the tree does not span the mesh.
func (f *forest) grow(d, chunk int, root int32) bool {
	f.measure(d)
	t := &f.trees[d][chunk]
	t.parent, t.link = make([]int32, len(f.depth)), make([]int32, len(f.depth))
	for i := range f.depth {
		f.depth[i] = -1
	}
	f.depth[root], t.parent[root] = 0, -1
	t.order = append(make([]int32, 0, len(f.depth)), root)
	heap := graph.NewHeap(func(a, b branch) bool { return a.key < b.key || a.key == b.key && a.seq < b.seq })
	seq, waiting := int32(0), 0
	for at := 0; ; {
		for ; at < len(t.order); at++ { // what the newest place leads to
			u := t.order[at]
			for _, w := range f.way[d][u] {
				if f.depth[w.to] < 0 {
					heap.Push(branch{f.hop*float64(f.depth[u]+1) + f.length[d][w.link], seq, u, w})
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
		if v := x.by.to; f.depth[v] < 0 {
			f.depth[v], t.parent[v], t.link[v] = f.depth[x.from]+1, x.from, x.by.link
			f.load[d][x.by.link] += f.time[x.by.link]
			t.order = append(t.order, v)
		}
	}
}
