package fluid

import (
	"slices"

	"sim/policies/reconfigure/halt"
)

// instance is the program to solve: one commodity for every orbit of pairs and one link for every orbit of connections
// under the symmetries found. By convexity some optimal routing is symmetric, and its load is the same on all links of an
// orbit; so lengths need only be equal on them, and one pair of an orbit stands for all.
type instance struct {
	*graph
	// class of every connection, and per class the links that it has.
	class []int32
	links []float64
	// The commodities of source[i] are first[i]..first[i+1]: destination and demand, which sum to 1.
	source, first []int32
	sink          []int32
	demand        []float64
}

// affine is the renaming u -> a u + b mod n.
type affine struct{ a, b int }

// instance returns the program for demand, which sums to total. whole ignores symmetries.
func (g *graph) instance(demand []float64, total float64, whole bool, stop halt.When) *instance {
	n := g.n
	var group []affine
	if !whole {
		group = g.symmetries(demand, stop)
	}
	in := &instance{graph: g}
	connections := newOrbits(len(g.to))
	pairs := newOrbits(n * n)
	for _, f := range group {
		for e := range g.to {
			connections.join(int32(e), g.find(f.of(g.from[e], n), f.of(g.to[e], n)))
		}
		for i := range n * n {
			if demand[i] > 0 {
				pairs.join(int32(i), f.of(int32(i/n), n)*int32(n)+f.of(int32(i%n), n))
			}
		}
	}
	in.class = make([]int32, len(g.to))
	for e := range g.to {
		root := connections.root(int32(e))
		if int(root) == e {
			in.class[e] = int32(len(in.links))
			in.links = append(in.links, 0)
		}
		in.class[e] = in.class[root]
		in.links[in.class[e]] += g.capacity[e]
	}
	// The root of an orbit is its first pair, so sources are few.
	sum := make([]float64, n*n)
	for i, d := range demand {
		if d > 0 {
			sum[pairs.root(int32(i))] += d
		}
	}
	for i, d := range sum {
		if d == 0 {
			continue
		}
		if s := int32(i / n); len(in.source) == 0 || in.source[len(in.source)-1] != s {
			in.source, in.first = append(in.source, s), append(in.first, int32(len(in.sink)))
		}
		in.sink, in.demand = append(in.sink, int32(i%n)), append(in.demand, d/total)
	}
	in.first = append(in.first, int32(len(in.sink)))
	return in
}

// of returns the new name of u.
func (f affine) of(u int32, n int) int32 { return int32((f.a*int(u) + f.b) % n) }

// symmetries returns generators of the group of affine renamings that change neither graph nor demand. Circulants have
// the rotations, generalised Kautz graphs u -> -u-1.
func (g *graph) symmetries(demand []float64, stop halt.When) []affine {
	n := g.n
	var group []affine
	for b := 1; b < n; b++ {
		if n%b == 0 && g.symmetry(affine{1, b}, demand) {
			group = append(group, affine{1, b})
			break
		}
	}
	// The factors form a group too: what the ones before generate adds nothing (the rotations are there already).
	reached := make([]bool, n)
	reached[1%n] = true
	for a := 2; a < n; a++ {
		if reached[a] || gcd(a, n) > 1 {
			continue
		}
		for b := range n {
			stop.Check()
			if !g.symmetry(affine{a, b}, demand) {
				continue
			}
			group = append(group, affine{a, b})
			var now []int
			for x, ok := range reached {
				if ok {
					now = append(now, x)
				}
			}
			for p := a; !slices.Contains(now, p); p = p * a % n {
				for _, x := range now {
					reached[x*p%n] = true
				}
			}
			break
		}
	}
	return group
}

// symmetry says whether f, which is one to one, changes neither graph nor demand.
func (g *graph) symmetry(f affine, demand []float64) bool {
	n := g.n
	for e := range g.to {
		i := g.find(f.of(g.from[e], n), f.of(g.to[e], n))
		if i < 0 || g.capacity[i] != g.capacity[e] {
			return false
		}
	}
	for s := range n {
		row, image := demand[s*n:(s+1)*n], demand[int(f.of(int32(s), n))*n:]
		for t, d := range row {
			if image[f.of(int32(t), n)] != d {
				return false
			}
		}
	}
	return true
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// orbits is a union-find whose roots are the least of their sets.
type orbits []int32

func newOrbits(n int) orbits {
	o := make(orbits, n)
	for i := range o {
		o[i] = int32(i)
	}
	return o
}

func (o orbits) root(i int32) int32 {
	for o[i] != i {
		o[i] = o[o[i]]
		i = o[i]
	}
	return i
}

func (o orbits) join(i, j int32) {
	i, j = o.root(i), o.root(j)
	o[max(i, j)] = min(i, j)
}
