package topology

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
)

// drawProblem draws a small random graph of transfers, compute tasks and milestones, with
// and without lags, on a few pods.
func drawProblem(t *rapid.T) *Problem {
	const rate = 100e9
	f := &fabric.Pods{PeerEnds: rapid.IntRange(1, 2).Draw(t, "twin ends")}
	for pod := range rapid.IntRange(2, 4).Draw(t, "pods") {
		f.Pods = append(f.Pods, fabric.Pod{Ports: rapid.IntRange(5, 12).Draw(t, "ports"), Rate: rate})
		for range rapid.IntRange(1, 2).Draw(t, "nodes") {
			f.Nodes = append(f.Nodes, fabric.Node{Pod: int32(pod),
				GPUs: int32(rapid.IntRange(1, 4).Draw(t, "gpus")), NICs: []int32{int32(len(f.NICs))}})
			f.NICs = append(f.NICs, fabric.NIC{Rate: rate})
		}
	}

	g := &engine.Graph{}
	for i := range rapid.IntRange(2, 14).Draw(t, "tasks") {
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			g.AddTask(engine.Task{Duration: engine.Time(rapid.SampledFrom([]int64{0, 0, 5e6}).Draw(t, "duration"))})
		} else {
			node := rapid.Int32Range(0, int32(len(f.Nodes))-1)
			src := node.Draw(t, "src")
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: src, Dst: node.Draw(t, "dst"),
				Flows: f.Nodes[src].GPUs,
				Bytes: int64(rapid.IntRange(1, 8).Draw(t, "size")) * 10000})
		}
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				g.AddEdge(int32(j), int32(i), engine.Time(rapid.SampledFrom([]int64{0, 3e6}).Draw(t, "lag")))
			}
		}
	}

	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	o, err := f.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProblem(g, o)
	if err != nil {
		t.Skip("too few ports")
	}
	return p
}

// drawCircuits draws a topology that fits the ports.
func drawCircuits(t *rapid.T, p *Problem) []int {
	x := p.ones()
	free := p.freePorts(x)
	for e := range x {
		n := rapid.IntRange(0, p.maxAdditional(free, e)).Draw(t, "circuits")
		x[e] += n
		p.allocate(free, e, n)
	}
	return x
}

// simulateTrace returns the trace of topology x with rates.
func simulateTrace(t interface{ Fatal(...any) }, p *Problem, x []int, s flow.Service) *engine.Trace {
	n, err := p.Fabric.Provision(x)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := flow.Run(context.Background(), p.Graph, n, p.Fabric.Routes,
		flow.Options{Service: s, Rates: true})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// eventTimes returns the sorted, distinct times at which transfers start or end.
func eventTimes(starts, ends []engine.Time) []engine.Time {
	times := append(slices.Clone(starts), ends...)
	slices.Sort(times)
	return slices.Compact(times)
}

// TestWindowsHoldEveryPlay checks that a simulation under fair sharing on any topology
// stays within the time windows of its makespan. It must also stay within the index
// windows of its number of intervals, for any baseline.
func TestWindowsHoldEveryPlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		ids := p.networkTransfers()
		trace := simulateTrace(t, p, drawCircuits(t, p), flow.MaxMin)
		var starts, ends []engine.Time
		for _, id := range ids {
			starts, ends = append(starts, trace.Start[id]), append(ends, trace.End[id])
		}
		times := eventTimes(starts, ends)
		extra := rapid.IntRange(0, 3).Draw(t, "extra intervals")
		w, err := p.Windows(context.Background(), WindowOptions{
			Circuits: drawCircuits(t, p), Upper: trace.Makespan, Intervals: max(0, len(times)-1) + extra,
			Margin: rapid.IntRange(0, 3).Draw(t, "margin"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			start, end := trace.Start[id], trace.End[id]
			if start < w.Earliest[i] || end > w.Latest[i] {
				t.Fatalf("%s is active in [%v, %v], window [%v, %v]", p.Graph.Name(id), start, end,
					w.Earliest[i], w.Latest[i])
			}
			first, last := slices.Index(times, start)+1, slices.Index(times, end)
			if first < w.TopoMin[i] || last > w.TopoMax[i] {
				t.Fatalf("%s active in %d..%d, retained %d..%d of %d", p.Graph.Name(id), first, last,
					w.TopoMin[i], w.TopoMax[i], w.Intervals)
			}
			if w.Min[i] < w.TopoMin[i] || w.Max[i] > w.TopoMax[i] {
				t.Fatalf("anchors widen %d..%d to %d..%d", w.TopoMin[i], w.TopoMax[i], w.Min[i], w.Max[i])
			}
		}
	})
}

