// This file compares the policies of a run by their metrics, with package chart.

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

// runAsSweep converts a run to a sweep that varies only the policy, because package chart draws
// sweeps.
func runAsSweep(doc *result.Document, d *result.Detail) *result.Sweep {
	s := doc.AsSweep()
	s.Title = d.Title
	return s
}

// metricFigures compares the policies by the metrics that have a figure in the table of metrics
// and occur in the rows. Metrics with the same figure name share a sheet, one block of bars per
// row of the figure.
func metricFigures(doc *result.Document, d *result.Detail, add addFigure) {
	// Collect the metrics of each figure. The metric of row 0 opens a figure. Of several metrics
	// for the same row, the first one in the table is shown.
	has := doc.AsSweep().MetricNames()

	// shown is indexed by figure.
	var shown [][]result.Metric
	for _, m := range result.Metrics {
		f := m.Figure
		if f.Name == "" || !has[m.Name] || f.Needs != "" && !has[f.Needs] ||
			slices.ContainsFunc(m.HiddenBy, func(name string) bool {
				return has[name]
			}) {
			continue
		}

		at := slices.IndexFunc(shown, func(list []result.Metric) bool {
			return list[0].Figure.Name == f.Name
		})
		switch {
		case at < 0 && f.Row == 0:
			shown = append(shown, []result.Metric{m})
		case at >= 0 && !slices.ContainsFunc(shown[at],
			func(other result.Metric) bool {
				return other.Figure.Row == f.Row
			}):
			shown[at] = append(shown[at], m)
		}
	}

	// Draw one sheet per figure.
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
// Marks on the bars show the ideal fabric and the proved bounds.
func metricSheet(doc *result.Document, d *result.Detail, metrics []result.Metric) *sheet.Sheet {
	var page *sheet.Sheet
	var words []string
	for _, m := range metrics {
		// Mark the value of the ideal fabric, if the metric has one.
		spec := &result.Plot{Kind: "bars", X: "policy", Y: m.Name}
		if m.Base > 0 {
			spec.Marks = append(spec.Marks, result.Mark{
				Label: "ideal non-blocking fabric",
				Y:     m.Base,
			})
		}

		// Mark the bound of each policy. models maps the policy to the assumptions of its bound.
		models := map[string]string{}
		for _, r := range doc.Rows {
			bound, ok := m.BoundOf(r.Metrics, doc.Reference)
			if _, has := r.Metrics[m.Name]; ok && has &&
				math.Abs(bound) <= sheet.DrawableLimit {
				label := "lower bound"
				if m.Better == result.Higher {
					label = "upper bound"
				}
				spec.Marks = append(spec.Marks, result.Mark{
					Label: label,
					X:     r.Policy,
					Y:     bound,
				})

				// The gap refers to completion time if there is a bound of it.
				if _, calls := r.Metrics[result.BoundPrefix+result.CompletionTime]; !calls ||
					m.Name == result.CompletionTime {
					models[r.Policy] = r.Labels["gap_model"]
				}
			}
		}

		// Draw the bars of this metric.
		of := runAsSweep(doc, d)
		if m.Figure.Ranked {
			spec.LogY = sortByMetric(of.Cells, &m)
		}
		s, err := chart.Sheet(spec, of, noTimings)
		if err != nil { // more policies than a bar chart shows
			continue
		}
		words = append(words, m.Words)
		if note := metricNotes(m, doc, models); note != nil {
			s.Notes = append(note, s.Notes...)
		}
		if page == nil {
			page = s
			continue
		}

		// Further metrics become blocks of the first sheet. All blocks then have the same height,
		// in points.
		const blockHeight = 170
		page.Blocks[0].Height, s.Blocks[0].Height = blockHeight, blockHeight
		page.Blocks = append(page.Blocks, s.Blocks...)
		page.Notes = append(page.Notes, s.Notes...)
		page.Title = sheet.Capitalise(strings.Join(words, " and ")) + " by policy"
	}

	return page
}

// sortByMetric sorts cells by a metric, the best first. needsLogAxis is true if the largest
// value is more than maxLinearRatio times the smallest one. Short bars would then be invisible
// on a linear axis.
func sortByMetric(cells []result.Cell, m *result.Metric) (needsLogAxis bool) {
	const maxLinearRatio = 4
	lowest, highest := math.Inf(1), 0.0
	for i := range cells {
		if v, ok := cells[i].Metrics[m.Name]; ok {
			lowest = min(lowest, v)
			highest = max(highest, v)
		}
	}

	// Cells without the metric come last.
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

	slices.SortStableFunc(cells, func(a, b result.Cell) int {
		return cmp.Compare(key(a), key(b))
	})
	return lowest > 0 && highest > maxLinearRatio*lowest
}

// addJobsBlock adds NCT by job to a figure of several jobs. The block has the height of the
// first one. It leaves the figure unchanged if there is only one job.
func addJobsBlock(page *sheet.Sheet, doc *result.Document, d *result.Detail) {
	// The second block has one bar per policy and job.
	own, err := barsBy(doc, d, "job", func(r *result.Row, add func(job, metric string, v float64)) {
		for _, job := range doc.JobNames() {
			if v, ok := r.Metrics[result.OfJob(job, result.NCT)]; ok {
				add(job, result.NCT, v)
			}
		}
	})
	if err != nil {
		// One job, or too many bars.
		return
	}
	sheet.AddHeading(page.Blocks[0].Plots[0], "All jobs")
	sheet.AddHeading(own.Blocks[0].Plots[0], "Each job")
	own.Blocks[0].Height = page.Blocks[0].Height
	page.Title = page.Title + " and job"
	page.Blocks = append(page.Blocks, own.Blocks...)
	page.Legend = append(page.Legend, own.Legend...)
	page.Notes = append(page.Notes, own.Notes[:1]...) // the definition of the metric
}

// barsBy returns a bar chart by policy with one series per part, such as a job. list
// calls add with the name of each part of a row, the metric and its value. All rows must use the
// same metric. An error means that there is nothing to draw, or too much.
func barsBy(
	doc *result.Document,
	d *result.Detail,
	part string,
	list func(r *result.Row, add func(part, metric string, v float64)),
) (*sheet.Sheet, error) {
	// The parts become the labels of an axis of a sweep.
	by := result.Axis{Name: part, Keys: []string{part}}
	s := &result.Sweep{Name: doc.Scenario, Title: d.Title}
	spec := &result.Plot{Kind: "bars", X: "policy", Series: part}
	for i := range doc.Rows {
		list(&doc.Rows[i], func(part, metric string, v float64) {
			at := slices.Index(by.Labels, part)
			if at < 0 {
				at = len(by.Labels)
				by.Labels = append(by.Labels, part)
			}

			// Each part of a row becomes a cell of the sweep.
			spec.Y = metric
			s.Cells = append(s.Cells, result.Cell{
				At:      []int{at},
				Policy:  doc.Rows[i].Policy,
				Metrics: map[string]float64{metric: v},
			})
		})
	}

	s.Axes = []result.Axis{by}
	return chart.Sheet(spec, s, noTimings)
}

// metricNotes returns notes about the definition of a metric and the assumptions of its bounds.
// models maps each policy to the assumptions of its bound, which may be empty.
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

// boundNote describes the assumptions of the lower bounds. models maps each policy to them. The
// assumptions that most policies share come first.
func boundNote(doc *result.Document, models map[string]string) string {
	groups := doc.Group(func(r *result.Row) string { return models[r.Policy] })
	if len(groups) == 0 {
		return ""
	}
	slices.SortStableFunc(groups, func(a, b result.RowGroup) int {
		return len(b.Rows) - len(a.Rows)
	})
	// Name the policies of every group except the first.
	note := "No policy is below its lower bound, which holds for " + groups[0].Key
	for _, g := range groups[1:] {
		note += "; that of " + g.Policies() + " for " + g.Key
	}

	return note + "."
}

// trialsFigure shows the distribution of the most important sampled metric over the trials, one
// curve per policy.
func trialsFigure(doc *result.Document, d *result.Detail, add addFigure) {
	// sampled holds the names of all metrics with samples in some row.
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
	spec := &result.Plot{
		Kind:   "cdf",
		Y:      name,
		Series: "policy",
		Title:  sheet.Capitalise(m.Words + " over trials, by policy"),
	}

	// One curve per line style, with a mark for the value without perturbations.
	var policies []string
	for _, r := range doc.Rows {
		if len(r.Samples[name]) == 0 || len(policies) == len(sheet.LineStyles) {
			continue
		}
		policies = append(policies, r.Policy)
		if v, ok := r.Metrics[name]; ok {
			spec.Marks = append(spec.Marks, result.Mark{
				Label:  "the plan, where nothing is off",
				Series: r.Policy,
				Y:      v,
			})
		}
	}

	spec.Where = map[string][]string{"policy": policies}
	if m.Base > 0 {
		spec.Marks = append(spec.Marks, result.Mark{
			Label: "ideal non-blocking fabric",
			Y:     m.Base,
		})
	}

	s, err := chart.Sheet(spec, runAsSweep(doc, d), noTimings)
	if err != nil {
		return // no samples
	}
	s.Notes = append(s.Notes, "Each trial is held against the ideal fabric under the same compute times.")
	add("trials", s)
}
