package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"sim/scenarios/result"
)

// served returns what of each policy takes time, that of the ideal fabric first, and a line for each policy that cannot serve.
func served(run *result.Run, ideal *result.Play, of func(*result.Play) *result.Play) (plays []result.Play, below string) {
	why := map[string]string{}
	for _, r := range run.Document.Rows {
		why[r.Policy] = r.Labels["unserved"]
	}
	if ideal != nil && ideal.MakespanS > 0 {
		plays = append(plays, *ideal)
		plays[0].Policy = "ideal fabric"
	}
	for i := range run.Detail.Policies {
		p := &run.Detail.Policies[i]
		if reason := why[p.Policy]; reason != "" {
			below += wrap(fmt.Sprintf("%s cannot serve: %s", p.Policy, reason), tableWidth) + "\n"
		} else if one := of(p); one != nil {
			plays = append(plays, *one)
			plays[len(plays)-1].Policy = p.Policy
		}
	}
	if below != "" {
		below = "\n" + below
	}
	return plays, below
}

// printCompared sets the critical path of p beside those of plays: each policy has a path of its own, so that parts are differences
// between paths and only their sum is one of time.
func printCompared(b *strings.Builder, p *result.Play, plays []result.Play, paint paints) {
	fmt.Fprintf(b, "\n%s\n\n%s\n", paint.bold("Where each policy's time goes"), sharesTable(plays))
	if len(plays) < 2 {
		return
	}
	paragraph(b, fmt.Sprintf("Each row is of the policy's own critical path: another decision makes another chain the longest. A policy can lose more on its path "+
		"than another and still be faster, as its path has less on it. So parts of two rows are not to be compared, but in sum: below, what sets each row apart from that of %s, "+
		"which adds up to the difference of the iteration times.", p.Policy))
	fmt.Fprintf(b, "\n%s\n", differenceTable(p, plays))
	paragraph(b, fmt.Sprintf("tasks: transfers on its path; on both: those that are on that of %s too", p.Policy))
}

// shareHead names the parts of a critical path.
func shareHead(first []any, plays []result.Play) (table.Row, bool) {
	waits := false
	for i := range plays {
		waits = waits || plays[i].Shares().WaitS != 0
	}
	head := append(table.Row(first), "compute", "transfers at\nfull rate", "lost to few\ncircuits", "lost to\nsharing")
	if waits {
		head = append(head, "no task\nat work")
	}
	return append(head, "iteration\ntime"), waits
}

// waitPart is the place of the time without a task at work among a path's parts.
const waitPart = 4

// shareParts are the parts of a critical path, rounded so that they add up; of all, with waits, the last is often 0.
func shareParts(u unit, p *result.Play, waits bool) []float64 {
	s := p.Shares()
	parts := u.addUp(s.ComputeS, s.FullRateS, s.CircuitS, s.SharingS, s.WaitS)
	if !waits {
		parts = parts[:waitPart]
	}
	return parts
}

// compareUnit is the unit in which all plays read well.
func compareUnit(plays []result.Play) unit {
	most := 0.0
	for i := range plays {
		most = max(most, plays[i].MakespanS)
	}
	return unitFor(most)
}

// sharesTable is a row a policy, the parts adding up to the whole.
func sharesTable(plays []result.Play) string {
	head, waits := shareHead([]any{"policy"}, plays)
	tw := newTable(head)
	u := compareUnit(plays)
	for i := range plays {
		row, sum := table.Row{plays[i].Policy}, 0.0
		for _, v := range shareParts(u, &plays[i], waits) {
			row = append(row, u.of(v))
			sum += v
		}
		tw.AppendRow(append(row, u.of(sum)))
	}
	return tw.Render() + "\n"
}

// differenceTable is a row a policy: how many tasks its critical path has, how many of these are on that of p, and by how much each part
// exceeds that of p.
func differenceTable(p *result.Play, plays []result.Play) string {
	head, waits := shareHead([]any{"less " + p.Policy, "tasks", "on\nboth"}, plays)
	tw := newTable(head)
	u := compareUnit(plays)
	mine := map[string]bool{}
	for i := range p.Path {
		mine[p.Path[i].Name] = true
	}
	base := shareParts(u, p, waits)
	for i := range plays {
		q := &plays[i]
		if q.Policy == p.Policy {
			continue
		}
		both := 0
		for k := range q.Path {
			if mine[q.Path[k].Name] {
				both++
			}
		}
		row, sum := table.Row{q.Policy, count(float64(len(q.Path))), count(float64(both))}, 0.0
		for k, v := range shareParts(u, q, waits) {
			row = append(row, u.signed(v-base[k]))
			sum += v - base[k]
		}
		tw.AppendRow(append(row, u.signed(sum)))
	}
	return tw.Render()
}
