package text

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Width is the widest that anything is printed.
const Width = 100

// Table is a table of texts: the first column to the left, the others to the right.
type Table struct {
	Heads []string // in lines
	Rows  [][]string
	bold  []bool // by row
	left  []int  // columns
	gone  []int
	unit  Unit
}

// NewTable returns an empty table with columns of these heads.
func NewTable(heads ...string) *Table { return &Table{Heads: heads, left: []int{0}} }

// Left aligns columns to the left, counted from 0, and the others to the right.
func (t *Table) Left(columns ...int) *Table {
	t.left = columns
	return t
}

// Show leaves the columns of a head out unless they are to be shown. Rows have cells for them all the same.
func (t *Table) Show(head string, shown bool) {
	for i, h := range t.Heads {
		if h == head && !shown {
			t.gone = append(t.gone, i)
		}
	}
}

// In sets the unit of times.
func (t *Table) In(unit Unit) *Table {
	t.unit = unit
	return t
}

// Row adds a row of cells: texts, lists of texts, whole numbers with their thousands apart, and times in seconds in the
// unit of In. Cells that it lacks are empty.
func (t *Table) Row(cells ...any) {
	var row []string
	for _, c := range cells {
		switch c := c.(type) {
		case string:
			row = append(row, c)
		case []string:
			row = append(row, c...)
		case int:
			row = append(row, Count(c))
		case int64:
			row = append(row, Count(c))
		case float64:
			row = append(row, t.unit.Of(c))
		}
	}
	t.Rows, t.bold = append(t.Rows, row), append(t.bold, false)
}

// BoldRow adds a row that stands out.
func (t *Table) BoldRow(cells ...any) {
	t.Row(cells...)
	t.bold[len(t.bold)-1] = true
}

// String draws the table as text with a line under the head. Rows that stand out are printed by bold, where it is not
// nil.
func (t *Table) String(bold func(string) string) string {
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	tw := t.writer(func(cell string, stands bool) string {
		if stands && bold != nil {
			return bold(cell)
		}
		return cell
	})
	tw.SetStyle(style)
	tw.SuppressTrailingSpaces()
	return tw.Render() + "\n"
}

// markdown escapes what Markdown would act on.
var markdown = strings.NewReplacer("_", `\_`, "*", `\*`, "`", "'", "<", "&lt;")

// Markdown draws the table in Markdown.
func (t *Table) Markdown() string {
	return t.writer(func(cell string, stands bool) string {
		if cell = markdown.Replace(cell); stands && cell != "" {
			return "**" + cell + "**"
		}
		return cell
	}).RenderMarkdown() + "\n"
}

// writer fills the writer of the library.
func (t *Table) writer(format func(cell string, stands bool) string) table.Writer {
	tw := table.NewWriter()
	kept := func(cells []string, format func(string) string) table.Row {
		row := table.Row{}
		for i, cell := range cells {
			if !slices.Contains(t.gone, i) {
				row = append(row, format(cell))
			}
		}
		return row
	}
	tw.AppendHeader(kept(t.Heads, func(head string) string { return head }))
	for n, cells := range t.Rows {
		tw.AppendRow(kept(cells, func(cell string) string { return format(cell, t.bold[n]) }))
	}
	var columns []table.ColumnConfig
	for i := range t.Heads {
		if slices.Contains(t.gone, i) {
			continue
		}
		align := text.AlignRight
		if slices.Contains(t.left, i) {
			align = text.AlignLeft
		}
		columns = append(columns, table.ColumnConfig{Number: len(columns) + 1, Align: align, AlignHeader: align})
	}
	tw.SetColumnConfigs(columns)
	return tw
}

// TextWidth is how wide the table is drawn as text, all columns shown.
func (t *Table) TextWidth() int {
	sum := 0
	for i, head := range t.Heads {
		most := text.LongestLineLen(head)
		for _, cells := range t.Rows {
			most = max(most, text.LongestLineLen(cells[i]))
		}
		sum += most + 2
	}
	return sum
}

// Map returns the table with its rows changed; heads are those of the columns.
func (t *Table) Map(change func(heads, cells []string) []string) *Table {
	out := *t
	out.Rows = make([][]string, len(t.Rows))
	for i, cells := range t.Rows {
		out.Rows[i] = change(t.Heads, cells)
	}
	return &out
}
