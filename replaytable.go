package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"sim/scenarios/result"
)

// replayColumns are the columns of the table of replays.
var replayColumns = []tableColumn{
	{"NCT as\nplanned", "nct", nil},
	{"NCT\nmean", "replay_nct_mean", nil},
	{"NCT\nmedian", "replay_nct_p50", nil},
	{"NCT\np95", "replay_nct_p95", nil},
	{"NCT\np99", "replay_nct_p99", nil},
	{"NCT\nmost", "replay_nct_max", nil},
}

// printReplays says how the topologies did when they were played again, if
// they were.
func printReplays(b *strings.Builder, doc *result.Document) {
	if !anyHas(doc, "replay_plays") {
		return
	}
	head := table.Row{"policy"}
	for _, col := range replayColumns {
		head = append(head, col.head)
	}
	tw := newTable(append(head, "iteration\nmean", "plays\nstalled"))
	what := ""
	for i := range doc.Rows {
		r := &doc.Rows[i]
		if _, ok := r.Metrics["replay_plays"]; !ok {
			continue
		}
		what = r.Labels["replay"]
		row := table.Row{"  " + text.Snip(r.Policy, policyWidth, "…")}
		for _, col := range replayColumns {
			cell := "-"
			if v, ok := r.Metrics[col.metric]; ok {
				cell = fmt.Sprintf("%.4f", v)
			}
			row = append(row, cell)
		}
		mean := "-"
		if v, ok := r.Metrics["replay_makespan_mean_s"]; ok {
			mean = columnUnit(doc.Rows, "replay_makespan_mean_s").of(v)
		}
		tw.AppendRow(append(row, mean, count(r.Metrics["replay_stalled"])))
	}
	fmt.Fprintf(b, "\n%s\n\n%s\n\n", wrap("Replayed: "+what, tableWidth), tw.Render())
	printReplayNotes(b, doc)
}

// printReplayNotes says what the figures of the replays stand beside.
func printReplayNotes(b *strings.Builder, doc *result.Document) {
	ideal, ok1 := doc.Reference["replay_makespan_mean_s"]
	compute, ok2 := doc.Reference["replay_compute_makespan_mean_s"]
	if ok1 && ok2 {
		line := fmt.Sprintf("NCT of a play: against the ideal fabric with the same compute times, which takes %s on average, compute alone %s", seconds(ideal), seconds(compute))
		if gap := doc.Reference["replay_gap_max"]; gap > provedGap {
			line += fmt.Sprintf(" (each within %s of the least it could take)", percent(gap))
		}
		paragraph(b, line)
	}
	b.WriteString("  p95: 95 of 100 plays are no worse\n")
	for _, r := range doc.Rows {
		if n := r.Metrics["replay_stalled"]; n > 0 && n < r.Metrics["replay_plays"] {
			paragraph(b, fmt.Sprintf("%s stalls in %s of %s: pods that exchange data lose their last circuit; these plays are left out of all other figures",
				r.Policy, count(n), plural(int(r.Metrics["replay_plays"]), "play", "plays")))
		}
		if why := r.Labels["replay_nct_mean"]; why != "" {
			paragraph(b, fmt.Sprintf("%s has no NCT, %s", r.Policy, why))
		}
	}
}
