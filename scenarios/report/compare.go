// This file compares the critical paths of the policies of a run, for explain.

package report

import (
	"sim/internal/text"
	"sim/scenarios/result"
)

// completedSimulations returns of(s) for the simulations s of all policies that completed,
// beginning with the ideal fabric. of selects a part of a simulation, such as one job, and
// returns nil if the simulation has no such part. ideal may be nil.
func completedSimulations(
	run *result.Run,
	ideal *result.Simulation,
	of func(*result.Simulation) *result.Simulation,
) (sims []result.Simulation) {
	add := func(policy string, sim *result.Simulation) {
		// A copy, because the name of the policy changes.
		named := *sim
		named.Policy = policy
		sims = append(sims, named)
	}

	if ideal != nil && ideal.MakespanS > 0 {
		add("ideal fabric", ideal)
	}
	for i := range run.Detail.Policies {
		sim := &run.Detail.Policies[i]
		// Policies that could not serve the work have no simulation to compare.
		row := run.Document.Row(sim.Policy)
		if one := of(sim); one != nil &&
			(row == nil || row.Labels["unserved"] == "") {
			add(sim.Policy, one)
		}
	}
	return sims
}

// listFailedPolicies states why policies failed, after an empty line. It prints nothing if all
// completed.
func (p *writer) listFailedPolicies(doc *result.Document) {
	before := "\n"
	for _, r := range doc.Rows {
		if why := r.Labels["unserved"]; why != "" {
			p.WriteString(before)
			p.paragraph("%s cannot serve: %s", r.Policy, why)
			before = ""
		}
	}
}

// comparePaths compares the critical path of sim with the critical paths of other policies, in
// two tables: the parts of each path, and their differences to the parts of sim. The paths have
// different tasks, so only the sum of the differences is a difference in time.
func (p *writer) comparePaths(sim *result.Simulation, sims []result.Simulation) {
	// longest determines the common unit. waits reports whether some path has times without a
	// running task, which have a column of their own.
	longest, waits := 0.0, false
	for i := range sims {
		longest = max(longest, sims[i].MakespanS)
		waits = waits || sims[i].Shares().WaitS != 0
	}
	u := text.UnitFor(longest)
	p.line("\n%s", p.emphasize("Where each policy's time goes"))
	t := p.shareTable(waits, "policy")
	for i := range sims {
		t.Row(sims[i].Policy, sumParts(u, shareParts(u, &sims[i])...))
	}
	p.table(t)
	p.line("")
	if len(sims) < 2 {
		return
	}
	// The critical paths differ, so the parts of two rows cannot be compared directly.
	p.indented("Each row is of the policy's own critical path: another decision "+
		"makes another chain the longest. A policy can lose more on its path "+
		"than another and still be faster, as its path has less on it. So parts of "+
		"two rows are not to be compared, but in sum: below, what sets each row apart from that of %s, "+
		"which adds up to the difference of the %s times.", sim.Policy, p.span)

	p.table(p.differences(sim, sims, u, waits))
	p.indented("tasks: transfers on its path; on both: those that are on that of %s too", sim.Policy)
}

// shareTable returns a table whose last columns are the parts of a critical path and their sum.
// first has the heads of the columns before them. The column of waiting times is shown if waits
// is set.
func (p *writer) shareTable(waits bool, first ...string) *text.Table {
	t := text.NewTable(append(first, "compute", "transfers at\nfull rate",
		"lost to few\ncircuits", "lost to\nsharing", "no task\nat work",
		p.span+"\ntime")...)
	t.Show("no task\nat work", waits)
	return t.Rank(0, len(t.Heads)-1) // policy and sum
}

// differences returns a table with one row for each policy except the policy of sim. The columns
// are the number of tasks on its critical path, the number of tasks that are also on the path of
// sim, and the difference of each part to sim.
func (p *writer) differences(
	sim *result.Simulation,
	sims []result.Simulation,
	u text.Unit,
	waits bool,
) *text.Table {
	t := p.shareTable(waits, "less "+sim.Policy, "tasks", "on\nboth")
	tasks := map[string]bool{}
	for i := range sim.Path {
		tasks[sim.Path[i].Name] = true
	}

	// Compute the differences to the parts of sim.
	base := shareParts(u, sim)
	for i := range sims {
		q := &sims[i]
		if q.Policy == sim.Policy {
			continue
		}

		// both counts the tasks on both paths, by name.
		both := 0
		for k := range q.Path {
			if tasks[q.Path[k].Name] {
				both++
			}
		}

		parts := shareParts(u, q)
		// Differences are of rounded parts, so that they add up to the rounded difference in
		// time.
		signed := []string{}
		for k := range parts {
			parts[k] -= base[k]
		}
		for _, v := range append(parts, sum(parts)) {
			signed = append(signed, u.Signed(v))
		}
		t.Row(q.Policy, len(q.Path), both, signed)
	}
	return t
}
