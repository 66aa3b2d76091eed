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
	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// gainOf makes the chart of a gain with what it chose.
func gainOf(t testing.TB, spec result.Plot, s *result.Sweep) (*gainChart, *table, error) {
	v, err := newView(&spec, s, nil)
	if err != nil {
		return nil, nil, err
	}
	m, err := v.measure(spec.Y)
	if err != nil {
		return nil, nil, err
	}
	g := v.newGain()
	tab, err := g.choose(m)
	return g, tab, err
}

// The place that is chosen is that of the largest gain, found by looking at all cells again: no other at which as many
// of the others have values is better, and none has more of them.
func TestGainChoice(t *testing.T) {
	over, x, panels := countAxis("over", 1, 2, 3, 4), countAxis("x", 1, 2, 3), countAxis("p", 1, 2)
	names := []string{"ours", "a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(1, 10), rapid.Just(2.0))
		s := sweepOf("s", "", []result.Axis{panels, over, x}, names, func([]int, int) map[string]float64 { return map[string]float64{"completion_s": value.Draw(t, "value")} })
		for range rapid.IntRange(0, 60).Draw(t, "holes") {
			delete(s.Cells[rapid.IntRange(0, len(s.Cells)-1).Draw(t, "hole")].Metrics, "completion_s")
		}
		spec := result.Plot{Kind: "gain", X: "x", Panels: "p", Y: "completion_s", Over: "over", Policy: "ours", Against: rapid.SampledFrom([][]string{nil, {"a"}, {"b", "c"}}).Draw(t, "against")}
		g, tab, err := gainOf(nil, spec, s)
		if err != nil {
			return
		}
		at := func(p, x, o int, policy string) (float64, bool) {
			for _, c := range s.Cells {
				if c.At[0] == p && c.At[1] == o && c.At[2] == x && c.Policy == policy {
					v, ok := c.Metrics["completion_s"]
					return v, ok
				}
			}
			return 0, false
		}
		for p := range 2 {
			for i := range 3 {
				most, best, where := 0, math.Inf(-1), -1
				for o := range 4 {
					own, ok := at(p, i, o, "ours")
					n, least := 0, math.Inf(1)
					for _, other := range names[1:] {
						if v, ok := at(p, i, o, other); ok && (spec.Against == nil || slices.Contains(spec.Against, other)) {
							n, least = n+1, min(least, v)
						}
					}
					if gain := 1 - own/least; ok && n > 0 && (n > most || n == most && gain > best) {
						most, best, where = n, gain, o
					}
				}
				group := g.groups[p*3+i]
				if group.at != where || where >= 0 && group.gain != best {
					t.Fatalf("panel %d, group %d: %+v, want %g at %d", p, i, group, best, where)
				}
				for k, policy := range names {
					v, ok := at(p, i, max(where, 0), policy)
					if c := tab.cell(p, k, i); (c.n == 1) != (ok && where >= 0) || c.n == 1 && c.mean != v {
						t.Fatalf("panel %d, group %d, %s: %+v, want %g, %v", p, i, policy, *c, v, ok)
					}
				}
			}
		}
	})
}

// Seeds are averaged, and the gain is that of the means.
func TestGainSeeds(t *testing.T) {
	s := sweepOf("s", "", []result.Axis{countAxis("seed", 1, 2), countAxis("over", 1, 2), countAxis("n", 8, 16)}, []string{"ours", "other"}, func(at []int, p int) map[string]float64 {
		return map[string]float64{"completion_s": [][][]float64{{{4, 8}, {1, 10}}, {{2, 8}, {9, 10}}}[at[0]][at[1]][p]}
	})
	g, tab, err := gainOf(t, result.Plot{Kind: "gain", Y: "completion_s", Over: "over", Policy: "ours"}, s)
	if err != nil {
		t.Fatal(err)
	}
	// Means of ours are 3 and 5, of the other 8 and 10: gains 0.625 and 0.5.
	if len(g.groups) != 2 || g.groups[0] != (gainGroup{0, 0.625}) || tab.cell(0, 0, 0).n != 2 {
		t.Errorf("groups %+v of %+v", g.groups, tab.at)
	}
}

