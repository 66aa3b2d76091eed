package collective

import (
	"math"
	"slices"

	"sim/policies/graph"
)

// mesh is the links among the ranks of a job, by place.
type mesh struct {
	at   [][]joint
	time []float64 // by link of the network: of a byte, in units of the fastest link's
}

// joint is the links between a place and another: one out of it and one back, -1 where there is none.
type joint struct{ to, out, in int32 }

// mesh returns the links among the ranks of a job. Of parallel ones the first out goes with the first back.
func (b *builder) mesh(j *job) *mesh {
	m := &mesh{at: make([][]joint, len(j.ranks)), time: make([]float64, len(b.p.Network.Links))}
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
			out, in := b.net.links[[2]int32{r, q}], b.net.links[[2]int32{q, r}]
			for x := range max(len(out), len(in)) {
				w := joint{k, -1, -1}
				if x < len(out) {
					w.out = out[x]
					fastest = max(fastest, b.p.Network.Links[w.out].Rate)
				}
				if x < len(in) {
					w.in = in[x]
				}
				m.at[i] = append(m.at[i], w)
			}
		}
	}
	for l, link := range b.p.Network.Links {
		m.time[l] = fastest / link.Rate
	}
	return m
}

// flow is which links of a tree its data takes: those down from the root, those up to it, or both.
type flow struct{ down, up bool }

// serves reports whether the links that data takes are there.
func (f flow) serves(w joint) bool { return (!f.down || w.out >= 0) && (!f.up || w.in >= 0) }

// hops returns how many links the furthest place is from each.
func (m *mesh) hops(how flow) []int {
	n := len(m.at)
	far := make([]int, n)
	for root := range n {
		depth := slices.Repeat([]int{-1}, n)
		depth[root] = 0
		for queue := []int32{int32(root)}; len(queue) > 0; queue = queue[1:] {
			u := queue[0]
			far[root] = depth[u]
			for _, w := range m.at[u] {
				if depth[w.to] < 0 && how.serves(w) {
					depth[w.to] = depth[u] + 1
					queue = append(queue, w.to)
				}
			}
		}
	}
	return far
}

// tree is a spanning tree: places in an order in which parents come before their children, the root first, and by place
// its parent and the parent's joint to it.
type tree struct {
	order  []int32
	parent []int32
	by     []joint
}

// forest is spanning trees of a mesh, each for a chunk, and what links carry for them.
type forest struct {
	*mesh
	flow
	trees []tree
	// load is in chunks, of link l what goes down a tree in load[l], and up in load[l + links of the network].
	load   []float64
	length []float64 // likewise
	depth  []int32
}

// Trees are grown by the lengths of links and the depth of places. Each chunk that a link carries more than another
// makes it longer by the factor e^loadGrowth, so that regrowing trees in turn leads to links that are equally loaded:
// it approaches a packing of fractional trees (Plotkin, Shmoys and Tardos 1995; Young 1995). Each chunk of one direction
// that a link carries more than of the other makes it longer by e^skewGrowth: chunks go up before they go down, so that
// links with much of one are idle in the time of the other. A hop of depth counts as hopLength of the link that carries
// most.
const (
	loadGrowth = 1.5
	skewGrowth = 0.1
	hopLength  = 1.0
	mostGrowth = 50 // of exponents
)

// newForest grows a tree from each root, and all of them again so many times. It returns nil where no tree spans the
// mesh.
func (m *mesh) newForest(how flow, roots []int32, sweeps int) *forest {
	f := &forest{
		mesh: m, flow: how, trees: make([]tree, len(roots)), load: make([]float64, 2*len(m.time)),
		length: make([]float64, 2*len(m.time)), depth: make([]int32, len(m.at)),
	}
	for k, root := range roots {
		t := &f.trees[k]
		t.parent, t.by = make([]int32, len(m.at)), make([]joint, len(m.at))
		if f.grow(t, root); len(t.order) < len(m.at) {
			return nil
		}
		f.add(t, 1)
	}
	for range sweeps {
		for k := range f.trees {
			t := &f.trees[k]
			f.add(t, -1)
			f.grow(t, t.order[0])
			f.add(t, 1)
		}
	}
	return f
}

// uses calls do with the indices in load of the links that a joint's data takes.
func (f *forest) uses(w joint, do func(half int32)) {
	if f.down {
		do(w.out)
	}
	if f.up {
		do(w.in + int32(len(f.time)))
	}
}

// add has links carry a tree that much more.
func (f *forest) add(t *tree, chunks float64) {
	for _, v := range t.order[1:] {
		f.uses(t.by[v], func(h int32) { f.load[h] += chunks * f.time[int(h)%len(f.time)] })
	}
}

// measure finds the lengths of links.
func (f *forest) measure() {
	most, links := 0.0, len(f.time)
	for l := range links {
		most = max(most, f.load[l]+f.load[l+links])
	}
	for l, took := range f.time {
		down, up := f.load[l], f.load[l+links]
		common, skew := loadGrowth*(down+up+took-most), skewGrowth*(down-up)
		f.length[l], f.length[l+links] = math.Exp(min(common+skew, mostGrowth)), math.Exp(min(common-skew, mostGrowth))
	}
}

// branch is how a tree may grow.
type branch struct {
	key  float64
	seq  int32
	from int32
	by   joint
}

// grow grows a tree from a root, always by the branch of the least length and depth (the trade-off of Prim's and
// Dijkstra's trees of Alpert et al. 1995).
func (f *forest) grow(t *tree, root int32) {
	f.measure()
	for i := range f.depth {
		f.depth[i] = -1
	}
	f.depth[root], t.parent[root] = 0, -1
	t.order = append(t.order[:0], root)
	heap := graph.NewHeap(func(a, b branch) bool { return a.key < b.key || a.key == b.key && a.seq < b.seq })
	seq, waiting := int32(0), 0
	for at := 0; ; {
		for ; at < len(t.order); at++ { // what the newest place leads to
			u := t.order[at]
			for _, w := range f.at[u] {
				if f.depth[w.to] >= 0 || !f.serves(w) {
					continue
				}
				x := branch{hopLength * float64(f.depth[u]+1), seq, u, w}
				f.uses(w, func(h int32) { x.key += f.length[h] })
				heap.Push(x)
				seq++
				waiting++
			}
		}
		if waiting == 0 || len(t.order) == len(f.at) {
			return
		}
		x := heap.Pop()
		waiting--
		if v := x.by.to; f.depth[v] < 0 {
			f.depth[v], t.parent[v], t.by[v] = f.depth[x.from]+1, x.from, x.by
			t.order = append(t.order, v)
		}
	}
}
