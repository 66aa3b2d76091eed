package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// columns returns the metrics that are columns of the table of results: those of the table that some row fills, or when
// none does all that there are.
func columns(doc *result.Document) []result.Metric {
	has := map[string]bool{}
	for _, r := range doc.Rows {
		for name := range r.Metrics {
			has[name] = true
		}
	}
	if has[objective] {
		return jobsColumns(doc.Rows)
	}
	has["gap"] = slices.ContainsFunc(doc.Rows, func(r result.Row) bool {
		of, ok := r.GapOf(doc.Reference)
		return ok && of.Beside != "gap"
	})
	var out []result.Metric
	for _, m := range result.Metrics {
		switch {
		case m.Head == "" || m.Table != "" || !has[m.Name]:
		case m.Needs != "" && !has[m.Needs]:
		case m.Rare && most(doc.Rows, m.Name) == 0:
		case slices.ContainsFunc(m.Unless, func(name string) bool { return has[name] }):
		default:
			if at := strings.Index(m.Head, ",\n"); at >= 0 && !slices.ContainsFunc(doc.Rows, func(r result.Row) bool { _, ok := besides(doc, &r, &m); return ok }) {
				m.Head = m.Head[:at] // it promises what no row has
			}
			out = append(out, m)
		}
	}
	if out == nil {
		for _, name := range slices.Sorted(maps.Keys(has)) {
			if has[name] {
				out = append(out, result.Metric{Name: name, Head: name})
			}
		}
	}
	return out
}

// heads are the heads of columns, after the first.
func heads(first string, columns []result.Metric) []string {
	out := []string{first}
	for _, m := range columns {
		out = append(out, m.Head)
	}
	return out
}

// cells prints a row's values of columns as cell does, after its policy.
func cells(doc *result.Document, r *result.Row, columns []result.Metric) []string {
	out := []string{r.Policy}
	for i := range columns {
		out = append(out, cell(doc, r, &columns[i]))
	}
	return out
}

// cell prints a row's value of a column, and after a tab what stands beside it.
func cell(doc *result.Document, r *result.Row, m *result.Metric) string {
	v, ok := r.Metrics[m.Name]
	if _, needed := r.Metrics[m.Needs]; !ok || m.Needs != "" && !needed {
		return "-"
	}
	shown := formatted(v, m, doc.Rows)
	beside, ok := besides(doc, r, m)
	if !ok {
		return shown
	}
	other, _ := result.Find(m.Beside)
	if other.Name == "gap" && m.Zero != "" && math.Abs(beside) <= provedGap {
		return shown + "\t" + m.Zero
	}
	return shown + "\t" + formatted(beside, &other, doc.Rows)
}

// besides returns the value that a row shows beside that of a column, if it has one: a gap beside the metric that it is of.
func besides(doc *result.Document, r *result.Row, m *result.Metric) (float64, bool) {
	v, ok := r.Metrics[m.Beside]
	if ok && m.Beside == "gap" {
		of, bounded := r.GapOf(doc.Reference)
		ok = bounded && of.Name == m.Name
	}
	return v, ok
}

// formatted prints a value as the metric's Format says. Times share the unit of the column.
func formatted(v float64, m *result.Metric, rows []result.Row) string {
	switch m.Format {
	case result.Fixed:
		return fmt.Sprintf("%.4f", v)
	case result.Time:
		return columnUnit(rows, m.Name).Of(v)
	case result.Class:
		return text.Class(v)
	case result.Wall:
		return text.Roughly(v)
	case result.Count:
		return text.Thousands(v)
	case result.Amount:
		return text.Amount(v)
	case result.Rate:
		return text.BytesPerSecond(v)
	case result.Percent:
		return text.Percent(v)
	case result.Gap:
		return gap(v)
	}
	return fmt.Sprintf("%.6g", v)
}

// gap prints a relative distance to a bound.
func gap(v float64) string {
	if math.Abs(v) <= provedGap {
		return "optimal"
	}
	return text.Percent(v)
}

// columnUnit returns the unit for a column of times: that of the iteration times where it leaves digits to read, so
// that columns can be set side by side.
func columnUnit(rows []result.Row, metric string) text.Unit {
	part := most(rows, metric)
	if whole := most(rows, "makespan_s"); whole > 0 && text.UnitFor(whole).In(part) >= 0.01 {
		return text.UnitFor(whole)
	}
	return text.UnitFor(part)
}

// objective is the metric that only runs of several jobs have.
const objective = "objective"

// Of a run of up to jobsShown jobs each has its NCT in the table, of up to jobsTimed its time too; of more only the
// slowest counts.
const (
	jobsShown = 4
	jobsTimed = 2
)

// jobWidth is the longest name of a job that a table prints whole.
const jobWidth = 10

// jobNames returns the jobs of a run in alphabetical order.
func jobNames(rows []result.Row) []string {
	var names []string
	for _, r := range rows {
		for metric := range r.Metrics {
			if name, ok := strings.CutPrefix(metric, "job."); ok {
				if name, ok = strings.CutSuffix(name, ".makespan_s"); ok && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// jobsColumns are the columns of a run of several jobs: the objective, what each job comes to, and, where the jobs also
// ran on common circuits, the same there.
func jobsColumns(rows []result.Row) []result.Metric {
	out := []result.Metric{{Name: objective, Head: objective, Format: result.Fixed}}
	jobs := jobNames(rows)
	if len(jobs) > jobsShown {
		out = append(out, result.Metric{Name: "nct_max", Head: "largest\nNCT", Format: result.Fixed})
		jobs = nil
	}
	column := func(name, what, metric string, format result.Format) {
		out = append(out, result.Metric{Name: "job." + name + "." + metric, Head: text.Snip(name, jobWidth) + "\n" + what, Format: format})
	}
	if some(rows, "pooled_objective") {
		out = append(out, result.Metric{Name: "pooled_objective", Head: objective + "\npooled", Format: result.Fixed})
		for _, name := range jobs {
			column(name, "pooled", "nct_mean", result.Fixed)
		}
	} else {
		for _, name := range jobs {
			column(name, "NCT", "nct", result.Fixed)
			if len(jobs) <= jobsTimed {
				column(name, "iteration", "makespan_s", result.Time)
			}
		}
	}
	for _, name := range []string{"gap", "ports"} {
		m, _ := result.Find(name)
		out = append(out, m)
	}
	return out
}

// trialColumns are the columns of the table of trials.
func trialColumns() []result.Metric {
	out := []result.Metric{{Name: "nct", Head: "NCT as\nplanned", Format: result.Fixed}}
	for _, m := range result.Metrics {
		if m.Table == "replay" {
			out = append(out, m)
		}
	}
	return out
}

// padded sets what stands beside values under each other.
func padded(cells []string) []string {
	for i, c := range cells {
		if value, beside, ok := strings.Cut(c, "\t"); ok {
			cells[i] = fmt.Sprintf("%s %7s", value, beside)
		}
	}
	return cells
}
