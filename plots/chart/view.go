package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// factor is what a chart varies in one way: an axis of the sweep or the
// policies, or nothing where it has no name.
type factor struct {
	name    string // the axis' name, or "policy"
	words   string // for people
	index   int    // of the axis; the number of axes for the policies
	labels  []string
	numbers []float64 // nil where some label is no number
	levels  []int     // indices of labels that are drawn
	slot    []int     // by label: its place among levels, or -1
	parts   []*factor // of a factor that is all combinations of others
}

// none is the factor of what a chart does not vary: one level.
var none = factor{index: -1, labels: []string{""}, levels: []int{0}, slot: []int{0}}

// view is a plot with its names looked up in a sweep.
type view struct {
	spec    *result.Plot
	sweep   *result.Sweep
	factors []factor // the axes, then the policies
	// Of a heat map series is the axis that goes up.
	x, series, panels *factor
	over              *factor // of a gain: the axis of which it takes one value
	byMetric          bool    // x is a metric
	cells             []*result.Cell
	notes             []string
}

// policyName is what plots call the policies by.
const policyName = "policy"

// newView looks up what spec names.
func newView(spec *result.Plot, s *result.Sweep) (*view, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	v := &view{spec: spec, sweep: s}
	if !slices.Contains(Kinds, spec.Kind) {
		return nil, unknownName("kind", spec.Kind, Kinds)
	}
	if err := v.listFactors(); err != nil {
		return nil, err
	}
	if err := v.filter(); err != nil {
		return nil, err
	}
	if err := v.roles(); err != nil {
		return nil, err
	}
	if err := v.options(); err != nil {
		return nil, err
	}
	return v, v.checkMarks()
}

// listFactors lists what a chart may vary, with all levels.
func (v *view) listFactors() error {
	for i := range v.sweep.Axes {
		a := &v.sweep.Axes[i]
		f := factor{name: a.Name, words: keyWords(a), index: i, labels: a.Labels, numbers: a.Numbers}
		for _, x := range f.numbers {
			if !(math.Abs(x) <= sheet.DrawableLimit) {
				return fmt.Errorf("axis %s has the value %g, which no figure can show", a.Name, x)
			}
		}
		v.factors = append(v.factors, f)
	}
	names := shortNames(v.factors)
	for i := range v.factors {
		if v.factors[i].words == "" {
			v.factors[i].words = names[i]
		}
	}
	p := factor{name: policyName, words: policyName, index: len(v.factors)}
	seen := map[string]bool{}
	for i := range v.sweep.Cells {
		if name := v.sweep.Cells[i].Policy; !seen[name] {
			seen[name] = true
			p.labels = append(p.labels, name)
		}
	}
	v.factors = append(v.factors, p)
	return nil
}

