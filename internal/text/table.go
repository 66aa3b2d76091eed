package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Width is the maximum line width of printed paragraphs, in characters.
const Width = 100

// minWidth is the smallest line width that is respected. Narrower text is not readable.
const minWidth = 40

// Style is the layout of text for a reader. The zero value is the layout in a file: without
// highlighting, and with tables of any width.
type Style struct {
	// Bold formats highlighted text; nil leaves it plain.
	Bold func(string) string
	// Columns is the number of characters per line of a terminal; 0 if lines may have any
	// length.
	Columns int
}

// Emphasize returns s highlighted, if the style has highlighting.
func (s Style) Emphasize(text string) string {
	if s.Bold == nil {
		return text
	}
	return s.Bold(text)
}

// ParagraphWidth returns the maximum line width of paragraphs.
func (s Style) ParagraphWidth() int {
	if s.Columns == 0 {
		return Width
	}
	return max(minWidth, min(Width, s.Columns))
}

// TableWidth returns the line width that tables with wrapped cells should have.
func (s Style) TableWidth() int {
	if s.Columns == 0 {
		return Width
	}
	return max(minWidth, s.Columns)
}

// Table is a table of text cells. By default the first column is aligned to the left and the
// others to the right.
type Table struct {
	Heads  []string   // column headings; they may have several lines
	Rows   [][]string // cells, indexed by row and column
	bold   []bool     // whether to emphasise a row, indexed by row
	left   []int      // indices of the columns aligned to the left
	hidden []int      // indices of the hidden columns
	rank   []int      // indices of columns from the most important one; others follow in order
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

// Rank sets the indices of the most important columns, in order. The first column and the
// others follow. String omits the last ones if a table is wider than a terminal.
func (t *Table) Rank(columns ...int) *Table {
	t.rank = columns
	return t
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

// String returns the table as text with a line below the headings. Emphasised rows are
// highlighted. Columns that do not fit the terminal are omitted, the least important ones first,
// and listed below the table.
func (t *Table) String(style Style) string {
	shown, omitted := t.fit(style.Columns)
	lines := table.StyleLight
	lines.Options = table.Options{SeparateHeader: true}
	lines.Box.PaddingLeft, lines.Box.PaddingRight = "", columnGap
	lines.Format.Header = text.FormatDefault
	tw := shown.writer(func(cell string, isBold bool) string {
		if isBold {
			return style.Emphasize(cell)
		}
		return cell
	})
	tw.SetStyle(lines)
	tw.SuppressTrailingSpaces()
	out := tw.Render() + "\n"
	if omitted != nil {
		out += Wrap(fmt.Sprintf("%s left out to fit %d characters: %s; set COLUMNS=%d to see them",
			Plural(len(omitted), "column"), style.Columns, strings.Join(omitted, ", "), t.visibleWidth()),
			style.ParagraphWidth(), len(columnGap)) + "\n"
	}
	return out
}

// columnGap separates columns.
const columnGap = "  "

// headText replaces the line breaks of a column heading.
var headText = strings.NewReplacer("-\n", "", "\n", " ")

// fit returns the table with as many columns as fit the width, and the headings of the others in
// their order. A width of 0 is unlimited. One column always remains.
func (t *Table) fit(width int) (shown *Table, omitted []string) {
	if width == 0 || t.visibleWidth() <= width {
		return t, nil
	}

	// The columns from the most to the least important one.
	order := slices.Clone(t.rank)
	if !slices.Contains(order, 0) {
		order = slices.Insert(order, 0, 0)
	}
	for i := range t.Heads {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	order = slices.DeleteFunc(order, func(i int) bool { return slices.Contains(t.hidden, i) })

	narrow := *t
	narrow.hidden = slices.Clone(t.hidden)
	for len(order) > 1 && narrow.visibleWidth() > width {
		narrow.hidden = append(narrow.hidden, order[len(order)-1])
		order = order[:len(order)-1]
	}
	for i, head := range t.Heads {
		if !slices.Contains(order, i) && !slices.Contains(t.hidden, i) {
			omitted = append(omitted, headText.Replace(head))
		}
	}
	return &narrow, omitted
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
	for i := range t.Heads {
		sum += t.columnWidth(i)
	}
	return sum
}

// visibleWidth is TextWidth without hidden columns.
func (t *Table) visibleWidth() int {
	sum := 0
	for i := range t.Heads {
		if !slices.Contains(t.hidden, i) {
			sum += t.columnWidth(i)
		}
	}
	return sum
}

// columnWidth returns the width of column i with the gap after it.
func (t *Table) columnWidth(i int) int {
	width := text.LongestLineLen(t.Heads[i])
	for _, cells := range t.Rows {
		if i < len(cells) { // missing cells at the end are empty
			width = max(width, text.LongestLineLen(cells[i]))
		}
	}
	return width + len(columnGap)
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
