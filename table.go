package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"sim/scenarios"
	"sim/scenarios/result"
)

// tableWidth is the widest that anything is printed.
const tableWidth = 100

// policyWidth is the longest policy name that a table prints whole.
const policyWidth = 28

// provedGap is the relative gap to the bound from which a result counts as
// optimal: what rounding to picoseconds can leave is far below it.
const provedGap = 1e-6

// tableColumn is a column of the results table: it appears when some row has
// its metric.
type tableColumn struct {
	head   string
	metric string
	cell   func(v float64, r *result.Row) string // nil: a time in the column's unit
}

var tableColumns = []tableColumn{
	{"NCT\nbefore", "nct_before", func(v float64, _ *result.Row) string { return fmt.Sprintf("%.4f", v) }},
	{"NCT", "nct", func(v float64, _ *result.Row) string { return fmt.Sprintf("%.4f", v) }},
	{"iteration\ntime", "makespan_s", nil},
	{"exposed\ncomm.", "comm_exposed_s", nil},
	{"average\nhops", "average_hops", func(v float64, _ *result.Row) string { return fmt.Sprintf("%.4f", v) }},
	{"busiest link,\nabove bound", "max_link_load", load},
	{"load over rate,\nabove bound", "max_load_over_rate", load},
	{"gap to\nbound", "gap", func(v float64, _ *result.Row) string { return gap(v) }},
	{"all to all,\neach node", "all_to_all_bytes_per_s", func(v float64, _ *result.Row) string { return bytesPerSecond(v) }},
	{"against\nno fault", "fault_ratio", func(v float64, _ *result.Row) string { return percent(v) }},
	{"all to all", "all_to_all_s", nil},
	{"completion", "completion_s", nil},
	{"gap to\nbound", "gap_completion", func(v float64, _ *result.Row) string { return gap(v) }},
	{"topol-\nogies", "reconfigurations", func(v float64, _ *result.Row) string { return count(v) }},
	{"slots, gap\nto fewest", "slots", slots},
	{"steps", "steps", func(v float64, _ *result.Row) string { return count(v) }},
	{"chunks\nheld", "buffer_chunks", func(v float64, _ *result.Row) string { return count(v) }},
	{"slot\nby slot", "synchronised_s", nil},
	{"as links\nare free", "free_running_s", nil},
	{"as fluid", "fluid_s", func(v float64, r *result.Row) string {
		if _, plan := r.Metrics["slots"]; !plan {
			return "-"
		}
		return seconds(v)
	}},
	{"mean\ndelay", "mean_delay_s", nil},
	{"99 % within", "p99_delay_s", func(v float64, _ *result.Row) string { return ofClass(v) }},
	{"accepted", "accepted_load", func(v float64, _ *result.Row) string { return fmt.Sprintf("%.4f", v) }},
	{"dropped", "dropped", func(v float64, _ *result.Row) string { return count(v) }},
	{"ports\nused", "ports", ports},
	{"topologies\ntried", "evaluations", func(v float64, _ *result.Row) string { return count(v) }},
}

func load(v float64, r *result.Row) string {
	if above, ok := r.Metrics["gap"]; ok && !timed(r) {
		return fmt.Sprintf("%s %7s", amount(v), gap(above))
	}
	return amount(v)
}

// timed reports whether the gap of a router's row is of its completion, as where
// transfers wait for each other, and not of loads.
func timed(r *result.Row) bool {
	_, ok := r.Metrics["bound_completion_s"]
	_, routed := r.Metrics["max_link_load"]
	return ok && routed
}

// slots are whole but for fluid schedules. Their gap is to a bound for as many topologies, so that none is not yet optimal.
func slots(v float64, r *result.Row) string {
	above, ok := r.Metrics["gap"]
	switch {
	case !ok:
		return amount(v)
	case math.Abs(above) <= provedGap:
		return fmt.Sprintf("%s %7s", amount(v), "fewest")
	}
	return fmt.Sprintf("%s %7s", amount(v), percent(above))
}

func gap(v float64) string {
	if math.Abs(v) <= provedGap {
		return "optimal"
	}
	return percent(v)
}

func ports(v float64, r *result.Row) string {
	if ratio, ok := r.Metrics["port_ratio"]; ok {
		return fmt.Sprintf("%s %5.1f %%", count(v), 100*ratio)
	}
	return count(v)
}

// columnsFor returns the columns that some row fills, or when none does a
// column for each metric that there is.
func columnsFor(rows []result.Row) []tableColumn {
	has := map[string]bool{}
	for _, r := range rows {
		for name := range r.Metrics {
			has[name] = true
		}
	}
	if has[objective] {
		return jobsColumns(rows)
	}
	if !has["slots"] {
		delete(has, "fluid_s") // of traffic on links it is what others are compared with
	}
	if has["max_load_over_rate"] {
		delete(has, "max_link_load")
	}
	if (has["max_link_load"] || has["max_load_over_rate"]) && !slices.ContainsFunc(rows, func(r result.Row) bool { return timed(&r) }) || has["slots"] {
		delete(has, "gap") // which stands beside these
	}
	// So that the table fits.
	if has["completion_s"] {
		delete(has, "p99_delay_s")
	}
	if has["synchronised_s"] || has["all_to_all_s"] {
		delete(has, "buffer_chunks")
	}
	if most(rows, "dropped") == 0 {
		delete(has, "dropped")
	}
	var out []tableColumn
	for _, c := range tableColumns {
		if has[c.metric] {
			out = append(out, c)
		}
	}
	if out == nil {
		for _, name := range slices.Sorted(maps.Keys(has)) {
			out = append(out, tableColumn{name, name, func(v float64, _ *result.Row) string { return fmt.Sprintf("%.6g", v) }})
		}
	}
	return out
}

