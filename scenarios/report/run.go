// This file prints the results of a run: the table, its notes, and the circuits of the
// best policy.

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// Run describes the results of all policies of a run stored in dir, or in no directory if dir is
// empty: the table with one row per
// policy, notes, and the circuits of the best policy. style is the layout; the best row is
// highlighted.
func Run(run *result.Run, dir string, style text.Style) string {
	p, doc := &writer{style: style}, &run.Document
	p.title(doc.Scenario, run.Detail.Title)
	_, why := doc.Winner()
	shown := ResultsOf(run)

	t := text.NewTable(shown.Heads...)
	if why != nil { // the metric by which the best policy wins
		t.Rank(0, 1+slices.Index(shown.Metrics, why.Name))
	}
	for i, row := range shown.Rows {
		// The best row has an asterisk and is highlighted.
		cells := append([]string{"  " + text.Snip(row[0], maxPolicyWidth)},
			alignSecondary(row[1:])...)
		if i == shown.Best {
			cells[0] = "*" + cells[0][1:]
			t.BoldRow(cells)
		} else {
			t.Row(cells)
		}
	}

	best := shown.Best
	p.line("%s", t.String(style))
	p.printBelowTable(run, best, why)
	if best >= 0 {
		owner := doc.Rows[best].Policy
		if sim := run.Detail.Simulation(owner); sim != nil && len(sim.Moves) > 0 {
			owner += " at the start of an iteration"
		}
		p.printCircuits(owner, doc.Rows[best].Labels["topology"])
	}

	// A port-borrowing job's table also shows the circuits of the job that lends ports.
	if r := lenderRow(doc); r != nil {
		p.printCircuits("the port-lending job", r.Labels["lender_topology"])
	}
	if dir == "" {
		return p.String()
	}
	p.line("\nKept in %s", dir)

	// Without a best row, every policy has failed, and the explanation states why.
	if best < 0 || explainable(&run.Detail, doc.Rows[best].Policy) {
		p.line("Where the time goes: sim explain %s", dir)
	}
	return p.String()
}

// printBelowTable prints the text below the table of results: notes, trials, tiers. best is the
// index of the best row or -1, and why is the metric by which it is best.
func (p *writer) printBelowTable(run *result.Run, best int, why *result.Metric) {
	doc := &run.Document
	p.printNotes(run, best, why)
	p.printLender(doc)
	p.printTrials(doc)
	if best >= 0 {
		p.printTiers(&doc.Rows[best])
	}
	if slices.ContainsFunc(doc.Rows, func(r result.Row) bool {
		return r.Labels["topology"] != ""
	}) {
		p.indented("%s", matchingNote)
	}
	p.printOmittedData(run)
}

// printOmittedData states which data of figures and explanations were sampled or omitted because
// of their size.
func (p *writer) printOmittedData(run *result.Run) {
	for _, what := range run.Detail.Omitted {
		p.indented("not in the figures' data: %s", what)
	}
}

// matchingNote is printed with all circuits. A topology fits the ports of each pod. But
// the ports of a pod belong to several optical switches, and a circuit needs ports of
// both pods on the same switch.
const matchingNote = "How optical switches match ports is not modelled: circuits " +
	"only fit the ports of each pod."

// explainable reports whether a policy's simulation has data to explain.
func explainable(d *result.Detail, policy string) bool {
	p := d.Simulation(policy)
	return p != nil && (len(p.Path) > 0 || p.Schedule != nil || p.Traffic != nil ||
		p.Fleet != nil || len(p.Jobs) > 0)
}

