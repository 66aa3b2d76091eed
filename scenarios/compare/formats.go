// This file writes comparisons for other programs, as JSON and as CSV.

package compare

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"sim/internal/csvfield"
	"sim/internal/text"
	"sim/scenarios/result"
)

// WriteJSON writes the comparison in the format of the package comment.
func (c *Comparison) WriteJSON(w io.Writer, v View) error {
	doc := *c
	doc.Differences = []Difference{}
	for i := range c.Metrics {
		doc.Differences = append(doc.Differences, c.visibleDifferences(&c.Metrics[i], v)...)
	}
	data, err := result.JSON(&doc)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// WriteCSV writes one line per difference, with one column per part of the names. Missing
// and new rows have a line without a metric.
func (c *Comparison) WriteCSV(w io.Writer, v View) error {
	// Each part of a name has a column, including the parts that all rows share.
	keys, common := c.Project()
	for _, p := range common {
		if p.Key == result.ScenarioKey {
			keys = slices.Insert(keys, 0, p.Key)
		} else {
			keys = append(keys, p.Key)
		}
	}
	out := csv.NewWriter(w)
	// parts returns the cells of a name, in the order of keys.
	parts := func(n result.Name) []string {
		var cells []string
		for _, key := range keys {
			cells = append(cells, n.Get(key))
		}
		return cells
	}
	out.Write(append(csvfield.Safe(keys...), "metric", "better", "old", "new", "ratio", "change", "mark", "fails"))
	// number formats a value with all digits.
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return text.Exact(*v)
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		for _, d := range c.visibleDifferences(m, v) {
			out.Write(append(csvfield.Safe(append(parts(d.Row), d.Metric)...), m.Better, number(d.Old), number(d.New), number(d.Ratio), number(d.Change),
				string(d.Mark), strconv.FormatBool(d.Fails)))
		}
	}

	// writeRow writes a row of one side only: its columns from metric to change are empty.
	writeRow := func(n result.Name, mark Mark, fails string) {
		out.Write(append(csvfield.Safe(parts(n)...), "", "", "", "", "", "", string(mark), fails))
	}
	for _, n := range c.MissingRows {
		writeRow(n, Missing, "true")
	}
	for _, n := range c.NewRows {
		writeRow(n, New, "false")
	}
	out.Flush()
	return out.Error()
}
