// Package routing chooses the ways that packets take through a network.
//
// It leaves what the network is to fabric, and what comes of the ways to engine.
package routing

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/fabric/torus"
)

// DimensionOrder routes one dimension after the other along a shortest hop vector
// (DOR; Zu et al., Sec. 4.1).
type DimensionOrder struct {
	// Order is the dimensions from the first routed to the last; nil is the
	// longest first, in x, y, z among equal ones.
	Order []int
}

// order returns the order of dimensions for a torus.
func (r DimensionOrder) order(t *torus.Torus) ([]int, error) {
	of := make([]int, len(t.Dims))
	for d := range of {
		of[d] = d
	}
	if r.Order == nil {
		slices.SortStableFunc(of, func(a, b int) int { return t.Dims[b] - t.Dims[a] })
		return of, nil
	}
	if !slices.Equal(slices.Sorted(slices.Values(r.Order)), of) {
		return nil, fmt.Errorf("%w: the order %v does not have every dimension of %s once", ErrUnserved, r.Order, t)
	}
	return r.Order, nil
}

// Paths routes flows on a torus whose links are numbered as Torus.Links has them.
// Among shortest hop vectors, the way goes up along the first dimension in which
// they differ if the source's coordinate there is even, else down: half-way round
// a ring this is the paper's rule. It fails where the torus is open or its twists
// are mutual, and on orders that leave out a dimension.
func (r DimensionOrder) Paths(t *torus.Torus, flows []engine.Flow) (*engine.Paths, error) {
	order, err := r.order(t)
	if err != nil {
		return nil, err
	}
	vectors, err := t.Vectors()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnserved, err)
	}
	links := newLinkOf(t)
	p := &engine.Paths{Start: make([]int64, 1, len(flows)+1)}
	step := make([]int, len(t.Dims))
	for i, f := range flows {
		if f.Src < 0 || f.Dst < 0 || int(f.Src) >= t.Nodes() || int(f.Dst) >= t.Nodes() {
			return nil, fmt.Errorf("routing: flow %d from node %d to %d of %d", i, f.Src, f.Dst, t.Nodes())
		}
		for d := range step {
			step[d] = t.Coord(f.Dst, d) - t.Coord(f.Src, d)
		}
		at, v := f.Src, choose(t, vectors[t.Land(step)], order, f.Src)
		for _, d := range order {
			for range max(v[d], -v[d]) {
				p.Links = append(p.Links, links.of(at, d, v[d] > 0))
				at, _ = t.Next(at, d, v[d] > 0)
			}
		}
		if len(p.Links) > math.MaxInt32 {
			return nil, fmt.Errorf("routing: %d flows on %s make more than %d hops in all, too many to keep as paths", len(flows), t, math.MaxInt32)
		}
		p.Start = append(p.Start, int64(len(p.Links)))
	}
	return p, nil
}

// choose returns one of the shortest vectors by the rule of ties.
func choose(t *torus.Torus, vectors [][]int, order []int, src int32) []int {
	best := vectors[0]
	for _, v := range vectors[1:] {
		for _, d := range order {
			if v[d] != best[d] {
				if up := t.Coord(src, d)%2 == 0; v[d] > best[d] == up {
					best = v
				}
				break
			}
		}
	}
	return best
}

// linkOf numbers the links of a torus by node, dimension and direction.
type linkOf struct {
	dims int
	id   []int32
}

func newLinkOf(t *torus.Torus) linkOf {
	z := linkOf{len(t.Dims), slices.Repeat([]int32{-1}, 2*len(t.Dims)*t.Nodes())}
	for id, l := range t.Links() {
		z.id[z.at(l.From, int(l.Dim), l.Up)] = int32(id)
	}
	return z
}

func (z linkOf) at(node int32, dim int, up bool) int {
	k := 2 * (int(node)*z.dims + dim)
	if !up {
		k++
	}
	return k
}

func (z linkOf) of(node int32, dim int, up bool) int32 { return z.id[z.at(node, dim, up)] }
