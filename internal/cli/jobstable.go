package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"sim/scenarios/result"
)

// objective is the metric that only runs of several jobs have.
const objective = "objective"

// Of a run of up to jobsShown jobs each has its NCT in the table, of up to
// jobsTimed its time too; of more only the slowest counts.
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

// jobsColumns are the columns of a run of several jobs: the objective, what
// each job comes to, and, where the jobs also played on common circuits, the
// same there.
func jobsColumns(rows []result.Row) []result.Metric {
	pooled := slices.ContainsFunc(rows, func(r result.Row) bool { _, ok := r.Metrics["pooled_objective"]; return ok })
	out := []result.Metric{{Name: objective, Head: objective, Format: result.Fixed}}
	jobs := jobNames(rows)
	if len(jobs) > jobsShown {
		out = append(out, result.Metric{Name: "nct_max", Head: "largest\nNCT", Format: result.Fixed})
		jobs = nil
	}
	column := func(name, what, metric string, format result.Format) {
		head := text.Snip(name, jobWidth, "…") + "\n" + what
		out = append(out, result.Metric{Name: "job." + name + "." + metric, Head: head, Format: format})
	}
	for _, name := range jobs {
		switch {
		case pooled:
		case len(jobs) <= jobsTimed:
			column(name, "NCT", "nct", result.Fixed)
			column(name, "iteration", "makespan_s", result.Time)
		default:
			column(name, "NCT", "nct", result.Fixed)
		}
	}
	if pooled {
		out = append(out, result.Metric{Name: "pooled_objective", Head: objective + "\npooled", Format: result.Fixed})
		for _, name := range jobs {
			column(name, "pooled", "nct_mean", result.Fixed)
		}
	}
	for _, m := range result.Metrics {
		if m.Name == "gap" || m.Name == "ports" {
			out = append(out, m)
		}
	}
	return out
}

// printBestOfJobs says which arbiter is best and what the objective is; false
// where the run is not one of several jobs.
func printBestOfJobs(b *strings.Builder, doc *result.Document, best int) bool {
	r := &doc.Rows[best]
	v, ok := r.Metrics[objective]
	if !ok {
		return false
	}
	fmt.Fprintf(b, "* %s is best: objective %.4f\n", r.Policy, v)
	paragraph(b, "objective: "+r.Labels[objective])
	if how := r.Labels["pooled"]; how != "" {
		paragraph(b, "pooled: "+how)
	}
	for _, name := range jobNames(doc.Rows) {
		ideal, compute := doc.Reference["job."+name+".makespan_s"], doc.Reference["job."+name+".compute_makespan_s"]
		fmt.Fprintf(b, "  %s: ideal fabric %s, compute alone %s\n", name, seconds(ideal), seconds(compute))
	}
	return true
}

// explainable reports whether a policy's play holds something to explain.
func explainable(d *result.Detail, policy string) bool {
	p := d.Play(policy)
	return p != nil && (len(p.Path) > 0 || p.Schedule != nil || p.Traffic != nil || len(p.Jobs) > 0)
}
