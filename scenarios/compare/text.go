package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// style is how a comparison is laid out.
type style struct {
	section      string // of a title
	table        func(*text.Table) string
	less         string // how many differences are left out
	means        func(string) string
	missing, new string              // titles
	row          func(string) string // of a title
	item         func(string) string
	more         string // how many of a list are left out
	wall         func(*text.Table) string
	rules        func(string) string
}

// WriteText writes the comparison for people to read: what differs, a table a metric.
func (c *Comparison) WriteText(w io.Writer, v View) error {
	var b strings.Builder
	keys, common := c.Project()
	fmt.Fprintf(&b, "%s -> %s", c.Old, c.New)
	if common != nil {
		fmt.Fprintf(&b, " (%s)", common)
	}
	fmt.Fprintf(&b, "\n%s\n", c.Summary())
	wrap := func(line string) string { return text.Wrap(line, text.Width, 2) + "\n" }
	return c.write(w, &b, v, keys, common, style{
		section: "\n%s\n", table: func(t *text.Table) string { return narrow(t, keys).String(v.Bold) },
		less: "and %d that differ less; --all lists them\n", means: wrap,
		missing: "missing rows, which fail:", new: "new rows:", row: func(row string) string { return row },
		item: func(row string) string { return "  " + row + "\n" }, more: "  and %d more; --all lists them\n",
		wall:  func(t *text.Table) string { return "\n" + t.String(nil) },
		rules: func(line string) string { return "\n" + wrap(line) },
	})
}

// WriteMarkdown writes the comparison as Markdown with tables, as for a comment on a change.
func (c *Comparison) WriteMarkdown(w io.Writer, v View) error {
	var b strings.Builder
	keys, common := c.Project()
	fmt.Fprintf(&b, "### %s -> %s\n\n", code(c.Old), code(c.New))
	if common != nil {
		fmt.Fprintf(&b, "All rows: %s.\n\n", code(common.String()))
	}
	outcome := "No regression"
	if n := len(c.Regressions); n > 0 {
		outcome = text.Plural(n, "regression")
	}
	fmt.Fprintf(&b, "**%s**: %s.\n", outcome, c.Summary())
	paragraph := func(line string) string { return "\n" + line + "\n" }
	return c.write(w, &b, v, keys, common, style{
		section: "\n#### %s\n\n", table: (*text.Table).Markdown, less: "\nAnd %d that differ less.\n", means: paragraph,
		missing: "Missing rows, which fail", new: "New rows", row: code,
		item: func(row string) string { return "- " + code(row) + "\n" }, more: "- and %d more\n",
		wall:  func(t *text.Table) string { return "\n#### Wall-clock\n\n" + t.Markdown() },
		rules: paragraph,
	})
}

// code marks text to be taken as it is.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(s) + "`"
}

// write writes what follows the summary in b: a table a metric, the rows that one side has, wall-clock, and what may
// fail.
func (c *Comparison) write(w io.Writer, b *strings.Builder, v View, keys []string, common result.Name, as style) error {
	if len(c.Keys) > 0 {
		fmt.Fprintf(b, as.section, "the scenarios differ in "+text.Plural(len(c.Keys), "key"))
	}
	for i, line := range c.describeKeys() {
		if i == maxListedRows && !v.All {
			fmt.Fprintf(b, as.more, len(c.describeKeys())-i)
			break
		}
		b.WriteString(as.item(line))
	}
	if t := c.singleRowTable(v); t != nil {
		fmt.Fprintf(b, as.section, as.row(c.Differences[0].Row.Without(common.Keys()).String()))
		b.WriteString(as.table(t))
	}
	for i := range c.Metrics {
		if c.Rows == 1 {
			break // all are in one table
		}
		m := &c.Metrics[i]
		all := c.visibleDifferences(m, v)
		if len(all) == 0 {
			continue
		}
		diffs := topDifferences(all, v)
		fmt.Fprintf(b, as.section, m.heading())
		b.WriteString(as.table(c.table(m, diffs, keys)))
		if left := len(all) - len(diffs); left > 0 {
			fmt.Fprintf(b, as.less, left)
		}
		if line := m.meansLine(); line != "" {
			b.WriteString(as.means(line))
		}
	}
	for _, list := range []struct {
		title string
		rows  []result.Name
	}{{as.missing, c.MissingRows}, {as.new, c.NewRows}} {
		if len(list.rows) > 0 {
			fmt.Fprintf(b, as.section, list.title)
		}
		for i, n := range list.rows {
			if i == maxListedRows && !v.All {
				fmt.Fprintf(b, as.more, len(list.rows)-i)
				break
			}
			b.WriteString(as.item(n.String()))
		}
	}
	if t := c.wallTable(v); t != nil {
		b.WriteString(as.wall(t))
	}
	if !c.hasNoDifferences() {
		b.WriteString(as.rules(c.Rules()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// narrow puts the coordinates of a table into one column, a line each, where the columns together are wider than a line
// and that makes them less so.
func narrow(t *text.Table, keys []string) *text.Table {
	coordinate := func(key string) bool { return result.IsCoordinate(key) }
	first := slices.IndexFunc(keys, coordinate)
	if t.TextWidth() <= text.Width || first < 0 {
		return t
	}
	last := first // keys are ordered so that coordinates stand together
	for last < len(keys) && coordinate(keys[last]) {
		last++
	}
	joined := t.Map(func(heads, cells []string) []string {
		var lines []string
		for n := first; n < last; n++ {
			if cells[n] != "" {
				lines = append(lines, heads[n]+"="+cells[n])
			}
		}
		return slices.Concat(cells[:first], []string{strings.Join(lines, "\n")}, cells[last:])
	})
	joined.Heads = slices.Concat(t.Heads[:first], []string{"cell"}, t.Heads[last:])
	joined.Left(leftOf(joined, len(keys)-(last-first)+1)...)
	if joined.TextWidth() < t.TextWidth() {
		return joined
	}
	return t
}
