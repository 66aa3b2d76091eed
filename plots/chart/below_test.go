package chart

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	_ "sim/internal/testseed"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// TestAlsoAndBelow: lines of the option also have the value of their metric at each x, and
// lower panels show only the series in lower_series.
func TestAlsoAndBelow(t *testing.T) {
	s := slotSweep(8, 32)
	spec := result.Plot{Kind: "lines", X: "policy.reconfigurations", Y: "slots", Panels: "fabric.gpus", ExtraY: []string{"bound_slots_round"}, LowerY: "reconfigurations", LowerSeries: scalePolicies[1:2]}
	v, err := newView(&spec, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := v.newLines()
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.sheet()
	if err != nil {
		t.Fatal(err)
	}
	for p, n := range []int{8, 32} {
		line := c.references[0].lines[p]
		if len(line) != n-1 {
			t.Errorf("%d points of the bound for %d GPUs", len(line), n)
		}
		for _, pt := range line {
			if want := roundBound(n, 1, int(pt.x)); pt.mean != want || pt.min != pt.max {
				t.Errorf("n = %d, d = %g: bound %g, want %g", n, pt.x, pt.mean, want)
			}
		}
	}
	if len(l.Blocks) != 2 || len(l.Blocks[1].Plots) != 2 || l.Blocks[1].YTitle != "reconfigurations of a plan" || l.Blocks[1].Height >= l.Blocks[0].Height {
		t.Fatalf("%d blocks", len(l.Blocks))
	}
	low := l.Blocks[1].Plots
	if low[0].Y.Min != low[1].Y.Min || low[0].Y.Max != low[1].Y.Max {
		t.Error("the lower panels have different axes")
	}
	rec := new(recorder.Canvas)
	low[0].Draw(draw.NewCanvas(rec, 200, 200))
	colors := map[color.Color]bool{}
	for _, a := range rec.Actions {
		if a, ok := a.(*recorder.SetColor); ok {
			colors[sheet.ToRGBA(a.Color)] = true
		}
	}
	if !colors[sheet.ToRGBA(sheet.LineStyles[1].Color)] || colors[sheet.ToRGBA(sheet.LineStyles[0].Color)] {
		t.Errorf("the lower pane has the colours %v", colors)
	}
}

// TestTakeQuotient: with aggregation = "max", the maximum represents several cells, also for a
// quotient of two metrics.
func TestTakeQuotient(t *testing.T) {
	s := slotSweep(8, 16)
	for take, pick := range map[string]func(a, b float64) float64{"max": math.Max, "min": math.Min} {
		v, err := newView(&result.Plot{Kind: "lines", X: "fabric.gpus", Y: "slots/bound_slots_round", Aggregation: take}, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := v.newLines()
		if err != nil {
			t.Fatal(err)
		}
		for p, policy := range scalePolicies[:2] {
			for x := range 2 {
				want := math.NaN()
				for _, cell := range s.Cells {
					if r := cell.Metrics["slots"] / cell.Metrics["bound_slots_round"]; cell.Policy == policy && cell.At[0] == x && r == r {
						if want != want {
							want = r
						}
						want = pick(want, r)
					}
				}
				if got := c.lines[0][p][x]; got.mean != want || got.min != want || got.max != want {
					t.Errorf("%s of %s: %+v, want %g", take, policy, got.cellSummary, want)
				}
			}
		}
		if !slices.ContainsFunc(v.notes, func(n string) bool {
			return strings.HasPrefix(n, "A point is the "+reductionTexts[take]+" of up to 15 cells")
		}) {
			t.Errorf("notes %q", v.notes)
		}
	}
}

// TestTimeLabels: times with different units have individual units; many of them get ticks at
// powers of ten.
func TestTimeLabels(t *testing.T) {
	few := delays(5, 1)
	f := dimension{text: "delay", labels: few.Labels, numbers: few.Numbers, categories: []int{0, 1, 2, 3, 4}}
	if labels, title := timeLabels(&f); labels != "1 µs, 10 µs, 100 µs, 1 ms, 10 ms" || title != "delay" {
		t.Errorf("labels %q of %s", labels, title)
	}
	many := delays(51, 10)
	f = dimension{text: "delay", labels: many.Labels, numbers: many.Numbers}
	for i := range many.Labels {
		f.categories = append(f.categories, i)
	}
	if labels, _ := timeLabels(&f); labels != "1 µs, 10 µs, 100 µs, 1 ms, 10 ms, 100 ms" {
		t.Errorf("labels %q", labels)
	}
	f.numbers[3] *= 2 // differs from its label
	if f.isTime() {
		t.Error("a label that its number contradicts is taken for a time")
	}
}

func timeLabels(f *dimension) (labels, title string) {
	p := sheet.NewPlot()
	title = f.setNumberedAxes([]*plot.Plot{p}, "", true, 600)
	var all []string
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.Label != "" {
			all = append(all, t.Label)
		}
	}
	return strings.Join(all, ", "), title
}

// TestPlacesAndTop: x_mark marks a line at the x value that another metric gives,
// interpolated on the scale of the axis. A line that leaves the panel at the top ends there,
// and a bound that is computed from other metrics can be shown.
func TestPlacesAndTop(t *testing.T) {
	line := []linePoint{pointAt(1, 1), pointAt(100, 3), pointAt(10000, 9)}
	c := &lineChart{v: &view{spec: &result.Plot{LogX: true, LogY: true}}}
	cut := c.clip(line, 3)
	if len(cut) != 3 || !cut[2].isEdge || math.Abs(cut[2].x-100) > 1e-9 {
		t.Errorf("cut at a point: %+v", cut)
	}
	cut = c.clip([]linePoint{line[0], line[2], line[1]}, 3)
	if len(cut) != 4 || math.Abs(cut[1].x-100) > 1e-6 || cut[1].afterGap || !cut[2].afterGap {
		t.Errorf("cut: %+v", cut)
	}
	if q := interpolate(line, 10, true); q == nil || math.Abs(q.mean-2) > 1e-9 {
		t.Errorf("at 10 on a logarithmic axis: %+v", q)
	}
	if q := interpolate(line, 2e4, true); q != nil {
		t.Errorf("beyond the line: %+v", q)
	}
	s := sweepOf("delays", "", []result.Axis{countAxis("seed", 1, 2, 3)}, chartPolicies[:1], func(at []int, _ int) map[string]float64 {
		return map[string]float64{"nct": 2, "makespan_s": 5, "comm_exposed_s": 2, "bound_makespan_s": 4, "break_even_s": 2}
	})
	for i := range s.Cells {
		s.Cells[i].Reference = map[string]float64{"makespan_s": 4, "compute_makespan_s": 3}
	}
	v, err := newView(&result.Plot{Name: "p", Kind: "lines", X: "seed", Y: "nct", ExtraY: []string{"bound_nct"}, XMark: "break_even_s"}, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := v.newLines()
	if err != nil {
		t.Fatal(err)
	}
	if q := chart.markedPoints[0][0]; q == nil || q.x != 2 || q.mean != 2 {
		t.Errorf("marked at %+v", q)
	}
	if got := chart.references[0].lines[0][0].mean; got != 1 {
		t.Errorf("bound on NCT %g, want 1", got)
	}
}

// TestWorded: labels with lists of scenarios are printed in the usual notation.
func TestWorded(t *testing.T) {
	for label, want := range map[string]string{
		"[4, 4, 8]": "4x4x8", "[4, 4, 4]/": "4x4x4", "[4, 8, 8]/tpuv4": "4x8x8/tpuv4", "[]": "none", `["x0", "y3"]`: "x0, y3", "400Gbps": "400Gbps", "a/b": "a/b",
	} {
		if got := displayLabel(label); got != want {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
}
