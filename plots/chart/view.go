package chart

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// dimension is what a chart varies in one way: an axis of the sweep or the policies, or nothing where it has no name.
type dimension struct {
	name       string // the axis' name, or "policy"
	text       string // for people
	index      int    // of the axis; the number of axes for the policies
	labels     []string
	numbers    []float64                // nil where some label is no number
	categories []int                    // indices of labels that are drawn
	position   []int                    // by label: its place among categories, or -1
	parent     *dimension               // of one that is a part of another
	indexOf    func(c *result.Cell) int // the place of a cell among categories, or -1
}

// noDimension is the facet of what a chart does not vary: one category.
var noDimension = dimension{index: -1, labels: []string{""}, categories: []int{0}, position: []int{0}, indexOf: func(*result.Cell) int { return 0 }}

// view is a plot with its names looked up in a sweep.
type view struct {
	spec       *result.Plot
	kind       *kind
	sweep      *result.Sweep
	times      *result.SweepTimings // nil where there are none
	dimensions []*dimension         // the axes, then the policies
	// Of a heat map series is the axis that goes up.
	x, series, panels *dimension
	isXMetric         bool // x is a metric
	cells             []*result.Cell
	marks             []placedMark
	notes             []string
	headingSuffixes   []string // by panel, of what follows its heading; nil is nothing
}

// policyName is what plots call the policies by.
const policyName = "policy"

