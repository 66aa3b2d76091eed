package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// TestStepsTime: in the time strip, reconfigurations, latencies and transmissions have widths
// proportional to their durations.
func TestStepsTime(t *testing.T) {
	p := newPlanPicture(stepsPlan())
	q := p.timePanel()
	rec := new(recorder.Canvas)
	c := draw.NewCanvas(rec, 700, 60)
	p.timeTracks().Plot(c, q)
	const all = 3*2.0 + 9*0.5 + 12.5 + 2.5 + 2.5 + 12.5 // us: three topologies, nine steps, and 100 KB a us
	want := map[color.Color]float64{bandColor: 3 * 2.0, sheet.Faint: 9 * 0.5, sheet.Orange: 12.5, sheet.Purple: 2.5, sheet.Green: 2.5, sheet.Blue: 12.5}
	got := map[color.Color]float64{}
	for clr, list := range boxes(rec) {
		for _, r := range list {
			got[clr] += float64((r.Max.X - r.Min.X) / (c.Max.X - c.Min.X) * all)
		}
	}
	if math.Abs(p.EndS-all*1e-6) > 1e-15 || len(got) != len(want) {
		t.Fatalf("the plan ends after %g s, with %d colours", p.EndS, len(got))
	}
	for clr, v := range want {
		if math.Abs(got[clr]-v) > 0.01 {
			t.Errorf("%v takes %g us, want %g", clr, got[clr], v)
		}
	}
	// The second topology is set up after three steps of the first: 2 + 5.5 + 5.5 + 3 us.
	if at := boxes(rec)[bandColor][1].Min.X / (c.Max.X - c.Min.X) * all; math.Abs(float64(at)-16) > 0.01 {
		t.Errorf("the second topology is set up at %g us", at)
	}
}

// TestStepsBytes: each step has a bar at its position, with the height of its longest message
// and the colour of its kind.
func TestStepsBytes(t *testing.T) {
	p := newPlanPicture(stepsPlan())
	q := p.bytesPanel()
	rec := new(recorder.Canvas)
	c := draw.NewCanvas(rec, 700, 150)
	p.bytesTracks(5e5).Plot(c, q)
	y := func(bytes float64) vg.Length { return c.Min.Y + (c.Max.Y-c.Min.Y)*vg.Length(bytes/5e5) }
	at := 0
	for _, part := range []struct {
		clr   color.Color
		bytes []float64
	}{{sheet.Orange, []float64{5e5, 5e5, 2.5e5}}, {sheet.Purple, []float64{2.5e5}}, {sheet.Green, []float64{1.25e5, 1.25e5}}, {sheet.Blue, []float64{2.5e5, 5e5, 5e5}}} {
		list := boxes(rec)[part.clr]
		if len(list) != len(part.bytes) {
			t.Fatalf("%d bars for %d steps", len(list), len(part.bytes))
		}
		for i, b := range part.bytes {
			step := int(float64((list[i].Min.X+list[i].Max.X)/2-c.Min.X) / float64(c.Max.X-c.Min.X) * 9)
			if math.Abs(float64(list[i].Max.Y-y(b))) > sheet.Pixel || list[i].Min.Y != y(0) || step != at {
				t.Errorf("step %d has a bar %v in place %d", at, list[i], step)
			}
			at++
		}
	}
}

// TestStepsShort: steps that are too short to distinguish have the correct position and
// duration.
func TestStepsShort(t *testing.T) {
	p := newPlanPicture(largeSteps())
	rec := new(recorder.Canvas)
	c := draw.NewCanvas(rec, 700, 60)
	p.timeTracks().Plot(c, p.timePanel())
	sum := vg.Length(0)
	list := boxes(rec)[sheet.Blue]
	for _, r := range list {
		sum += r.Max.X - r.Min.X
	}
	if end := list[len(list)-1].Max.X; math.Abs(float64(end-c.Max.X)) > sheet.Pixel {
		t.Errorf("the last step ends at %g of %g", end, c.Max.X)
	}
	_, _, first := p.Phases[0].Totals()
	want := c.Max.X - c.Min.X
	want *= vg.Length((p.EndS - 12e-3) / p.EndS)
	if math.Abs(float64(sum/want-1)) > 0.01 || math.Abs(first-2001*500e-9-2_000_000*8/800e9) > 1e-12 {
		t.Errorf("steps are %g wide, want %g; the first phase takes %g s", sum, want, first)
	}
}

