package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"sim/scenarios/result"
)

// twistSweep has all 64 patterns on three shapes, with values that depend on the pattern as
// for symmetric twists.
func twistSweep(shapes ...string) *result.Sweep {
	var patterns []string
	for i := range 64 {
		patterns = append(patterns, fmt.Sprintf("%06b", i))
	}
	axes := []result.Axis{axis("fabric.dims", shapes), axis("fabric.twist", patterns)}
	return sweepOf("twist-search", "Every twist under two routers", axes, []string{"shortest", "ecmp"}, func(at []int, p int) map[string]float64 {
		ones := 0
		for i, bit := range patterns[at[1]] {
			if bit == '1' {
				ones += []int{3, 5, 2, 4, 6, 1}[i]
			}
		}
		hops := (4 + 2*float64(at[0])) * (1 - 0.03*float64(ones%8) + 0.01*float64(ones/8))
		noise := math.Sin(float64(at[1]*(7+p))) * 0.02
		return map[string]float64{"average_hops": hops, "mean_delay_s": math.Pow(4, float64(at[0])) * 1e-3 * (hops + noise*hops) * (1 + 0.2*float64(p)), "diameter": 8}
	})
}

// TestTwistCell compares the order of patterns with the twisted-tori paper, Sec. III-B:
// "starting from the top-left corner with the index 000000 ... adding 1 in binary ...
// little-endian".
func TestTwistCell(t *testing.T) {
	for pattern, want := range map[string]int{"000000": 0, "100000": 1, "010000": 2, "110000": 3, "001000": 4, "000100": 8, "101100": 13, "000001": 32, "111111": 63} {
		if got, err := twistCell(pattern); err != nil || got != want {
			t.Errorf("%s: cell %d, error %v, want %d", pattern, got, err, want)
		}
	}
	pattern := []byte("000000")
	for cell := range 64 { // increments the previous pattern
		if got, _ := twistCell(string(pattern)); got != cell {
			t.Errorf("%s: cell %d, want %d", pattern, got, cell)
		}
		if bitsOf(cell, 6) != string(pattern) {
			t.Errorf("cell %d is %s, want %s", cell, bitsOf(cell, 6), pattern)
		}
		for i := range pattern {
			if pattern[i] ^= 1; pattern[i] == '1' {
				break
			}
		}
	}
	for _, bad := range []string{"", "00000", "0000000", "00000x", "tpuv4", "00000٠"} {
		if _, err := twistCell(bad); err == nil {
			t.Errorf("%q is taken for a pattern", bad)
		}
	}
}

// TestTwistTiles: the value of each pattern is on its tile, row by row from the top left, in
// any order of the axis.
func TestTwistTiles(t *testing.T) {
	s := twistSweep("[4, 4, 8]")
	f := mustChart(t, result.Plot{Name: "t", Kind: "twists", Z: "average_hops", Where: map[string][]string{"policy": {"ecmp"}}}, s, nil)
	values := map[string]float64{}
	for _, c := range s.Cells {
		if c.Policy == "ecmp" {
			values[s.Axes[1].Labels[c.At[1]]] = c.Metrics["average_hops"]
		}
	}
	r := new(recorder.Canvas)
	f.Draw(draw.NewCanvas(r, f.Width, f.Height))
	var texts []*recorder.FillString
	for _, a := range r.Actions {
		if text, ok := a.(*recorder.FillString); ok {
			texts = append(texts, text)
		}
	}
	tiles := 0
	var last vg.Point
	for i, text := range texts {
		if len(text.String) != 6 || strings.Trim(text.String, "01") != "" {
			continue
		}
		if want := bitsOf(tiles, 6); text.String != want {
			t.Fatalf("tile %d is %s, want %s", tiles, text.String, want)
		}
		if p := text.Point; tiles%8 > 0 && p.X <= last.X || tiles > 0 && tiles%8 == 0 && (p.X >= last.X || p.Y >= last.Y) {
			t.Errorf("tile %d is at %v, the one before at %v", tiles, p, last)
		}
		got, err := strconv.ParseFloat(texts[i-1].String, 64)
		const shown = 0.0005 // half of the last digit
		if err != nil || math.Abs(got-values[text.String]) > shown {
			t.Errorf("tile %s shows %s, want %g", text.String, texts[i-1].String, values[text.String])
		}
		last = text.Point
		tiles++
	}
	if tiles != 64 {
		t.Errorf("%d tiles", tiles)
	}
}

