package report

import (
	"fmt"
	"math"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// columnHeads are the heads of columns, after the first.
func columnHeads(first string, columns []result.Metric) []string {
	out := []string{first}
	for _, m := range columns {
		out = append(out, m.Head)
	}
	return out
}

// rowCells prints a row's values of columns as cell does, after its policy.
func rowCells(doc *result.Document, r *result.Row, columns []result.Metric) []string {
	out := []string{r.Policy}
	for i := range columns {
		out = append(out, formatCell(doc, r, &columns[i]))
	}
	return out
}

// formatCell prints a row's value of a column, and after a tab what stands beside it.
func formatCell(doc *result.Document, r *result.Row, m *result.Metric) string {
	v, ok := r.Metrics[m.Name]
	if _, needed := r.Metrics[m.Needs]; !ok || m.Needs != "" && !needed {
		return "-"
	}
	shown := formatValue(v, m, doc.Rows)
	beside, ok := doc.SecondaryValue(r, m)
	if !ok {
		return shown
	}
	other, _ := result.Find(m.Secondary)
	if m.ZeroLabel != "" && math.Abs(beside) <= provedGap {
		return shown + "\t" + m.ZeroLabel
	}
	return shown + "\t" + formatValue(beside, &other, doc.Rows)
}

// formatValue prints a value as the metric's Format says. Times share the unit of the column.
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

// formatGap prints a relative distance to a bound.
func formatGap(v float64) string {
	if math.Abs(v) <= provedGap {
		return "optimal"
	}
	return text.Percent(v)
}

// columnUnit returns the unit for a column of times: that of the iteration times where it leaves digits to read, so
// that columns can be set side by side.
func columnUnit(rows []result.Row, metric string) text.Unit {
	part := result.MaxOf(rows, metric)
	if whole := result.MaxOf(rows, result.IterationTime); whole > 0 && text.UnitFor(whole).In(part) >= 0.01 {
		return text.UnitFor(whole)
	}
	return text.UnitFor(part)
}

// alignSecondary sets what stands beside values under each other.
func alignSecondary(cells []string) []string {
	for i, c := range cells {
		if value, beside, ok := strings.Cut(c, "\t"); ok {
			cells[i] = fmt.Sprintf("%s %7s", value, beside)
		}
	}
	return cells
}
