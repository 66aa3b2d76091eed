package routing

import (
	"cmp"
	"fmt"
	"slices"

	"sim/fabric/torus"
)

// longestFirst returns the dimensions by falling size, x, y, z among equal ones (Zu et al., Sec.
// 4.1). Dimensions with shifted wrap-around links come last, as freedom from deadlock on twisted
// tori requires.
func longestFirst(t *torus.Torus) []int {
	order := make([]int, len(t.Dims))
	twisted := make([]int, len(t.Dims))
	for d := range order {
		if order[d] = d; t.Shift != nil && slices.ContainsFunc(t.Shift[d], func(offset int) bool {
			return offset != 0
		}) {
			twisted[d] = 1
		}
	}

	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(twisted[a]-twisted[b], t.Dims[b]-t.Dims[a])
	})
	return order
}

// sandwich returns the dimensions as longestFirst does, except that the last one has no links
// that are down, if possible. Traffic could not avoid such links in the last dimension (the
// sandwich rule, Zu et al., Sec. 4.2).
func sandwich(p *Problem) []int {
	order := longestFirst(p.Torus)
	hasDown := make([]bool, len(p.Torus.Dims))
	for id, l := range p.Torus.Links() {
		if id < len(p.Network.Links) && p.Network.Links[id].Rate == 0 {
			hasDown[l.Dim] = true
		}
	}

	for i := len(order) - 1; i >= 0; i-- {
		if d := order[i]; !hasDown[d] {
			return append(slices.Delete(order, i, i+1), d)
		}
	}
	return order
}

// parseDims returns the dimensions with the given names. The error wraps ErrUnserved unless each
// name is a dimension of the torus and occurs once.
func parseDims(t *torus.Torus, names []string) ([]int, error) {
	dims := make([]int, len(names))
	for i, name := range names {
		d := 0
		for d < len(t.Dims) && torus.DimName(d) != name {
			d++
		}
		if dims[i] = d; d == len(t.Dims) || slices.Contains(dims[:i], d) {
			return nil, fmt.Errorf("%w: %v are not distinct dimensions of %s", ErrUnserved, names, t)
		}
	}

	return dims, nil
}

// dimOrder returns the order of dimensions with the given names, or defaultOrder if there are no
// names. The error wraps ErrUnserved unless every dimension occurs once.
func dimOrder(t *torus.Torus, names []string, defaultOrder func() []int) ([]int, error) {
	if len(names) == 0 {
		return defaultOrder(), nil
	}
	order, err := parseDims(t, names)
	if err == nil && len(order) < len(t.Dims) {
		err = fmt.Errorf("%w: the order %v does not name every dimension of %s", ErrUnserved, names, t)
	}
	return order, err
}

// errNoTorus is the error of routers for tori and meshes on other graphs.
var errNoTorus = fmt.Errorf("%w: routing in the order of dimensions is for tori and meshes; \"shortest\" serves any graph", ErrUnserved)

// dimNames returns the names of dimensions.
func dimNames(dims []int) []string {
	names := make([]string, len(dims))
	for i, d := range dims {
		names[i] = torus.DimName(d)
	}
	return names
}
