// This file resolves the names in a plot to the dimensions of a sweep.

package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/internal/alias"
	"sim/scenarios/result"
)

// dimension is a quantity that a chart can vary: an axis of the sweep, or the policies. Its
// categories are the labels that remain after the option where.
type dimension struct {
	// name is the name of the axis, or "policy".
	name string
	text string // name for readers
	// index is the index of the axis in the sweep. It is the number of axes for the policies and
	// -1 for noDimension.
	index  int
	labels []string // all values, as text
	// numbers has the values as numbers; nil if some label is not a number.
	numbers []float64
	// categories has the indices of the labels that are drawn.
	categories []int
	// position is indexed by label: its index in categories, or -1.
	position []int
	// parent is the whole dimension if this one is a part (see findTwists); nil for others.
	parent *dimension
	// indexOf returns the index of a cell in categories, or -1.
	indexOf func(c *result.Cell) int
}

// noDimension is assigned to the roles that a chart does not vary. It has one category.
var noDimension = dimension{
	index:      -1,
	labels:     []string{""},
	categories: []int{0},
	position:   []int{0},
	indexOf: func(*result.Cell) int {
		return 0
	},
}

// view is a plot whose names have been resolved in a sweep. A role of the chart (x, series,
// panels) is assigned to a dimension; dimensions without a role are averaged.
type view struct {
	spec  *result.Plot  // the plot as it was given
	kind  *kind         // the kind of spec
	sweep *result.Sweep // the results
	// times is nil if there are no timings.
	times *result.SweepTimings
	// dimensions has the axes of the sweep in order, then the policies.
	dimensions []*dimension
	// x, series and panels are the roles of the chart. In a heat map, series is the y axis.
	x, series, panels *dimension
	// isXMetric reports whether the x axis shows a metric instead of a dimension.
	isXMetric bool
	// cells has the cells that remain after the option where.
	cells []*result.Cell
	marks []placedMark // in order of y
	notes []string     // notes below the chart
	// difference is set if the metric is relative to references that differ between the cells of
	// the chart. Nothing is then highlighted as best.
	difference *result.ReferenceDifference
	// headingSuffixes is appended to the heading of each panel; may be nil.
	headingSuffixes []string
}

// policyName is the name of the dimension of policies in plots.
const policyName = "policy"

