package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// runAsSweep converts a run to a sweep that varies only the policy.
func runAsSweep(doc *result.Document, d *result.Detail) *result.Sweep {
	s := doc.AsSweep()
	s.Title = d.Title
	return s
}

// metricFigures compares the policies by the metrics that have a figure in the table of
// metrics and occur in the rows.
func metricFigures(doc *result.Document, d *result.Detail, add addFigure) {
	has := doc.AsSweep().MetricNames()
	var shown [][]result.Metric // indexed by figure
	for _, m := range result.Metrics {
		f := m.Figure
		if f.Name == "" || !has[m.Name] || f.Needs != "" && !has[f.Needs] || slices.ContainsFunc(m.HiddenBy, func(name string) bool { return has[name] }) {
			continue
		}
		at := slices.IndexFunc(shown, func(list []result.Metric) bool { return list[0].Figure.Name == f.Name })
		switch {
		case at < 0 && f.Row == 0:
			shown = append(shown, []result.Metric{m})
		case at >= 0 && !slices.ContainsFunc(shown[at], func(other result.Metric) bool { return other.Figure.Row == f.Row }):
			shown[at] = append(shown[at], m)
		}
	}
	for _, list := range shown {
		if s := metricSheet(doc, d, list); s != nil {
			if list[0].Base > 0 {
				addJobsBlock(s, doc, d)
			}
			add(list[0].Figure.Name, s)
		}
	}
}

// metricSheet returns a sheet with one block of bars per metric, or nil if none can be drawn.
func metricSheet(doc *result.Document, d *result.Detail, metrics []result.Metric) *sheet.Sheet {
	var page *sheet.Sheet
	var words []string
	for _, m := range metrics {
		spec := &result.Plot{Kind: "bars", X: "policy", Y: m.Name}
		if m.Base > 0 {
			spec.Marks = append(spec.Marks, result.Mark{Label: "ideal non-blocking fabric", Y: m.Base})
		}
		models := map[string]string{}
		for _, r := range doc.Rows {
			bound, ok := m.BoundOf(r.Metrics, doc.Reference)
			if _, has := r.Metrics[m.Name]; ok && has && math.Abs(bound) <= sheet.DrawableLimit {
				label := "lower bound"
				if m.Better == result.Higher {
					label = "upper bound"
				}
				spec.Marks = append(spec.Marks, result.Mark{Label: label, X: r.Policy, Y: bound})
				if _, calls := r.Metrics[result.BoundPrefix+result.CompletionTime]; !calls || m.Name == result.CompletionTime { // the gap refers to completion time
					models[r.Policy] = r.Labels["gap_model"]
				}
			}
		}
		of := runAsSweep(doc, d)
		if m.Figure.Ranked {
			spec.LogY = sortByMetric(of.Cells, &m)
		}
		s, err := chart.Sheet(spec, of, nil)
		if err != nil {
			continue // more policies than a bar chart shows
		}
		words = append(words, m.Words)
		if note := metricNotes(m, doc, models); note != nil {
			s.Notes = append(note, s.Notes...)
		}
		if page == nil {
			page = s
			continue
		}
		const high = 170 // points, if the figure has several metrics
		page.Blocks[0].Height, s.Blocks[0].Height = high, high
		page.Blocks, page.Notes = append(page.Blocks, s.Blocks...), append(page.Notes, s.Notes...)
		page.Title = sheet.Capitalise(strings.Join(words, " and ")) + " by policy"
	}
	return page
}

// sortByMetric sorts cells by a metric, the best first. needsLogAxis is true if the values
// differ by more than a factor that makes short bars invisible on a linear axis.
func sortByMetric(cells []result.Cell, m *result.Metric) (needsLogAxis bool) {
	const far = 4 // ratio of maximum to minimum
	lowest, highest := math.Inf(1), 0.0
	for i := range cells {
		if v, ok := cells[i].Metrics[m.Name]; ok {
			lowest, highest = min(lowest, v), max(highest, v)
		}
	}
	key := func(c result.Cell) float64 {
		v, ok := c.Metrics[m.Name]
		switch {
		case !ok:
			return math.Inf(1) // last
		case m.Better == result.Higher:
			return -v
		}
		return v
	}
	slices.SortStableFunc(cells, func(a, b result.Cell) int { return cmp.Compare(key(a), key(b)) })
	return lowest > 0 && highest > far*lowest
}

