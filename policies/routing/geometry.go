package routing

import (
	"fmt"
	"slices"
	"sync/atomic"

	"sim/engine"
	"sim/fabric/torus"
)

// geometry describes a torus for routing by dimensions: where each port leads, and the shortest
// hop vectors between nodes. A hop vector has the number of hops along each dimension, negative
// downwards. Port 2*dim leads up and 2*dim+1 down, as in Torus.Ports. It is safe for concurrent
// use.
//
// The tables are indexed by node*degree+port.
type geometry struct {
	*torus.Torus
	degree int
	link   []int32 // the link; -1 if the port has no link
	// neighbour is the node that the port leads to; -1 if the port has no link.
	neighbour      []int32
	isWrap         []bool // whether the link wraps around
	isUp           []bool // whether the link may be used
	linksDown      int    // number of links that may not be used
	hasTwoChannels bool   // all links have at least two virtual channels
	order          []int  // dimensions in the order in which they are routed
	isTwisted      []bool // whether wrap-around links are shifted, indexed by dimension

	// Shortest hop vectors of twisted tori; both are nil for other tori, which have a closed form.
	// vectorsByOffset is used if nodes are identical, and vectorsBySource otherwise.
	vectorsByOffset [][][]int                     // indexed by destination minus source
	vectorsBySource []atomic.Pointer[vectorTable] // indexed by source, computed on demand
}

// vectorTable holds the shortest hop vectors from one node. The vectors to node d are start[d] up
// to start[d+1].
type vectorTable struct {
	start   []int32
	vectors []int16
}

// newGeometry describes the torus of p with its dimensions routed in the given order. The error
// wraps ErrUnserved if p has no torus.
func newGeometry(p *Problem, order []int) (*geometry, error) {
	t := p.Torus
	if t == nil {
		return nil, errNoTorus
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	degree, link := t.Ports()
	if degree > engine.MaxPort+1 {
		return nil, fmt.Errorf("%w: %d dimensions; want at most %d", ErrUnserved, len(t.Dims),
			(engine.MaxPort+1)/2)
	}

	z := &geometry{
		Torus:          t,
		degree:         degree,
		link:           link,
		order:          order,
		isTwisted:      make([]bool, len(t.Dims)),
		hasTwoChannels: true,
	}

	z.neighbour = make([]int32, len(link))
	z.isWrap = make([]bool, len(link))
	z.isUp = make([]bool, len(link))
	for i, l := range link {
		if z.neighbour[i] = -1; l < 0 {
			continue
		}
		if int(l) >= len(p.Network.Links) || int(p.Network.Links[l].From) != i/degree {
			return nil, fmt.Errorf("%w: link %d of the network differs from %s", ErrUnserved, l, t)
		}
		node, port := int32(i/degree), i%degree
		z.neighbour[i] = p.Network.Links[l].To
		z.isWrap[i] = t.Wraps(node, port/2, port%2 == 0)
		if z.isUp[i] = p.Network.Links[l].Rate > 0; !z.isUp[i] {
			z.linksDown++
		}
		z.hasTwoChannels = z.hasTwoChannels && p.Network.Links[l].Channels >= 2
	}

	for d, v := range t.Shift {
		z.isTwisted[d] = slices.ContainsFunc(v, func(offset int) bool { return offset != 0 })
	}
	if slices.Contains(z.isTwisted, true) {
		if t.Symmetric() {
			var err error
			if z.vectorsByOffset, err = t.Vectors(); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnserved, err)
			}
		} else {
			z.vectorsBySource = make([]atomic.Pointer[vectorTable], t.Nodes())
		}
	}

	return z, nil
}

