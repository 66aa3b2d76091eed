package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"sim/scenarios/result"
)

// explanation says in words and figures what sets the makespan of p, and
// where the time of every policy of the run goes.
func explanation(run *result.Run, p *result.Play, paint paints) string {
	var b strings.Builder
	printTitle(&b, run.Document.Scenario, run.Detail.Title, paint)
	for _, r := range run.Document.Rows {
		if why := r.Labels["unserved"]; why != "" && r.Policy == p.Policy {
			fmt.Fprintf(&b, "%s cannot serve: %s.\n", p.Policy, why)
			return b.String()
		}
	}
	if len(p.Path) == 0 && printPlan(&b, run, p, paint) {
		return b.String()
	}
	if len(p.Path) == 0 {
		fmt.Fprintf(&b, "%s takes %s; its run holds no critical path.\n", p.Policy, seconds(p.MakespanS))
		return b.String()
	}
	printSplit(&b, p, paint)
	printChain(&b, p)
	printLinks(&b, p)
	printIdeal(&b, p, &run.Detail.Reference)
	printHelp(&b, p)
	fmt.Fprintf(&b, "\n%s\n\n", paint.bold("Where each policy's time goes"))
	b.WriteString(sharesTable(run))
	return b.String()
}

// printSplit prints the parts of the makespan.
func printSplit(b *strings.Builder, p *result.Play, paint paints) {
	s := p.Shares()
	fmt.Fprintf(b, "%s takes %s an iteration. A chain of %s sets that time:\n\n",
		paint.bold(p.Policy), seconds(p.MakespanS), plural(len(p.Path), "task", "tasks"))
	u := unitFor(p.MakespanS)
	line := func(v float64, what string) {
		fmt.Fprintf(b, "  %*s  %8s  %s\n", len(u.of(p.MakespanS)), u.of(v), percent(v/p.MakespanS), what)
	}
	line(s.ComputeS, "compute inside pods")
	line(s.FullRateS, "transfers between pods, at the full rate of their NICs")
	line(s.CircuitS, "more, because there are fewer circuits than flows")
	line(s.SharingS, "more, because others use the same circuits or NICs")
	if s.WaitS != 0 {
		line(s.WaitS, "with no task of the chain at work")
	}
}

// linkLines is how many links are printed.
const linkLines = 20

// printLinks prints what the chain spends on each link.
func printLinks(b *strings.Builder, p *result.Play) {
	links := p.ByLink()
	if len(links) == 0 {
		return
	}
	left := len(links) - linkLines
	if left > 0 {
		links = links[:linkLines]
	}
	tw := newTable(table.Row{"link", "circuits", "transfers", "at full\nrate", "lost to few\ncircuits", "lost to\nsharing", "share of the\niteration"})
	u := unitFor(p.MakespanS)
	for _, l := range links {
		circuits := "-"
		if pair := p.Topology.FindPair(l.Link); pair != nil {
			circuits = fmt.Sprint(pair.Circuits)
		}
		tw.AppendRow(table.Row{linkName(l.Link), circuits, count(float64(l.Transfers)), u.of(l.FullRateS), u.of(l.CircuitS), u.of(l.SharingS),
			percent((l.FullRateS + l.LostS()) / p.MakespanS)})
	}
	if left > 0 {
		tw.AppendRow(table.Row{fmt.Sprintf("... and %s more", plural(left, "link", "links"))})
	}
	fmt.Fprintf(b, "\n%s\n", tw.Render())
}

func linkName(link string) string {
	if link == "" {
		return "(unnamed)"
	}
	return link
}

// sharesTable is a row a policy, the parts adding up to the whole. Policies that
// cannot serve take no time, and have a line below it.
func sharesTable(run *result.Run) string {
	why := map[string]string{}
	for _, r := range run.Document.Rows {
		why[r.Policy] = r.Labels["unserved"]
	}
	plays := []result.Play{run.Detail.Reference}
	plays[0].Policy = "ideal fabric"
	below := ""
	for _, p := range run.Detail.Policies {
		if of := why[p.Policy]; of != "" {
			below += fmt.Sprintf("\n%s cannot serve: %s", p.Policy, of)
			continue
		}
		plays = append(plays, p)
	}
	waits := false
	for i := range plays {
		waits = waits || plays[i].Shares().WaitS != 0
	}
	head := table.Row{"policy", "compute", "transfers at\nfull rate", "lost to few\ncircuits", "lost to\nsharing"}
	if waits {
		head = append(head, "no task\nat work")
	}
	tw := newTable(append(head, "iteration\ntime"))
	most := 0.0
	for i := range plays {
		most = max(most, plays[i].MakespanS)
	}
	u := unitFor(most)
	for i := range plays {
		s := plays[i].Shares()
		row := table.Row{plays[i].Policy, u.of(s.ComputeS), u.of(s.FullRateS), u.of(s.CircuitS), u.of(s.SharingS)}
		if waits {
			row = append(row, u.of(s.WaitS))
		}
		tw.AppendRow(append(row, u.of(plays[i].MakespanS)))
	}
	if below != "" {
		below = "\n" + below
	}
	return tw.Render() + below + "\n"
}
