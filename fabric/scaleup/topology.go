package scaleup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sim/internal/csr"
)

// Edge is one circuit: a link out of GPU From into GPU To.
type Edge struct{ From, To int32 }

// Compare orders edges by From, then by To.
func (e Edge) Compare(o Edge) int {
	return cmp.Or(cmp.Compare(e.From, o.From), cmp.Compare(e.To, o.To))
}

// Topology is what the optical switches connect between two reconfigurations: a directed graph on GPUs 0..n-1 with at
// most k edges out of and into each GPU (paper Sec. 2.1). An edge listed twice has two links; From = To is a port
// looped to itself, which generalised Kautz graphs have. Where all GPUs have all k links, the builders of this package
// list those of GPU u at u*k .. u*k+k-1.
type Topology []Edge

// ErrTopology says that a graph cannot be set up on the switches.
var ErrTopology = errors.New("scaleup: the switches cannot form this topology")

// Check returns an ErrTopology naming the first edge that leaves 0..n-1 or that is more than k out of or into a GPU.
func (t Topology) Check(n, k int) error {
	out, in := make([]int, n), make([]int, n)
	for _, e := range t {
		if e.From < 0 || int(e.From) >= n || e.To < 0 || int(e.To) >= n {
			return fmt.Errorf("%w: edge %d->%d leaves GPUs 0..%d", ErrTopology, e.From, e.To, n-1)
		}
		if out[e.From]++; out[e.From] > k {
			return fmt.Errorf("%w: edge %d->%d is one too many out of GPU %d, which has %d", ErrTopology, e.From, e.To, e.From, k)
		}
		if in[e.To]++; in[e.To] > k {
			return fmt.Errorf("%w: edge %d->%d is one too many into GPU %d, which has %d", ErrTopology, e.From, e.To, e.To, k)
		}
	}
	return nil
}

// Circulant connects every GPU u to u+s mod n for each offset s (0 < s < n; an offset listed twice is two links). With
// one offset it is the paper's s-shifted ring (Sec. 4.3).
func Circulant(n int, offsets ...int) Topology {
	t := make(Topology, 0, n*len(offsets))
	for u := range n {
		for _, s := range offsets {
			t = append(t, Edge{int32(u), int32((u + s) % n)})
		}
	}
	return t
}

// GeneralizedKautz connects every GPU u to -k*u-a mod n for a = 1..k (Imase and Itoh; paper Sec. 4.2, Fig. 9). It has
// self-loops, and where k >= n double edges.
func GeneralizedKautz(n, k int) Topology {
	t := make(Topology, 0, n*k)
	for u := range n {
		for a := 1; a <= k; a++ {
			v := (-k*u - a) % n
			if v < 0 {
				v += n
			}
			t = append(t, Edge{int32(u), int32(v)})
		}
	}
	return t
}

// Relabel renames GPU u to label[u] at both ends of every edge.
func (t Topology) Relabel(label []int32) Topology {
	r := make(Topology, len(t))
	for i, e := range t {
		r[i] = Edge{label[e.From], label[e.To]}
	}
	return r
}

// Sorted returns the edges in the order of Edge.Compare.
func (t Topology) Sorted() Topology {
	sorted := slices.Clone(t)
	slices.SortFunc(sorted, Edge.Compare)
	return sorted
}

// Outgoing lists the edges out of every GPU, as indices into t: those of u are at edge[start[u]:start[u+1]], in the
// order of t, without loops (no chunk gains by one).
func (t Topology) Outgoing(n int) (start, edge []int32) {
	from := make([]int32, len(t))
	for i, e := range t {
		if from[i] = e.From; e.From == e.To {
			from[i] = -1
		}
	}
	return csr.Index(from, n)
}

// AssignSwitches assigns every edge to one of k switches so that each switch holds at most one edge out of and into a GPU (a
// proper colouring of the edges, which exists by König's theorem). Errors: those of Check.
func (t Topology) AssignSwitches(n, k int) ([]int32, error) {
	if err := t.Check(n, k); err != nil {
		return nil, err
	}
	const free = -1
	// out[u*k+c] and in[v*k+c] are the edge of colour c there.
	out, in := make([]int32, n*k), make([]int32, n*k)
	for i := range out {
		out[i], in[i] = free, free
	}
	firstFree := func(node []int32) int32 {
		for c, e := range node {
			if e == free {
				return int32(c)
			}
		}
		return free
	}
	colour := make([]int32, len(t))
	for i, e := range t {
		u, v := int(e.From)*k, int(e.To)*k
		a, b := firstFree(out[u:u+k]), firstFree(in[v:v+k])
		// Swap colours a and b along the path that leaves v on a: then a is free at both ends.
		table, node, want, other := in, int(e.To), a, b
		var path []int32
		for a != b {
			f := table[node*k+int(want)]
			if f == free {
				break
			}
			path = append(path, f)
			if node = int(t[f].From); &table[0] == &out[0] {
				node = int(t[f].To)
			}
			if &table[0] == &in[0] {
				table = out
			} else {
				table = in
			}
			want, other = other, want
		}
		for _, f := range path {
			out[int(t[f].From)*k+int(colour[f])], in[int(t[f].To)*k+int(colour[f])] = free, free
		}
		for _, f := range path {
			colour[f] = a + b - colour[f]
			out[int(t[f].From)*k+int(colour[f])], in[int(t[f].To)*k+int(colour[f])] = f, f
		}
		colour[i] = a
		out[u+int(a)], in[v+int(a)] = int32(i), int32(i)
	}
	return colour, nil
}