func TestTwistErrors(t *testing.T) {
	s := twistSweep("[4, 4, 4]")
	good := result.Plot{Name: "p", Kind: "twists", Z: "average_hops"}
	if _, err := New(&good, s, nil); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(p *result.Plot, s *result.Sweep){
		"z is missing: name the metric that colours the twists": func(p *result.Plot, _ *result.Sweep) { p.Z = "" },
		"twists have no x, y or series":                         func(p *result.Plot, _ *result.Sweep) { p.X = "fabric.dims" },
		"log_x and log_y mean nothing":                          func(p *result.Plot, _ *result.Sweep) { p.LogY = true },
		"no place for marks":                                    func(p *result.Plot, _ *result.Sweep) { p.Marks = []result.Mark{{Label: "a", Y: 1}} },
		"fabric.twist is named twice":                           func(p *result.Plot, _ *result.Sweep) { p.Panels = "fabric.twist" },
		`"tpuv4" is no twist pattern of six bits`:               func(_ *result.Plot, s *result.Sweep) { s.Axes[1].Labels[5] = "tpuv4" },
		"twists need a sweep over fabric.twist": func(_ *result.Plot, s *result.Sweep) {
			s.Axes[1].Name, s.Axes[1].Keys = "fabric.x", []string{"fabric.x"}
		},
		`there is no "nothing"`: func(p *result.Plot, _ *result.Sweep) { p.Z = "nothing" },
	} {
		s, p := twistSweep("[4, 4, 4]"), good
		spoil(&p, s)
		_, err := New(&p, s, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestDefaultTwists: Default proposes maps for all 64 patterns, but not for fewer.
func TestDefaultTwists(t *testing.T) {
	names := func(s *result.Sweep) string {
		var out []string
		for _, p := range Default(s) {
			out = append(out, p.Kind+" "+p.Z+" by "+p.Panels+fmt.Sprint(p.Where))
		}
		return strings.Join(out, "; ")
	}
	s := twistSweep("[4, 4, 4]", "[4, 4, 8]")
	if got, want := names(s), "twists mean_delay_s by map[fabric.dims:[[4, 4, 4]]]; twists mean_delay_s by map[fabric.dims:[[4, 4, 8]]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if p := Propose(s, result.Plot{Kind: "twists"}); p.Z != "mean_delay_s" || p.X != "" || Check(&p, s) != nil {
		t.Errorf("proposed %+v: %v", p, Check(&p, s))
	}
	s.Cells = slices.DeleteFunc(s.Cells, func(c result.Cell) bool { return c.Policy != "ecmp" })
	for i := range s.Cells {
		delete(s.Cells[i].Metrics, "mean_delay_s")
	}
	if got, want := names(s), "twists average_hops by fabric.dimsmap[]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.Cells = slices.DeleteFunc(s.Cells, func(c result.Cell) bool { return c.At[1] == 63 })
	s.Axes[1].Labels = s.Axes[1].Labels[:63]
	if got := names(s); strings.Contains(got, "twists") {
		t.Errorf("63 patterns make %s", got)
	}
}

// TestCorrelations compares coefficients with a calculation by hand for x = 1 2 3 4 and y = 1
// 3 2 5, among others.
func TestCorrelations(t *testing.T) {
	of := func(x, y []float64) []linePoint {
		var out []linePoint
		for i := range x {
			out = append(out, linePoint{x: x[i], cellSummary: cellSummary{mean: y[i]}})
		}
		return out
	}
	const tiny = 1e-12
	x := []float64{1, 2, 3, 4}
	for _, c := range []struct {
		y      []float64
		r, rho float64
	}{
		{[]float64{1, 3, 2, 5}, 5.5 / math.Sqrt(5*8.75), 0.8}, // ranks 1 3 2 4: 1 - 6*2/(4*15)
		{[]float64{1, 10, 100, 1000}, 1543.5 / math.Sqrt(5*701520.75), 1},
		{[]float64{4, 3, 2, 1}, -1, -1},
		{[]float64{1, 1, 2, 3}, 3.5 / math.Sqrt(5*2.75), 4.5 / math.Sqrt(5*4.5)}, // ranks 1.5 1.5 3 4
		{[]float64{1e23, 3e23, 2e23, 5e23}, 5.5 / math.Sqrt(5*8.75), 0.8},
		{[]float64{1e-200, 3e-200, 2e-200, 5e-200}, 5.5 / math.Sqrt(5*8.75), 0.8},
	} {
		r, rho, ok := correlations(of(x, c.y))
		if !ok || math.Abs(r-c.r) > 1e-7 || math.Abs(rho-c.rho) > tiny {
			t.Errorf("%v: r %.9f, ρ %g, %v; want %.9f, %g", c.y, r, rho, ok, c.r, c.rho)
		}
	}
	if _, _, ok := correlations(of(x, []float64{2, 2, 2, 2})); ok {
		t.Error("what does not vary correlates")
	}
	if _, _, ok := correlations(of(x[:2], x[:2])); ok {
		t.Error("two points correlate")
	}
}

// TestScatter: the points of a scatter plot are not joined, and its axes begin near the
// points.
func TestScatter(t *testing.T) {
	s := twistSweep("[4, 4, 8]")
	spec := result.Plot{Name: "p", Kind: "scatter", X: "average_hops", Y: "mean_delay_s"}
	v, err := newView(&spec, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := v.newLines()
	if err != nil || c.isJoined || !c.hasMarkers {
		t.Fatalf("joined %v, marked %v, error %v", c != nil && c.isJoined, c != nil && c.hasMarkers, err)
	}
	if len(c.lines[0][0])+len(c.lines[0][1]) != len(s.Cells) {
		t.Errorf("%d and %d points of %d cells", len(c.lines[0][0]), len(c.lines[0][1]), len(s.Cells))
	}
	l, err := c.sheet()
	if err != nil {
		t.Fatal(err)
	}
	if axisStart := l.Blocks[0].Plots[0].X.Min; axisStart < 2 {
		t.Errorf("the axis begins at %g", axisStart)
	}
	ordered := result.Plot{Name: "p", Kind: "scatter", X: "makespan_s", Y: "nct", Where: map[string][]string{"base": {"deepseek671b"}}}
	if v, err = newView(&ordered, bandwidthSweep(), nil); err != nil {
		t.Fatal(err)
	}
	if c, err = v.newLines(); err != nil || c.isJoined {
		t.Errorf("points in the order of an axis are joined: %v, error %v", c != nil && c.isJoined, err)
	}
	for want, p := range map[string]result.Plot{
		`x: there is no "fabric.dims"`: {Kind: "scatter", X: "fabric.dims", Y: "mean_delay_s"},
		"x is missing":                 {Kind: "scatter", Y: "mean_delay_s"},
		"z is for heat maps":           {Kind: "scatter", X: "average_hops", Y: "mean_delay_s", Z: "diameter"},
	} {
		if _, err := New(&p, s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
