package mapping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sim/fabric/torus"
)

// axisMap has the torus axes of each dimension, by name.
type axisMap map[string]string

// parseAxes parses assignments such as tp=x,dp=yz.
func parseAxes(text string) Mapping {
	if !strings.Contains(text, "=") {
		return nil
	}

	// Each part assigns axes to one dimension.
	a := axisMap{}
	for _, part := range strings.Split(text, ",") {
		dim, axisNames, ok := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := a[strings.TrimSpace(dim)]; !ok || twice {
			return invalidMapping{errors.New("it assigns no axes; want each dimension once, such as tp=x,dp=yz")}
		}
		a[strings.TrimSpace(dim)] = strings.TrimSpace(axisNames)
	}
	return a
}

// invalidMapping is a text with the form of an axisMap that cannot be parsed. Place returns the
// error.
type invalidMapping struct{ err error }

// Place returns the error.
func (m invalidMapping) Place(context.Context, *Problem, Options) (*Placement, error) {
	return nil, m.err
}

// AxesText formats assignments, in the order of Dims. Unknown names follow.
func AxesText(axes map[string]string) string {
	var names, parts []string
	for name := range axes {
		names = append(names, name)
	}
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int { return dimIndex(a) - dimIndex(b) })
	for _, name := range names {
		parts = append(parts, name+"="+axes[name])
	}
	return strings.Join(parts, ",")
}

// dimIndex returns the position of a dimension in AxesText.
func dimIndex(name string) int {
	if i := slices.Index(Dims, name); i >= 0 {
		return i
	}
	return len(Dims)
}

// Place assigns each rank to the node whose coordinates on the axes of a dimension are the rank's
// coordinate in it. Coordinates on other axes are 0.
func (a axisMap) Place(_ context.Context, p *Problem, _ Options) (*Placement, error) {
	t := p.Torus
	if t == nil {
		return nil, errors.New("it assigns axes, and the fabric is no torus; want an order of dimensions, such as " + Default)
	}

	// Find the axes of each dimension. Sizes must match, and no axis may occur twice.
	taken := map[int]string{}
	axesByDim := make([][]int, len(p.Dims)) // indexed like p.Dims
	for _, part := range strings.Split(AxesText(a), ",") {
		name, letters, _ := strings.Cut(part, "=")
		if !slices.Contains(Dims, name) {
			return nil, fmt.Errorf("there is no dimension %q; want %s", name, strings.Join(Dims, ", "))
		}

		// Each letter names an axis. nodes is the product of the sizes of the axes.
		nodes, sizes := 1, []string{}
		for _, letter := range letters {
			axis := -1
			for i := range t.Dims {
				if torus.DimName(i) == string(letter) {
					axis = i
				}
			}

			if axis < 0 {
				return nil, fmt.Errorf("%s is on axis %c, which %s does not have; want one of its axes", name, letter, t)
			}
			if other, twice := taken[axis]; twice {
				return nil, fmt.Errorf("%s and %s are both on axis %c; want every axis once", other, name, letter)
			}
			taken[axis] = name
			nodes *= t.Dims[axis]
			sizes = append(sizes, fmt.Sprint(t.Dims[axis]))
			if i := slices.IndexFunc(p.Dims, func(d Dim) bool { return d.Name == name }); i >= 0 {
				axesByDim[i] = append(axesByDim[i], axis)
			}
		}

		if size := max(1, p.size(name)); size != nodes {
			return nil, fmt.Errorf("%s has %d ranks, and its axes %s are %s nodes; want axes whose sizes multiply to %d", name, size, letters, strings.Join(sizes, " x "), size)
		}
	}

	// Every dimension with several ranks needs an axis.
	for i, d := range p.Dims {
		if d.Size > 1 && len(axesByDim[i]) == 0 {
			return nil, fmt.Errorf("%s, of %d ranks, is on no axis; want axes whose sizes multiply to %d", d.Name, d.Size, d.Size)
		}
	}

	// The coordinate in a dimension is split over its axes, the first varying fastest.
	out := &Placement{At: make([]int32, p.Ranks())}
	for rank := range out.At {
		node := make([]int, len(t.Dims))
		for i, c := range p.coordinates(rank) {
			for _, axis := range axesByDim[i] {
				node[axis], c = c%t.Dims[axis], c/t.Dims[axis]
			}
		}
		out.At[rank] = t.Node(node...)
	}

	return out, nil
}