// TestWindowsHoldTheBaseline checks that the anchored windows contain the simulation from
// which the anchors come, for any margin.
func TestWindowsHoldTheBaseline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		w, err := p.Windows(context.Background(),
			WindowOptions{Margin: rapid.IntRange(0, 3).Draw(t, "margin")})
		if err != nil {
			t.Fatal(err)
		}
		times := eventTimes(w.Start, w.End)
		if w.BaselineIntervals != max(0, len(times)-1) {
			t.Fatalf("%d intervals between %v", w.BaselineIntervals, times)
		}
		for i := range w.Task {
			if first, last := slices.Index(times, w.Start[i])+1, slices.Index(times,
				w.End[i]); w.First[i] != first || w.Last[i] != last {
				t.Fatalf("transfer %d was active in %d..%d, got %d..%d", i, first, last,
					w.First[i], w.Last[i])
			}
			if w.First[i] < w.Min[i] || w.Last[i] > w.Max[i] {
				t.Fatalf("transfer %d was active in %d..%d, retained %d..%d", i, w.First[i], w.Last[i],
					w.Min[i], w.Max[i])
			}
		}
	})
}

// twoPods returns the problem of transfers between two pods of one GPU each. NICs and
// ports run at 100 Gb/s, so 30 kB take 2.4 us.
func twoPods(t testing.TB, g *engine.Graph) *Problem {
	t.Helper()
	f := &fabric.Pods{
		Pods:  []fabric.Pod{{Ports: 4, Rate: 100e9}, {Ports: 4, Rate: 100e9}},
		NICs:  []fabric.NIC{{Rate: 100e9}, {Rate: 100e9}},
		Nodes: []fabric.Node{{Pod: 0, GPUs: 1, NICs: []int32{0}}, {Pod: 1, GPUs: 1, NICs: []int32{1}}},
	}

	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	o, err := f.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProblem(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var sendTask = engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: 30000}

// chainProblem returns three consecutive transfers. The second follows the first through
// a milestone without a lag. The third follows the second 3 us later: through a milestone
// with a lag, or, if computed is true, through a task of that duration.
func chainProblem(t *testing.T, computed bool) *Problem {
	g := &engine.Graph{}
	lag, work := 3*engine.Microsecond, engine.Time(0)
	if computed {
		lag, work = work, lag
	}
	a, m, b, n, c := g.AddTask(sendTask), g.AddTask(engine.Task{}), g.AddTask(sendTask),
		g.AddTask(engine.Task{Duration: work}), g.AddTask(sendTask)
	g.AddEdge(a, m, 0)
	g.AddEdge(m, b, 0)
	g.AddEdge(b, n, lag)
	g.AddEdge(n, c, 0)
	return twoPods(t, g)
}

// TestWindowsOfChain compares the windows of three consecutive transfers with values
// computed by hand. The idle interval before the third transfer counts, the milestones do
// not.
func TestWindowsOfChain(t *testing.T) {
	us := func(v ...float64) (out []engine.Time) {
		for _, f := range v {
			out = append(out, engine.Time(f*1e6))
		}
		return out
	}

	want := &Windows{
		Task:     []int32{0, 2, 4},
		Earliest: us(0, 2.4, 7.8), Latest: us(4.2, 6.6, 12),
		Baseline: "prop-alloc", Start: us(0, 2.4, 7.8), End: us(2.4, 4.8, 10.2),
		BaselineIntervals: 4, First: []int{1, 2, 4}, Last: []int{1, 2, 4},
		Intervals: 6, TopoMin: []int{1, 2, 4}, TopoMax: []int{3, 4, 6},
		Min: []int{1, 2, 4}, Max: []int{2, 3, 6},
	}

	tick := cmp.Comparer(func(a, b engine.Time) bool { return a-b <= 1 && b-a <= 1 })
	for _, computed := range []bool{false, true} {
		w, err := chainProblem(t, computed).Windows(context.Background(),
			WindowOptions{Upper: 12 * engine.Microsecond, Intervals: 6, Margin: 1})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, w, tick); diff != "" {
			t.Errorf("computed %v: %s", computed, diff)
		}
	}
}

// peerProblem returns two pods of 6 ports that exchange one transfer and send one to each
// of their two DP peer pods.
func peerProblem(t testing.TB) *Problem {
	t.Helper()
	f := &fabric.Pods{
		Pods:  []fabric.Pod{{Ports: 6, Rate: 100e9}, {Ports: 6, Rate: 100e9}},
		NICs:  []fabric.NIC{{Rate: 100e9}, {Rate: 100e9}},
		Nodes: []fabric.Node{{Pod: 0, GPUs: 4, NICs: []int32{0}}, {Pod: 1, GPUs: 4, NICs: []int32{1}}},

		PeerEnds: 2,
	}

	g := &engine.Graph{}
	for _, ends := range [][2]int32{{0, 1}, {0, 0}, {1, 1}} {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: ends[0], Dst: ends[1], Flows: 4, Bytes: 120000})
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	o, err := f.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProblem(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