// The figure says what was chosen and gained, and bars beyond three times the policy's highest end there.
func TestGainFigure(t *testing.T) {
	s := sweepOf("s", "", []result.Axis{countAxis("fabric.gpus", 8, 16), delays(2, 1)}, []string{"ours", "better", "other"}, func(at []int, p int) map[string]float64 {
		// gains over the other: 0 and 0.5; 0.25 and 0.2
		return map[string]float64{"completion_s": 1e-3 * [][][]float64{{{4, 2, 4}, {3, 1, 6}}, {{6, 2, 8}, {8, 2, 90}}}[at[0]][at[1]][p]}
	})
	s.Cells[9].Metrics["completion_s"] = 8e-3 // ours
	s.Cells[11].Metrics["completion_s"] = 10e-3
	spec := result.Plot{Kind: "gain", Y: "completion_s", Over: "fabric.reconfiguration_delay", Policy: "ours", Against: []string{"other"}}
	f := mustChart(t, spec, s, nil)
	for _, part := range []string{
		"average gain 37.5 % over 2 settings, from 25 % to 50 %", "10 µs 1 µs", "50 % 25 %",
		"Below each group: the reconfiguration delay at which the gain is largest, and the gain of ours, 1 − its value / that of other.",
	} {
		if !sheettest.Says(f, part) {
			t.Errorf("the figure does not say %q", part)
		}
	}
	spec.Where = map[string][]string{"reconfiguration_delay": {"10us"}}
	f = mustChart(t, spec, s, nil)
	if !sheettest.Says(f, "average gain 35 % over 2 settings, from 20 % to 50 %") || sheettest.Says(f, "cut off") {
		t.Error("at one delay the figure says something else")
	}
	s.Cells[11].Metrics["completion_s"] = 90e-3
	f = mustChart(t, spec, s, nil)
	ours, other := sheettest.Filled(f, sheet.LineStyles[0].Color)[1:], sheettest.Filled(f, sheet.LineStyles[2].Color)[1:]
	if len(ours) != 2 || len(other) != 2 {
		t.Fatalf("%d and %d bars", len(ours), len(other))
	}
	for _, c := range []struct{ got, want float64 }{{other[1], 3 * ours[1]}, {other[0], ours[1] * 6 / 8}, {ours[0], ours[1] * 3 / 8}} {
		if math.Abs(c.got-c.want) > 0.02 {
			t.Errorf("a bar is %.2f points high, want %.2f", c.got, c.want)
		}
	}
	if !sheettest.Says(f, "1 bar is cut off at 3 times the highest of ours") || !sheettest.Says(f, "90") {
		t.Error("the figure does not say that a bar is cut off")
	}
	spec.Truncate = 20
	if f = mustChart(t, spec, s, nil); sheettest.Says(f, "cut off") {
		t.Error("a bar is cut off though truncate is 20")
	}
}

