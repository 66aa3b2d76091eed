package routing

import (
	"slices"

	"sim/policies/graph"
)

// alike is what the symmetries of a torus with its faults leave to be told apart: translations, and with them
// reflections and exchanges of dimensions. Lengths of links can be taken to be the same all over an orbit of them when
// the load of all ways is bounded, as that is convex.
type alike struct {
	sources []int32   // one node of each orbit
	weight  []float64 // nodes of it
	orbits  int       // of live links
	orbit   []int32   // by node and port; -1 where there is no link that may be taken
	links   []float64 // by orbit: the links of it, or where rates differ their rates
}

// newAlike finds the symmetries of an instance; where there are none known every link and source is one of its own.
func newAlike(in *instance) *alike {
	y := in.symmetry
	degree := in.degree
	nodes, arcs := graph.NewSets(in.nodes), graph.NewSets(len(in.link))
	if in.uniform {
		z := turns{in: in, next: make([]int32, len(in.link)), to: make([]int32, in.nodes)}
		for a := range int32(in.nodes) { // translations
			o := y.Sources[y.Orbit[a]]
			nodes.Join(a, o)
			for k := range degree {
				arcs.Join(int32(int(a)*degree+k), int32(int(o)*degree+k))
			}
		}
		for k := range z.next {
			z.next[k] = -1
			if next, ok := y.Torus.Next(int32(k/degree), k%degree/2, k%2 == 0); ok {
				z.next[k] = next
			}
		}
		perm := make([]int, degree)
		z.each(perm, 0, func() {
			for _, t := range y.Sources {
				if !z.maps(t, perm) {
					continue
				}
				for a, b := range z.to {
					nodes.Join(int32(a), b)
					for k, to := range perm {
						arcs.Join(int32(a*degree+k), b*int32(degree)+int32(to))
					}
				}
			}
		})
	}
	e := &alike{orbit: slices.Repeat([]int32{-1}, len(in.link))}
	number := slices.Repeat([]int32{-1}, len(in.link))
	for k := range in.link {
		if in.orbit[k] < 0 {
			continue
		}
		root := arcs.Find(int32(k))
		if number[root] < 0 {
			number[root] = int32(e.orbits)
			e.orbits++
			e.links = append(e.links, 0)
		}
		e.orbit[k] = number[root]
		e.links[number[root]] += 1 / in.press(in.orbit[k])
	}
	return e.of(in, nodes)
}

// of picks the sources.
func (e *alike) of(in *instance, nodes graph.Sets) *alike {
	place := slices.Repeat([]int32{-1}, in.nodes)
	weigh := func(a int32) float64 { return 1 }
	if in.symmetry != nil {
		each := float64(in.nodes / len(in.symmetry.Sources))
		weigh = func(int32) float64 { return each }
	}
	for _, s := range in.sources {
		root := nodes.Find(s)
		if place[root] < 0 {
			place[root] = int32(len(e.sources))
			e.sources = append(e.sources, s)
			e.weight = append(e.weight, 0)
		}
		e.weight[place[root]] += weigh(s)
	}
	return e
}

// turns looks for maps of a torus onto itself.
type turns struct {
	in   *instance
	next []int32 // by node and port, links that are down too
	to   []int32 // the map, by node
}

// each calls f with all permutations of ports that keep opposite ones opposite.
func (z *turns) each(perm []int, d int, f func()) {
	if 2*d == len(perm) {
		f()
		return
	}
	for e := 0; e < len(perm); e += 2 {
		if slices.Contains(perm[:2*d], e) || slices.Contains(perm[:2*d], e+1) {
			continue
		}
		for flip := range 2 {
			perm[2*d], perm[2*d+1] = e+flip, e+1-flip
			z.each(perm, d+1, f)
		}
	}
	perm[2*d], perm[2*d+1] = -1, -1
}

// maps reports whether taking node 0 to a node and ports to others is a map of the torus onto itself that takes live
// links to live links; it is then in to.
func (z *turns) maps(zero int32, perm []int) bool {
	in, degree := z.in, z.in.degree
	for a := range z.to {
		z.to[a] = -1
	}
	z.to[0] = zero
	queue := []int32{0}
	for i := 0; i < len(queue); i++ {
		a := queue[i]
		b := z.to[a]
		for k, to := range perm {
			ka, kb := int(a)*degree+k, int(b)*degree+to
			na, nb := z.next[ka], z.next[kb]
			if na < 0 != (nb < 0) || in.orbit[ka] < 0 != (in.orbit[kb] < 0) {
				return false
			}
			if na < 0 {
				continue
			}
			switch z.to[na] {
			case -1:
				z.to[na] = nb
				queue = append(queue, na)
			case nb:
			default:
				return false
			}
		}
	}
	return len(queue) == in.nodes
}
