package collective

import (
	"context"
	"math"
	"slices"

	"sim/policies/graph"
)

// mesh is the graph of links among the members of a call.
type mesh struct {
	// arcs is indexed by direction and member: links over which a tree may grow.
	arcs [2][][]meshArc
	// byteTime is indexed by link of the network: time of a byte, in units of the fastest link's.
	byteTime []float64
	count    int // number of links
}

// Directions of data in a tree. They are also the indices of slices by direction.
const (
	up   = iota // to the root
	down        // from the root
)

// meshArc is a link between a member and another one, to. It leads from that one for direction
// up, and to it for direction down.
type meshArc struct{ to, link int32 }

// newMesh returns the links among the members of a call.
func (b *builder) newMesh(j *subCall) *mesh {
	n := len(j.ranks)
	m := &mesh{
		arcs:     [2][][]meshArc{make([][]meshArc, n), make([][]meshArc, n)},
		byteTime: make([]float64, len(b.problem.Network.Links)),
	}

	// members is the member of each rank.
	members := map[int32]int32{}
	for i, r := range j.ranks {
		members[r] = int32(i)
	}

	// Collect the links of each member, in both directions.
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

// eccentricities returns for each member the number of links to the farthest member that it can
// reach.
func (m *mesh) eccentricities() []int {
	// A breadth-first search from each member. The last member that it reaches is the farthest.
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

// spanningTree is a spanning tree, or empty.
type spanningTree struct {
	order  []int32 // members, parents before their children
	parent []int32 // indexed by member; -1 for the root
	link   []int32 // the link between a member and its parent, indexed by member
}

// forest has the spanning trees of chunks. A chunk is reduced along a tree of direction up,
// copied along a tree of direction down from the same root, or both.
type forest struct {
	*mesh
	trees     [2][]spanningTree // indexed by direction and chunk
	hopLength float64           // cost of a hop of depth, in lengths of a link with maximum load
	growth    float64           // loadGrowth or upDownGrowth
	// load is indexed by direction and link; the unit is chunks at the fastest rate.
	load   [2][]float64
	length [2][]float64 // indexed by direction and link; see updateLengths
	depth  []int32      // depth in the tree that grows, indexed by member; -1 outside it
}

// Trees grow by link lengths and depth. Each additional chunk on a link multiplies its length by
// e^loadGrowth. Growing one tree after the other then loads all links equally, and approximates a
// fractional packing of trees (Plotkin, Shmoys and Tardos 1995; Young 1995).
//
// Each chunk by which the load of one direction exceeds the other multiplies the length by
// e^skewGrowth. Chunks go up before they go down, so a link with load in one direction only would be
// idle half of the time. This factor is at most e^maxSkew, because a member with few links sends
// about the same load up over each of them whatever their length.
//
// A larger loadGrowth balances the loads of links better, but yields deeper trees.
// e^maxLengthExponent is the maximum length, so that sums of lengths stay finite.
const (
	loadGrowth        = 1.5
	upDownGrowth      = 0.5 // instead of loadGrowth, if chunks go up and down
	skewGrowth        = 0.1
	maxSkew           = 0.3
	maxLengthExponent = 50
)

// newForest grows the trees of the given directions for each root in turn, so that chunks that
// are sent at about the same time use different links. It returns nil if no tree spans the mesh
// or ctx ends.
func (m *mesh) newForest(ctx context.Context, directions [2]bool, roots []int32, hopLength float64) *forest {
	n, links := len(m.arcs[down]), len(m.byteTime)
	f := &forest{mesh: m, hopLength: hopLength, growth: loadGrowth, depth: make([]int32, n)}
	if directions[up] && directions[down] {
		f.growth = upDownGrowth
	}
	for d := range directions {
		f.trees[d] = make([]spanningTree, len(roots))
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

// updateLengths recomputes the link lengths of direction d from the loads.
func (f *forest) updateLengths(d int) {
	// Lengths are relative to the link with the largest load of both directions. 1-d is the other
	// direction.
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

// growthBranch is a candidate for the next link of a growing tree.
type growthBranch struct {
	key  float64 // length plus depth; lowest first
	seq  int32   // number of the branch, which breaks ties
	from int32   // member in the tree
	arc  meshArc // link to the new member
}

// grow grows the tree of a chunk from a root. It always adds the branch with the lowest sum of
// link length and weighted depth, a trade-off between Prim's and Dijkstra's trees (Alpert et al.
// 1995). It reports whether the tree spans the mesh.
func (f *forest) grow(d, chunk int, root int32) bool {
	// The tree starts as its root.
	f.updateLengths(d)
	t := &f.trees[d][chunk]
	t.parent = make([]int32, len(f.depth))
	t.link = make([]int32, len(f.depth))
	for i := range f.depth {
		f.depth[i] = -1
	}
	f.depth[root], t.parent[root] = 0, -1
	t.order = append(make([]int32, 0, len(f.depth)), root)
	heap := graph.NewHeap(func(a, b growthBranch) bool {
		return a.key < b.key || a.key == b.key && a.seq < b.seq
	})

	// waiting is the number of branches on the heap, scanned the number of members whose branches
	// have been added.
	seq, waiting := int32(0), 0
	for scanned := 0; ; {
		for ; scanned < len(t.order); scanned++ {
			u := t.order[scanned]
			for _, w := range f.arcs[d][u] {
				if f.depth[w.to] < 0 {
					heap.Push(growthBranch{f.hopLength*float64(f.depth[u]+1) + f.length[d][w.link],
						seq, u, w})
					seq++
					waiting++
				}
			}
		}

		if waiting == 0 || len(t.order) == len(f.depth) {
			return len(t.order) == len(f.depth)
		}

		// Add the best branch, unless its member has joined the tree meanwhile.
		x := heap.Pop()
		waiting--
		if v := x.arc.to; f.depth[v] < 0 {
			f.depth[v], t.parent[v], t.link[v] = f.depth[x.from]+1, x.from, x.arc.link
			f.load[d][x.arc.link] += f.byteTime[x.arc.link]
			t.order = append(t.order, v)
		}
	}
}