// Each panel has the gains of its own groups below it.
func TestGainTexts(t *testing.T) {
	s := scaleSweep()
	g, _, err := gainOf(t, scaleGain, s)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, group := range g.groups {
		want = append(want, gainText(group.gain))
	}
	for _, x := range sheettest.Texts(mustChart(t, scaleGain, s, nil)) {
		if strings.HasSuffix(x.Text, " %") && !strings.Contains(x.Text, "gain") {
			got = append(got, x.Text)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("gains %q, want %q", got, want)
	}
}

// What goes across and what panels are is chosen such that nothing is averaged.
func TestGainDefaults(t *testing.T) {
	s := scaleSweep()
	for _, c := range []struct{ x, panels, want string }{
		{"", "", "workload.sizes by fabric.switches,fabric.gpus"},
		{"fabric.gpus", "", "fabric.gpus by fabric.switches,workload.sizes"},
		{"", "sizes", "fabric.switches,fabric.gpus by workload.sizes"},
		{"gpus, sizes", "switches", "fabric.gpus,workload.sizes by fabric.switches"},
	} {
		spec := scaleGain
		spec.X, spec.Panels = c.x, c.panels
		v, err := newView(&spec, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.x.name + " by " + v.panels.name; got != c.want || len(v.hidden()) > 0 {
			t.Errorf("%q, %q: %s, want %s; %d axes are averaged", c.x, c.panels, got, c.want, len(v.hidden()))
		}
		for i := range s.Cells { // combinations are counted with the last varying fastest
			c := &s.Cells[i]
			if spec.Panels == "" && spec.X == "" && v.panels.at(c) != c.At[0]*4+c.At[2] {
				t.Fatalf("%v is in panel %d", c.At, v.panels.at(c))
			}
		}
		if spec.X == "" && spec.Panels == "" && v.panels.head(5) != "switches 2, GPUs 16" {
			t.Errorf("panel 5 is %s", v.panels.head(5))
		}
	}
}

// What a person leaves open of a gain is its metric and its name.
func TestGainProposed(t *testing.T) {
	s := scaleSweep()
	p := Propose(s, result.Plot{Kind: "gain", Over: "reconfiguration_delay", Policy: "fast"})
	if p.Y != "completion_s" || p.Name != "completion_s-gain" || p.X != "" || p.Panels != "" || Check(&p, s) != nil {
		t.Errorf("proposed %+v: %v", p, Check(&p, s))
	}
}

func TestGainErrors(t *testing.T) {
	s := scaleSweep()
	lines := func(change func(p *result.Plot)) func(p *result.Plot) {
		return func(p *result.Plot) {
			*p = result.Plot{Name: "p", Kind: "lines", X: "fabric.reconfiguration_delay", Y: "completion_s"}
			change(p)
		}
	}
	for want, change := range map[string]func(p *result.Plot){
		"policy is missing: name reconfigure-during":          func(p *result.Plot) { p.Policy = "" },
		`policy: there is no "fats"; did you mean fast?`:      func(p *result.Plot) { p.Policy = "fats" },
		`against: there is no "nothing"`:                      func(p *result.Plot) { p.Against = []string{"nothing"} },
		"cannot be compared with itself":                      func(p *result.Plot) { p.Against = []string{p.Policy} },
		"policy: where leaves reconfigure-during out":         func(p *result.Plot) { p.Where = map[string][]string{"policy": {"fast", "mixnet"}} },
		"there is nothing to compare reconfigure-during with": func(p *result.Plot) { p.Against, p.Where = nil, map[string][]string{"policy": {"reconfigure-during"}} },
		`over: there is no "delay"`:                           func(p *result.Plot) { p.Over = "delay" },
		"fabric.gpus is named twice":                          func(p *result.Plot) { p.X, p.Panels = "gpus", "sizes,gpus" },
		"policy can be neither x nor panels nor over":         func(p *result.Plot) { p.X = "policy" },
		"so it has no series":                                 func(p *result.Plot) { p.Series = "sizes" },
		"which offset and scales below 0 would change":        func(p *result.Plot) { p.Offset = 1 },
		"truncate is 0.5; it is a multiple":                   func(p *result.Plot) { p.Truncate = 0.5 },
		"log_x means nothing there":                           func(p *result.Plot) { p.LogX = true },
		"of all_to_all_bytes_per_s more is better":            func(p *result.Plot) { p.Y = "all_to_all_bytes_per_s" },
		"y is missing":     func(p *result.Plot) { p.Y = "" },
		"take is for bars": func(p *result.Plot) { p.Take = "max" },
		"over, policy, against and truncate are for a gain":                  lines(func(p *result.Plot) { p.Policy = "fast" }),
		`take: there is no "most"; there are mean, min and max`:              lines(func(p *result.Plot) { p.Take = "most" }),
		"below is missing: name the metric":                                  lines(func(p *result.Plot) { p.BelowOf = []string{"fast"} }),
		`below_of: there is no "slow"`:                                       lines(func(p *result.Plot) { p.Below, p.BelowOf = "reconfigurations", []string{"slow"} }),
		`metric: there is no "reconfiguration"; did you mean`:                lines(func(p *result.Plot) { p.Below = "reconfiguration" }),
		`metric: there is no "bound"`:                                        lines(func(p *result.Plot) { p.Also = []string{"bound"} }),
		`metric: there is no "slots"`:                                        lines(func(p *result.Plot) { p.Y = "completion_s/slots" }),
		"also, below, below_of, marked_at and to are for lines over an axis": lines(func(p *result.Plot) { p.X, p.Also = "reconfigurations", []string{"completion_s"} }),
	} {
		p := scaleGain
		change(&p)
		_, err := New(&p, s, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if Check(&p, s) == nil {
			t.Errorf("%s: not found early", want)
		}
	}
	tiny := scaleSweep()
	for i := range tiny.Cells {
		if c := &tiny.Cells[i]; c.Policy == "fast" {
			c.Metrics["completion_s"] = 1e-300
		}
	}
	if _, err := New(&scaleGain, tiny, nil); err == nil || !strings.Contains(err.Error(), "which no figure can show") {
		t.Errorf("error %v", err)
	}
	none := scaleGain
	none.Against, none.Where = []string{"mixnet"}, map[string][]string{"sizes": {"uniform"}}
	if _, err := New(&none, s, nil); err == nil || !strings.Contains(err.Error(), "in no setting do reconfigure-during and another have a value") {
		t.Errorf("error %v", err)
	}
}

// Also-lines hold the metric at each place, and lower panes only what is asked.
func TestAlsoAndBelow(t *testing.T) {
	s := slotSweep(8, 32)
	spec := result.Plot{Kind: "lines", X: "policy.reconfigurations", Y: "slots", Panels: "fabric.gpus", Also: []string{"bound_slots_round"}, Below: "reconfigurations", BelowOf: scalePolicies[1:2]}
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
		line := c.also[0].lines[p]
		if len(line) != n-1 {
			t.Errorf("%d points of the bound for %d GPUs", len(line), n)
		}
		for _, pt := range line {
			if want := roundBound(n, 1, int(pt.x)); pt.mean != want || pt.min != pt.max {
				t.Errorf("n = %d, d = %g: bound %g, want %g", n, pt.x, pt.mean, want)
			}
		}
	}
	if len(l.Blocks) != 2 || len(l.Blocks[1].Plots) != 2 || l.Blocks[1].YTitle != "reconfigurations" || l.Blocks[1].Height >= l.Blocks[0].Height {
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

// The greatest stands for all where the plot says so, of one metric over another.
func TestTakeQuotient(t *testing.T) {
	s := slotSweep(8, 16)
	for take, pick := range map[string]func(a, b float64) float64{"max": math.Max, "min": math.Min} {
		v, err := newView(&result.Plot{Kind: "lines", X: "fabric.gpus", Y: "slots/bound_slots_round", Take: take}, s, nil)
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
					t.Errorf("%s of %s: %+v, want %g", take, policy, got.spread, want)
				}
			}
		}
		if !slices.ContainsFunc(v.notes, func(n string) bool {
			return strings.HasPrefix(n, "A point is the "+takeWords[take]+" of up to 15 cells")
		}) {
			t.Errorf("notes %q", v.notes)
		}
	}
}

// Times of several units are worded one by one, many of them by decades.
func TestTimeLabels(t *testing.T) {
	few := delays(5, 1)
	f := facet{words: "delay", labels: few.Labels, numbers: few.Numbers, categories: []int{0, 1, 2, 3, 4}}
	if labels, title := timeLabels(&f); labels != "1 µs, 10 µs, 100 µs, 1 ms, 10 ms" || title != "delay" {
		t.Errorf("labels %q of %s", labels, title)
	}
	many := delays(51, 10)
	f = facet{words: "delay", labels: many.Labels, numbers: many.Numbers}
	for i := range many.Labels {
		f.categories = append(f.categories, i)
	}
	if labels, _ := timeLabels(&f); labels != "1 µs, 10 µs, 100 µs, 1 ms, 10 ms, 100 ms" {
		t.Errorf("labels %q", labels)
	}
	f.numbers[3] *= 2 // no longer what its label says
	if f.times() {
		t.Error("a label that its number contradicts is taken for a time")
	}
}

func timeLabels(f *facet) (labels, title string) {
	p := sheet.NewPlot("", "")
	title = f.numbered([]*plot.Plot{p}, "", true, 600)
	var all []string
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.Label != "" {
			all = append(all, t.Label)
		}
	}
	return strings.Join(all, ", "), title
}

