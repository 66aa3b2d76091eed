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

// TestDifferentReferences: if cells of the same work have different ideal fabrics, the table
// shows the iteration time and a line says why. A requested NCT is marked, and its best value is not
// highlighted. The study's figure selects NCT only if references differ by their interfaces.
func TestDifferentReferences(t *testing.T) {
	sweep := func(rates ...float64) *result.Sweep {
		s := &result.Sweep{Name: "s", Axes: []result.Axis{{Name: "fabric", Keys: []string{"fabric"}, Labels: []string{"pods", "tree"}}}}
		for i, rate := range rates {
			for k, policy := range []string{"p", "q"} {
				s.Cells = append(s.Cells, result.Cell{At: []int{i}, Policy: policy, Key: fmt.Sprint(i, policy),
					Reference: map[string]float64{"makespan_s": 3 - float64(i), "compute_makespan_s": 1, "interface_bits_per_s": rate},
					Metrics:   map[string]float64{"nct": 1.5 + float64(k), "makespan_s": 4 + float64(k)}})
			}
		}
		return s
	}
	plots := []result.Plot{{Kind: "bars", Y: "nct"}}
	for _, c := range []struct {
		s         *result.Sweep
		plots     []result.Plot
		requested string
		want      string
	}{
		{sweep(4e11, 4e11), nil, "", "makespan_s"},
		{sweep(4e11, 4e11), plots, "", "makespan_s"},
		{sweep(4e11, 4e11), plots, "nct", "nct"},
		{sweep(4e11, 8e11), nil, "", "makespan_s"},
		{sweep(4e11, 8e11), plots, "", "nct"},
		{sweep(4e11), nil, "", "nct"},
		{sweep(4e11, 4e11), nil, "reference.makespan_s", "reference.makespan_s"},
	} {
		if got, err := SweepMetric(c.s, c.plots, c.requested, nil); err != nil || got != c.want {
			t.Errorf("the table shows %s (%v), want %s", got, err, c.want)
		}
	}

	bold := text.Style{Bold: func(s string) string { return "[" + s + "]" }}
	marked := Sweep(sweep(4e11, 4e11), &result.SweepTimings{}, "nct", nil, "dir", bold)
	if !strings.Contains(marked, "nct † by policy") || !strings.Contains(marked, "† nct is relative to ideal fabrics that differ") || strings.Contains(marked, "[1.5") {
		t.Errorf("NCT is not marked, or a value is highlighted:\n%s", marked)
	}
	times := Sweep(sweep(4e11, 4e11), &result.SweepTimings{}, "makespan_s", nil, "dir", bold)
	if !strings.Contains(times, "[4") || !strings.Contains(times, "nct is relative to ideal fabrics that differ") {
		t.Errorf("iteration times are not ranked, or no line warns of NCT:\n%s", times)
	}
	one := Sweep(sweep(4e11, 4e11), &result.SweepTimings{}, "nct", result.NameFilter{"fabric": {"pods"}}, "dir", bold)
	if strings.Contains(one, "†") || !strings.Contains(one, "[1.5") {
		t.Errorf("NCTs of one fabric are marked, or not ranked:\n%s", one)
	}
}
