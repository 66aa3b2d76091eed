package plots

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
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

func planFigure(t *testing.T, name string) sheet.Figure {
	t.Helper()
	figs, err := every(planRun(name)())
	if err != nil || len(figs) != 1 || figs[0].Name != "plan-"+name {
		t.Fatalf("%d figures, error %v", len(figs), err)
	}
	return figs[0]
}

// TestPlanCells: each cell has the number of the transmitted chunk, in the row of its link and
// the column of its slot.
func TestPlanCells(t *testing.T) {
	s := plans["ring"]()
	type cell struct{ slot, gpu, src, dst int }
	want := map[cell]bool{}
	for i, start := 0, 0; i < len(s.Phases); i++ {
		for _, x := range s.Phases[i].Sent {
			want[cell{start + x[0] + 1, x[1], x[3], x[4]}] = true
		}
		start += s.Phases[i].Slots
	}
	gpus, slots := map[int]vg.Point{}, map[int]vg.Point{}
	chunk := regexp.MustCompile(`^(\d+)→(\d+)$`)
	all := sheettest.Texts(planFigure(t, "ring"))
	lowest := vg.Length(math.Inf(1)) // numbers above the last row are GPUs in topologies
	for _, x := range all {
		if n, ok := strings.CutPrefix(x.Text, "GPU "); ok {
			g, _ := strconv.Atoi(n)
			gpus[g], lowest = x.Corners[0], min(lowest, x.Corners[0].Y)
		}
	}
	for _, x := range all {
		if n, err := strconv.Atoi(x.Text); err == nil && x.Corners[0].Y < lowest && x.Corners[0].Y > lowest-20 { // the plot below shows time
			slots[n] = x.Corners[0].Add(x.Corners[1]).Scale(0.5)
		}
	}
	if len(gpus) != 8 || len(slots) != 16 {
		t.Fatalf("%d GPUs and %d slots are named", len(gpus), len(slots))
	}
	nearest := func(of map[int]vg.Point, far func(p vg.Point) vg.Length) int {
		best := -1
		for i, p := range of {
			if best < 0 || far(p) < far(of[best]) {
				best = i
			}
		}
		return best
	}
	for _, x := range all {
		m := chunk.FindStringSubmatch(x.Text)
		if m == nil {
			continue
		}
		mid := x.Corners[0].Add(x.Corners[1]).Scale(0.5)
		src, _ := strconv.Atoi(m[1])
		dst, _ := strconv.Atoi(m[2])
		c := cell{nearest(slots, func(p vg.Point) vg.Length { return max(p.X-mid.X, mid.X-p.X) }),
			nearest(gpus, func(p vg.Point) vg.Length { return max(p.Y-mid.Y, mid.Y-p.Y) }), src, dst}
		if !want[c] {
			t.Errorf("a cell says %+v, which the plan does not", c)
		}
		delete(want, c)
	}
	if len(want) > 0 {
		t.Errorf("%d transmissions have no cell", len(want))
	}
}

// TestPlanHops: if each chunk uses one path, the hop number is the number of transmissions of
// the chunk so far.
func TestPlanHops(t *testing.T) {
	for _, name := range []string{"ring", "three", "many"} {
		p := newPlanPicture(plans[name]())
		moved := map[[3]int]int{}
		for i := range p.Phases {
			for j, x := range p.Phases[i].Sent {
				c := [3]int{x[3], x[4], x[5]}
				if moved[c]++; p.Parts[i].Hops[j] != moved[c] {
					t.Fatalf("%s: transmission %v is hop %d, want %d", name, x, p.Parts[i].Hops[j], moved[c])
				}
			}
		}
	}
	tree := &result.Schedule{GPUs: 4, Degree: 2, Phases: []result.SchedulePhase{{Edges: [][2]int{{0, 1}, {0, 2}, {1, 3}}, Slots: 2,
		Sent: [][6]int{{0, 0, 1, 0, 0, 0}, {0, 0, 2, 0, 0, 0}, {1, 1, 3, 0, 0, 0}}}}}
	if p := newPlanPicture(tree); !slices.Equal(p.Parts[0].Hops, []int{1, 1, 2}) || p.MaxHops != 2 {
		t.Errorf("hops of a broadcast are %v", p.Parts[0].Hops)
	}
}

