// This file selects the metrics that are columns of tables.

package result

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sim/internal/text"
)

// Limits of the table of several jobs. Up to maxJobsWithColumns jobs have columns of
// their own, up to maxJobsWithTimes with times. With more jobs, only metrics of all jobs
// are shown.
const (
	maxJobsWithColumns = 4
	maxJobsWithTimes   = 2
)

// maxJobNameWidth is the length to which names of jobs are shortened in heads of columns.
const maxJobNameWidth = 10

// Columns returns the metrics that are columns of the table of results: the table metrics
// that some row has, and the metrics of each of several jobs. If no such column exists,
// it returns all metrics.
func (d *Document) Columns() []Metric {
	has := d.AsSweep().MetricNames()
	all := slices.Sorted(maps.Keys(has))
	has[GapToBound] = slices.ContainsFunc(d.Rows, func(r Row) bool {
		of, ok := r.GapOf(d.Reference)
		return ok && of.Secondary != GapToBound
	})
	jobs := d.JobNames()
	var out []Metric
	jobsIndex := -1 // index for the columns of jobs, or -1
	for _, m := range Metrics {
		switch {
		case len(jobs) > 0 && m.JobHead != "": // shown in columns for each job
			if jobsIndex < 0 {
				jobsIndex = len(out)
			}
		case m.Head == "" || m.Table != "" || !has[m.Name]:
		case m.Needs != "" && !has[m.Needs]:
		case m.HideIfZero && MaxOf(d.Rows, m.Name) == 0:
		case m.ForManyJobs && len(jobs) <= maxJobsWithColumns:
		case slices.ContainsFunc(m.HiddenBy, func(name string) bool { return has[name] }):
		default:
			m.Head = d.columnHead(m)
			out = append(out, m)
		}
	}
	if jobsIndex >= 0 && len(jobs) <= maxJobsWithColumns {
		out = slices.Insert(out, jobsIndex, jobColumns(jobs, has)...)
	}
	if out == nil {
		for _, name := range all {
			out = append(out, Metric{Name: name, Head: name})
		}
	}
	return out
}

// columnHead returns the head of the column of m. Its last line, which names the secondary
// value, is left out if no row has that value.
func (d *Document) columnHead(m Metric) string {
	end := strings.Index(m.Head, ",\n")
	if end < 0 || m.Secondary == "" {
		return m.Head
	}
	hasSecondary := func(r Row) bool {
		_, ok := d.SecondaryValue(&r, &m)
		return ok
	}
	if slices.ContainsFunc(d.Rows, hasSecondary) {
		return m.Head
	}
	return m.Head[:end]
}

// jobColumns returns the columns for each of several jobs.
func jobColumns(jobs []string, has map[string]bool) []Metric {
	var out []Metric
	for _, job := range jobs {
		for _, m := range Metrics {
			switch {
			case m.JobHead == "" || m.Needs != "" && !has[m.Needs]:
			case m.Format == Time && len(jobs) > maxJobsWithTimes:
			case slices.ContainsFunc(m.HiddenBy, func(name string) bool { return has[name] }):
			default:
				m.Name, m.Needs = OfJob(job, m.Name), ""
				m.Head, m.JobHead = text.Snip(job, maxJobNameWidth)+"\n"+m.JobHead, ""
				out = append(out, m)
			}
		}
	}
	return out
}

// JobNames returns the names of several jobs, sorted.
func (d *Document) JobNames() []string {
	var names []string
	for _, r := range d.Rows {
		for metric := range r.Metrics {
			if name, of, ok := splitJob(metric); ok && of == IterationTime && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// SecondaryValue returns the value that is printed after the value of column m, if the
// row has one. A gap is printed after the metric to which it refers.
func (d *Document) SecondaryValue(r *Row, m *Metric) (float64, bool) {
	v, ok := r.Metrics[m.Secondary]
	if ok && m.Secondary == GapToBound {
		of, bounded := r.GapOf(d.Reference)
		ok = bounded && of.Name == m.Name
	}
	return v, ok
}

// TrialColumns returns the columns of the table of trials: the planned values, then the
// metrics of trials.
func TrialColumns() []Metric {
	var planColumns, out []Metric
	for _, m := range Metrics {
		switch {
		case m.PlanHead != "":
			m.Head = m.PlanHead
			planColumns = append(planColumns, m)
		case m.Table == "trials":
			out = append(out, m)
		}
	}
	return append(planColumns, out...)
}

// MaxOf returns the largest value of a metric in rows, or 0 if no row has it.
func MaxOf(rows []Row, metric string) float64 {
	v := 0.0
	for _, r := range rows {
		v = max(v, r.Metrics[metric])
	}
	return v
}

// WholePart is one part of a whole, such as a share of the chip-time.
type WholePart struct {
	Words  string
	Values []float64 // indexed by row; the parts of each row add up to 1
}

// PartsOf returns the positive parts of a whole, in the order of the table of metrics.
// Parts of one table row with "*" are sorted by their sum over all rows, the largest
// first. It returns nil if no row has a part.
func PartsOf(whole string, rows []Row) []WholePart {
	var parts []WholePart
	for _, m := range Metrics {
		if m.Whole != whole {
			continue
		}
		prefix, many := strings.CutSuffix(m.Name, "*")
		sums := map[string]float64{}
		for _, r := range rows {
			for name, v := range r.Metrics {
				if name == m.Name || many && strings.HasPrefix(name, prefix) {
					sums[name] += v
				}
			}
		}
		for _, name := range slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
			return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
		}) {
			if many && sums[name] <= 0 {
				continue
			}
			p := WholePart{Words: cmp.Or(m.Part, strings.TrimPrefix(name, prefix))}
			for _, r := range rows {
				p.Values = append(p.Values, r.Metrics[name])
			}
			parts = append(parts, p)
		}
	}
	return parts
}
