package report

import (
	"fmt"

	"sim/internal/text"
	"sim/scenarios/result"
)

// served returns what of each policy takes time, that of the ideal fabric first, and a line for each policy that cannot
// serve.
func served(run *result.Run, ideal *result.Play, of func(*result.Play) *result.Play) (plays []result.Play, below string) {
	if ideal != nil && ideal.MakespanS > 0 {
		plays = append(plays, *ideal)
		plays[0].Policy = "ideal fabric"
	}
	for i := range run.Detail.Policies {
		play := &run.Detail.Policies[i]
		if row := run.Document.Row(play.Policy); row != nil && row.Labels["unserved"] != "" {
			below += text.Wrap(fmt.Sprintf("%s cannot serve: %s", play.Policy, row.Labels["unserved"]), text.Width, 0) + "\n"
		} else if one := of(play); one != nil {
			plays = append(plays, *one)
			plays[len(plays)-1].Policy = play.Policy
		}
	}
	if below != "" {
		below = "\n" + below
	}
	return plays, below
}

// compared sets the critical path of a simulation beside those of the others: each policy has a path of its own, so
// that parts are differences between paths and only their sum is one of time.
func (p *page) compared(play *result.Play, plays []result.Play) {
	longest, waits := 0.0, false
	for i := range plays {
		longest = max(longest, plays[i].MakespanS)
		waits = waits || plays[i].Shares().WaitS != 0
	}
	u := text.UnitFor(longest)
	p.line("\n%s", p.strong("Where each policy's time goes"))
	t := shareTable(waits, "policy")
	for i := range plays {
		row, parts := []string{plays[i].Policy}, shareParts(u, &plays[i])
		for _, v := range append(parts, sum(parts)) {
			row = append(row, u.Of(v))
		}
		t.Row(row...)
	}
	p.table(t)
	p.line("")
	if len(plays) < 2 {
		return
	}
	p.note("Each row is of the policy's own critical path: another decision makes another chain the longest. A policy can lose more on its path "+
		"than another and still be faster, as its path has less on it. So parts of two rows are not to be compared, but in sum: below, what sets each row apart from that of %s, "+
		"which adds up to the difference of the iteration times.", play.Policy)
	p.table(differences(play, plays, u, waits))
	p.note("tasks: transfers on its path; on both: those that are on that of %s too", play.Policy)
}

// shareTable has the parts of a critical path as its last columns, and their sum.
func shareTable(waits bool, first ...string) *text.Table {
	t := text.NewTable(append(first, "compute", "transfers at\nfull rate", "lost to few\ncircuits", "lost to\nsharing", "no task\nat work", "iteration\ntime")...)
	t.Show("no task\nat work", waits)
	return t
}

// differences is a row a policy: how many tasks its critical path has, how many of these are on that of play, and by
// how much each part exceeds that of play.
func differences(play *result.Play, plays []result.Play, u text.Unit, waits bool) *text.Table {
	t := shareTable(waits, "less "+play.Policy, "tasks", "on\nboth")
	mine := map[string]bool{}
	for i := range play.Path {
		mine[play.Path[i].Name] = true
	}
	base := shareParts(u, play)
	for i := range plays {
		q := &plays[i]
		if q.Policy == play.Policy {
			continue
		}
		both := 0
		for k := range q.Path {
			if mine[q.Path[k].Name] {
				both++
			}
		}
		row, parts := []string{q.Policy, text.Count(len(q.Path)), text.Count(both)}, shareParts(u, q)
		for k := range parts {
			parts[k] -= base[k]
		}
		for _, v := range append(parts, sum(parts)) {
			row = append(row, u.Signed(v))
		}
		t.Row(row...)
	}
	return t
}
