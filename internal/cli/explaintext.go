package cli

import (
	"fmt"
	"path/filepath"
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
			b.WriteString(wrap(fmt.Sprintf("%s cannot serve: %s.", p.Policy, why), tableWidth) + "\n")
			return b.String()
		}
	}
	if len(p.Path) == 0 {
		if !printPlan(&b, run, p, paint) && !printTraffic(&b, run, p, paint) && !printJobs(&b, run, p, paint) {
			b.WriteString(wrap(unexplained(run, p), tableWidth) + "\n")
		}
		return b.String()
	}
	printSplit(&b, p, paint)
	printChain(&b, p)
	printLinks(&b, p)
	printIdeal(&b, p, &run.Detail.Reference)
	printHelp(&b, p)
	plays, below := served(run, &run.Detail.Reference, func(p *result.Play) *result.Play { return p })
	printCompared(&b, p, plays, paint)
	b.WriteString(below)
	return b.String()
}

// printSplit prints the parts of the makespan.
func printSplit(b *strings.Builder, p *result.Play, paint paints) {
	fmt.Fprintf(b, "%s takes %s an iteration. A chain of %s sets that time:\n\n",
		paint.bold(p.Policy), seconds(p.MakespanS), plural(len(p.Path), "task", "tasks"))
	u := unitFor(p.MakespanS)
	for i, v := range shareParts(u, p, true) {
		if i == waitPart && v == 0 {
			break
		}
		fmt.Fprintf(b, "  %*s  %8s  %s\n", len(u.of(p.MakespanS)), u.of(v), percent(v/p.MakespanS), shareWords[i])
	}
}

// shareWords are the parts of a critical path, in the order of shareParts.
var shareWords = [...]string{
	"compute inside pods",
	"transfers between pods, at the full rate of their NICs",
	"more, because there are fewer circuits than flows",
	"more, because others use the same circuits or NICs",
	waitPart: "with no task of the chain at work",
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

// unexplained says why there is nothing to explain.
func unexplained(run *result.Run, p *result.Play) string {
	line := fmt.Sprintf("%s takes %s", p.Policy, seconds(p.MakespanS))
	if row := run.Document.Row(p.Policy); row != nil {
		for _, metric := range []string{objective, "max_link_load"} {
			if _, ok := row.Metrics[metric]; ok {
				return line + ". This run is of a version that did not keep what explains that: run it again with sim run " +
					filepath.Join(run.Dir, result.ScenarioFile) + "."
			}
		}
	}
	return line + "; its run holds neither a critical path nor a plan, so there is nothing to explain."
}
