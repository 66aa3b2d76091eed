package accuracy

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestClassNames: each class has a name of its own.
func TestClassNames(t *testing.T) {
	names := ClassNames()
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("got the classes %q, want different names", names)
	}
}

// TestSummaries compares the summary of a class with a direct computation. Fitted rows and rows
// without a prediction do not count.
func TestSummaries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(0.01, 100)
		var predictions []Prediction
		var factors []float64
		product, fitted, unposed := 1.0, 0, 0
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			p := Prediction{Row: &Row{Value: value.Draw(t, "measured"), Fitted: rapid.Bool().Draw(t, "fitted")}, Class: "gemm"}
			if rapid.Bool().Draw(t, "posed") {
				p.Value = value.Draw(t, "predicted")
			} else {
				p.Reason = "no machine"
			}
			predictions = append(predictions, p)
			switch {
			case p.Row.Fitted:
				fitted++
			case p.Reason != "":
				unposed++
			default:
				f := max(p.Value/p.Row.Value, p.Row.Value/p.Value)
				factors, product = append(factors, f), product*f
			}
		}
		s := Summaries(predictions)
		if len(s) != 1 {
			t.Fatalf("got %d summaries, want 1", len(s))
		}
		got, n := s[0], len(factors)
		if got.Points != len(predictions) || got.Fitted != fitted || got.Unposed != unposed || got.Predicted != n {
			t.Fatalf("got %+v, want %d rows, %d fitted, %d without a prediction, %d predicted", got, len(predictions), fitted, unposed, n)
		}
		if n == 0 {
			return
		}
		slices.Sort(factors)
		typical, median, p90 := math.Pow(product, 1/float64(n)), factors[(n-1)/2], factors[(9*n+9)/10-1]
		near := func(a, b float64) bool { return math.Abs(a/b-1) < 1e-9 }
		if !near(got.TypicalFactor, typical) || !near(got.MedianFactor, median) || !near(got.P90Factor, p90) || !near(got.Worst.Factor(), factors[n-1]) {
			t.Errorf("got typical %v, median %v, 90 %% %v, worst %v; want %v, %v, %v, %v", got.TypicalFactor, got.MedianFactor, got.P90Factor, got.Worst.Factor(),
				typical, median, p90, factors[n-1])
		}
	})
}

// TestRatios: rows of a series are compared with the row on the smallest machine by their speed per
// GPU. Times become speeds, and pairs of fitted rows are counted apart.
func TestRatios(t *testing.T) {
	row := func(gpus int, metric string, measured, predicted float64, fitted bool, parameters Parameters) Prediction {
		unit := "tok/s/GPU"
		if metric == "iteration_time" {
			unit = "s"
		}
		return Prediction{Value: predicted, Row: &Row{GPUs: gpus, Metric: metric, Unit: unit, Value: measured, Fitted: fitted, Parameters: parameters}}
	}
	unposed := row(16, "throughput", 1, 0, false, Parameters{"model": "a"})
	unposed.Reason = "no machine"
	got := Ratios([]Prediction{
		row(64, "throughput", 80, 95, false, Parameters{"model": "a", "case": "FSDP 4 CP 2"}),
		row(8, "throughput", 100, 100, true, Parameters{"model": "a", "case": "FSDP 8 CP 1"}),
		row(8, "throughput", 70, 70, true, Parameters{"model": "a", "case": "FSDP 2 CP 4"}),
		row(8, "throughput", 100, 100, true, Parameters{"model": "b"}),
		unposed,
		row(8, "iteration_time", 10, 10, false, Parameters{"gbs": "32"}),
		row(16, "iteration_time", 12, 10, false, Parameters{"gbs": "64"}),
	})
	want := []struct {
		measured, predicted, points float64
	}{{0.8, 0.95, 15}, {0.7, 0.7, 0}, {10.0 / 12, 1, 100.0 / 6}}
	if len(got) != len(want) {
		t.Fatalf("got %d ratios, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if math.Abs(g.Measured-w.measured)+math.Abs(g.Predicted-w.predicted)+math.Abs(g.Points()-w.points) > 1e-9 {
			t.Errorf("ratio %d: measured %v, predicted %v, %v points, want %v", i, g.Measured, g.Predicted, g.Points(), w)
		}
	}
	s := SummariseRatios(got)
	if s.Points != 3 || s.Fitted != 1 || s.Predicted != 2 || math.Abs(s.Mean-95.0/6) > 1e-9 || s.Worst.Predicted != 1 {
		t.Errorf("got %+v, want 3 ratios, 1 fitted, mean error 15.83 points", s)
	}
}