// shortestVectors appends the hop vectors of all shortest dimension-ordered paths from a to b to
// into: len(Dims) numbers per vector. If nodes are not identical, a path that is not
// dimension-ordered may be shorter.
func (z *geometry) shortestVectors(a, b int32, into []int16) []int16 {
	switch {
	case z.vectorsByOffset != nil:
		for _, v := range z.vectorsByOffset[z.Subtract(b, a)] {
			for _, c := range v {
				into = append(into, int16(c))
			}
		}
		return into

	case z.vectorsBySource != nil:
		row := z.vectorsBySource[a].Load()
		if row == nil {
			row = z.searchVectors(a)
			z.vectorsBySource[a].Store(row) // concurrent searches give equal results
		}
		k := int32(len(z.Dims))
		return append(into, row.vectors[k*row.start[b]:k*row.start[b+1]]...)
	}

	// Without twists the dimensions are independent. At half a ring of even size, both
	// directions are shortest, which doubles the vectors.
	dims, first := len(z.Dims), len(into)
	into = slices.Grow(into, dims)[:first+dims]
	for d, size := range z.Dims {
		delta := z.Coord(b, d) - z.Coord(a, d)
		half := -1
		if !z.Open[d] {
			if delta > size/2 {
				delta -= size
			} else if delta < -(size / 2) {
				delta += size
			}
			if size%2 == 0 && (delta == size/2 || delta == -size/2) {
				half = size / 2
			}
		}

		count := len(into)
		if half < 0 {
			for i := first; i < count; i += dims {
				into[i+d] = int16(delta)
			}
			continue
		}

		into = append(into, into[first:count]...) // half the ring: both directions
		for i := first; i < len(into); i += dims {
			if into[i+d] = int16(half); i < count {
				into[i+d] = int16(-half)
			}
		}
	}

	return into
}

// searchVectors computes the vectors from a node by iterative deepening over the number of hops.
func (z *geometry) searchVectors(from int32) *vectorTable {
	n, dims := z.Nodes(), len(z.Dims)
	vectors := make([][]int16, n)
	norm := slices.Repeat([]int{-1}, n)
	missing, v := n, make([]int16, dims)

	// extend tries all hops along the dimensions from order[k] on. hops of total remain to be
	// used. It appends a vector if its norm is minimal, which holds for the first total that
	// reaches a node.
	var extend func(node int32, k, hops, total int)
	extend = func(node int32, k, hops, total int) {
		if k == dims {
			if hops == 0 && (norm[node] < 0 || norm[node] == total) {
				if norm[node] < 0 {
					norm[node] = total
					missing--
				}
				vectors[node] = append(vectors[node], v...)
			}

			return
		}

		d := z.order[k]
		v[d] = 0
		extend(node, k+1, hops, total)
		for _, sign := range []int{1, -1} {
			to, port := node, 2*d
			if sign < 0 {
				port++
			}
			for c := 1; c <= hops; c++ {
				if to = z.neighbour[int(to)*z.degree+port]; to < 0 {
					break
				}
				v[d] = int16(sign * c)
				extend(to, k+1, hops-c, total)
			}
		}

		v[d] = 0
	}

	const firstDim = 0
	for h := 0; missing > 0; h++ {
		extend(from, firstDim, h, h)
	}

	// Join the lists of all destinations.
	row := &vectorTable{start: make([]int32, n+1)}
	for b, list := range vectors {
		row.vectors = append(row.vectors, list...)
		row.start[b+1] = int32(len(row.vectors) / dims)
	}

	return row
}

// appendSteps appends the ports of the path along a hop vector, one dimension after the other.
func (z *geometry) appendSteps(v []int16, into []engine.Step) []engine.Step {
	for _, d := range z.order {
		c, port := int(v[d]), 2*d
		if c < 0 {
			c, port = -c, port+1
		}
		for range c {
			into = append(into, engine.MakeStep(port, 0))
		}
	}

	return into
}

// isPathUp reports whether all links of a path may be used.
func (z *geometry) isPathUp(from int32, path []engine.Step) bool {
	for _, s := range path {
		i := int(from)*z.degree + s.Port()
		if !z.isUp[i] {
			return false
		}
		from = z.neighbour[i]
	}

	return true
}
