// This file writes comparisons for people, as plain text and as Markdown. File view.go
// has their tables.

package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// textStyle is the layout of a printed comparison: titles, tables and lists in plain text or
// Markdown.
type textStyle struct {
	section string // format of a section with its title
	table   func(*text.Table) string
	less    string // format of the number of omitted differences
	// means formats the line with geometric means.
	means        func(string) string
	missing, new string              // titles of the lists of rows
	row          func(string) string // formats a row's name in a title
	// item formats an element of a list.
	item func(string) string
	more string // format of the number of omitted elements
	// wall formats the table of wall-clock times; rules formats the definition of a
	// regression.
	wall  func(*text.Table) string
	rules func(string) string
}

// WriteText writes the comparison as text, with one table per metric.
func (c *Comparison) WriteText(w io.Writer, v View) error {
	const hang = 2 // indentation of lines after the first
	var b strings.Builder
	keys, common := c.Project()
	fmt.Fprintf(&b, "%s -> %s", c.Old, c.New)
	if common != nil {
		fmt.Fprintf(&b, " (%s)", common)
	}
	fit := func(line string, indentation int) string { // lines of files remain whole
		if v.Style.Columns == 0 {
			return line
		}
		return text.Wrap(line, v.Style.ParagraphWidth()-indentation, hang)
	}
	fmt.Fprintf(&b, "\n%s\n", fit(c.Summary(), 0))
	wrap := func(line string) string { return text.Wrap(line, v.Style.ParagraphWidth(), hang) + "\n" }
	item := func(row string) string { return text.Indent(fit(row, hang), hang) + "\n" }
	return c.write(w, &b, v, keys, common, textStyle{
		section: "\n%s\n", table: func(t *text.Table) string { return narrow(t, keys, v.Style.TableWidth()).String(v.Style) },
		less: "and %d that differ less; --all lists them\n", means: wrap,
		missing: "missing rows, which fail:", new: "new rows:", row: func(row string) string { return row },
		item: item, more: "  and %d more; --all lists them\n",
		wall:  func(t *text.Table) string { return "\n" + t.String(text.Style{Columns: v.Style.Columns}) },
		rules: func(line string) string { return "\n" + wrap(line) },
	})
}

// WriteMarkdown writes the comparison as Markdown, for comments on a change.
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
	return c.write(w, &b, v, keys, common, textStyle{
		section: "\n#### %s\n\n", table: (*text.Table).Markdown, less: "\nAnd %d that differ less.\n", means: paragraph,
		missing: "Missing rows, which fail", new: "New rows", row: code,
		item: func(row string) string { return "- " + code(row) + "\n" }, more: "- and %d more\n",
		wall:  func(t *text.Table) string { return "\n#### Wall-clock\n\n" + t.Markdown() },
		rules: paragraph,
	})
}

// code formats text as Markdown code.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(s) + "`"
}

// write writes everything after the summary in b: one table per metric, missing and new
// rows, wall-clock times, and the definition of a regression.
func (c *Comparison) write(w io.Writer, b *strings.Builder, v View, keys []string, common result.Name, as textStyle) error {
	if c.References != "" {
		b.WriteString(as.rules(c.References))
	}
	// List the keys in which the scenarios differ.
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

	// A comparison of one row has one table of all metrics; others have one table per metric.
	listRows := func(title string, rows []result.Name) {
		if len(rows) > 0 {
			fmt.Fprintf(b, as.section, title)
		}
		for i, n := range rows {
			if i == maxListedRows && !v.All {
				fmt.Fprintf(b, as.more, len(rows)-i)
				break
			}
			b.WriteString(as.item(n.String()))
		}
	}
	listRows(as.missing, c.MissingRows) // they fail, so they come first
	if t := c.singleRowTable(v); t != nil {
		fmt.Fprintf(b, as.section, as.row(c.Differences[0].Row.Without(common.Keys()).String()))
		b.WriteString(as.table(t))
	}
	for _, m := range c.metricsInOrder() {
		if c.Rows == 1 {
			break
		}
		all := c.visibleDifferences(m, v)
		if len(all) == 0 {
			continue
		}
		diffs := slices.Clone(topDifferences(all, v))
		slices.SortStableFunc(diffs, func(a, b Difference) int { return failingFirst(a.Fails, b.Fails) })
		fmt.Fprintf(b, as.section, m.heading())
		b.WriteString(as.table(c.table(m, diffs, keys)))
		if left := len(all) - len(diffs); left > 0 {
			fmt.Fprintf(b, as.less, left)
		}
		if line := m.meansLine(); line != "" {
			b.WriteString(as.means(line))
		}
	}

	// List the rows of one side only, and the wall-clock times.
	listRows(as.new, c.NewRows)
	if t := c.wallTable(v); t != nil {
		b.WriteString(as.wall(t))
	}
	if !c.hasNoDifferences() {
		b.WriteString(as.rules(c.Rules()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// narrow combines the coordinates of a table into one column, with a line each, if the
// table is too wide and becomes narrower.
func narrow(t *text.Table, keys []string, width int) *text.Table {
	coordinate := func(key string) bool { return result.IsCoordinate(key) }
	first := slices.IndexFunc(keys, coordinate)
	if t.TextWidth() <= width || first < 0 {
		return t
	}

	// Coordinates are consecutive keys.
	last := first
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
	numJoined := last - first            // one column takes their place
	columns := len(keys) - numJoined + 1 // before the values
	joined.Left(leftOf(joined, columns)...).Rank(rankOf(joined, columns)...)
	if joined.TextWidth() < t.TextWidth() {
		return joined
	}
	return t
}
