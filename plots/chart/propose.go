package chart

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// manyPanels is the most panels that are proposed.
const manyPanels = 12

// defaultFigures is the most figures of one kind that are proposed.
const defaultFigures = 12

// Default proposes the figures of a sweep that asks for none, by what it varies: lines over an axis of numbers, bars
// over one of names, a heat map a policy over two axes of numbers, or a panel a name. Seeds are a distribution. Where
// more axes vary there is a figure for each of their combinations, while these are few; over all 64 twist patterns
// there are maps of these. There are none without metrics, nor of more than a figure shows.
func Default(s *result.Sweep) []result.Plot {
	metric := s.MainOf(s.Has())
	if metric == "" || s.Check() != nil {
		return nil
	}
	p := result.Plot{Name: sheet.FileName(metric), Y: metric}
	var axes []*result.Axis
	seeds, seen := 0, map[string]bool{"": true, policyName: true}
	for i := range s.Axes {
		a := &s.Axes[i]
		switch {
		case len(a.Labels) < 2 || seen[a.Name]:
		case slices.Equal(a.Keys, []string{"seed"}):
			seeds = len(a.Labels)
		default:
			axes = append(axes, a)
		}
		seen[a.Name] = true
	}
	const curve = 8 // seeds that make a distribution
	x, panels, rest := chooseAxes(axes)
	v := &view{spec: &p, kind: &kinds[0], sweep: s}
	switch {
	case v.listDimensions() == nil && v.findTwists() == nil && len(v.x.parent.labels) == twistSide*twistSide:
		p.Kind, p.Y, p.Z = "twists", "", metric
		panels, rest = nil, slices.DeleteFunc(axes, func(a *result.Axis) bool { return a.Name == v.x.parent.name })
		if len(rest) > 0 && len(v.policies().labels) < 2 && len(rest[0].Labels) <= manyPanels {
			panels, rest = rest[0], rest[1:]
		}
	case seeds >= curve && x == nil:
		p.Kind = "cdf"
	case x == nil:
		p.Kind, p.X = "bars", policyName
	case panels != nil && panels.Numbers != nil && x.Numbers != nil:
		p.Kind, p.X, p.Y, p.Z, p.Panels, panels = "heatmap", x.Name, panels.Name, metric, policyName, nil
	case x.Numbers != nil:
		p.Kind, p.X, p.Series, p.LogX = "lines", x.Name, policyName, geometric(x.Numbers)
	default:
		p.Kind, p.X, p.Series = "bars", x.Name, policyName
	}
	if panels != nil {
		p.Panels = panels.Name
	}
	return slices.DeleteFunc(combined(p, rest), func(p result.Plot) bool { return Check(&p, s) != nil })
}

// chooseAxes chooses which axis goes across, of numbers rather than of names and the longest, which makes panels (or
// goes up, where both are numbers), and which are left.
func chooseAxes(axes []*result.Axis) (x, panels *result.Axis, rest []*result.Axis) {
	for _, a := range axes {
		if x == nil || x.Numbers == nil && a.Numbers != nil || (x.Numbers == nil) == (a.Numbers == nil) && len(a.Labels) > len(x.Labels) {
			x = a
		}
	}
	for _, a := range axes {
		if names := a.Numbers == nil; a != x && (names && len(a.Labels) <= manyPanels || !names) && (panels == nil || names && panels.Numbers != nil) {
			panels = a
		}
	}
	for _, a := range axes {
		if a != x && a != panels {
			rest = append(rest, a)
		}
	}
	return x, panels, rest
}

// geometric reports whether numbers grow by about the same factor.
func geometric(numbers []float64) bool {
	n := len(numbers)
	if n < 3 || !(slices.Min(numbers) > 0) {
		return false
	}
	sorted := slices.Sorted(slices.Values(numbers))
	var ratios []float64
	for i := 1; i < n; i++ {
		ratios = append(ratios, sorted[i]/sorted[i-1])
	}
	const least, most = 1.4, 1.5 // ratios
	return slices.Min(ratios) >= least && slices.Max(ratios) <= slices.Min(ratios)*most
}

