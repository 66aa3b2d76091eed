// This file proposes plots for sweeps, and completes plots whose options are not all
// given.

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

// maxProposedPanels limits the panels of a proposed figure, so that each remains legible.
const maxProposedPanels = 12

// maxProposedFigures limits the number of figures of one kind that Default proposes. With more
// figures, readers would rather choose themselves.
const maxProposedFigures = 12

// Default proposes figures for a sweep whose study defines none. The proposal depends on the
// axes with several values:
//
//   - twists over all 64 patterns: a map of twists
//   - numeric axis: lines
//   - two numeric axes: a heat map, with a panel per policy
//   - other axis: bars; a further one becomes the panels
//   - many seeds and no other axis: a cdf
//
// For each combination of values of the remaining axes there is a separate figure, if these
// are few. Default proposes nothing if the sweep has no metrics, and no figure that exceeds a
// limit.
func Default(s *result.Sweep) []result.Plot {
	// Collect the axes with several values. Seeds are counted, because they are averaged or form
	// a distribution.
	metric := s.MainOf(s.MetricNames(), nil)
	if metric == "" || s.Check() != nil {
		return nil
	}
	p := result.Plot{Name: sheet.FileName(metric), Y: metric}
	var axes []*result.Axis
	seeds := 0

	seen := map[string]bool{"": true, policyName: true}
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

	// Select the kind and the roles of the axes. A distribution of fewer than minSeeds values
	// would be a few steps.
	const minSeeds = 8
	x, panels, rest := chooseAxes(axes)
	v := &view{spec: &p, kind: &kinds[0], sweep: s}
	switch {
	case v.listDimensions() == nil && v.findTwists() == nil &&
		len(v.x.parent.labels) == twistSide*twistSide:
		p.Kind, p.Y, p.Z = "twists", "", metric
		panels = nil
		rest = slices.DeleteFunc(axes, func(a *result.Axis) bool {
			return a.Name == v.x.parent.name
		})
		if len(rest) > 0 && len(v.policies().labels) < 2 &&
			len(rest[0].Labels) <= maxProposedPanels {
			panels, rest = rest[0], rest[1:]
		}

	case seeds >= minSeeds && x == nil:
		p.Kind = "cdf"
	case x == nil:
		p.Kind, p.X = "bars", policyName
	case panels != nil && panels.Numbers != nil && x.Numbers != nil:
		p.Kind = "heatmap"
		p.X = x.Name
		p.Y = panels.Name
		p.Z = metric
		p.Panels = policyName
		panels = nil

	case x.Numbers != nil:
		p.Kind, p.X, p.Series, p.LogX = "lines", x.Name, policyName, geometric(x.Numbers)
	default:
		p.Kind = "bars"
		p.X = x.Name
		p.Series = policyName
	}

	if panels != nil {
		p.Panels = panels.Name
	}
	return slices.DeleteFunc(combined(p, rest), func(p result.Plot) bool {
		return Check(&p, s) != nil
	})
}

// chooseAxes selects the x axis and the panels from axes; rest are the others.
//
// Numeric axes are preferred for x, then long ones. Panels are preferably not numeric, because
// two numeric axes become the axes of a heat map.
func chooseAxes(axes []*result.Axis) (x, panels *result.Axis, rest []*result.Axis) {
	for _, a := range axes {
		if x == nil || x.Numbers == nil && a.Numbers != nil ||
			(x.Numbers == nil) == (a.Numbers == nil) &&
				len(a.Labels) > len(x.Labels) {
			x = a
		}
	}

	for _, a := range axes {
		if names := a.Numbers == nil; a != x &&
			(names && len(a.Labels) <= maxProposedPanels || !names) &&
			(panels == nil || names && panels.Numbers != nil) {
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

// geometric reports whether numbers increase by roughly the same factor, so that a logarithmic
// axis shows them at equal distances.
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

	// The ratio of neighbours must be at least minRatio, or a linear axis shows them well. Two
	// ratios may differ by maxQuotient, because numbers are often rounded.
	const minRatio, maxQuotient = 1.4, 1.5
	return slices.Min(ratios) >= minRatio &&
		slices.Max(ratios) <= slices.Min(ratios)*maxQuotient
}

// combined returns a plot for each combination of values of axes. If that would be too many, it
// returns only p, which averages over axes.
func combined(p result.Plot, axes []*result.Axis) []result.Plot {
	plots := []result.Plot{p}
	for _, a := range axes {
		if len(plots)*len(a.Labels) > maxProposedFigures {
			return []result.Plot{p}
		}
		var next []result.Plot
		for _, q := range plots {
			for i, label := range a.Labels {
				r := q
				r.Where = map[string][]string{a.Name: {label}}
				maps.Copy(r.Where, q.Where)
				r.Name = q.Name + "-" + cmp.Or(strings.ToLower(sheet.FileName(label)),
					strconv.Itoa(i+1))
				next = append(next, r)
			}
		}

		plots = next
	}
	return plots
}

// Propose completes a plot of a sweep: the kind according to the x axis, the metric, and the
// axes as Default selects them. Lines over numbers that increase by a constant factor get a
// logarithmic axis.
//
// Options that given contains are not changed, even if they are invalid; New reports the error.
func Propose(s *result.Sweep, given result.Plot) (p result.Plot) {
	p = given
	v := &view{spec: &p, kind: &kinds[0], sweep: s}
	if s.Check() != nil || v.listDimensions() != nil {
		// New reports the error.
		return p
	}
	// usual is the plot that Default proposes, or bars of the main metric by policy.
	usual := result.Plot{
		Kind: "bars",
		X:    policyName,
		Y:    s.MainOf(s.MetricNames(), nil),
	}

	if all := Default(s); len(all) > 0 {
		usual = all[0]
	}
	tiles := func(kind string) bool { return kind == "heatmap" || kind == "twists" }

	// metric and up are the metric and the y axis of the usual plot.
	metric, up := usual.Y, ""
	if tiles(usual.Kind) {
		metric, up = usual.Z, usual.Y
	}
	find := func(name string) *dimension {
		f, _ := v.find(noRole, name)
		return f
	}

	// Select the kind.
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

	// Select the metric; shown is the option that holds it.
	heat, shown := p.Kind == "heatmap", &p.Y
	if tiles(p.Kind) {
		shown = &p.Z
	}
	*shown = cmp.Or(*shown, metric)

	// Assign the free dimensions to the open roles.
	used := map[*dimension]bool{
		nil:            true,
		find(p.X):      true,
		find(p.Series): true,
		find(p.Panels): true,
	}

	if heat {
		used[find(p.Y)] = true
	}
	for key, labels := range p.Where {
		if len(labels) == 1 {
			used[find(key)] = true
		}
	}

	// free assigns the first known name without another role to a role, if wanted is set.
	free := func(role *string, wanted bool, names ...string) {
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
		// A cdf has no x, and the x of a scatter plot is a metric.
		free(&p.X, p.Kind != "cdf" && p.Kind != "scatter", others...)
		free(&p.Y, heat, others...)
		free(&p.Series, !heat, policyName)
		const always = true
		free(&p.Panels, always, usual.Panels)
		for _, name := range []string{up, usual.X} {
			f := find(name)
			free(&p.Panels, f != nil && len(f.labels) <= maxProposedPanels && !heat, name)
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