// printNotes explains the values in the table: the best row, the reference, footnotes of
// metrics, gaps, and labels of rows. best and why are as in printBelowTable.
func (p *writer) printNotes(run *result.Run, best int, why *result.Metric) {
	doc := &run.Document
	ideal, hasIdeal := doc.Reference[result.IterationTime]
	has := doc.AsSweep().MetricNames()
	reference := "the ideal fabric"
	if has[result.CallTime] {
		reference = "the step without all-to-alls"
	}

	if best >= 0 && !p.bestOfJobs(doc, best) {
		p.printBest(doc, &doc.Rows[best], why, reference)
	}

	// Print the reference and the footnotes of metrics.
	if hasIdeal {
		// The reference itself may be within a gap of its bound.
		line := strings.TrimPrefix(reference, "the ") + " " + text.Seconds(ideal)
		if gap := doc.Reference[result.GapToBound]; gap > provedGap {
			line += fmt.Sprintf(" (within %s of the least it could take)",
				text.Percent(gap))
		}
		if compute, known := doc.Reference[result.ComputeTime]; known {
			line += ", compute alone " + text.Seconds(compute)
		}
		if basis := result.DescribeBasis(doc.Reference, ""); basis != "" {
			line += ", " + basis
		}
		p.indented("%s", line)
		if note := run.Detail.ReferenceNote; note != "" {
			p.indented("%s", note)
		}
	}

	if run.Evidence != "" {
		p.indented("%s", run.Evidence)
	}

	// Footnotes belong to metrics that some row has.
	for _, m := range result.Metrics {
		if m.Footnote != "" && has[m.Name] {
			p.line("  %s", m.Footnote)
		}
	}

	p.gaps(doc)

	for _, r := range doc.Rows { // the rows have one reference, and one task graph
		reference, folded := r.Labels["nct_reference"], r.Labels["folded"]
		if reference != "" {
			p.indented("NCT: %s", reference)
		}
		if folded != "" {
			p.indented("simulated: %s", folded)
		}
		if reference+folded != "" {
			break
		}
	}

	for i := range doc.Rows {
		p.printLabels(&doc.Rows[i])
	}
}

// printBest names the best policy, the metric by which it is best, and the difference of its
// iteration time to the reference, if there are both. reference is the name of the reference.
func (p *writer) printBest(doc *result.Document, best *result.Row, why *result.Metric, reference string) {
	line := fmt.Sprintf("* %s %s", best.Policy, why.WinPhrase)
	time, ended := best.Metrics[result.IterationTime]
	if ideal := doc.Reference[result.IterationTime]; ended && ideal > 0 {
		switch over := time/ideal - 1; {
		case over > provedGap:
			line += fmt.Sprintf(": %s slower than %s", text.Percent(over), reference)
		case over < -provedGap:
			// The ideal fabric can have another mapping of stages.
			line += fmt.Sprintf(": %s faster than %s", text.Percent(-over), reference)
		default:
			line += ": as fast as " + reference
		}
	}

	p.line("%s", line)
	p.printFasterFluid(doc, best, why)
}

// printLabels prints the labels that explain a row, and the reasons for its uncertain or
// undefined metrics.
func (p *writer) printLabels(r *result.Row) {
	for _, l := range []struct{ label, words string }{
		{"unserved", "%s cannot serve: %s"},
		{"failed", "%s failed: %s"},
		{result.JobsRefused, "%s: %s"},
		{"origin", "%s: %s"},
		{"algorithm", "%s: collectives by %s"},
		{"tolerance", "%s: %s"},
		{"stopped", "%s stopped before its search had ended: %s"},
	} {
		// The origin of a plan is followed by its proof.
		what := r.Labels[l.label]
		if proved := r.Labels["proved"]; l.label == "origin" && what != "" &&
			proved != "" {
			what += "; " + proved
		}
		if what != "" {
			p.indented(l.words, r.Policy, what)
		}
	}

	for _, m := range result.Metrics {
		if why := r.Labels[m.Name]; m.Doubted && why != "" {
			value := ""
			if v, ok := r.Metrics[m.Name]; ok {
				value = fmt.Sprintf(" of %.4g", v)
			}
			p.indented("%s: %s%s: %s", r.Policy, m.Name, value, why)
		}
	}

	for _, m := range result.Metrics {
		// State why a column of the table is empty for this row.
		if _, ok := r.Metrics[m.Name]; !ok && m.Head != "" && m.Table == "" &&
			r.Labels[m.Name] != "" {
			p.indented("%s has no %s: %s", r.Policy, m.Name, r.Labels[m.Name])
		}
	}
}

// fluidModel is the model of fluid schedules. Their bound applies only to their own row, because
// no plan can achieve it.
const fluidModel = "fluid"

// planModels maps the models in which plans of a collective are bounded to their descriptions.
var planModels = map[string]string{
	"round":   "rounds whose chunks start together",
	"forward": "chunks that wait, but not across reconfigurations",
	"relay":   "chunks that any GPU may store",

	"independent": "switches that reconfigure on their own",

	fluidModel: "links that many chunks share at a time, as fluid",
}

