package accuracy

import (
	"bytes"
	"encoding/csv"
	"flag"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/scenarios"
)

var (
	update = flag.Bool("update", false, "write predictions.csv and ablations.csv")
	all    = flag.Bool("all", false, "predict all rows, not only a sample of each class")
)

// TestStored predicts a sample of each class, and compares it with the stored predictions, from
// which docs/accuracy.md and the evidence of runs are made. With -update it predicts all rows and
// stores them.
func TestStored(t *testing.T) {
	stored := Stored()
	var rows []*Row
	var old []*Prediction
	seen := map[string]int{}
	const stride = 8
	for i := range stored {
		p := &stored[i]
		if *update || *all || seen[p.Class]%stride == 0 {
			rows, old = append(rows, p.Row), append(old, p)
		}
		seen[p.Class]++
	}
	got, err := Predict(t.Context(), rows, Options{Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		writeStored(t, got)
		return
	}
	const tolerance = 1e-3 // of the predicted value; stored values have six digits
	for i := range got {
		g, w := &got[i], old[i]
		if (g.Reason == "") != (w.Reason == "") || g.Machine != w.Machine && g.Reason == "" || math.Abs(g.Value-w.Value) > tolerance*w.Value {
			t.Errorf("%s: predicted %.6g on %q (%s), stored %.6g on %q (%s); run make accuracy and read the changes",
				g.Row.ID, g.Value, g.Machine, g.Reason, w.Value, w.Machine, w.Reason)
		}
	}
}

// maxTypicalFactor limits the typical factor of each class with predictions. A change that makes
// a class worse must raise its limit here.
var maxTypicalFactor = map[string]float64{
	"collectives-large": 1.14,
	"collectives-small": 1.31,
	"collectives-tiny":  1.17,
	"training-moe":      1.31,
	"training-dense":    1.12,
	"experts":           1.43,
	"kernels":           1.19,
}

// TestTypicalFactors: no class is worse than its limit, and each class with predictions has one.
func TestTypicalFactors(t *testing.T) {
	for _, s := range Summaries(Stored()) {
		if limit := maxTypicalFactor[s.Class]; s.TypicalFactor > limit {
			t.Errorf("%s: the typical factor of the stored predictions is %.4f, want at most %.4f", s.Class, s.TypicalFactor, limit)
		}
	}
}

// TestOddRows: a row with any values has a prediction or a reason, and never both.
func TestOddRows(t *testing.T) {
	scenarios.SetBudget(scenarios.Budget{Bytes: 1 << 28, Seconds: 1})
	defer scenarios.SetBudget(scenarios.DefaultBudget)
	odd := rapid.SampledFrom([]string{"", "?", "n/a", "0", "-1", "1", "3", "7.5", "1e30", "inf", "NaN", "x", "8 ?", "1 (2)", "4096", "999999999"})
	rapid.Check(t, func(t *rapid.T) {
		r := *rapid.SampledFrom(Ledger()).Draw(t, "row")
		r.Parameters = maps.Clone(r.Parameters)
		names := slices.Sorted(maps.Keys(r.Parameters))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0:
				r.GPUs = rapid.SampledFrom([]int{0, 1, 2, 3, 17, 4096, 1 << 30}).Draw(t, "gpus")
			case 1:
				r.Nodes = rapid.SampledFrom([]int{0, 1, 3, 1 << 30}).Draw(t, "nodes")
			case 2:
				r.Unit = rapid.SampledFrom([]string{"", "us", "ms", "s", "GB/s", "tok/s", "%"}).Draw(t, "unit")
			default:
				if len(names) > 0 {
					r.Parameters[rapid.SampledFrom(names).Draw(t, "name")] = odd.Draw(t, "value")
				}
			}
		}
		p := predictRow(t.Context(), &r, &Options{})
		if (p.Reason == "") != (p.Value > 0) || strings.Contains(p.Reason, "sim failed") {
			t.Errorf("%s on %d GPUs, %d nodes, %v: got value %v and reason %q", r.ID, r.GPUs, r.Nodes, r.Parameters, p.Value, p.Reason)
		}
	})
}

// writeStored writes predictions.csv and ablations.csv.
func writeStored(t *testing.T, predictions []Prediction) {
	var lines [][]string
	for _, p := range predictions {
		if p.Reason == "" {
			lines = append(lines, []string{p.Row.ID, p.Machine, number(p.Value)})
		}
	}
	writeLines(t, "predictions.csv", lines)

	lines = nil
	for _, part := range Parts() {
		rows := slices.DeleteFunc(slices.Clone(Ledger()), func(r *Row) bool { return !slices.Contains(classOf(r).parts, part) })
		got, err := Predict(t.Context(), rows, Options{Workers: runtime.GOMAXPROCS(0), Without: []string{part}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range Summaries(got) {
			lines = append(lines, []string{part, s.Class, number(s.TypicalFactor), number(s.FitFactor)})
		}
	}
	writeLines(t, "ablations.csv", lines)
}

// number formats a number with six digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// writeLines writes a CSV file.
func writeLines(t *testing.T, name string, lines [][]string) {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(lines); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