// addJobsBlock adds NCT by job to a figure of several jobs.
func addJobsBlock(page *sheet.Sheet, doc *result.Document, d *result.Detail) {
	own, err := barsBy(doc, d, "job", func(r *result.Row, add func(job, metric string, v float64)) {
		for _, job := range doc.JobNames() {
			if v, ok := r.Metrics[result.OfJob(job, result.NCT)]; ok {
				add(job, result.NCT, v)
			}
		}
	})
	if err != nil {
		return // one job, or too many bars
	}
	sheet.AddHeading(page.Blocks[0].Plots[0], "All jobs")
	sheet.AddHeading(own.Blocks[0].Plots[0], "Each job")
	own.Blocks[0].Height = page.Blocks[0].Height
	page.Title, page.Blocks, page.Legend = page.Title+" and job", append(page.Blocks, own.Blocks...), append(page.Legend, own.Legend...)
	page.Notes = append(page.Notes, own.Notes[:1]...)
}

// metricNotes returns notes about the definition of a metric and the assumptions of its
// bounds.
func metricNotes(m result.Metric, doc *result.Document, models map[string]string) []string {
	var notes []string
	if label := doc.Rows[0].Labels[m.Name]; label != "" && m.Meaning == "" {
		notes = append(notes, fmt.Sprintf("The %s is the %s.", m.Words, label))
	}
	if note := boundNote(doc, models); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// boundNote describes the assumptions of the lower bounds. models has the description for each
// policy; the most frequent one comes first.
func boundNote(doc *result.Document, models map[string]string) string {
	groups := doc.Group(func(r *result.Row) string { return models[r.Policy] })
	if len(groups) == 0 {
		return ""
	}
	slices.SortStableFunc(groups, func(a, b result.RowGroup) int { return len(b.Rows) - len(a.Rows) })
	note := "No policy is below its lower bound, which holds for " + groups[0].Key
	for _, g := range groups[1:] {
		note += "; that of " + g.Policies() + " for " + g.Key
	}
	return note + "."
}

// trialsFigure shows the distribution over trials of the most important sampled metric, one
// curve per policy.
func trialsFigure(doc *result.Document, d *result.Detail, add addFigure) {
	sampled := map[string]bool{}
	for _, r := range doc.Rows {
		for name, values := range r.Samples {
			if len(values) > 0 {
				sampled[name] = true
			}
		}
	}
	name := result.MainOf(sampled)
	m, _ := result.Find(name)
	spec := &result.Plot{Kind: "cdf", Y: name, Series: "policy", Title: sheet.Capitalise(m.Words + " over trials, by policy")}
	var policies []string
	for _, r := range doc.Rows {
		if len(r.Samples[name]) == 0 || len(policies) == len(sheet.LineStyles) {
			continue
		}
		policies = append(policies, r.Policy)
		if v, ok := r.Metrics[name]; ok {
			spec.Marks = append(spec.Marks, result.Mark{Label: "the plan, where nothing is off", Series: r.Policy, Y: v})
		}
	}
	spec.Where = map[string][]string{"policy": policies}
	if m.Base > 0 {
		spec.Marks = append(spec.Marks, result.Mark{Label: "ideal non-blocking fabric", Y: m.Base})
	}
	s, err := chart.Sheet(spec, runAsSweep(doc, d), nil)
	if err != nil {
		return // no samples
	}
	s.Notes = append(s.Notes, "Each trial is held against the ideal fabric under the same compute times.")
	add("replay", s)
}