// gaps explains the gaps of the table: one line per model of the lower bounds, with its
// policies.
func (p *writer) gaps(doc *result.Document) {
	p.completionGaps(doc)
	for _, g := range doc.Group(func(r *result.Row) string {
		if _, ok := r.GapOf(doc.Reference); !ok {
			return ""
		}
		return cmp.Or(planModels[r.Labels["gap_model"]], r.Labels["gap_model"])
	}) {
		// Name the gap by its metric if several metrics have gaps.
		m, _ := g.Rows[0].GapOf(doc.Reference)
		what := "gap to bound"
		if m.ZeroLabel != "" {
			what = "gap of " + m.Name
		}
		p.indented("%s (%s): above a lower bound on %s, which holds for %s", what,
			g.Policies(), m.BoundSubject, g.Key)
	}
}

// completionGaps explains the gaps of completion times: one line per model, with its
// policies if there are several models.
func (p *writer) completionGaps(doc *result.Document) {
	groups := doc.Group(func(r *result.Row) string {
		return r.Labels["gap_completion_model"]
	})
	for _, g := range groups {
		// Fluid schedules have their own bound.
		of := ""
		bound := doc.Reference[result.BoundPrefix+result.CompletionTime]
		if len(groups) > 1 {
			of = " (" + g.Policies() + ")"
		}
		if g.Key == fluidModel {
			bound = g.Rows[0].Metrics["bound_completion_fluid_s"]
		}
		p.indented("gap to bound%s: above %s, a lower bound on the time of plans "+
			"of any number of topologies, which holds for %s",
			of, text.Seconds(bound), cmp.Or(planModels[g.Key], g.Key))
	}
}

// printFasterFluid lists fluid schedules that are faster than the best row by a metric. They
// cannot be executed as plans, so they are not compared.
func (p *writer) printFasterFluid(doc *result.Document, best *result.Row, by *result.Metric) {
	var names []string
	for _, r := range doc.Rows {
		// A fluid schedule competes with the best row only if the best row is a plan.
		if v, ok := r.Metrics[by.Name]; ok && r.Fluid() && !best.Fluid() &&
			v < best.Metrics[by.Name] {
			names = append(names, r.Policy)
		}
	}

	if len(names) > 0 {
		p.indented("faster, but on links that many chunks share at a time, which "+
			"no plan can: %s", strings.Join(names, ", "))
	}
}

// bestOfJobs names the best multi-job allocator and explains the objective. best is the index of
// its row. It returns false if the run does not have several jobs.
func (p *writer) bestOfJobs(doc *result.Document, best int) bool {
	r := &doc.Rows[best]
	objective, ok := r.Metrics[result.Objective]
	if !ok {
		return false
	}
	p.line("* %s is best: objective %.4f", r.Policy, objective)
	p.indented("objective: %s", r.Labels[result.Objective])
	if how := r.Labels["pooled"]; how != "" {
		p.indented("pooled: %s", how)
	}

	// Each job is compared with its own iteration on the ideal fabric.
	for _, name := range doc.JobNames() {
		of := func(metric string) string {
			return text.Seconds(doc.Reference[result.OfJob(name, metric)])
		}
		line := fmt.Sprintf("%s: ideal fabric %s, compute alone %s", name, of(result.IterationTime), of(result.ComputeTime))
		if basis := result.DescribeBasis(doc.Reference, result.OfJob(name, "")); basis != "" {
			line += ", " + basis
		}
		p.indented("%s", line)
	}
	return true
}

// maxTopologyLines is the number of printed lines of a topology, which fit on a screen.
const maxTopologyLines = 24

// printCircuits prints a topology, unless it is empty. owner names its policy or job. Lines that
// do not fit on a screen are omitted or shortened.
func (p *writer) printCircuits(owner, topology string) {
	if topology == "" {
		return
	}
	// Shorten lines and count the omitted ones.
	lines := strings.Split(strings.Trim(topology, "\n"), "\n")
	p.line("\nTopology of %s, in circuits:", owner)

	for _, l := range lines[:min(len(lines), maxTopologyLines)] {
		if head, ok := strings.CutSuffix(l, "twins"); ok { // as results have it
			l = head + "   DP"
		}
		p.line("  %s", strings.TrimRight(text.Trim(l, p.width()-indentation), " "))
	}

	if rest := len(lines) - maxTopologyLines; rest > 0 {
		p.line("  ... and %s more, in result.json", text.Plural(rest, "line"))
	}
}

