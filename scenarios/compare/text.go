package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// textWidth is the widest that text is printed, names permitting.
const textWidth = 100

// WriteText writes the comparison for people to read: what differs, a table a
// metric.
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
		fmt.Fprintf(&b, "\n%s\n%s\n", m.heading(), drawText(narrow(c.table(m, diffs, keys), keys), v))
		if left := len(all) - len(diffs); left > 0 {
			fmt.Fprintf(&b, "and %d that differ less; --all lists them\n", left)
		}
		if line := m.meansLine(); line != "" {
			b.WriteString(wrap(line, textWidth) + "\n")
		}
	}
	names(&b, "missing rows, which fail:", c.MissingRows, v)
	names(&b, "new rows:", c.NewRows, v)
	if g := c.wallTable(v); len(g.rows) > 0 {
		fmt.Fprintf(&b, "\n%s\n", drawText(g, v))
	}
	if !c.quiet() {
		fmt.Fprintf(&b, "\n%s\n", wrap(c.rules(), textWidth))
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

// drawText draws a grid in the style of sim's tables.
func drawText(g grid, v View) string {
	tw := table.NewWriter()
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	tw.SetStyle(style)
	fill(tw, g, func(cell string, fails bool) string {
		if fails && v.Bold != nil {
			return v.Bold(cell)
		}
		return cell
	})
	tw.SuppressTrailingSpaces()
	return tw.Render()
}

// fill puts a grid into a table.
func fill(tw table.Writer, g grid, cell func(text string, fails bool) string) {
	head := table.Row{}
	var configs []table.ColumnConfig
	for n, h := range g.head {
		head = append(head, h)
		c := table.ColumnConfig{Number: n + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
		if n < g.left || h == verdictHead {
			c.Align, c.AlignHeader = text.AlignLeft, text.AlignLeft
		}
		configs = append(configs, c)
	}
	for i, cells := range g.rows {
		var row table.Row
		for _, s := range cells {
			row = append(row, cell(s, g.fails[i]))
		}
		tw.AppendRow(row)
	}
	tw.AppendHeader(head)
	tw.SetColumnConfigs(configs)
}

// narrow puts the coordinates of a grid into one column, a line each, where the
// columns together are wider than a line and that makes them less so.
func narrow(g grid, keys []string) grid {
	coordinate := func(key string) bool { return rank(key) == len(leading) }
	first := slices.IndexFunc(keys, coordinate)
	if g.width() <= textWidth || first < 0 {
		return g
	}
	last := first // keys are ordered so that coordinates stand together
	for last < len(keys) && coordinate(keys[last]) {
		last++
	}
	join := func(cells []string, cell string) []string {
		return slices.Concat(cells[:first], []string{cell}, cells[last:])
	}
	out := grid{head: join(g.head, "cell"), fails: g.fails, left: g.left - (last - first) + 1}
	for _, cells := range g.rows {
		var lines []string
		for n := first; n < last; n++ {
			if cells[n] != "" {
				lines = append(lines, g.head[n]+"="+cells[n])
			}
		}
		out.rows = append(out.rows, join(cells, strings.Join(lines, "\n")))
	}
	if out.width() < g.width() {
		return out
	}
	return g
}

// width is how wide a grid is drawn as text.
func (g *grid) width() int {
	sum := 0
	for n := range g.head {
		most := utf8.RuneCountInString(g.head[n])
		for _, cells := range g.rows {
			for line := range strings.Lines(cells[n]) {
				most = max(most, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
			}
		}
		sum += most + 2
	}
	return sum
}

// wrap breaks a text into lines of at most width, between words; the later ones
// are indented.
func wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n  ")
			column = 2
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