// newView resolves the names in spec and checks its options.
func newView(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (*view, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	at := slices.Index(Kinds, spec.Kind)
	if at < 0 {
		return nil, unknownName("kind", spec.Kind, Kinds)
	}
	v := &view{
		spec:   spec,
		kind:   &kinds[at],
		sweep:  s,
		times:  t,
		x:      &noDimension,
		series: &noDimension,
		panels: &noDimension,
	}

	// Each step depends on the preceding ones.
	roles := v.kind.roles
	if roles == nil {
		roles = (*view).assignRoles
	}
	for _, step := range []func(v *view) error{(*view).listDimensions, (*view).filter,
		roles, v.kind.check, (*view).checkOptions, (*view).checkLimits,
		(*view).placeMarks} {
		if step == nil {
			continue
		}
		if err := step(v); err != nil {
			return nil, err
		}
	}
	v.difference = s.ReferenceDifference(v.metric(), func(c *result.Cell) bool {
		return !slices.ContainsFunc(v.dimensions, func(f *dimension) bool { return f.indexOf(c) < 0 })
	})
	return v, nil
}

// listDimensions lists the dimensions of the sweep, with all labels.
func (v *view) listDimensions() error {
	for i := range v.sweep.Axes {
		a := &v.sweep.Axes[i]
		f := &dimension{
			name:    a.Name,
			text:    keyTexts[a.Name],
			index:   i,
			labels:  a.Labels,
			numbers: a.Numbers,
		}

		f.indexOf = func(c *result.Cell) int { return f.position[c.At[i]] }
		for _, x := range f.numbers {
			if !drawable(x) {
				return fmt.Errorf("axis %s has the value %g, which no figure can show", a.Name, x)
			}
		}

		// Name the dimension by the last part of its key if that is unambiguous.
		short := result.ShortKey(a.Name)
		switch {
		case a.Name == policyName:
			// A group of axes with this name, not the policies.
			f.text = "group " + policyName
		case f.text != "":
		case slices.ContainsFunc(v.sweep.Axes, func(b result.Axis) bool {
			return b.Name != a.Name && result.ShortKey(b.Name) == short
		}):
			f.text = a.Name

		default:
			f.text = strings.ReplaceAll(short, "_", " ")
		}

		v.dimensions = append(v.dimensions, f)
	}

	// The policies are the last dimension.
	p := &dimension{
		name:  policyName,
		text:  policyName,
		index: len(v.dimensions),
	}

	p.indexOf = func(c *result.Cell) int {
		return p.position[slices.Index(p.labels, c.Policy)]
	}
	for i := range v.sweep.Cells {
		if name := v.sweep.Cells[i].Policy; !slices.Contains(p.labels, name) {
			p.labels = append(p.labels, name)
		}
	}

	v.dimensions = append(v.dimensions, p)
	return nil
}

// policies returns the dimension of the policies.
func (v *view) policies() *dimension {
	return v.dimensions[len(v.sweep.Axes)]
}

// noRole is the argument role of find if its error is not shown.
const noRole = ""

// find returns the dimension with a name: "policy", the name of an axis, one of its keys, or
// the last part of either if that is unambiguous. role is used in the error message.
func (v *view) find(role, name string) (*dimension, error) {
	if name == policyName {
		return v.policies(), nil
	}
	// Try the name of an axis, then its keys, then their last parts.
	for _, fits := range []func(a *result.Axis) bool{
		func(a *result.Axis) bool { return a.Name == name },
		func(a *result.Axis) bool { return slices.Contains(a.Keys, name) },
		func(a *result.Axis) bool {
			return lastPart(a.Name) == name ||
				slices.ContainsFunc(a.Keys, func(k string) bool {
					return lastPart(k) == name
				})
		},
	} {
		var found []*dimension
		for i := range v.sweep.Axes {
			if fits(&v.sweep.Axes[i]) {
				found = append(found, v.dimensions[i])
			}
		}

		if len(found) > 1 && found[0].name != name {
			return nil, fmt.Errorf("%s: %q may be %s or %s; write it in full", role,
				name, found[0].name, found[1].name)
		}

		if len(found) > 0 {
			return found[0], nil
		}
	}

	if current := alias.LastPart(name); current != name {
		return v.find(role, current)
	}
	return nil, unknownName(role, name, v.dimensionNames())
}

// categoryIndex returns the index of a label in the drawn categories, or -1 if the option
// where excludes it. An unknown label is an error, unless the dimension has no labels yet.
func (f *dimension) categoryIndex(role, label string) (int, error) {
	switch at := slices.Index(f.labels, label); {
	case at >= 0:
		return f.position[at], nil
	case len(f.labels) > 0:
		return -1, unknownName(role, label, f.labels)
	}
	return -1, nil
}

// dimensionNames returns the names of all dimensions.
func (v *view) dimensionNames() []string {
	var out []string
	for _, f := range v.dimensions {
		out = append(out, f.name)
	}
	return out
}

// filter applies the option where: it determines the categories of each dimension and the
// cells of the chart.
func (v *view) filter() error {
	// Resolve and check the selections, indexed by dimension.
	selected := map[*dimension][]string{}
	for _, key := range sortedKeys(v.spec.Where) {
		f, err := v.find("where", key)
		if err != nil {
			return err
		}
		if _, twice := selected[f]; twice {
			return fmt.Errorf("where names %s twice", f.name)
		}
		selected[f] = v.spec.Where[key]

		for _, label := range selected[f] {
			if !slices.Contains(f.labels, label) && len(f.labels) > 0 {
				return unknownName("where "+f.name, label, f.labels)
			}
		}

		if len(selected[f]) == 0 && len(f.labels) > 0 {
			return fmt.Errorf("where lists no value of %s", f.name)
		}
	}

	// Determine the categories: the selected labels, or all.
	for _, f := range v.dimensions {
		only, some := selected[f]
		f.position = make([]int, len(f.labels))
		for l, label := range f.labels {
			f.position[l] = -1
			if !some || slices.Contains(only, label) {
				f.position[l] = len(f.categories)
				f.categories = append(f.categories, l)
			}
		}
	}

	// Keep the cells that are in a category of each dimension.
	for i := range v.sweep.Cells {
		if c := &v.sweep.Cells[i]; !slices.ContainsFunc(v.dimensions,
			func(f *dimension) bool {
				return f.indexOf(c) < 0
			}) {
			v.cells = append(v.cells, c)
		}
	}
	return nil
}

// assign sets a role to the dimension with a name, unless the name is empty.
func (v *view) assign(role **dimension, what, name string) (err error) {
	if name != "" {
		*role, err = v.find(what, name)
	}
	return err
}

// assignRoles assigns x, series and panels as most kinds do.
func (v *view) assignRoles() (err error) {
	if !v.isXMetric {
		err = v.assign(&v.x, "x", v.spec.X)
	}
	return cmp.Or(err, v.assign(&v.series, "series", v.spec.Series), v.assignPanels())
}

// assignPanels assigns the panels. If no role has the policies, they become the series, or the
// panels of charts with tiles, because the chart would otherwise average over them.
func (v *view) assignPanels() error {
	if err := v.assign(&v.panels, "panels", v.spec.Panels); err != nil {
		return err
	}
	policies := v.policies()
	if len(policies.categories) > 1 && !v.uses(policies) {
		switch {
		case v.kind.tiles && v.panels == &noDimension:
			v.panels = policies
		case !v.kind.tiles && v.series == &noDimension:
			v.series = policies
		}
	}
	return nil
}

// averagedDimensions lists the dimensions with several categories but without a role. Their
// cells have the same position.
func (v *view) averagedDimensions() []*dimension {
	var out []*dimension
	for i := range v.dimensions {
		if f := v.dimensions[i]; !v.uses(f) && len(f.categories) > 1 {
			out = append(out, f)
		}
	}
	return out
}

// uses reports whether f, or a part of it, has a role.
func (v *view) uses(f *dimension) bool {
	return slices.ContainsFunc([]*dimension{v.x, v.series, v.panels},
		func(r *dimension) bool {
			return r != nil && (r == f || r.parent == f)
		})
}

// cellName describes a cell by its categories in all dimensions that vary.
func (v *view) cellName(c *result.Cell) string {
	var parts []string
	for i := range v.dimensions {
		if f := v.dimensions[i]; len(f.categories) > 1 {
			parts = append(parts, f.categoryText(f.categories[f.indexOf(c)]))
		}
	}

	if len(parts) == 0 {
		parts = []string{c.Policy}
	}
	return strings.Join(parts, ", ")
}
