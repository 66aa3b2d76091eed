package plots

import (
	"fmt"
	"slices"
	"testing"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// moved returns an iteration of 10 s in which pods 0 and 1 move two of three circuits to
// synchronisation at 4 s and back at the end, with a delay of 3 s.
func moved() *result.Simulation {
	move := func(at float64, pair, peers [2]int) result.Move {
		return result.Move{AtS: at, UpS: at + 3, Circuits: []result.PairMoves{
			{A: 0, B: 1, From: pair[0], To: pair[1]}, {A: 0, B: 0, DP: true, From: peers[0], To: peers[1]},
		}}
	}
	return &result.Simulation{
		Policy: "p", MakespanS: 10,
		Topology: &result.Topology{
			Pods:  []result.PodPorts{{Name: "pod 0", Used: 4, Total: 4}, {Name: "pod 1", Used: 3, Total: 4}},
			Pairs: []result.Pair{{A: 0, B: 1, Circuits: 3, Copies: 1}, {A: 0, B: 0, Circuits: 1, DP: true, Copies: 1}},
		},
		Circuits: []result.Series{{Name: "pod 0 to pod 1", TimeS: []float64{1, 2}, Value: []float64{3e11, 0}}},
		Moves:    []result.Move{move(4, [2]int{3, 1}, [2]int{1, 3}), move(10, [2]int{1, 3}, [2]int{3, 1})},
	}
}

// TestSteps: released circuits stop immediately; circuits that are set up carry data after the
// delay, also in the next iteration.
func TestSteps(t *testing.T) {
	s := newCircuitHistory(moved())
	if !slices.Equal(s.times, []float64{0, 3, 4, 7, 10}) {
		t.Fatalf("changes at %v", s.times)
	}
	for k, want := range []struct{ carrying, held []int }{
		{[]int{1, 1}, []int{2, 0}}, {[]int{3, 1}, []int{0, 0}}, {[]int{1, 1}, []int{0, 2}}, {[]int{1, 3}, []int{0, 0}},
	} {
		if !slices.Equal(s.carrying[k], want.carrying) || !slices.Equal(s.settingUp[k], want.held) {
			t.Errorf("from %g s: %v carry and %v are set up, want %v", s.times[k], s.carrying[k], s.settingUp[k], want)
		}
	}
}

// TestMoments: a topology that moves has a chart per interval between moves, with the circuits
// that are usable in it and the ports that they use.
func TestMoments(t *testing.T) {
	p := moved()
	doc := &result.Document{Rows: []result.Row{{Policy: "p"}}}
	charts := topologyCharts(new(sheet.Sheet), doc, &result.Detail{Policies: []result.Simulation{*p}})
	var got []string
	for _, c := range charts {
		got = append(got, fmt.Sprint(c.head(1000), " ", c.count, " ", c.peer[0].circuits))
	}
	want := []string{
		"p, 0 s to 3 s: 3 of 8 ports map[[0 1]:1] 1", "p, 3 s to 4 s: 7 of 8 ports map[[0 1]:3] 1",
		"p, 4 s to 7 s: 3 of 8 ports map[[0 1]:1] 1", "p, 7 s to 10 s: 5 of 8 ports map[[0 1]:1] 3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestMovesFigure: the bars of a pod's ports never exceed its height, and only runs whose
// circuits move have a figure.
func TestMovesFigure(t *testing.T) {
	p := moved()
	d := &result.Detail{Policies: []result.Simulation{*p, {Policy: "q", MakespanS: 1, Topology: p.Topology}}}
	figures := figureFunc(movesFigures).draw(nil, d)
	if len(figures) != 1 || figures[0].Name != "moves-p" {
		t.Fatalf("%d figures", len(figures))
	}
	m := &movesPicture{sim: p, pods: 2, portRate: 1e11, history: newCircuitHistory(p)}
	m.assignColors()
	high := map[[2]float64]float64{} // indexed by track and start
	for _, b := range m.chart().bars {
		if b.to > 0.9+1e-9 || b.hi <= b.lo {
			t.Errorf("bar %+v", b)
		}
		at := [2]float64{float64(b.track), b.lo}
		high[at] = max(high[at], b.to)
	}
	if got := high[[2]float64{1, 4}]; got < 0.899 { // one carries, one leads to DP peers, two are being set up
		t.Errorf("pod 0 has %g of its ports in use at 4 s", got/0.9)
	}
	if circuits(p, "pod 0 to pod 1") != 3 || portRate(d) != 1e11 {
		t.Errorf("a port has %g", portRate(d))
	}
}
