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

// facet is what a chart varies in one way: an axis of the sweep or the policies, or nothing where it has no name.
type facet struct {
	name       string // the axis' name, or "policy"
	words      string // for people
	index      int    // of the axis; the number of axes for the policies
	labels     []string
	numbers    []float64                // nil where some label is no number
	categories []int                    // indices of labels that are drawn
	slot       []int                    // by label: its place among categories, or -1
	from       *facet                   // of one that is a part of another
	at         func(c *result.Cell) int // the place of a cell among categories, or -1
}

// none is the facet of what a chart does not vary: one category.
var none = facet{index: -1, labels: []string{""}, categories: []int{0}, slot: []int{0}, at: func(*result.Cell) int { return 0 }}

// view is a plot with its names looked up in a sweep.
type view struct {
	spec   *result.Plot
	kind   *kind
	sweep  *result.Sweep
	times  *result.SweepTimings // nil where there are none
	facets []*facet             // the axes, then the policies
	// Of a heat map series is the axis that goes up.
	x, series, panels *facet
	byMetric          bool // x is a metric
	cells             []*result.Cell
	marks             []placedMark
	notes             []string
	after             []string // by panel, of what follows its heading; nil is nothing
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
	v := &view{spec: spec, kind: &kinds[at], sweep: s, times: t, x: &none, series: &none, panels: &none}
	roles := v.kind.roles
	if roles == nil {
		roles = (*view).usualRoles
	}
	for _, step := range []func(v *view) error{(*view).listFacets, (*view).filter, roles, v.kind.check, (*view).options, (*view).limits, (*view).placeMarks} {
		if step == nil {
			continue
		}
		if err := step(v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// listFacets lists what a chart may vary, with all categories.
func (v *view) listFacets() error {
	for i := range v.sweep.Axes {
		a := &v.sweep.Axes[i]
		f := &facet{name: a.Name, words: keyTexts[a.Name], index: i, labels: a.Labels, numbers: a.Numbers}
		f.at = func(c *result.Cell) int { return f.slot[c.At[i]] }
		for _, x := range f.numbers {
			if !drawable(x) {
				return fmt.Errorf("axis %s has the value %g, which no figure can show", a.Name, x)
			}
		}
		short := result.ShortKey(a.Name)
		switch {
		case a.Name == policyName: // the name of a group, not the policies
			f.words = "group " + policyName
		case f.words != "":
		case slices.ContainsFunc(v.sweep.Axes, func(b result.Axis) bool { return b.Name != a.Name && result.ShortKey(b.Name) == short }):
			f.words = a.Name
		default:
			f.words = strings.ReplaceAll(short, "_", " ")
		}
		v.facets = append(v.facets, f)
	}
	p := &facet{name: policyName, words: policyName, index: len(v.facets)}
	p.at = func(c *result.Cell) int { return p.slot[slices.Index(p.labels, c.Policy)] }
	for i := range v.sweep.Cells {
		if name := v.sweep.Cells[i].Policy; !slices.Contains(p.labels, name) {
			p.labels = append(p.labels, name)
		}
	}
	v.facets = append(v.facets, p)
	return nil
}

// policies is the facet of the policies.
func (v *view) policies() *facet { return v.facets[len(v.sweep.Axes)] }

// find returns the facet that a plot calls name: "policy", an axis by its name, by one of its keys, or by the last
// part of either where that is clear.
func (v *view) find(role, name string) (*facet, error) {
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
		var found []*facet
		for i := range v.sweep.Axes {
			if fits(&v.sweep.Axes[i]) {
				found = append(found, v.facets[i])
			}
		}
		if len(found) > 1 && found[0].name != name {
			return nil, fmt.Errorf("%s: %q may be %s or %s; write it in full", role, name, found[0].name, found[1].name)
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return nil, unknownName(role, name, v.names())
}

// place returns the place of a label among the categories that are drawn, -1 if where leaves it out. It fails on a label
// that f lacks, unless f has none.
func (f *facet) place(role, label string) (int, error) {
	switch at := slices.Index(f.labels, label); {
	case at >= 0:
		return f.slot[at], nil
	case len(f.labels) > 0:
		return -1, unknownName(role, label, f.labels)
	}
	return -1, nil
}

// names lists what a plot may vary.
func (v *view) names() []string {
	var out []string
	for _, f := range v.facets {
		out = append(out, f.name)
	}
	return out
}

// filter keeps the categories that Where names, and the cells at them.
func (v *view) filter() error {
	kept := map[*facet][]string{}
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
	for _, f := range v.facets {
		only, some := kept[f]
		f.slot = make([]int, len(f.labels))
		for l, label := range f.labels {
			f.slot[l] = -1
			if !some || slices.Contains(only, label) {
				f.slot[l] = len(f.categories)
				f.categories = append(f.categories, l)
			}
		}
	}
	for i := range v.sweep.Cells {
		if c := &v.sweep.Cells[i]; !slices.ContainsFunc(v.facets, func(f *facet) bool { return f.at(c) < 0 }) {
			v.cells = append(v.cells, c)
		}
	}
	return nil
}

// assign makes role the facet that a plot names for it, if it names one.
func (v *view) assign(role **facet, what, name string) (err error) {
	if name != "" {
		*role, err = v.find(what, name)
	}
	return err
}

// usualRoles looks up what goes across, what the series and what the panels are.
func (v *view) usualRoles() (err error) {
	if !v.byMetric {
		err = v.assign(&v.x, "x", v.spec.X)
	}
	return cmp.Or(err, v.assign(&v.series, "series", v.spec.Series), v.panelRole())
}

// panelRole looks up what the panels are, and gives policies a role that a plot would else mix.
func (v *view) panelRole() error {
	if err := v.assign(&v.panels, "panels", v.spec.Panels); err != nil {
		return err
	}
	policies := v.policies()
	if len(policies.categories) > 1 && !v.uses(policies) {
		switch {
		case v.kind.tiles && v.panels == &none:
			v.panels = policies
		case !v.kind.tiles && v.series == &none:
			v.series = policies
		}
	}
	return nil
}

// mayBeMetric reports whether name is a metric as far as that is known.
func (v *view) mayBeMetric(name string) bool {
	return slices.Contains(v.metricNames(), name) || !slices.ContainsFunc(v.sweep.Cells, func(c result.Cell) bool { return len(c.Metrics) > 0 })
}

// options fails on options that the kind does not have or that do not go together.
func (v *view) options() error {
	spec, k := v.spec, v.kind
	all := []struct {
		name  string
		given bool
	}{
		{"take", spec.Take != ""},
		{"also", v.overAxisAlone()}, {"x", spec.X != ""}, {"y", spec.Y != ""}, {"z", spec.Z != ""},
		{"series", spec.Series != ""}, {"log_x", spec.LogX}, {"log_y", spec.LogY}, {"mark", len(spec.Marks) > 0},
	}
	for _, o := range all {
		switch what, needed := k.needs[o.name]; {
		case !o.given && needed && what == "":
			return fmt.Errorf("%s is missing: name %s", o.name, orList(v.names()))
		case !o.given && needed:
			return fmt.Errorf("%s is missing: name %s", o.name, what)
		case o.given && !slices.Contains(k.takes, o.name) && !needed:
			return errors.New(cmp.Or(k.without[o.name], missing[o.name]))
		}
	}
	if _, ok := takeWords[spec.Take]; !ok {
		return unknownName("take", spec.Take, []string{"mean", "min", "max"})
	}
	across := "series"
	if k.tiles {
		across = "y"
	}
	switch {
	case v.panels != &none && (v.panels == v.x || v.panels == v.series || v.panels == v.x.from):
		return fmt.Errorf("%s is named twice: give panels another axis", v.panels.name)
	case v.series != &none && v.series == v.x:
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

// overAxisAlone reports whether the plot has options that only lines over an axis have.
func (v *view) overAxisAlone() bool {
	spec := v.spec
	return spec.Also != nil || spec.Below != "" || spec.BelowOf != nil || spec.MarkedAt != "" || spec.To != nil
}

// missing says whose the options are that not all kinds have.
var missing = map[string]string{
	"take":  "take is for bars, heat maps, twists, and lines over an axis, which have one value for several cells",
	"also":  "also, below, below_of, marked_at and to are for lines over an axis",
	"z":     "z is for heat maps; other charts show y",
	"log_x": "bars stand side by side, so log_x means nothing there; lines have it",
	"mark":  "tiles have no place for marks",
}

// limits fails on more than a chart can show.
func (v *view) limits() error {
	x, series, panels := len(v.x.categories), len(v.series.categories), len(v.panels.categories)
	advice := "keep some with where"
	switch {
	case panels > mostPanels:
		return fmt.Errorf("panels: %s has %d values, of which %d can be shown at most; %s", v.panels.name, panels, mostPanels, advice)
	case !v.kind.tiles && series > mostSeries:
		return fmt.Errorf("series: %s has %d values, of which %d can be told apart at most; %s", v.series.name, series, mostSeries, advice)
	case v.kind.tiles && max(x, series) > mostTiles:
		return fmt.Errorf("a heat map of %d by %d values is finer than can be drawn, %d each way; %s", x, series, mostTiles, advice)
	case v.kind.beside && x*series > mostBars:
		return fmt.Errorf("x: %d bars would stand in a panel, of which %d can be shown at most; %s, or draw lines", x*series, mostBars, advice)
	case x > mostPlaces/max(1, series*panels):
		return fmt.Errorf("x: %s has %d values, more than can be shown; %s", v.x.name, x, advice)
	}
	return nil
}

// drawable reports whether an axis can carry v.
func drawable(v float64) bool { return math.Abs(v) <= sheet.DrawableLimit }

// hidden lists the facets that are averaged over: several categories are drawn at one place.
func (v *view) hidden() []*facet {
	var out []*facet
	for i := range v.facets {
		if f := v.facets[i]; !v.uses(f) && len(f.categories) > 1 {
			out = append(out, f)
		}
	}
	return out
}

// uses reports whether f, or a part of it, has a role.
func (v *view) uses(f *facet) bool {
	return slices.ContainsFunc([]*facet{v.x, v.series, v.panels}, func(r *facet) bool { return r != nil && (r == f || r.from == f) })
}

// cellName says where a cell stands, by what differs.
func (v *view) cellName(c *result.Cell) string {
	var parts []string
	for i := range v.facets {
		if f := v.facets[i]; len(f.categories) > 1 {
			parts = append(parts, f.category(f.categories[f.at(c)]))
		}
	}
	if len(parts) == 0 {
		parts = []string{c.Policy}
	}
	return strings.Join(parts, ", ")
}
