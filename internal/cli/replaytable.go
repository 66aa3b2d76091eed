package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"sim/scenarios/result"
)

// replayColumns are the columns of the table of replays.
func replayColumns() []result.Metric {
	columns := []result.Metric{{Name: "nct", Head: "NCT as\nplanned", Format: result.Fixed}}
	for _, m := range result.Metrics {
		if m.Table == "replay" {
			columns = append(columns, m)
		}
	}
	return columns
}

// printReplays says how the topologies did when they were played again, if
// they were.
func printReplays(b *strings.Builder, doc *result.Document) {
	if !anyHas(doc, "replay_plays") {
		return
	}
	head := table.Row{"policy"}
	columns := replayColumns()
	for _, m := range columns {
		head = append(head, m.Head)
	}
	tw := newTable(head)
	what := ""
	for i := range doc.Rows {
		r := &doc.Rows[i]
		if _, ok := r.Metrics["replay_plays"]; !ok {
			continue
		}
		what = r.Labels["replay"]
		row := table.Row{"  " + text.Snip(r.Policy, policyWidth, "…")}
		for c := range columns {
			row = append(row, cell(doc, r, &columns[c]))
		}
		tw.AppendRow(row)
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
