package collective

import "sim/fabric/scaleup"

// graph is any topology of n GPUs with k links out of and into each. Link i of GPU u leads to
// to[u*k+i]. A link from a GPU to itself is allowed but useless.
type graph struct {
	n, k int
	to   []int32
}

// graphOf converts a topology whose edges are sorted by GPU.
func graphOf(n, k int, t scaleup.Topology) *graph {
	g := &graph{n: n, k: k, to: make([]int32, n*k)}
	for i, e := range t { // the edges of GPU u start at u*k
		g.to[i] = e.To
	}
	return g
}

// topology returns the links of g, each reversed if reverse is true, in the order of g.
func (g *graph) topology(reverse bool) scaleup.Topology {
	t := make(scaleup.Topology, len(g.to))
	for l, v := range g.to {
		if t[l] = (scaleup.Edge{From: int32(l / g.k), To: v}); reverse {
			t[l] = scaleup.Edge{From: v, To: int32(l / g.k)}
		}
	}
	return t
}

// converse returns g with all links reversed.
func (g *graph) converse() *graph {
	c := &graph{n: g.n, k: g.k, to: make([]int32, len(g.to))}
	used := make([]int32, g.n) // links of each GPU of c that are set
	for l, v := range g.to {
		c.to[int(v)*g.k+int(used[v])] = int32(l / g.k)
		used[v]++
	}
	return c
}

// mirror returns g with GPU u renumbered -u.
func (g *graph) mirror() *graph {
	m := &graph{n: g.n, k: g.k, to: make([]int32, len(g.to))}
	for u := range g.n {
		for i, v := range g.to[u*g.k : (u+1)*g.k] {
			m.to[(g.n-u)%g.n*g.k+i] = (int32(g.n) - v) % int32(g.n)
		}
	}
	return m
}

// joinLoops replaces the links from GPUs to themselves by a ring through these GPUs, so that they
// are useful. A single loop remains.
func (g *graph) joinLoops() *graph {
	var loops []int // links, one per GPU
	for u := range g.n {
		for l := u * g.k; l < (u+1)*g.k; l++ {
			if int(g.to[l]) == u {
				loops = append(loops, l)
				break
			}
		}
	}

	if len(loops) < 2 {
		return g
	}
	for i, l := range loops {
		g.to[l] = int32(loops[(i+1)%len(loops)] / g.k)
	}
	return g
}

// lineGraph returns the line digraph of g. Its GPUs are the links of g, and each has links to all
// links that follow it. It has k times as many GPUs, a diameter larger by one, and trees about as
// even as the trees on g (Fiol, Yebra and Alegre, "Line digraph iterations and the (d,k) digraph
// problem", IEEE Trans. Computers 1984). Kautz graphs are iterated line digraphs of complete
// graphs.
func (g *graph) lineGraph() *graph {
	l := &graph{n: g.n * g.k, k: g.k, to: make([]int32, g.n*g.k*g.k)}
	for a, v := range g.to {
		for i := range g.k {
			l.to[a*g.k+i] = v*int32(g.k) + int32(i)
		}
	}
	return l
}

// affine returns the graph u -> mul*u + add[i] mod n, or nil if a GPU would have more than k
// links into it. Generalised Kautz and de Bruijn graphs are special cases.
func affine(n, mul int, add []int32) *graph {
	k := len(add)
	g := &graph{n: n, k: k, to: make([]int32, n*k)}
	in := make([]int32, n)
	for u := range n {
		for i, a := range add {
			v := (mul*u + int(a)) % n
			g.to[u*k+i] = int32(v)
			if in[v]++; in[v] > int32(k) {
				return nil
			}
		}
	}

	return g
}