// combined makes a plot for each combination of the values of axes, or one that takes their mean where that would be
// many.
func combined(p result.Plot, axes []*result.Axis) []result.Plot {
	plots := []result.Plot{p}
	for _, a := range axes {
		if len(plots)*len(a.Labels) > defaultFigures {
			return []result.Plot{p}
		}
		var next []result.Plot
		for _, q := range plots {
			for i, label := range a.Labels {
				r := q
				r.Where = map[string][]string{a.Name: {label}}
				maps.Copy(r.Where, q.Where)
				r.Name = q.Name + "-" + cmp.Or(strings.ToLower(sheet.FileName(label)), strconv.Itoa(i+1))
				next = append(next, r)
			}
		}
		plots = next
	}
	return plots
}

// Propose fills in what a plot of a sweep leaves open: the kind by what goes across, the metric, and axes as Default
// would choose them; lines over numbers that grow by a factor get a logarithmic axis. What the plot says is not
// changed, right or wrong.
func Propose(s *result.Sweep, given result.Plot) (p result.Plot) {
	p = given
	v := &view{spec: &p, kind: &kinds[0], sweep: s}
	if s.Check() != nil || v.listDimensions() != nil {
		return p // drawing it tells what is wrong
	}
	usual := result.Plot{Kind: "bars", X: policyName, Y: s.MainOf(s.Has())}
	if all := Default(s); len(all) > 0 {
		usual = all[0]
	}
	tiles := func(kind string) bool { return kind == "heatmap" || kind == "twists" }
	metric, up := usual.Y, ""
	if tiles(usual.Kind) {
		metric, up = usual.Z, usual.Y
	}
	find := func(name string) *dimension {
		f, _ := v.find("", name)
		return f
	}
	x := find(p.X)
	switch {
	case p.Kind != "":
	case p.Z != "" && (usual.Kind != "twists" || p.X != "" || p.Y != ""):
		p.Kind = "heatmap"
	case usual.Kind == "twists" && p.X == "" && p.Y != "":
		p.Kind, p.X = "bars", policyName
	case p.X != "" && x != nil && x.numbers == nil:
		p.Kind = "bars"
	case p.X != "", usual.Kind == "heatmap" && p.Y != "" && find(p.Y) == nil: // y is a metric
		p.Kind, p.X = "lines", cmp.Or(p.X, usual.X)
	default:
		p.Kind = usual.Kind
	}
	heat, shown := p.Kind == "heatmap", &p.Y
	if tiles(p.Kind) {
		shown = &p.Z
	}
	*shown = cmp.Or(*shown, metric)
	used := map[*dimension]bool{nil: true, find(p.X): true, find(p.Series): true, find(p.Panels): true}
	if heat {
		used[find(p.Y)] = true
	}
	for key, labels := range p.Where {
		if len(labels) == 1 {
			used[find(key)] = true
		}
	}
	free := func(role *string, wanted bool, names ...string) { // the first that is known and in no other role
		for _, name := range names {
			if f := find(name); *role == "" && wanted && !used[f] {
				used[f], *role = true, name
			}
		}
	}
	others := append([]string{usual.X, up, usual.Panels}, v.dimensionNames()...)
	switch p.Kind {
	case "twists":
		if usual.Kind == "twists" {
			p.Panels = cmp.Or(p.Panels, usual.Panels)
		}
	default:
		free(&p.X, p.Kind != "cdf" && p.Kind != "scatter", others...) // which want a metric
		free(&p.Y, heat, others...)
		free(&p.Series, !heat, policyName)
		free(&p.Panels, true, usual.Panels)
		for _, name := range []string{up, usual.X} {
			f := find(name)
			free(&p.Panels, f != nil && len(f.labels) <= manyPanels && !heat, name)
		}
	}
	if f := find(p.X); p.Kind == "lines" && f != nil {
		p.LogX = p.LogX || geometric(f.numbers)
	}
	name := p.Kind
	if p.X != "" {
		name = lastPart(p.X)
	}
	p.Name = cmp.Or(p.Name, sheet.FileName(*shown+"-"+name))
	return p
}
