package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// WriteJSON writes the comparison as the package's comment says.
func (c *Comparison) WriteJSON(w io.Writer, v View) error {
	doc := *c
	doc.Differences = []Difference{}
	for i := range c.Metrics {
		doc.Differences = append(doc.Differences, c.listed(&c.Metrics[i], v)...)
	}
	data, err := result.JSON(&doc)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// WriteCSV writes a row a difference, with a column for each part of names, and a row for each missing and new row,
// which has no metric.
func (c *Comparison) WriteCSV(w io.Writer, v View) error {
	keys, common := c.keys()
	for _, p := range common {
		keys = append(keys, p.Key)
	}
	out := csv.NewWriter(w)
	parts := func(n Name) []string {
		var cells []string
		for _, key := range keys {
			cells = append(cells, n.Get(key))
		}
		return cells
	}
	out.Write(append(slices.Clone(keys), "metric", "better", "old", "new", "ratio", "change", "mark", "fails"))
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return text.Exact(*v)
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		for _, d := range c.listed(m, v) {
			out.Write(append(parts(d.Row), d.Metric, m.Better, number(d.Old), number(d.New), number(d.Ratio), number(d.Change),
				string(d.Mark), strconv.FormatBool(d.Fails)))
		}
	}
	for _, n := range c.MissingRows {
		out.Write(append(parts(n), "", "", "", "", "", "", string(Missing), "true"))
	}
	for _, n := range c.NewRows {
		out.Write(append(parts(n), "", "", "", "", "", "", string(New), "false"))
	}
	out.Flush()
	return out.Error()
}

// WriteMarkdown writes the comparison as Markdown with tables, as for a comment on a change.
func (c *Comparison) WriteMarkdown(w io.Writer, v View) error {
	var b strings.Builder
	keys, common := c.keys()
	fmt.Fprintf(&b, "### %s -> %s\n\n", code(c.Old), code(c.New))
	if common != nil {
		fmt.Fprintf(&b, "All rows: %s.\n\n", code(common.String()))
	}
	outcome := "No regression"
	if n := len(c.Regressions); n > 0 {
		outcome = text.Plural(n, "regression")
	}
	fmt.Fprintf(&b, "**%s**: %s.\n", outcome, c.summary())
	for i := range c.Metrics {
		m := &c.Metrics[i]
		all := c.listed(m, v)
		if len(all) == 0 {
			continue
		}
		diffs := foremost(all, v)
		fmt.Fprintf(&b, "\n#### %s\n\n%s", m.heading(), c.table(m, diffs, keys).Markdown())
		if left := len(all) - len(diffs); left > 0 {
			fmt.Fprintf(&b, "\nAnd %d that differ less.\n", left)
		}
		if line := m.meansLine(); line != "" {
			fmt.Fprintf(&b, "\n%s\n", line)
		}
	}
	for _, list := range []struct {
		title string
		rows  []Name
	}{{"Missing rows, which fail", c.MissingRows}, {"New rows", c.NewRows}} {
		if len(list.rows) > 0 {
			fmt.Fprintf(&b, "\n#### %s\n\n", list.title)
		}
		for i, n := range list.rows {
			if i == mostLines && !v.All {
				fmt.Fprintf(&b, "- and %d more\n", len(list.rows)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", code(n.String()))
		}
	}
	if t := c.wallTable(v); t != nil {
		fmt.Fprintf(&b, "\n#### Wall-clock\n\n%s", t.Markdown())
	}
	if !c.quiet() {
		fmt.Fprintf(&b, "\n%s\n", c.rules())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// code marks text to be taken as it is.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(s) + "`"
}
