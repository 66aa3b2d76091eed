package chart

import (
	"fmt"
	"slices"
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
	metric := mainMetric(s)
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
	case v.listFactors() == nil && v.findTwists() == nil && len(v.x.from.labels) == twistSide*twistSide:
		p.Kind, p.Y, p.Z = "twists", "", metric
		panels, rest = nil, slices.DeleteFunc(axes, func(a *result.Axis) bool { return a.Name == v.x.from.name })
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

// mainMetric is the metric that tells most of a sweep, "" without metrics.
func mainMetric(s *result.Sweep) string {
	has := map[string]bool{}
	for i := range s.Cells {
		for name := range s.Cells[i].Metrics {
			has[name] = true
		}
	}
	return result.MainOf(has)
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
	const least, alike = 1.4, 1.5 // factors
	lo, hi := sorted[1]/sorted[0], sorted[1]/sorted[0]
	for i := 2; i < n; i++ {
		lo, hi = min(lo, sorted[i]/sorted[i-1]), max(hi, sorted[i]/sorted[i-1])
	}
	return lo >= least && hi <= lo*alike
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
				for key, labels := range q.Where {
					r.Where[key] = labels
				}
				r.Name = fmt.Sprintf("%s-%s", q.Name, strings.ToLower(sheet.FileName(label)))
				if sheet.FileName(label) == "" {
					r.Name = fmt.Sprintf("%s-%d", q.Name, i+1)
				}
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
	if s.Check() != nil || v.listFactors() != nil {
		return p // drawing it tells what is wrong
	}
	proposal := result.Plot{Kind: "bars", X: policyName, Y: mainMetric(s)}
	if all := Default(s); len(all) > 0 {
		proposal = all[0]
	}
	tiles := func(kind string) bool { return kind == "heatmap" || kind == "twists" }
	metric, up := proposal.Y, ""
	if tiles(proposal.Kind) {
		metric, up = proposal.Z, proposal.Y
	}
	find := func(name string) *factor {
		f, _ := v.find("", name)
		return f
	}
	x := find(p.X)
	switch {
	case p.Kind != "":
	case p.Z != "" && (proposal.Kind != "twists" || p.X != "" || p.Y != ""):
		p.Kind = "heatmap"
	case p.X != "" && x != nil && x.numbers == nil:
		p.Kind = "bars"
	case p.X != "":
		p.Kind = "lines"
	case proposal.Kind == "heatmap" && p.Y != "" && find(p.Y) == nil:
		p.Kind, p.X = "lines", proposal.X // of a metric
	case proposal.Kind == "twists" && p.Y != "":
		p.Kind, p.X = "bars", policyName
	default:
		p.Kind = proposal.Kind
	}
	shown := &p.Y
	if tiles(p.Kind) {
		shown = &p.Z
	}
	if *shown == "" {
		*shown = metric
	}
	defer func() {
		if p.Name == "" {
			p.Name = sheet.FileName(*shown + "-" + p.Kind)
			if p.X != "" && p.Kind != "gain" {
				p.Name = sheet.FileName(*shown + "-" + lastPart(p.X))
			}
		}
	}()
	switch p.Kind {
	case "gain": // chooses its axes itself
		return p
	case "twists":
		if proposal.Kind == "twists" && p.Panels == "" {
			p.Panels = proposal.Panels
		}
		return p
	}
	roles := []string{p.X, p.Series, p.Panels}
	if p.Kind == "heatmap" {
		roles = append(roles, p.Y)
	}
	for key, labels := range p.Where {
		if len(labels) == 1 {
			roles = append(roles, key)
		}
	}
	used := map[*factor]bool{nil: true}
	for _, name := range roles {
		used[find(name)] = true
	}
	free := func(role *string, wanted bool, names ...string) { // the first that is known and in no other role
		for _, name := range names {
			if f := find(name); *role == "" && wanted && !used[f] {
				used[f] = true
				*role = name
			}
		}
	}
	others := append([]string{proposal.X, up, proposal.Panels}, v.names()...)
	heat := p.Kind == "heatmap"
	free(&p.X, p.Kind != "cdf" && p.Kind != "scatter", others...) // which want a metric
	free(&p.Y, heat, others...)
	free(&p.Series, !heat, policyName)
	beside := []string{proposal.Panels}
	for _, name := range []string{up, proposal.X} {
		if f := find(name); f != nil && len(f.labels) <= manyPanels && !heat {
			beside = append(beside, name)
		}
	}
	free(&p.Panels, true, beside...)
	if f := find(p.X); p.Kind == "lines" && f != nil {
		p.LogX = p.LogX || geometric(f.numbers)
	}
	return p
}
