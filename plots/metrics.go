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

// sweepOf is a run as a sweep that varies nothing but the policies.
func sweepOf(doc *result.Document, d *result.Detail) *result.Sweep {
	s := doc.AsSweep()
	s.Title = d.Title
	return s
}

// metricFigures compare policies by metrics: those that the table of metrics gives a figure and the rows have.
func metricFigures(doc *result.Document, d *result.Detail) []sheet.Figure {
	has := func(name string) bool {
		return slices.ContainsFunc(doc.Rows, func(r result.Row) bool { _, ok := r.Metrics[name]; return ok })
	}
	var names []string
	shown := map[string][]result.Metric{}
	for _, m := range result.Metrics {
		f := m.Figure
		taken := slices.ContainsFunc(shown[f.Name], func(other result.Metric) bool { return other.Figure.Row == f.Row })
		if f.Name == "" || !has(m.Name) || f.Needs != "" && !has(f.Needs) || taken || f.Row > 0 && shown[f.Name] == nil || slices.ContainsFunc(m.Unless, has) {
			continue
		}
		if shown[f.Name] == nil {
			names = append(names, f.Name)
		}
		shown[f.Name] = append(shown[f.Name], m)
	}
	var out []sheet.Figure
	for _, name := range names {
		if s := metricSheet(doc, d, shown[name]); s != nil {
			if shown[name][0].Base > 0 {
				jobsBlock(s, doc, d)
			}
			out = append(out, s.Figure(name))
		}
	}
	return out
}

// metricSheet has a block of bars for each metric, nil where the first cannot be drawn.
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
				if !r.CallBounded() || m.IsCompletion() { // of which the gap is
					models[r.Policy] = r.Labels["gap_model"]
				}
			}
		}
		of := sweepOf(doc, d)
		if m.Figure.Rank {
			spec.LogY = rank(of.Cells, &m)
		}
		s, err := chart.Sheet(spec, of, nil)
		if err != nil {
			continue // more policies than bars could show
		}
		words = append(words, m.Words)
		if note := notesOf(m, doc, models); note != nil {
			s.Notes = append(note, s.Notes...)
		}
		if page == nil {
			page = s
			continue
		}
		const high = 170 // points, of one of several
		page.Blocks[0].Height, s.Blocks[0].Height = high, high
		page.Blocks, page.Notes = append(page.Blocks, s.Blocks...), append(page.Notes, s.Notes...)
		page.Title = sheet.Sentence(strings.Join(words, " and ")) + " by policy"
	}
	return page
}

// rank puts cells in order of a metric, the best first, and reports whether the values lie so far apart that a linear axis
// would hide the shorter ones.
func rank(cells []result.Cell, m *result.Metric) (apart bool) {
	const far = 4 // times the least
	least, most := math.Inf(1), 0.0
	for i := range cells {
		if v, ok := cells[i].Metrics[m.Name]; ok {
			least, most = min(least, v), max(most, v)
		}
	}
	slices.SortStableFunc(cells, func(a, b result.Cell) int {
		x, has := a.Metrics[m.Name]
		y, other := b.Metrics[m.Name]
		switch {
		case has != other && has:
			return -1
		case has != other:
			return 1
		case m.Better == result.Higher:
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	return least > 0 && most > far*least
}

// jobsBlock adds the same metric of each job to the figure of one that is of several jobs.
func jobsBlock(page *sheet.Sheet, doc *result.Document, d *result.Detail) {
	own, err := barsBy(doc, d, "job", func(r *result.Row, add func(job, metric string, v float64)) {
		for _, job := range doc.JobNames() {
			if v, metric, ok := r.JobBar(job); ok {
				add(job, metric, v)
			}
		}
	})
	if err != nil {
		return // one job, or more than bars could show
	}
	sheet.Head(page.Blocks[0].Plots[0], "All jobs")
	sheet.Head(own.Blocks[0].Plots[0], "Each job")
	own.Blocks[0].Height = page.Blocks[0].Height
	page.Title, page.Blocks, page.Legend = page.Title+" and job", append(page.Blocks, own.Blocks...), append(page.Legend, own.Legend...)
	page.Notes = append(page.Notes, own.Notes[:1]...)
}

// notesOf says what a metric is and what lower bounds on it hold for.
func notesOf(m result.Metric, doc *result.Document, models map[string]string) []string {
	var notes []string
	if label := doc.Rows[0].Labels[m.Name]; label != "" && m.Means == "" {
		notes = append(notes, fmt.Sprintf("The %s is the %s.", m.Words, label))
	}
	if note := boundNote(doc.Rows, models); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// boundNote says what the lower bounds hold for, by policy in the order of the rows: what most policies have, and who
// has another.
func boundNote(rows []result.Row, models map[string]string) string {
	whose := map[string][]string{}
	var names []string
	for _, r := range rows {
		if name := models[r.Policy]; name != "" {
			if whose[name] == nil {
				names = append(names, name)
			}
			whose[name] = append(whose[name], r.Policy)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(whose[b]) - len(whose[a]) })
	note := "No policy is below its lower bound, which holds for " + names[0]
	for _, name := range names[1:] {
		note += "; that of " + strings.Join(whose[name], ", ") + " for " + name
	}
	return note + "."
}

// trialsFigure shows how the metric that tells most of those that are sampled is distributed over each policy's
// trials.
func trialsFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
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
	spec := &result.Plot{Kind: "cdf", Y: name, Series: "policy", Title: sheet.Sentence(m.Words + " over trials, by policy")}
	var kept []string
	for _, r := range doc.Rows {
		if len(r.Samples[name]) == 0 || len(kept) == len(sheet.LineStyles) {
			continue
		}
		kept = append(kept, r.Policy)
		if v, ok := r.Metrics[name]; ok {
			spec.Marks = append(spec.Marks, result.Mark{Label: "the plan, where nothing is off", Series: r.Policy, Y: v})
		}
	}
	spec.Where = map[string][]string{"policy": kept}
	if m.Base > 0 {
		spec.Marks = append(spec.Marks, result.Mark{Label: "ideal non-blocking fabric", Y: m.Base})
	}
	s, err := chart.Sheet(spec, sweepOf(doc, d), nil)
	if err != nil {
		return nil // without samples
	}
	s.Notes = append(s.Notes, "Each trial is held against the ideal fabric under the same compute times.")
	return []sheet.Figure{s.Figure("replay")}
}
