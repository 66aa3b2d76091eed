package cli

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

// columnsFor returns the metrics that are columns of the table of results: those of the table that some row fills, or
// when none does all that there are.
func columnsFor(doc *result.Document) []result.Metric {
	has := map[string]bool{}
	for _, r := range doc.Rows {
		for name := range r.Metrics {
			has[name] = true
		}
	}
	if has[objective] {
		return jobsColumns(doc.Rows)
	}
	has["gap"] = slices.ContainsFunc(doc.Rows, func(r result.Row) bool {
		of, ok := r.GapOf(doc.Reference)
		return ok && of.Beside != "gap"
	})
	var out []result.Metric
	for _, m := range result.Metrics {
		switch {
		case m.Head == "" || m.Table != "" || !has[m.Name]:
		case m.Needs != "" && !has[m.Needs]:
		case m.Rare && most(doc.Rows, m.Name) == 0:
		case slices.ContainsFunc(m.Unless, func(name string) bool { return has[name] }):
		default:
			out = append(out, m)
		}
	}
	if out == nil {
		for _, name := range slices.Sorted(maps.Keys(has)) {
			if has[name] {
				out = append(out, result.Metric{Name: name, Head: name})
			}
		}
	}
	return out
}

// cell prints a row's value of a column.
func cell(doc *result.Document, r *result.Row, m *result.Metric) string {
	v, ok := r.Metrics[m.Name]
	if !ok {
		return "-"
	}
	if m.Needs != "" {
		if _, ok := r.Metrics[m.Needs]; !ok {
			return "-"
		}
	}
	text := formatted(v, m, doc.Rows)
	beside, ok := r.Metrics[m.Beside]
	if !ok {
		return text
	}
	other, _ := result.Find(m.Beside)
	if other.Name == "gap" {
		if of, ok := r.GapOf(doc.Reference); !ok || of.Name != m.Name {
			return text
		}
		if m.Zero != "" && math.Abs(beside) <= provedGap {
			return fmt.Sprintf("%s %7s", text, m.Zero)
		}
	}
	return fmt.Sprintf("%s %7s", text, formatted(beside, &other, doc.Rows))
}

// formatted prints a value as the metric's Format says. Times share the unit of the column.
func formatted(v float64, m *result.Metric, rows []result.Row) string {
	switch m.Format {
	case result.Fixed:
		return fmt.Sprintf("%.4f", v)
	case result.Time:
		return columnUnit(rows, m.Name).of(v)
	case result.Class:
		return ofClass(v)
	case result.Wall:
		return roughly(v)
	case result.Count:
		return count(v)
	case result.Amount:
		return amount(v)
	case result.Rate:
		return bytesPerSecond(v)
	case result.Percent:
		return percent(v)
	case result.Gap:
		return gap(v)
	}
	return fmt.Sprintf("%.6g", v)
}

// gap prints a relative distance to a bound.
func gap(v float64) string {
	if math.Abs(v) <= provedGap {
		return "optimal"
	}
	return percent(v)
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

// bestOf returns the place of the best of several rows, -1 where none can be, and the metric that makes it so.
func bestOf(doc *result.Document) (int, *result.Metric) {
	for _, m := range result.MainMetrics() {
		if m.Wins == "" || m.Rare && most(doc.Rows, m.Name) == 0 {
			continue
		}
		if best := doc.Best(m.Name); best >= 0 {
			return best, &m
		}
	}
	return -1, nil
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
	columns := columnsFor(doc)
	head := table.Row{"policy"}
	for _, col := range columns {
		head = append(head, col.Head)
	}
	tw := newTable(append(head, "time to\ndecide"))
	for i := range doc.Rows {
		r := &doc.Rows[i]
		name := "  " + text.Snip(r.Policy, policyWidth, "…")
		if i == best {
			name = "*" + name[1:]
		}
		row := table.Row{name}
		for c := range columns {
			row = append(row, cell(doc, r, &columns[c]))
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
