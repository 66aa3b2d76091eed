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

// Default proposes the figures of a sweep that asks for none, by what it
// varies: lines over an axis of numbers, bars over one of names, a heat map a
// policy over two axes of numbers, or a panel a name. Seeds are a distribution.
// Where more axes vary there is a figure for each of their combinations, while
// these are few; over all 64 twist patterns there are maps of these. There are
// none without metrics, nor of more than a figure shows.
func Default(s *result.Sweep) []result.Plot {
	metric := mainMetric(s)
	if metric == "" || s.Check() != nil {
		return nil
	}
	if maps := defaultTwists(s); maps != nil {
		return maps
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
	x, panels, rest := chooseAxes(axes)
	const curve = 8 // seeds that make a distribution
	switch {
	case seeds >= curve && x == nil:
		p.Kind = "cdf"
	case x == nil:
		p.Kind, p.X = "bars", policyName
	case panels != nil && panels.Numbers != nil && x.Numbers != nil:
		p.Kind, p.X, p.Y, p.Z, p.Panels = "heatmap", x.Name, panels.Name, metric, policyName
	default:
		p.Kind, p.X, p.Series = "bars", x.Name, policyName
		if x.Numbers != nil {
			p.Kind, p.LogX = "lines", geometric(x.Numbers)
		}
		if panels != nil {
			p.Panels = panels.Name
		}
	}
	return slices.DeleteFunc(combined(p, rest), func(p result.Plot) bool { return Check(&p, s) != nil })
}

// defaultTwists proposes maps of a sweep over all 64 twist patterns, nil of any
// other.
func defaultTwists(s *result.Sweep) []result.Plot {
	p := result.Plot{Kind: "twists"}
	for _, m := range []string{"average_hops", "mean_delay_s"} {
		if slices.ContainsFunc(s.Cells, func(c result.Cell) bool { _, ok := c.Metrics[m]; return ok }) {
			p.Z = m
		}
	}
	v := &view{spec: &p, kind: &kinds[0], sweep: s}
	if p.Z == "" || v.listFactors() != nil || v.findTwists() != nil || len(v.x.labels) != twistSide*twistSide {
		return nil
	}
	p.Name = sheet.FileName(p.Z)
	policies := v.factors[len(v.factors)-1].labels
	var rest []*result.Axis
	for i := range s.Axes {
		a := &s.Axes[i]
		switch {
		case i == v.x.index || len(a.Labels) < 2 || a.Name == policyName || slices.Equal(a.Keys, []string{"seed"}):
		case len(policies) < 2 && p.Panels == "" && len(a.Labels) <= manyPanels:
			p.Panels = a.Name
		default:
			rest = append(rest, a)
		}
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

// chooseAxes chooses which axis goes across, which makes panels (or goes up,
// where both are numbers), and which are left.
func chooseAxes(axes []*result.Axis) (x, panels *result.Axis, rest []*result.Axis) {
	across, beside := -1, -1
	for i, a := range axes {
		if a.Numbers != nil && (across < 0 || axes[across].Numbers == nil || len(a.Labels) > len(axes[across].Labels)) {
			across = i
		}
	}
	if across < 0 {
		for i, a := range axes {
			if across < 0 || len(a.Labels) > len(axes[across].Labels) {
				across = i
			}
		}
	}
	for i, a := range axes {
		if i != across && a.Numbers == nil && len(a.Labels) <= manyPanels && beside < 0 {
			beside = i
		}
	}
	for i, a := range axes {
		if i != across && a.Numbers != nil && beside < 0 {
			beside = i
		}
	}
	for i, a := range axes {
		switch i {
		case across:
			x = a
		case beside:
			panels = a
		default:
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

// combined makes a plot for each combination of the values of axes, or one that
// takes their mean where that would be many.
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

// Propose fills in what a plot of a sweep leaves open: the kind by what goes
// across, the metric, and axes as Default would choose them; lines over
// numbers that grow by a factor get a logarithmic axis. What the plot says is
// not changed, right or wrong.
func Propose(s *result.Sweep, p result.Plot) result.Plot {
	proposal := result.Plot{Kind: "bars", X: policyName, Y: mainMetric(s)}
	if all := Default(s); len(all) > 0 {
		proposal = all[0]
	}
	metric, up := proposal.Y, ""
	switch proposal.Kind {
	case "heatmap":
		metric, up = proposal.Z, proposal.Y
	case "twists":
		metric = proposal.Z
	}
	v := &view{spec: &p, kind: &kinds[0], sweep: s}
	find := func(name string) *factor {
		if f, err := v.find("", name); err == nil {
			return f
		}
		return nil
	}
	if s.Check() != nil || v.listFactors() != nil {
		return p // drawing it tells what is wrong
	}
	switch {
	case p.Kind != "":
	case p.Z != "" && proposal.Kind == "twists" && p.X == "" && p.Y == "":
		p.Kind = "twists"
	case p.Z != "":
		p.Kind = "heatmap"
	case p.X == "":
		p.Kind = proposal.Kind
		switch {
		case p.Kind == "heatmap" && p.Y != "" && find(p.Y) == nil:
			p.Kind, p.X = "lines", proposal.X // of a metric
		case p.Kind == "twists" && p.Y != "":
			p.Kind, p.X = "bars", policyName
		}
	default:
		p.Kind = "lines"
		if f := find(p.X); f != nil && f.numbers == nil {
			p.Kind = "bars"
		}
	}
	used := map[*factor]bool{nil: true}
	use := func(names ...string) {
		for _, name := range names {
			if name != "" {
				used[find(name)] = true
			}
		}
	}
	switch p.Kind {
	case "twists":
		return proposeTwists(p, proposal, metric)
	case "gain": // chooses its axes itself
		if p.Y == "" {
			p.Y = metric
		}
		if p.Name == "" {
			p.Name = sheet.FileName(p.Y + "-gain")
		}
		return p
	}
	use(p.X, p.Series, p.Panels)
	if p.Kind == "heatmap" {
		use(p.Y)
	}
	for key, labels := range p.Where {
		if len(labels) == 1 {
			use(key)
		}
	}
	free := func(names ...string) string { // the first that is known and in no other role
		for _, name := range names {
			if f := find(name); name != "" && !used[f] {
				used[f] = true
				return name
			}
		}
		return ""
	}
	others := append([]string{proposal.X, up, proposal.Panels}, v.names()...)
	if p.X == "" && p.Kind != "cdf" && p.Kind != "scatter" { // which wants a metric
		p.X = free(others...)
	}
	if p.Kind == "heatmap" {
		if p.Y == "" {
			p.Y = free(others...)
		}
		if p.Z == "" {
			p.Z = metric
		}
	} else if p.Y == "" {
		p.Y = metric
	}
	if p.Series == "" && p.Kind != "heatmap" {
		p.Series = free(policyName)
	}
	if p.Panels == "" {
		beside := []string{proposal.Panels}
		for _, name := range []string{up, proposal.X} {
			if f := find(name); f != nil && len(f.labels) <= manyPanels && (p.Kind != "heatmap" || name == proposal.Panels) {
				beside = append(beside, name)
			}
		}
		p.Panels = free(beside...)
	}
	if f := find(p.X); p.Kind == "lines" && f != nil {
		p.LogX = p.LogX || geometric(f.numbers)
	}
	if p.Name == "" {
		shown := p.Y
		if p.Kind == "heatmap" {
			shown = p.Z
		}
		p.Name = sheet.FileName(shown + "-" + p.Kind)
		if p.X != "" {
			p.Name = sheet.FileName(shown + "-" + lastPart(p.X))
		}
	}
	return p
}

// proposeTwists fills in the metric, panels and name of a map of twists.
func proposeTwists(p, proposal result.Plot, metric string) result.Plot {
	if p.Z == "" {
		p.Z = metric
	}
	if proposal.Kind == "twists" && p.Panels == "" {
		p.Panels = proposal.Panels
	}
	if p.Name == "" {
		p.Name = sheet.FileName(p.Z + "-twists")
	}
	return p
}
