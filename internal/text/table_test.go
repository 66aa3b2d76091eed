package text

import (
	"strings"
	"testing"
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
		{table.String(nil), []string{"policy  time  note", "           s", "a_b        1  long note", "c         22"}},
		{table.String(star), []string{"policy  time  note", "           s", "a_b        1  long note", "!c       !22"}},
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
	if got := full.Map(func(_, cells []string) []string { return cells }).String(nil); got != full.String(nil) {
		t.Errorf("unchanged rows are drawn as\n%s", got)
	}
}