// find returns the factor that a plot calls name: "policy", an axis by its
// name, by one of its keys, or by the last part of either where that is clear.
func (v *view) find(role, name string) (*factor, error) {
	axes := v.factors[:len(v.sweep.Axes)]
	if name == policyName {
		return &v.factors[len(axes)], nil
	}
	for i := range axes {
		if axes[i].name == name {
			return &axes[i], nil
		}
	}
	var found []*factor
	for i := range axes {
		if slices.Contains(v.sweep.Axes[i].Keys, name) {
			found = append(found, &axes[i])
		}
	}
	for i := range axes {
		is := func(key string) bool { return lastPart(key) == name }
		if len(found) == 0 && (is(axes[i].name) || slices.ContainsFunc(v.sweep.Axes[i].Keys, is)) {
			for j := i; j < len(axes); j++ {
				if is(axes[j].name) || slices.ContainsFunc(v.sweep.Axes[j].Keys, is) {
					found = append(found, &axes[j])
				}
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%s: %q may be %s or %s; write it in full", role, name, found[0].name, found[1].name)
	}
	return nil, unknownName(role, name, v.names())
}

// names lists what a plot may vary.
func (v *view) names() []string {
	var out []string
	for _, f := range v.factors {
		out = append(out, f.name)
	}
	return out
}

// filter keeps the levels that Where names, and the cells at them.
func (v *view) filter() error {
	for _, key := range sortedKeys(v.spec.Where) {
		f, err := v.find("where", key)
		if err != nil {
			return err
		}
		if f.levels != nil {
			return fmt.Errorf("where names %s twice", f.name)
		}
		f.levels = []int{}
		for i, label := range f.labels {
			if slices.Contains(v.spec.Where[key], label) {
				f.levels = append(f.levels, i)
			}
		}
		for _, label := range v.spec.Where[key] {
			if !slices.Contains(f.labels, label) && len(f.labels) > 0 {
				return unknownName("where "+f.name, label, f.labels)
			}
		}
		if len(f.levels) == 0 && len(f.labels) > 0 {
			return fmt.Errorf("where lists no value of %s", f.name)
		}
	}
	for i := range v.factors {
		f := &v.factors[i]
		if f.levels == nil {
			for l := range f.labels {
				f.levels = append(f.levels, l)
			}
		}
		f.slot = make([]int, len(f.labels))
		for l := range f.slot {
			f.slot[l] = -1
		}
		for i, l := range f.levels {
			f.slot[l] = i
		}
	}
	for i := range v.sweep.Cells {
		if c := &v.sweep.Cells[i]; !slices.ContainsFunc(v.factors, func(f factor) bool { return v.place(&f, c) < 0 }) {
			v.cells = append(v.cells, c)
		}
	}
	return nil
}

// place is where a cell stands among the levels of f that are drawn, or -1.
func (v *view) place(f *factor, c *result.Cell) int {
	switch {
	case f.parts != nil:
		return v.placeOf(f.parts, c)
	case f.index < 0:
		return 0
	case f.index < len(v.sweep.Axes):
		return f.slot[c.At[f.index]]
	}
	return f.slot[slices.Index(f.labels, c.Policy)]
}

// roles looks up what goes across, what the series and what the panels are.
func (v *view) roles() error {
	v.x, v.series, v.panels, v.over = &none, &none, &none, &none
	spec := v.spec
	if spec.Kind == "gain" {
		return v.gainRoles()
	}
	set := func(into **factor, role, name string) (err error) {
		if name != "" {
			*into, err = v.find(role, name)
		}
		return err
	}
	if spec.Kind == "scatter" && spec.X != "" {
		if v.byMetric = v.mayBeMetric(spec.X); !v.byMetric {
			return unknownName("x", spec.X, v.metricNames(&result.SweepTimings{}))
		}
	}
	if spec.Kind == "lines" && spec.X != "" {
		if _, err := v.find("x", spec.X); err != nil {
			if v.byMetric = v.mayBeMetric(spec.X); !v.byMetric {
				return v.unknownAcross()
			}
		}
	}
	if !v.byMetric {
		if err := set(&v.x, "x", spec.X); err != nil {
			return err
		}
	}
	if err := set(&v.panels, "panels", spec.Panels); err != nil {
		return err
	}
	if spec.Kind == "twists" {
		if err := v.findTwists(); err != nil {
			return err
		}
	}
	up := spec.Series
	if spec.Kind == "heatmap" {
		up = spec.Y
	}
	if err := set(&v.series, map[bool]string{true: "y", false: "series"}[spec.Kind == "heatmap"], up); err != nil {
		return err
	}
	if v.series == v.x && v.x != &none && spec.Kind == "bars" {
		v.series = &none // each bar stands for itself
	}
	policies := &v.factors[len(v.sweep.Axes)]
	if len(policies.levels) > 1 && v.x != policies && v.series != policies && v.panels != policies {
		switch {
		case (spec.Kind == "heatmap" || spec.Kind == "twists") && v.panels == &none:
			v.panels = policies
		case spec.Kind != "heatmap" && spec.Kind != "twists" && v.series == &none:
			v.series = policies
		}
	}
	return nil
}

// mayBeMetric reports whether name is a metric as far as that is known.
func (v *view) mayBeMetric(name string) bool {
	known := v.metricNames(&result.SweepTimings{})
	return slices.Contains(known, name) || !slices.ContainsFunc(v.sweep.Cells, func(c result.Cell) bool { return len(c.Metrics) > 0 })
}

func (v *view) unknownAcross() error {
	return unknownName("x", v.spec.X, append(v.names(), v.metricNames(&result.SweepTimings{})...))
}

// options fails on options that do not go together.
func (v *view) options() error {
	spec := v.spec
	heat, cdf := spec.Kind == "heatmap", spec.Kind == "cdf"
	if err := v.extraOptions(); err != nil {
		return err
	}
	switch spec.Kind {
	case "twists":
		return v.twistOptions()
	case "gain":
		return v.gainOptions()
	}
	switch {
	case spec.Y == "" && heat:
		return fmt.Errorf("y is missing: name what goes up, %s", orList(v.names()))
	case spec.Y == "":
		return errors.New("y is missing: name a metric, such as nct")
	case spec.X == "" && !cdf:
		return fmt.Errorf("x is missing: name %s", orList(v.names()))
	case spec.X != "" && cdf:
		return errors.New("a cdf has no x: y names the metric, and series what there is a curve for")
	case spec.Z == "" && heat:
		return errors.New("z is missing: name the metric that colours the heat map")
	case spec.Z != "" && !heat:
		return fmt.Errorf("z is for heat maps; a chart of the kind %s shows y", spec.Kind)
	case heat && spec.Series != "":
		return errors.New("a heat map has no series; y names the axis that goes up, panels what there is a map for")
	case heat && (spec.LogX || spec.LogY):
		return errors.New("a heat map has a row or column for each value, so log_x and log_y mean nothing there")
	case spec.Kind == "bars" && spec.LogX:
		return errors.New("bars stand side by side, so log_x means nothing there; lines have it")
	case cdf && spec.LogY:
		return errors.New("the height of a cdf is a share, so log_y means nothing there; log_x is for the metric")
	case heat && len(spec.Marks) > 0:
		return errors.New("a heat map has no place for marks")
	case v.panels != &none && (v.panels == v.x || v.panels == v.series):
		return fmt.Errorf("%s is named twice: give panels another axis", v.panels.name)
	case v.series != &none && v.series == v.x:
		return fmt.Errorf("%s is named twice: give x and %s different axes", v.x.name, map[bool]string{true: "y", false: "series"}[heat])
	case !(math.Abs(spec.Scale) <= sheet.DrawableLimit && math.Abs(spec.Offset) <= sheet.DrawableLimit):
		return errors.New("scale and offset must be numbers that a figure can show")
	case spec.From != nil && !(math.Abs(*spec.From) <= sheet.DrawableLimit):
		return errors.New("from must be a number that a figure can show")
	case spec.From != nil && *spec.From <= 0 && (spec.LogY || cdf && spec.LogX):
		return fmt.Errorf("from is %g, which a logarithmic axis does not have", *spec.From)
	case spec.Kind == "lines" && !v.byMetric && v.x.numbers == nil:
		return fmt.Errorf("x: %s has values that are no numbers, so lines cannot go over it; bars can", v.x.name)
	case spec.LogX && v.x.numbers != nil && slices.ContainsFunc(v.x.levels, func(l int) bool { return v.x.numbers[l] <= 0 }):
		return fmt.Errorf("log_x: %s has values of 0 or less, which a logarithmic axis does not have", v.x.name)
	}
	return v.limits()
}

// limits fails on more than a chart can show.
func (v *view) limits() error {
	x, series, panels := len(v.x.levels), len(v.series.levels), len(v.panels.levels)
	advice := "keep some with where"
	switch heat := v.spec.Kind == "heatmap"; {
	case panels > mostPanels:
		return fmt.Errorf("panels: %s has %d values, of which %d can be shown at most; %s", v.panels.name, panels, mostPanels, advice)
	case !heat && series > mostSeries:
		return fmt.Errorf("series: %s has %d values, of which %d can be told apart at most; %s", v.series.name, series, mostSeries, advice)
	case heat && max(x, series) > mostTiles:
		return fmt.Errorf("a heat map of %d by %d values is finer than can be drawn, %d each way; %s", x, series, mostTiles, advice)
	case (v.spec.Kind == "bars" || v.spec.Kind == "gain") && x*series > mostBars:
		return fmt.Errorf("x: %d bars would stand in a panel, of which %d can be shown at most; %s, or draw lines", x*series, mostBars, advice)
	case x > mostPlaces/max(1, series*panels*len(v.over.levels)):
		return fmt.Errorf("x: %s has %d values, more than can be shown; %s", v.x.name, x, advice)
	}
	return nil
}

// uses reports whether f, or a combination that it is part of, has a role.
func (v *view) uses(f *factor) bool {
	for _, r := range []*factor{v.x, v.series, v.panels, v.over} {
		if r == f || slices.Contains(r.parts, f) {
			return true
		}
	}
	return false
}

// hidden lists the factors that are averaged over: several levels are drawn at
// one place.
func (v *view) hidden() []*factor {
	var out []*factor
	for i := range v.factors {
		if f := &v.factors[i]; !v.uses(f) && len(f.levels) > 1 {
			out = append(out, f)
		}
	}
	return out
}

// cellName says where a cell stands, by what differs.
func (v *view) cellName(c *result.Cell) string {
	var parts []string
	for i := range v.factors {
		if f := &v.factors[i]; len(f.levels) > 1 {
			parts = append(parts, f.level(f.levels[v.place(f, c)]))
		}
	}
	if len(parts) == 0 {
		parts = []string{c.Policy}
	}
	return strings.Join(parts, ", ")
}
