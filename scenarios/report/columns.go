// This file formats the cells of the tables of results, by the table of metrics.

package report

import (
	"fmt"
	"math"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// columnHeads returns the heads of the columns of a table: first, followed by the heads of
// metrics.
func columnHeads(first string, columns []result.Metric) []string {
	out := []string{first}
	for _, m := range columns {
		out = append(out, m.Head)
	}
	return out
}

// rowCells returns a row's cells: the policy and the formatted values of columns.
func rowCells(doc *result.Document, r *result.Row, columns []result.Metric) []string {
	out := []string{r.Policy}
	for i := range columns {
		out = append(out, formatCell(doc, r, &columns[i]))
	}
	return out
}

// formatCell formats a row's value of a column. If the column has a secondary value, such as the
// gap to a bound, it follows after a tab. The result is "-" without a value.
func formatCell(doc *result.Document, r *result.Row, m *result.Metric) string {
	v, ok := r.Metrics[m.Name]
	// Some columns are meaningful only in rows with another metric.
	if _, needed := r.Metrics[m.Needs]; !ok || m.Needs != "" && !needed {
		return "-"
	}
	if v == 0 && m.ZeroLabel != "" && m.Secondary == "" {
		return m.ZeroLabel
	}
	shown := formatValue(v, m, doc.Rows)
	if m.WinPhrase != "" { // in other columns, the table would be too wide
		shown = formatMean(doc, r, m)
	}
	secondary, ok := doc.SecondaryValue(r, m)
	if !ok {
		return shown
	}
	// A secondary value of 0 can have a label, such as "optimal".
	other, _ := result.Find(m.Secondary)
	if m.ZeroLabel != "" && math.Abs(secondary) <= provedGap {
		return shown + "\t" + m.ZeroLabel
	}
	return shown + "\t" + formatValue(secondary, &other, doc.Rows)
}

// formatValue formats a value by the metric's Format. Times use the unit of the column, which
// depends on all rows.
func formatValue(v float64, m *result.Metric, rows []result.Row) string {
	switch m.Format {
	case result.Fixed:
		return fmt.Sprintf("%.4f", v)
	case result.Time:
		return columnUnit(rows, m.Name).Of(v)
	case result.Class:
		return text.Class(v)
	case result.Wall:
		return text.Roughly(v)
	case result.Count:
		return text.Thousands(v)
	case result.Amount:
		return text.Amount(v)
	case result.Rate:
		return text.BytesPerSecond(v)
	case result.Percent:
		return text.Percent(v)
	case result.Gap:
		return formatGap(v)
	}
	return fmt.Sprintf("%.6g", v)
}

// formatMean formats a row's value of a metric with its standard error, such as "70.5 % ± 0.8 %",
// if it has one.
func formatMean(doc *result.Document, r *result.Row, m *result.Metric) string {
	shown := formatValue(r.Metrics[m.Name], m, doc.Rows)
	if se, ok := standardError(doc, r, m); ok {
		shown += " ± " + se
	}
	return shown
}

// standardError formats the standard error of a row's value like the value. It returns "-" and
// false without a standard error.
func standardError(doc *result.Document, r *result.Row, m *result.Metric) (shown string, ok bool) {
	se, ok := r.Metrics[result.StandardErrorPrefix+m.Name]
	if !ok {
		return "-", false
	}
	return formatValue(se, m, doc.Rows), true
}

// formatGap formats a relative distance to a bound. Distances up to provedGap are "optimal".
func formatGap(v float64) string {
	if math.Abs(v) <= provedGap {
		return "optimal"
	}
	return text.Percent(v)
}

// columnUnit returns the unit of a column of times. It is the unit of the iteration times if
// that leaves enough digits, so that columns can be compared.
func columnUnit(rows []result.Row, metric string) text.Unit {
	const minPart = 0.01 // smaller values would have no digits after rounding
	part := result.MaxOf(rows, metric)
	if whole := result.MaxOf(rows, result.IterationTime); whole > 0 &&
		text.UnitFor(whole).In(part) >= minPart {
		return text.UnitFor(whole)
	}
	return text.UnitFor(part)
}

// alignSecondary replaces the tab before the secondary values of cells by spaces, so that they
// are aligned.
func alignSecondary(cells []string) []string {
	for i, c := range cells {
		if value, secondary, ok := strings.Cut(c, "\t"); ok {
			cells[i] = fmt.Sprintf("%s %7s", value, secondary) // 7 is the length of "optimal"
		}
	}
	return cells
}