// printTable prints what every policy reached.
func (c *command) printTable(o *scenarios.Outcome, dir string) error {
	doc := &o.Document
	var b strings.Builder
	paint := painter(c.colours(c.stdout))
	printTitle(&b, doc.Scenario, o.Detail.Title, paint)
	best, why := bestOf(doc)
	b.WriteString(resultsTable(doc, &o.Timings, best, paint))
	b.WriteString("\n")
	printNotes(&b, doc, best, why)
	printDonor(&b, doc)
	printReplays(&b, doc)
	printTopology(&b, doc, best)
	printDonorTopology(&b, doc)
	fmt.Fprintf(&b, "\nKept in %s\n", dir)
	if best < 0 || explainable(&o.Detail, doc.Rows[best].Policy) {
		fmt.Fprintf(&b, "Where the time goes: sim explain %s\n", dir)
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// judged are the metrics that say which row is best, the first that there is, in
// words, and what of it a bound is on.
var judged = []struct{ metric, words, bounded string }{
	{"makespan_s", "is fastest", "the iteration time"},
	{objective, "is fastest", "the objective"},
	{"completion_s", "is fastest", mostLoaded},
	{"dropped", "drops the fewest packets", mostLoaded},
	{"mean_delay_s", "delivers soonest", mostLoaded},
	{"max_load_over_rate", "spreads the load best", mostLoaded},
	{"max_link_load", "spreads the load best", mostLoaded},
}

const mostLoaded = "the load of the most loaded link"

// bounded says in words what bounds are on, of the best row's metric.
func bounded(doc *result.Document, why int) string {
	if anyHas(doc, "slots") {
		return "the slots of plans of as many topologies"
	}
	if anyHas(doc, "steps") || slices.ContainsFunc(doc.Rows, func(r result.Row) bool { return timed(&r) }) {
		return "the completion time"
	}
	return judged[why].bounded
}

// bestOf returns the best of several rows and what makes it so, places in the rows
// and in judged; -1 and the first where none can be.
func bestOf(doc *result.Document) (row, why int) {
	lossy := most(doc.Rows, "dropped") > 0
	for i, j := range judged {
		if j.metric == "dropped" && !lossy || j.metric == "mean_delay_s" && lossy {
			continue // delays are of what arrives, and less of it arrives sooner
		}
		if best := doc.Best(j.metric); best >= 0 {
			return best, i
		}
	}
	return -1, 0
}

func printTitle(b *strings.Builder, name, title string, paint paints) {
	b.WriteString(paint.bold(name))
	if title != "" {
		lines := wrap(name+": "+title, tableWidth)
		b.WriteString(strings.TrimPrefix(lines, name))
	}
	b.WriteString("\n\n")
}

func resultsTable(doc *result.Document, timings *result.Timings, best int, paint paints) string {
	columns := columnsFor(doc.Rows)
	head := table.Row{"policy"}
	for _, col := range columns {
		head = append(head, col.head)
	}
	tw := newTable(append(head, "time to\ndecide"))
	for i := range doc.Rows {
		r := &doc.Rows[i]
		name := "  " + text.Snip(r.Policy, policyWidth, "…")
		if i == best {
			name = "*" + name[1:]
		}
		row := table.Row{name}
		for _, col := range columns {
			v, ok := r.Metrics[col.metric]
			switch {
			case !ok:
				row = append(row, "-")
			case col.cell == nil:
				row = append(row, columnUnit(doc.Rows, col.metric).of(v))
			default:
				row = append(row, col.cell(v, r))
			}
		}
		decide := "-"
		if t, ok := timings.Policies[r.Policy]; ok {
			decide = roughly(t.SolveS)
		}
		row = append(row, decide)
		if i == best {
			for k := range row {
				row[k] = paint.bold(row[k].(string))
			}
		}
		tw.AppendRow(row)
	}
	return tw.Render() + "\n"
}

// columnUnit returns the unit for a column of times: that of the iteration
// times where it leaves digits to read, so that columns can be set side by
// side.
func columnUnit(rows []result.Row, metric string) unit {
	whole, part := unitFor(most(rows, "makespan_s")), most(rows, metric)
	if most(rows, "makespan_s") == 0 {
		return unitFor(part)
	}
	if part*whole.second < 0.01 {
		return unitFor(part)
	}
	return whole
}

// most returns the largest value of a metric.
func most(rows []result.Row, metric string) float64 {
	v := 0.0
	for _, r := range rows {
		v = max(v, r.Metrics[metric])
	}
	return v
}

// newTable returns an empty table in the house style: a line under the head,
// the first column to the left, the others to the right.
func newTable(head table.Row) table.Writer {
	tw := table.NewWriter()
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true, SeparateFooter: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	tw.SetStyle(style)
	tw.AppendHeader(head)
	alignLeft(tw, len(head), 1)
	tw.SuppressTrailingSpaces()
	return tw
}

// alignLeft aligns the numbered ones of so many columns to the left and the
// others to the right.
func alignLeft(tw table.Writer, columns int, left ...int) {
	var configs []table.ColumnConfig
	for n := 1; n <= columns; n++ {
		align := text.AlignRight
		if slices.Contains(left, n) {
			align = text.AlignLeft
		}
		configs = append(configs, table.ColumnConfig{Number: n, Align: align, AlignHeader: align})
	}
	tw.SetColumnConfigs(configs)
}

// paints puts colours round text, or does not.
type paints struct{ on bool }

func painter(on bool) paints { return paints{on} }

func (p paints) bold(s string) string {
	if !p.on {
		return s
	}
	return text.Colors{text.Bold}.Sprint(s)
}
