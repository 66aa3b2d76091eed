package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTable compares a small table with text and Markdown written by hand: with an emphasised
// row, a hidden column and columns aligned to the left.
func TestTable(t *testing.T) {
	table := NewTable("policy", "time\ns", "seen", "note").Left(0, 3)
	table.Show("seen", false)
	table.Show("note", true)
	table.Row("a_b", "1", "x", "long note")
	table.BoldRow("c", "22", "y")
	star := func(cell string) string { return "!" + cell }
	for _, c := range []struct {
		got  string
		want []string
	}{
		{table.String(Style{}), []string{"policy  time  note", "           s", "a_b        1  long note", "c         22"}},
		{table.String(Style{Bold: star}), []string{"policy  time  note", "           s", "a_b        1  long note", "!c       !22"}},
	} {
		var lines []string
		for line := range strings.Lines(c.got) {
			if line = strings.TrimRight(line, " \n"); !strings.HasPrefix(line, "───") {
				lines = append(lines, line)
			}
		}
		if strings.Join(lines, "\n") != strings.Join(c.want, "\n") || strings.Count(c.got, "\n") != len(c.want)+1 || !strings.HasSuffix(c.got, "\n") {
			t.Errorf("got\n%s\nwant\n%s", c.got, strings.Join(c.want, "\n"))
		}
	}
	const want = "| policy | time<br/>s | note |\n|:--- | ---:|:--- |\n| a\\_b | 1 | long note |\n| **c** | **22** |  |\n"
	if got := table.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	full := NewTable("policy", "time\ns")
	full.Row("a", "12345")
	full.Row("é", "1\n234")
	if got := full.TextWidth(); got != 6+2+5+2 {
		t.Errorf("it is %d wide, want 15", got)
	}
	upper := full.Map(func(heads, cells []string) []string { return []string{strings.ToUpper(cells[0]), heads[0]} })
	if upper.Rows[0][0] != "A" || upper.Rows[0][1] != "policy" || upper.Rows[1][0] != "É" || full.Rows[0][0] != "a" {
		t.Errorf("changed rows are %v, and the table's own %v", upper.Rows, full.Rows)
	}
	if got := full.Map(func(_, cells []string) []string { return cells }).String(Style{}); got != full.String(Style{}) {
		t.Errorf("unchanged rows are drawn as\n%s", got)
	}
}

// TestFit: a table that is wider than the terminal omits columns, the ones without rank from the
// right first, and names them. It then fits. The first column always remains.
func TestFit(t *testing.T) {
	table := NewTable("policy", "iteration\ntime", "utilis-\nation", "seen", "hops").Rank(4)
	table.Show("seen", false)
	table.Row("ecmp", "12.345 ms", "79.2 %", "x", "3.25")
	for _, c := range []struct {
		width int
		heads string // of the columns, in order
		want  string // the note
	}{
		{0, "policy iteration utilis- hops", ""},
		{34, "policy iteration utilis- hops", ""},
		{33, "policy iteration hops", "1 column left out to fit 33 characters: utilisation; set COLUMNS=34 to see them"},
		{24, "policy hops", "2 columns left out to fit 24 characters: iteration time, utilisation; set COLUMNS=34 to see them"},
		{3, "policy", "3 columns left out to fit 3 characters: iteration time, utilisation, hops; set COLUMNS=34 to see them"},
	} {
		got := table.String(Style{Columns: c.width})
		head, rest, _ := strings.Cut(got, "\n")
		note := ""
		if i := strings.Index(rest, " left out"); i >= 0 {
			note = rest[strings.LastIndex(rest[:i], "\n")+1:]
		}
		if heads, note := strings.Join(strings.Fields(head), " "), strings.Join(strings.Fields(note), " "); heads != c.heads || note != c.want {
			t.Errorf("width %d: columns %q and note %q, want %q and %q\n%s", c.width, heads, note, c.heads, c.want, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; c.width > 20 && n > max(c.width, minWidth) {
				t.Errorf("width %d: a line has %d characters: %s", c.width, n, line)
			}
		}
	}
}