// TestPlanArrows: there is one arrow head per link, at the GPU to which the link leads.
func TestPlanArrows(t *testing.T) {
	s := kautzPlan(8, 2)
	s.Phases[0].Edges[0], s.Phases[0].Busy = [2]int{3, 6}, nil // in-degree and out-degree now differ
	figs, err := every(&result.Document{}, &result.Detail{Policies: []result.Simulation{{Policy: "p", Schedule: s}}})
	if err != nil || len(figs) != 1 {
		t.Fatalf("%d figures, error %v", len(figs), err)
	}
	f := figs[0]
	rec := new(recorder.Canvas)
	f.Draw(draw.NewCanvas(rec, f.Width, f.Height))
	at, want, got := map[int]vg.Point{}, map[int]int{}, map[int]int{}
	for _, x := range sheettest.Texts(f) {
		if n, err := strconv.Atoi(x.Text); err == nil && len(at) < s.GPUs {
			at[n] = x.Corners[0].Add(x.Corners[2]).Scale(0.5)
		}
	}
	for _, e := range s.Phases[0].Edges {
		if e[0] != e[1] {
			want[e[1]]++
		}
	}
	for _, a := range rec.Actions {
		fill, ok := a.(*recorder.Fill)
		if !ok || len(fill.Path) < 4 || len(fill.Path) > 5 {
			continue
		}
		corners := map[vg.Point]bool{}
		for _, p := range fill.Path {
			if p.Type == vg.MoveComp || p.Type == vg.LineComp {
				corners[p.Pos] = true
			}
		}
		if len(corners) != 3 {
			continue
		}
		best, tip := -1, fill.Path[0].Pos
		far := func(g int) float64 { return math.Hypot(float64(at[g].X-tip.X), float64(at[g].Y-tip.Y)) }
		for g := range s.GPUs {
			if best < 0 || far(g) < far(best) {
				best = g
			}
		}
		got[best]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("arrows into GPUs %v, want %v", got, want)
	}
}

// TestPlanBusy: the area below the curve of busy links is their share of all slots, even if
// several slots share a pixel. Reconfigurations contribute nothing, and their bands are to
// scale.
func TestPlanBusy(t *testing.T) {
	for _, name := range []string{"three", "bare", "kautz"} {
		p := newPlanPicture(plans[name]())
		busy, links := 0, 0
		for _, ph := range p.Phases {
			for _, b := range ph.Busy {
				busy, links = busy+b, links+len(ph.Edges)
			}
		}
		want := float64(busy) / float64(links)
		q := p.busyPanel()
		if q == nil || math.Abs(p.share()-want) > 1e-12 {
			t.Fatalf("%s: share %g, want %g", name, p.share(), want)
		}
		if f := planFigure(t, name); !sheettest.Contains(f, sheet.Percent(want)+" of all slots") && p.chunks == nil {
			t.Errorf("%s: the figure does not say how busy links are", name)
		}
		rec := new(recorder.Canvas)
		c := draw.NewCanvas(rec, 500, 100)
		p.busyLine().Plot(c, q)
		area := 0.0
		for _, a := range rec.Actions {
			if fill, ok := a.(*recorder.Fill); ok {
				for i := range fill.Path {
					u, v := fill.Path[i], fill.Path[(i+1)%len(fill.Path)]
					if u.Type != vg.CloseComp && v.Type != vg.CloseComp {
						area += float64(v.Pos.X-u.Pos.X) * float64(u.Pos.Y+v.Pos.Y) / 2
					}
				}
			}
		}
		slots, delays := float64(p.Rounds)*p.SlotS, float64(p.Reconfigurations())*p.DelayS
		if p.SlotS == 0 || p.Intervals {
			delays = 0
		} else {
			want *= slots / (slots + delays)
		}
		if got := area / (500 * 100); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g of the area is filled, want %g", name, got, want)
		}
		if delays > 0 && math.Abs(q.X.Max-slots-delays) > 1e-9*q.X.Max {
			t.Errorf("%s: the axis ends after %g s, want %g", name, q.X.Max, slots+delays)
		}
	}
}

