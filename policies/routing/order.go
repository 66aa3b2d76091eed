package routing

import (
	"cmp"
	"fmt"
	"slices"

	"sim/fabric/torus"
)

// longestFirst returns the dimensions, those whose wrap-around links are shifted last, as twisted tori need to be free
// of deadlock, and else the longest first, x, y, z among equal ones (Zu et al., Sec. 4.1).
func longestFirst(t *torus.Torus) []int {
	order, twisted := make([]int, len(t.Dims)), make([]int, len(t.Dims))
	for d := range order {
		if order[d] = d; t.Shift != nil && slices.ContainsFunc(t.Shift[d], func(by int) bool { return by != 0 }) {
			twisted[d] = 1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(twisted[a]-twisted[b], t.Dims[b]-t.Dims[a])
	})
	return order
}

// sandwich returns the dimensions longestFirst, but the last is not one in which links are down, if there is another:
// traffic could not get round them (the sandwich rule, Zu et al., Sec. 4.2).
func sandwich(p *Problem) []int {
	order, dead := longestFirst(p.Torus), make([]bool, len(p.Torus.Dims))
	for id, l := range p.Torus.Links() {
		if id < len(p.Network.Links) && p.Network.Links[id].Rate == 0 {
			dead[l.Dim] = true
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		if d := order[i]; !dead[d] {
			return append(slices.Delete(order, i, i+1), d)
		}
	}
	return order
}

// checkOrder fails where an order does not have every dimension once.
func checkOrder(t *torus.Torus, order []int) error {
	of := make([]int, len(t.Dims))
	for d := range of {
		of[d] = d
	}
	if !slices.Equal(slices.Sorted(slices.Values(order)), of) {
		return fmt.Errorf("%w: the order %v does not have every dimension of %s once", ErrUnserved, order, t)
	}
	return nil
}
