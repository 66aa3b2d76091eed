package collective

import "sim/fabric/scaleup"

// graph is a topology that need be no circulant: link i out of GPU u leads to to[u*k+i], and into every GPU lead k
// links. A link from a GPU to itself is of no use to a tree.
type graph struct {
	n, k int
	to   []int32
}

func graphOf(n, k int, t scaleup.Topology) *graph {
	g := &graph{n, k, make([]int32, n*k)}
	for i, e := range t { // those of GPU u are at u*k
		g.to[i] = e.To
	}
	return g
}

// topology lists the links of g, or with back those of its converse, by the GPU that they leave in g.
func (g *graph) topology(reverse bool) scaleup.Topology {
	t := make(scaleup.Topology, len(g.to))
	for l, v := range g.to {
		if t[l] = (scaleup.Edge{From: int32(l / g.k), To: v}); reverse {
			t[l] = scaleup.Edge{From: v, To: int32(l / g.k)}
		}
	}
	return t
}

// converse is g with all links turned round.
func (g *graph) converse() *graph {
	c := &graph{g.n, g.k, make([]int32, len(g.to))}
	used := make([]int32, g.n)
	for l, v := range g.to {
		c.to[int(v)*g.k+int(used[v])] = int32(l / g.k)
		used[v]++
	}
	return c
}

// mirror is g with GPU u renamed -u.
func (g *graph) mirror() *graph {
	m := &graph{g.n, g.k, make([]int32, len(g.to))}
	for u := range g.n {
		for i, v := range g.to[u*g.k : (u+1)*g.k] {
			m.to[(g.n-u)%g.n*g.k+i] = (int32(g.n) - v) % int32(g.n)
		}
	}
	return m
}

// joinLoops joins the links that lead from GPUs to themselves into a ring through these, so that they serve too. One
// that is alone stays.
func (g *graph) joinLoops() *graph {
	var loops []int // links, one a GPU
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

// lineGraph is the line digraph of g: its GPUs are the links of g, and from each lead links to those that follow it. It
// has k times as many GPUs and a diameter of one more, and the trees on it are about as even as those on g (Fiol, Yebra
// and Alegre, "Line digraph iterations and the (d,k) digraph problem", IEEE Trans. Computers 1984). Kautz graphs are
// those of complete ones.
func (g *graph) lineGraph() *graph {
	l := &graph{g.n * g.k, g.k, make([]int32, g.n*g.k*g.k)}
	for a, v := range g.to {
		for i := range g.k {
			l.to[a*g.k+i] = v*int32(g.k) + int32(i)
		}
	}
	return l
}

// affine is the graph u -> mul*u + add[i] mod n, of which generalised Kautz and de Bruijn graphs are cases; nil where
// links would meet in fewer GPUs than n.
func affine(n, mul int, add []int32) *graph {
	k := len(add)
	g := &graph{n, k, make([]int32, n*k)}
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
