package text

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Width is the maximum line width of printed text, in characters.
const Width = 100

// Table is a table of text cells. By default the first column is aligned to the left and the
// others to the right.
type Table struct {
	Heads  []string   // column headings; they may have several lines
	Rows   [][]string // cells, indexed by row and column
	bold   []bool     // whether to emphasise a row, indexed by row
	left   []int      // indices of the columns aligned to the left
	hidden []int      // indices of the hidden columns
	unit   Unit       // unit of float64 cells, which are times in seconds
}

// NewTable returns an empty table with the given column headings.
func NewTable(heads ...string) *Table { return &Table{Heads: heads, left: []int{0}} }

// Left aligns the columns with the given indices to the left, and all others to the right.
func (t *Table) Left(columns ...int) *Table {
	t.left = columns
	return t
}

// Show hides the columns with a heading unless shown is true. Rows have cells for hidden
// columns, too.
func (t *Table) Show(head string, shown bool) {
	for i, h := range t.Heads {
		if h == head && !shown {
			t.hidden = append(t.hidden, i)
		}
	}
}

// In sets the unit in which float64 cells, which are times in seconds, are printed.
func (t *Table) In(unit Unit) *Table {
	t.unit = unit
	return t
}

// Row adds a row. A cell is a string, a []string (several cells), an integer, which is printed
// with thousands separators, or a float64, a time in seconds that is printed in the unit set
// by In. Missing cells at the end are empty.
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

// BoldRow adds a row that is emphasised.
func (t *Table) BoldRow(cells ...any) {
	t.Row(cells...)
	t.bold[len(t.bold)-1] = true
}

// String returns the table as text with a line below the headings. The function bold formats
// the cells of emphasised rows; if it is nil, they are printed as the others.
func (t *Table) String(bold func(string) string) string {
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	tw := t.writer(func(cell string, isBold bool) string {
		if isBold && bold != nil {
			return bold(cell)
		}
		return cell
	})
	tw.SetStyle(style)
	tw.SuppressTrailingSpaces()
	return tw.Render() + "\n"
}

// markdown escapes the characters that have a meaning in Markdown.
var markdown = strings.NewReplacer("_", `\_`, "*", `\*`, "`", "'", "<", "&lt;")

// Markdown returns the table in Markdown. Emphasised rows are bold.
func (t *Table) Markdown() string {
	return t.writer(func(cell string, isBold bool) string {
		if cell = markdown.Replace(cell); isBold && cell != "" {
			return "**" + cell + "**"
		}
		return cell
	}).RenderMarkdown() + "\n"
}

// writer converts the visible columns to a table of the go-pretty library. The function format
// is applied to each cell; its second argument is true for cells of emphasised rows.
func (t *Table) writer(format func(cell string, isBold bool) string) table.Writer {
	tw := table.NewWriter()
	visibleCells := func(cells []string, format func(string) string) table.Row {
		row := table.Row{}
		for i, cell := range cells {
			if !slices.Contains(t.hidden, i) {
				row = append(row, format(cell))
			}
		}
		return row
	}
	tw.AppendHeader(visibleCells(t.Heads, func(head string) string { return head }))
	for n, cells := range t.Rows {
		tw.AppendRow(visibleCells(cells, func(cell string) string { return format(cell, t.bold[n]) }))
	}
	var columns []table.ColumnConfig
	for i := range t.Heads {
		if slices.Contains(t.hidden, i) {
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

// TextWidth returns the width in characters of the table as text, including hidden columns.
func (t *Table) TextWidth() int {
	sum := 0
	for i, head := range t.Heads {
		width := text.LongestLineLen(head)
		for _, cells := range t.Rows {
			width = max(width, text.LongestLineLen(cells[i]))
		}
		sum += width + 2
	}
	return sum
}

// Map returns a copy of the table with change applied to each row. The first argument of
// change is the column headings.
func (t *Table) Map(change func(heads, cells []string) []string) *Table {
	out := *t
	out.Rows = make([][]string, len(t.Rows))
	for i, cells := range t.Rows {
		out.Rows[i] = change(t.Heads, cells)
	}
	return &out
}