// TestPlanStrips: strips contain all slots once and in order, and none is wider than the
// sheet.
func TestPlanStrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &result.Schedule{GPUs: 8}
		for _, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 2000)), 1, 40).Draw(t, "slots") {
			s.Phases = append(s.Phases, result.SchedulePhase{Slots: n})
		}
		p := &planPicture{Plan: s.Plan()}
		r := &chunkStrips{planPicture: p, gpus: rapid.IntRange(1, 12).Draw(t, "gpus"), degree: rapid.IntRange(1, 2).Draw(t, "degree"), row: 11}
		r.chooseLayout()
		next := 0
		for _, strip := range r.strips {
			wide := vg.Length(0)
			for _, s := range strip {
				if s.slots < 1 || p.Parts[s.phase].FirstRound+s.first != next || s.first+s.slots > p.Phases[s.phase].Slots {
					t.Fatalf("%+v, after %d slots", s, next)
				}
				next += s.slots
				wide += bandWidth + r.cell*vg.Length(s.slots)
			}
			if wide > stripWidth {
				t.Fatalf("a strip is %g wide", wide)
			}
		}
		if next+r.left != p.Rounds || r.cell < minSlotWidths[len(minSlotWidths)-1] || r.left > 0 && r.cell > minSlotWidths[len(minSlotWidths)-1] {
			t.Fatalf("%d slots are drawn and %d left of %d, each %g wide", next, r.left, p.Rounds, r.cell)
		}
	})
}

// TestPlanText: no text of a plan overlaps another or leaves the figure.
func TestPlanText(t *testing.T) {
	for name := range plans {
		for _, m := range sheettest.MisplacedTexts(planFigure(t, name)) {
			t.Errorf("%s: %s", name, m)
		}
	}
	f := planFigure(t, "many")
	for _, part := range []string{
		"Plan of many", "The first 8 of 20 topologies are drawn; 12 are left out.", "20 topologies, 206 slots", "= 28.34 ms; circulant, synthetic",
		"completion = reconfigurations + slots = 20 × 1 ms + 206 × 40.5 µs = 28.34 ms", "Topology 2 (+4): 3 slots",
	} {
		if !sheettest.Contains(f, part) {
			t.Errorf("the figure does not say %q", part)
		}
	}
	if f := planFigure(t, "long"); !sheettest.Contains(f, "hops 1 to 47 of a chunk, from light to dark") || sheettest.Contains(f, "hop 2") {
		t.Error("the legend does not name all hops together")
	}
	if f := planFigure(t, "ring"); !sheettest.Contains(f, "first hop of a chunk hop 2 hop 3 hop 4 idle") {
		t.Error("the legend does not name each of the four hops")
	}
	if f := planFigure(t, "bare"); !sheettest.Contains(f, "too many transmissions") {
		t.Error("the figure does not say what it leaves out")
	}
}

// TestPlanCost: the cost of a plan is printed completely even if the title and the origin are
// long.
func TestPlanCost(t *testing.T) {
	for name, cost := range map[string]string{
		"ring":  "completion = reconfigurations + slots = 2 × 1 ms + 16 × 40.5 µs = 2.648 ms; ",
		"steps": "= 3 × 2 µs + 9 × 500 ns + 3 MB / 800 Gb/s = 40.5 µs; ",
	} {
		doc, d := planRun(name)()
		d.Title = "All to all on a reconfigurable scale-up domain: all-to-all on 16 GPUs with 2 optical switches, links of 800Gbps, 1ms to reconfigure, zipf sizes of 4MB in chunks of 4MB"
		d.Policies[0].Schedule.Origin = strings.Repeat("generalised Kautz, relabelled, links chosen anew; ", 9)
		figs, err := every(doc, d)
		if err != nil {
			t.Fatal(err)
		}
		if !sheettest.Contains(figs[0], cost) || !sheettest.Contains(figs[0], "relabelled") {
			t.Errorf("%s: the figure does not say %q and what comes after", name, cost)
		}
	}
}

