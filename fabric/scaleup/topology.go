package scaleup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sim/internal/csr"
)

// Edge is one circuit: a link from GPU From to GPU To.
type Edge struct{ From, To int32 }

// Compare orders edges by From, then by To.
func (e Edge) Compare(o Edge) int {
	return cmp.Or(cmp.Compare(e.From, o.From), cmp.Compare(e.To, o.To))
}

// Topology is the graph that the optical switches form between two reconfigurations: a directed
// graph on GPUs 0..n-1 with at most k edges out of and into each GPU (paper Sec. 2.1). An edge
// that is listed twice has two links. From = To is a port looped to itself, as in generalised
// Kautz graphs. If all GPUs have all k links, Circulant and GeneralizedKautz list the edges out
// of GPU u at indices u*k to u*k+k-1.
type Topology []Edge

// ErrTopology is wrapped by errors about graphs that the switches cannot form.
var ErrTopology = errors.New("scaleup: the switches cannot form this topology")

// Check returns ErrTopology, with the first such edge, if an edge refers to a GPU that does not
// exist or exceeds the k links out of or into a GPU.
func (t Topology) Check(n, k int) error {
	out, in := make([]int, n), make([]int, n)
	for _, e := range t {
		if e.From < 0 || int(e.From) >= n || e.To < 0 || int(e.To) >= n {
			return fmt.Errorf("%w: edge %d->%d leaves GPUs 0..%d", ErrTopology, e.From, e.To, n-1)
		}
		if out[e.From]++; out[e.From] > k {
			return fmt.Errorf("%w: edge %d->%d is one too many out of GPU %d, which has %d",
				ErrTopology, e.From, e.To, e.From, k)
		}
		if in[e.To]++; in[e.To] > k {
			return fmt.Errorf("%w: edge %d->%d is one too many into GPU %d, which has %d",
				ErrTopology, e.From, e.To, e.To, k)
		}
	}
	return nil
}

// Circulant connects every GPU u to u+s mod n for each offset s, 0 < s < n. An offset that is
// listed twice makes two links. With one offset it is the paper's s-shifted ring (Sec. 4.3).
func Circulant(n int, offsets ...int) Topology {
	t := make(Topology, 0, n*len(offsets))
	for u := range n {
		for _, s := range offsets {
			t = append(t, Edge{int32(u), int32((u + s) % n)})
		}
	}
	return t
}

// GeneralizedKautz connects every GPU u to -k*u-a mod n for a = 1..k (Imase and Itoh; paper Sec.
// 4.2, Fig. 9). It has self-loops, and double edges if k >= n.
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

// Relabel renames GPU u to label[u] in every edge.
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

// Outgoing groups the edges by source: edge[start[u]:start[u+1]] are the indices in t of the
// edges out of GPU u, in increasing order. Loops are omitted, because they bring no chunk to
// another GPU.
func (t Topology) Outgoing(n int) (start, edge []int32) {
	from := make([]int32, len(t))
	for i, e := range t {
		if from[i] = e.From; e.From == e.To {
			from[i] = -1
		}
	}
	return csr.Index(from, n)
}

// AssignSwitches assigns every edge to one of k switches such that each switch has at most one
// edge out of and into each GPU. This is a proper edge colouring of a bipartite graph, which
// exists by König's theorem. It returns the errors of Check.
func (t Topology) AssignSwitches(n, k int) ([]int32, error) {
	if err := t.Check(n, k); err != nil {
		return nil, err
	}

	const free = -1
	// out[u*k+c] and in[v*k+c] are the edges of colour c at a GPU.
	out, in := make([]int32, n*k), make([]int32, n*k)
	for i := range out {
		out[i], in[i] = free, free
	}

	// firstFree returns the first colour that has no edge at a GPU. Check ensures that there is one.
	firstFree := func(colours []int32) int32 {
		for c, e := range colours {
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

		// Colour a is free at the source, and b at the destination. If they differ, swap them
		// along a path that starts at the destination with the edge of colour a into it. Its
		// edges alternate between the colours a and b, and each node of the path has either two
		// incoming or two outgoing edges of it. Then a is free at both ends.
		var path []int32
		node, want, edgeInto := int(e.To), a, true
		for a != b {
			table := out
			if edgeInto {
				table = in
			}
			f := table[node*k+int(want)]
			if f == free {
				break
			}
			path = append(path, f)
			if node = int(t[f].To); edgeInto {
				node = int(t[f].From)
			}
			want, edgeInto = a+b-want, !edgeInto
		}

		// Remove the edges of the path, and add them again with the other colour.
		for _, f := range path {
			out[int(t[f].From)*k+int(colour[f])], in[int(t[f].To)*k+int(colour[f])] = free, free
		}
		for _, f := range path {
			colour[f] = a + b - colour[f] // the other one of a and b
			out[int(t[f].From)*k+int(colour[f])], in[int(t[f].To)*k+int(colour[f])] = f, f
		}
		colour[i] = a
		out[u+int(a)], in[v+int(a)] = int32(i), int32(i)
	}
	return colour, nil
}