// TestPlacesAndTop: a line is marked where another metric says, in the unit of x, between its points by the scale of the
// axis; one that leaves at the top ends there, and the bound on a metric is shown that follows from others.
func TestPlacesAndTop(t *testing.T) {
	line := []linePoint{at(1, 1), at(100, 3), at(10000, 9)}
	c := &lineChart{v: &view{spec: &result.Plot{LogX: true, LogY: true}}}
	cut := c.cut(line, 3)
	if len(cut) != 3 || !cut[2].cut || math.Abs(cut[2].x-100) > 1e-9 {
		t.Errorf("cut at a point: %+v", cut)
	}
	cut = c.cut([]linePoint{line[0], line[2], line[1]}, 3)
	if len(cut) != 4 || math.Abs(cut[1].x-100) > 1e-6 || cut[1].gap || !cut[2].gap {
		t.Errorf("cut: %+v", cut)
	}
	if q := onLine(line, 10, true); q == nil || math.Abs(q.mean-2) > 1e-9 {
		t.Errorf("at 10 on a logarithmic axis: %+v", q)
	}
	if q := onLine(line, 2e4, true); q != nil {
		t.Errorf("beyond the line: %+v", q)
	}
	s := sweepOf("delays", "", []result.Axis{countAxis("seed", 1, 2, 3)}, chartPolicies[:1], func(at []int, _ int) map[string]float64 {
		return map[string]float64{"nct": 2, "makespan_s": 5, "comm_exposed_s": 2, "bound_makespan_s": 4, "break_even_s": 2}
	})
	for i := range s.Cells {
		s.Cells[i].Reference = map[string]float64{"makespan_s": 4, "compute_makespan_s": 3}
	}
	v, err := newView(&result.Plot{Name: "p", Kind: "lines", X: "seed", Y: "nct", Also: []string{"bound_nct"}, MarkedAt: "break_even_s"}, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := v.newLines()
	if err != nil {
		t.Fatal(err)
	}
	if q := chart.places[0][0]; q == nil || q.x != 2 || q.mean != 2 {
		t.Errorf("marked at %+v", q)
	}
	if got := chart.also[0].lines[0][0].mean; got != 1 {
		t.Errorf("bound on NCT %g, want 1", got)
	}
}