// lenderRow returns a row with the metrics of a port-lending job, or nil without such a job. All
// rows have the same metrics of it.
func lenderRow(doc *result.Document) *result.Row {
	for i := range doc.Rows {
		if doc.Rows[i].Labels["lender"] != "" {
			return &doc.Rows[i]
		}
	}
	return nil
}

// printLender describes the job that lends ports to the job of the table, if there is one: its
// circuits, its NCT, and the ports that it leaves.
func (p *writer) printLender(doc *result.Document) {
	r := lenderRow(doc)
	if r == nil {
		return
	}
	// Describe the ports that the lender uses, as a share of all ports if that is known.
	m, ports := r.Metrics, r.Metrics["lender_ports"]
	line := fmt.Sprintf("NCT before: without the ports that another job lends, the "+
		"same job with its stages in reverse order. The other job's circuits, by %s, take %s",
		r.Labels["lender"], text.Thousands(ports))
	if ratio := m["lender_port_ratio"]; ratio > 0 {
		line += fmt.Sprintf(" of %s ports, %.1f %%,", text.Thousands(ports/ratio),
			100*ratio)
	}
	if nct, ok := m["lender_nct"]; ok {
		line += fmt.Sprintf(" at an NCT of %.4f", nct)
	}
	if ports == m["lender_bound_ports"] {
		line += ", the fewest"
	}
	p.indented("%s for at most %s; %s are left", line, r.Labels["lender_limit"],
		text.Thousands(m[result.SurplusPorts]))
	// The lender may have chosen among several topologies.
	if n := m["lender_choices"]; n > 1 {
		p.indented("port-lending job: of %s topologies that leave different ports "+
			"it takes the one that serves the borrowing job best", text.Thousands(n))
	}
	if why := r.Labels["lender_stopped"]; why != "" {
		p.indented("port-lending job: %s", why)
	}
}

// printTrials prints the table of trials, if there are any, and the reference of the NCT in
// trials.
func (p *writer) printTrials(doc *result.Document) {
	if !slices.ContainsFunc(doc.Rows, func(r result.Row) bool {
		return r.Metrics[result.TrialCount] > 0
	}) {
		return
	}

	// what describes how trials were drawn.
	shown, what := result.TrialColumns(), ""
	t := text.NewTable(columnHeads("policy", shown)...)
	for i := range doc.Rows {
		r := &doc.Rows[i]
		if r.Metrics[result.TrialCount] > 0 {
			what = r.Labels["trials"]
			// Only policies with trials have a row.
			row := alignSecondary(rowCells(doc, r, shown))
			row[0] = "  " + text.Snip(row[0], maxPolicyWidth)
			t.Row(row)
		}
	}

	p.line("")
	p.paragraph("Robustness: %s", strings.Replace(what, " play", " trial", 1))
	p.table(t)
	p.line("")

	// Print the reference of the NCT in trials, and the rows whose trials stalled.
	compute, known := doc.Reference["trial_compute_makespan_mean_s"]
	if ideal, ok := doc.Reference[result.TrialTime]; ok && known {
		line := fmt.Sprintf("NCT of a trial: against the ideal fabric with the "+
			"same compute times, which takes %s on average, compute alone %s",
			text.Seconds(ideal), text.Seconds(compute))
		if gap := doc.Reference["trial_gap_max"]; gap > provedGap {
			line += fmt.Sprintf(" (each within %s of the least it could take)",
				text.Percent(gap))
		}
		p.indented("%s", line)
	}

	p.line("  p95: 95 of 100 trials are no worse")
	for _, r := range doc.Rows {
		if all, n := r.Metrics[result.TrialCount], r.Metrics[result.TrialStalls]; n > 0 && n < all {
			p.indented("%s stalls in %s of %s: pods that exchange data lose their "+
				"last circuit; these trials are left out of all other figures",
				r.Policy, text.Thousands(n), text.Plural(int(all), "trial"))
		}
		if why := r.Labels[result.TrialNCT]; why != "" {
			p.indented("%s has no NCT, %s", r.Policy, why)
		}
	}
}
