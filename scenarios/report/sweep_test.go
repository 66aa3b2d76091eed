package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sim/internal/text"
	"sim/scenarios/result"
)

// TestSweep: a table has one row per variant, up to the printed maximum. The best value
// of a row is highlighted for every policy; missing and failed cells are marked.
func TestSweep(t *testing.T) {
	for _, n := range []int{1, maxSweepRows, maxSweepRows + 1, maxSweepRows + 2, maxSweepRows + 9} {
		s := &result.Sweep{Name: "s", Title: "T", Axes: []result.Axis{{Name: "fabric.a_key", Keys: []string{"fabric.a_key"}}}}
		for i := range n {
			s.Axes[0].Labels = append(s.Axes[0].Labels, fmt.Sprint("v", i))
			for k, policy := range []string{"p", "q", "r"} {
				c := result.Cell{At: []int{i}, Policy: policy, Key: fmt.Sprint(i, policy), Metrics: map[string]float64{"nct": 2 + float64((i+k)%3)}, Labels: map[string]string{}}
				switch {
				case i == 0 && k == 2:
					c.Metrics, c.Failed = nil, "why"
				case i == 1 && k == 1:
					delete(c.Metrics, "nct")
				}
				s.Cells = append(s.Cells, c)
			}
		}
		got := Sweep(s, &result.SweepTimings{WallS: 3}, "nct", nil, "dir", text.Style{Bold: func(s string) string { return "[" + s + "]" }})
		shown := n
		if n > maxSweepRows+1 {
			shown = maxSweepRows
		}
		rows := regexp.MustCompile(`(?m)^v\d+ .*$`).FindAllString(got, -1)
		if len(rows) != shown {
			t.Errorf("%d of %d variants are shown, want %d", len(rows), n, shown)
		}
		more := fmt.Sprintf("... and %d more, in metrics.csv", n-shown)
		if strings.Contains(got, "... and ") != (n > shown) || n > shown && !strings.Contains(got, more) {
			t.Errorf("of %d variants no %q in\n%s", n, more, got)
		}
		for i, row := range rows {
			cells := strings.Fields(row)
			if len(cells) != 4 || cells[0] != fmt.Sprint("v", i) {
				t.Fatalf("row %d of %d is %q", i, n, row)
			}
			for k, cell := range cells[1:] {
				want := fmt.Sprint(2 + (i+k)%3)
				switch {
				case i == 0 && k == 2:
					want = "failed"
				case i == 1 && k == 1:
					want = "-"
				}
				if (i+k)%3 == 0 {
					want = "[" + want + "]"
				}
				if cell != want {
					t.Errorf("row %d of %d has %q for policy %d, want %q", i, n, cell, k, want)
				}
			}
		}
		if want := fmt.Sprintf("%d cells in ", 3*n); !strings.Contains(got, want) || !strings.HasPrefix(got, "[s]: T\n") || !strings.Contains(got, "a key") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