// TestPlanErrors: an inconsistent plan is rejected with the name of its policy.
func TestPlanErrors(t *testing.T) {
	for want, spoil := range map[string]func(s *result.Schedule){
		"has 0 GPUs": func(s *result.Schedule) { s.GPUs = 0 },
		"slots of -1 s and reconfigurations of 0.001 s":                func(s *result.Schedule) { s.SlotS = -1 },
		"joins GPUs 0 and 8 of 8":                                      func(s *result.Schedule) { s.Phases[1].Edges[0] = [2]int{0, 8} },
		"phase 0 of the plan of ring has -1 slots":                     func(s *result.Schedule) { s.Phases[0].Slots = -1 },
		"says of 9 slots how busy they are, of 10":                     func(s *result.Schedule) { s.Phases[0].Busy = s.Phases[0].Busy[1:] },
		"has 9 busy links of 8":                                        func(s *result.Schedule) { s.Phases[0].Busy[0] = 9 },
		"is in slot 10 of 10":                                          func(s *result.Schedule) { s.Phases[0].Sent[79][0] = 10 },
		"or before the one listed before it":                           func(s *result.Schedule) { s.Phases[0].Sent[0][0] = 1 },
		"is one too many in slot 0 on the 0 links from GPU 0 to GPU 2": func(s *result.Schedule) { s.Phases[0].Sent[0][1], s.Phases[0].Sent[0][2] = 0, 2 },
		"one too many in slot 0 on the 1 link from GPU 0 to GPU 1":     func(s *result.Schedule) { s.Phases[0].Sent[1][1], s.Phases[0].Sent[1][2] = 0, 1 },
		"names a GPU beyond the 8":                                     func(s *result.Schedule) { s.Phases[0].Sent[0][4] = -1 },
	} {
		doc, d := planRun("ring")()
		spoil(d.Policies[0].Schedule)
		if _, err := every(doc, d); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "plan of ring") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// anySchedule draws a consistent plan.
func anySchedule(t *rapid.T) *result.Schedule {
	n := rapid.SampledFrom([]int{1, 2, 3, 8, 24, 25, 70}).Draw(t, "gpus")
	gpu := rapid.IntRange(0, n-1)
	s := &result.Schedule{Origin: sheettest.AnyName.Draw(t, "origin"), GPUs: n, SlotS: sheettest.AnyNumber.Draw(t, "slot"), DelayS: sheettest.AnyNumber.Draw(t, "delay")}
	for range rapid.OneOf(rapid.IntRange(0, 4), rapid.SampledFrom([]int{13})).Draw(t, "phases") {
		ph := result.SchedulePhase{Slots: rapid.OneOf(rapid.IntRange(0, 5), rapid.SampledFrom([]int{300})).Draw(t, "slots")}
		for range rapid.IntRange(0, 30).Draw(t, "edges") {
			ph.Edges = append(ph.Edges, [2]int{gpu.Draw(t, "from"), gpu.Draw(t, "to")})
		}
		if rapid.Bool().Draw(t, "busy") {
			for range ph.Slots {
				ph.Busy = append(ph.Busy, rapid.IntRange(0, len(ph.Edges)).Draw(t, "carry"))
			}
		}
		for slot := 0; slot < ph.Slots && len(ph.Edges) > 0 && len(ph.Sent) < 40; slot += rapid.IntRange(1, 3).Draw(t, "later") {
			for i := range rapid.IntRange(0, min(3, len(ph.Edges))).Draw(t, "together") {
				e := ph.Edges[i]
				ph.Sent = append(ph.Sent, [6]int{slot, e[0], e[1], gpu.Draw(t, "source"), gpu.Draw(t, "goal"), rapid.IntRange(0, 1).Draw(t, "chunk")})
			}
		}
		s.Phases = append(s.Phases, ph)
	}
	if rapid.Bool().Draw(t, "in steps") {
		anySteps(t, s)
	}
	return s
}

// TestAnyPlan: for random plans, no text overlaps another or leaves the figure.
func TestAnyPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := &result.Document{Rows: []result.Row{{Policy: "p"}}}
		figs, err := every(doc, &result.Detail{Policies: []result.Simulation{{Policy: "p", Schedule: anySchedule(t)}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range figs {
			if m := sheettest.MisplacedTexts(f); len(m) > 0 {
				t.Fatalf("%q", m)
			}
		}
	})
}