func TestStepsText(t *testing.T) {
	f := planFigure(t, "steps")
	for _, part := range []string{
		"3 topologies, 9 steps; completion = reconfigurations + latencies + bytes / rate = 3 × 2 µs + 9 × 500 ns + 3 MB / 800 Gb/s = 40.5 µs",
		"Topology 1 (+1, +4): 3 steps", "Topology 2 (+2, +6): 3 steps", "3 MB in all", "scatter: sums of pieces", "fold: sums to all successors", "500 kB",
	} {
		if !sheettest.Contains(f, part) {
			t.Errorf("the figure does not say %q", part)
		}
	}
	f = planFigure(t, "large")
	for _, part := range []string{"131,072 links, too many to draw", "The first 8 of 12 topologies are drawn; 4 are left out.", "3 (+1, +4): 2,001 steps", "12 topologies, 24,012 steps", "steps too short to tell apart"} {
		if !sheettest.Contains(f, part) {
			t.Errorf("the figure of many does not say %q", part)
		}
	}
	for i, set := range newPlanPicture(largeSteps()).Topologies {
		if drawn := len(set.Links); drawn != (i+1)%2*2<<14 {
			t.Errorf("%d links of topology %d can be drawn", drawn, i)
		}
	}
	if sheettest.Contains(planFigure(t, "turns"), "too short") {
		t.Error("steps that are told apart are said not to be")
	}
	if sheettest.Contains(f, "scatter") {
		t.Error("the legend names what is not there")
	}
}

func TestStepsErrors(t *testing.T) {
	for want, spoil := range map[string]func(s *result.Schedule){
		"a latency of -1 s":       func(s *result.Schedule) { s.LatencyS = -1 },
		"a run of 0 steps":        func(s *result.Schedule) { s.Phases[0].Steps[0].Count = 0 },
		"steps of -1 B":           func(s *result.Schedule) { s.Phases[1].Steps[0].Bytes = -1 },
		"steps of 500000 B and -": func(s *result.Schedule) { s.Phases[0].Steps[0].StepS = -1 },
		"takes longer than":       func(s *result.Schedule) { s.Phases[0].Steps[0].StepS = 9e23 },
		"an offset of 8 among 8":  func(s *result.Schedule) { s.Phases[0].Offsets[1] = 8 },
		"has -1 links":            func(s *result.Schedule) { s.Phases[3].Links = -1 },
	} {
		doc, d := planRun("steps")()
		spoil(d.Policies[0].Schedule)
		if _, err := every(doc, d); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "plan of steps") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// anySteps replaces the phases of a plan by random consistent steps.
func anySteps(t *rapid.T, s *result.Schedule) {
	s.DelayS /= 1e3 // the total remains drawable
	s.LatencyS = sheettest.AnyNumber.Draw(t, "latency") / 1e6
	s.RateBitsPerS = sheettest.AnyNumber.Draw(t, "rate")
	for i := range s.Phases {
		ph := &s.Phases[i]
		ph.Kind = rapid.SampledFrom([]string{"scatter", "exchange", "fold", "gather", "", "other"}).Draw(t, "does")
		ph.Reused = rapid.Bool().Draw(t, "reused")
		ph.Links = rapid.IntRange(0, 1<<30).Draw(t, "links")
		for range rapid.IntRange(0, 4).Draw(t, "runs") {
			bytes := rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Int64Range(0, 1<<30)).Draw(t, "bytes")
			count := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 1<<20)).Draw(t, "count")
			ph.Steps = append(ph.Steps, result.ScheduleRun{Count: count, Bytes: bytes, StepS: sheettest.AnyNumber.Draw(t, "step") / 1e9})
		}
	}
}

// boxes returns the bounding boxes of all filled shapes, indexed by colour and sorted by x.
func boxes(rec *recorder.Canvas) map[color.Color][]vg.Rectangle {
	all := sheettest.Boxes(rec)
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b vg.Rectangle) int { return cmp.Compare(a.Min.X, b.Min.X) })
	}
	return all
}