// newView looks up what spec names.
func newView(spec *result.Plot, s *result.Sweep, t *result.SweepTimings) (*view, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	at := slices.Index(Kinds, spec.Kind)
	if at < 0 {
		return nil, unknownName("kind", spec.Kind, Kinds)
	}
	v := &view{spec: spec, kind: &kinds[at], sweep: s, times: t, x: &noDimension, series: &noDimension, panels: &noDimension}
	roles := v.kind.roles
	if roles == nil {
		roles = (*view).assignRoles
	}
	for _, step := range []func(v *view) error{(*view).listDimensions, (*view).filter, roles, v.kind.check, (*view).checkOptions, (*view).checkLimits, (*view).placeMarks} {
		if step == nil {
			continue
		}
		if err := step(v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// listDimensions lists what a chart may vary, with all categories.
func (v *view) listDimensions() error {
	for i := range v.sweep.Axes {
		a := &v.sweep.Axes[i]
		f := &dimension{name: a.Name, text: keyTexts[a.Name], index: i, labels: a.Labels, numbers: a.Numbers}
		f.indexOf = func(c *result.Cell) int { return f.position[c.At[i]] }
		for _, x := range f.numbers {
			if !drawable(x) {
				return fmt.Errorf("axis %s has the value %g, which no figure can show", a.Name, x)
			}
		}
		short := result.ShortKey(a.Name)
		switch {
		case a.Name == policyName: // the name of a group, not the policies
			f.text = "group " + policyName
		case f.text != "":
		case slices.ContainsFunc(v.sweep.Axes, func(b result.Axis) bool { return b.Name != a.Name && result.ShortKey(b.Name) == short }):
			f.text = a.Name
		default:
			f.text = strings.ReplaceAll(short, "_", " ")
		}
		v.dimensions = append(v.dimensions, f)
	}
	p := &dimension{name: policyName, text: policyName, index: len(v.dimensions)}
	p.indexOf = func(c *result.Cell) int { return p.position[slices.Index(p.labels, c.Policy)] }
	for i := range v.sweep.Cells {
		if name := v.sweep.Cells[i].Policy; !slices.Contains(p.labels, name) {
			p.labels = append(p.labels, name)
		}
	}
	v.dimensions = append(v.dimensions, p)
	return nil
}

// policies is the facet of the policies.
func (v *view) policies() *dimension { return v.dimensions[len(v.sweep.Axes)] }

// find returns the facet that a plot calls name: "policy", an axis by its name, by one of its keys, or by the last
// part of either where that is clear.
func (v *view) find(role, name string) (*dimension, error) {
	if name == policyName {
		return v.policies(), nil
	}
	for _, fits := range []func(a *result.Axis) bool{
		func(a *result.Axis) bool { return a.Name == name },
		func(a *result.Axis) bool { return slices.Contains(a.Keys, name) },
		func(a *result.Axis) bool {
			return lastPart(a.Name) == name || slices.ContainsFunc(a.Keys, func(k string) bool { return lastPart(k) == name })
		},
	} {
		var found []*dimension
		for i := range v.sweep.Axes {
			if fits(&v.sweep.Axes[i]) {
				found = append(found, v.dimensions[i])
			}
		}
		if len(found) > 1 && found[0].name != name {
			return nil, fmt.Errorf("%s: %q may be %s or %s; write it in full", role, name, found[0].name, found[1].name)
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return nil, unknownName(role, name, v.dimensionNames())
}

// categoryIndex returns the place of a label among the categories that are drawn, -1 if where leaves it out. It fails on a label
// that f lacks, unless f has none.
func (f *dimension) categoryIndex(role, label string) (int, error) {
	switch at := slices.Index(f.labels, label); {
	case at >= 0:
		return f.position[at], nil
	case len(f.labels) > 0:
		return -1, unknownName(role, label, f.labels)
	}
	return -1, nil
}

// dimensionNames lists what a plot may vary.
func (v *view) dimensionNames() []string {
	var out []string
	for _, f := range v.dimensions {
		out = append(out, f.name)
	}
	return out
}

// filter keeps the categories that Where names, and the cells at them.
func (v *view) filter() error {
	kept := map[*dimension][]string{}
	for _, key := range sortedKeys(v.spec.Where) {
		f, err := v.find("where", key)
		if err != nil {
			return err
		}
		if _, twice := kept[f]; twice {
			return fmt.Errorf("where names %s twice", f.name)
		}
		kept[f] = v.spec.Where[key]
		for _, label := range kept[f] {
			if !slices.Contains(f.labels, label) && len(f.labels) > 0 {
				return unknownName("where "+f.name, label, f.labels)
			}
		}
		if len(kept[f]) == 0 && len(f.labels) > 0 {
			return fmt.Errorf("where lists no value of %s", f.name)
		}
	}
	for _, f := range v.dimensions {
		only, some := kept[f]
		f.position = make([]int, len(f.labels))
		for l, label := range f.labels {
			f.position[l] = -1
			if !some || slices.Contains(only, label) {
				f.position[l] = len(f.categories)
				f.categories = append(f.categories, l)
			}
		}
	}
	for i := range v.sweep.Cells {
		if c := &v.sweep.Cells[i]; !slices.ContainsFunc(v.dimensions, func(f *dimension) bool { return f.indexOf(c) < 0 }) {
			v.cells = append(v.cells, c)
		}
	}
	return nil
}

// assign makes role the facet that a plot names for it, if it names one.
func (v *view) assign(role **dimension, what, name string) (err error) {
	if name != "" {
		*role, err = v.find(what, name)
	}
	return err
}

// assignRoles looks up what goes across, what the series and what the panels are.
func (v *view) assignRoles() (err error) {
	if !v.isXMetric {
		err = v.assign(&v.x, "x", v.spec.X)
	}
	return cmp.Or(err, v.assign(&v.series, "series", v.spec.Series), v.assignPanels())
}

// assignPanels looks up what the panels are, and gives policies a role that a plot would else mix.
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

// mayBeMetric reports whether name is a metric as far as that is known.
func (v *view) mayBeMetric(name string) bool {
	return slices.Contains(v.metricNames(), name) || !slices.ContainsFunc(v.sweep.Cells, func(c result.Cell) bool { return len(c.Metrics) > 0 })
}

// checkOptions fails on options that the kind does not have or that do not go together.
func (v *view) checkOptions() error {
	spec, k := v.spec, v.kind
	all := []struct {
		name  string
		given bool
	}{
		{"take", spec.Take != ""},
		{"also", v.hasAxisOnlyOptions()}, {"x", spec.X != ""}, {"y", spec.Y != ""}, {"z", spec.Z != ""},
		{"series", spec.Series != ""}, {"log_x", spec.LogX}, {"log_y", spec.LogY}, {"mark", len(spec.Marks) > 0},
	}
	for _, o := range all {
		switch what, needed := k.needs[o.name]; {
		case !o.given && needed && what == "":
			return fmt.Errorf("%s is missing: name %s", o.name, orList(v.dimensionNames()))
		case !o.given && needed:
			return fmt.Errorf("%s is missing: name %s", o.name, what)
		case o.given && !slices.Contains(k.takes, o.name) && !needed:
			return errors.New(cmp.Or(k.without[o.name], optionErrors[o.name]))
		}
	}
	if _, ok := reductionTexts[spec.Take]; !ok {
		return unknownName("take", spec.Take, []string{"mean", "min", "max"})
	}
	across := "series"
	if k.tiles {
		across = "y"
	}
	switch {
	case v.panels != &noDimension && (v.panels == v.x || v.panels == v.series || v.panels == v.x.parent):
		return fmt.Errorf("%s is named twice: give panels another axis", v.panels.name)
	case v.series != &noDimension && v.series == v.x:
		return fmt.Errorf("%s is named twice: give x and %s different axes", v.x.name, across)
	case !drawable(spec.Scale) || !drawable(spec.Offset):
		return errors.New("scale and offset must be numbers that a figure can show")
	case spec.From != nil && !drawable(*spec.From):
		return errors.New("from must be a number that a figure can show")
	case spec.To != nil && !drawable(*spec.To), spec.To != nil && spec.From != nil && *spec.To <= *spec.From, spec.To != nil && *spec.To <= 0 && v.logarithmic():
		return errors.New("to must be a number above from that the axis has")
	case spec.From != nil && *spec.From <= 0 && v.logarithmic():
		return fmt.Errorf("from is %g, which a logarithmic axis does not have", *spec.From)
	case spec.LogX && v.x.numbers != nil && slices.ContainsFunc(v.x.categories, func(l int) bool { return v.x.numbers[l] <= 0 }):
		return fmt.Errorf("log_x: %s has values of 0 or less, which a logarithmic axis does not have", v.x.name)
	}
	return nil
}

// hasAxisOnlyOptions reports whether the plot has options that only lines over an axis have.
func (v *view) hasAxisOnlyOptions() bool {
	spec := v.spec
	return spec.Also != nil || spec.Below != "" || spec.BelowOf != nil || spec.MarkedAt != "" || spec.To != nil
}

// optionErrors says whose the options are that not all kinds have.
var optionErrors = map[string]string{
	"take":  "take is for bars, heat maps, twists, and lines over an axis, which have one value for several cells",
	"also":  "also, below, below_of, marked_at and to are for lines over an axis",
	"z":     "z is for heat maps; other charts show y",
	"log_x": "bars stand side by side, so log_x means nothing there; lines have it",
	"mark":  "tiles have no place for marks",
}

// checkLimits fails on more than a chart can show.
func (v *view) checkLimits() error {
	x, series, panels := len(v.x.categories), len(v.series.categories), len(v.panels.categories)
	advice := "keep some with where"
	switch {
	case panels > maxPanels:
		return fmt.Errorf("panels: %s has %d values, of which %d can be shown at most; %s", v.panels.name, panels, maxPanels, advice)
	case !v.kind.tiles && series > maxSeries:
		return fmt.Errorf("series: %s has %d values, of which %d can be told apart at most; %s", v.series.name, series, maxSeries, advice)
	case v.kind.tiles && max(x, series) > maxTilesPerSide:
		return fmt.Errorf("a heat map of %d by %d values is finer than can be drawn, %d each way; %s", x, series, maxTilesPerSide, advice)
	case v.kind.beside && x*series > maxBarsPerPanel:
		return fmt.Errorf("x: %d bars would stand in a panel, of which %d can be shown at most; %s, or draw lines", x*series, maxBarsPerPanel, advice)
	case x > maxTableCells/max(1, series*panels):
		return fmt.Errorf("x: %s has %d values, more than can be shown; %s", v.x.name, x, advice)
	}
	return nil
}

// drawable reports whether an axis can carry v.
func drawable(v float64) bool { return math.Abs(v) <= sheet.DrawableLimit }

// averagedDimensions lists the facets that are averaged over: several categories are drawn at one place.
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
	return slices.ContainsFunc([]*dimension{v.x, v.series, v.panels}, func(r *dimension) bool { return r != nil && (r == f || r.parent == f) })
}

// cellName says where a cell stands, by what differs.
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
