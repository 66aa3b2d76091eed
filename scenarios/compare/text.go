package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sim/internal/text"
)

// WriteText writes the comparison for people to read: what differs, a table a metric.
func (c *Comparison) WriteText(w io.Writer, v View) error {
	var b strings.Builder
	keys, common := c.keys()
	fmt.Fprintf(&b, "%s -> %s", c.Old, c.New)
	if common != nil {
		fmt.Fprintf(&b, " (%s)", common)
	}
	fmt.Fprintf(&b, "\n%s\n", c.summary())
	for i := range c.Metrics {
		m := &c.Metrics[i]
		all := c.listed(m, v)
		if len(all) == 0 {
			continue
		}
		diffs := foremost(all, v)
		fmt.Fprintf(&b, "\n%s\n%s", m.heading(), narrow(c.table(m, diffs, keys), keys).String(v.Bold))
		if left := len(all) - len(diffs); left > 0 {
			fmt.Fprintf(&b, "and %d that differ less; --all lists them\n", left)
		}
		if line := m.meansLine(); line != "" {
			b.WriteString(text.Wrap(line, text.Width, 2) + "\n")
		}
	}
	names(&b, "missing rows, which fail:", c.MissingRows, v)
	names(&b, "new rows:", c.NewRows, v)
	if t := c.wallTable(v); t != nil {
		fmt.Fprintf(&b, "\n%s", t.String(nil))
	}
	if !c.quiet() {
		fmt.Fprintf(&b, "\n%s\n", text.Wrap(c.rules(), text.Width, 2))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// names lists rows.
func names(b *strings.Builder, title string, rows []Name, v View) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for i, n := range rows {
		if i == mostLines && !v.All {
			fmt.Fprintf(b, "  and %d more; --all lists them\n", len(rows)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", n)
	}
}

// narrow puts the coordinates of a table into one column, a line each, where the columns together are wider than a line
// and that makes them less so.
func narrow(t *text.Table, keys []string) *text.Table {
	coordinate := func(key string) bool { return rank(key) == len(leading) }
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
