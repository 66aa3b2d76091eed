package flow_test

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

var flowSets = flag.Int("flowsets", 60, "number of random flow sets that TestFlowSets compares")

// switchTraffic returns one transfer between each ordered pair of nodes of one switch. Transfers of
// equal size start at random times; transfers of random sizes start at time 0.
func switchTraffic(t testing.TB, nodes int, randomSizes bool) instance {
	rng := rand.New(rand.NewPCG(1, uint64(nodes)))
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: int32(nodes + 1)}, r: &engine.Routes{Start: []int32{0}}}
	center := int32(nodes)
	for v := range int32(nodes) {
		in.n.Links = append(in.n.Links, engine.Link{From: v, To: center, Rate: 400e9})
	}
	for v := range int32(nodes) {
		in.n.Links = append(in.n.Links, engine.Link{From: center, To: v, Rate: 400e9})
	}

	for a := range int32(nodes) {
		for b := range int32(nodes) {
			if a == b {
				continue
			}
			transfer := engine.Task{Kind: engine.Transfer, Src: a, Dst: b, Flows: 1, Bytes: 2_000_000}
			if randomSizes {
				transfer.Bytes = 1 + rng.Int64N(4_000_000)
				in.g.AddTask(transfer)
			} else {
				start := in.g.AddTask(engine.Task{Duration: engine.Time(rng.IntN(500_000))})
				in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
				in.g.AddEdge(start, in.g.AddTask(transfer), 0)
			}
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: a, Weight: 1}, engine.Use{Resource: center + b, Weight: 1})
			in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		}
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return in
}

// drawFlowSet draws transfers of random sizes that start at random times on links and groups with
// random rates, which may change during the run.
func drawFlowSet(t testing.TB, rng *rand.Rand) instance {
	links, groups, transfers := 3+rng.IntN(20), rng.IntN(4), 70+rng.IntN(120)
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	for range links {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: 1e9 * float64(1+rng.IntN(400))})
	}
	for range groups {
		in.n.Groups = append(in.n.Groups, engine.Group{Rate: 1e9 * float64(100+rng.IntN(4000))})
	}

	hasWeights := rng.IntN(3) == 0
	for range transfers {
		start := in.g.AddTask(engine.Task{Duration: engine.Time(rng.IntN(3_000_000_000))})
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		transfer := engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: 1 + rng.Int64N(10_000_000)}
		weight := 1.0
		if hasWeights {
			transfer.Flows = 1 + rng.Int32N(4)
			weight = []float64{1, 1, 0.5, 0.3}[rng.IntN(4)]
		}
		in.g.AddEdge(start, in.g.AddTask(transfer), 0)
		for _, r := range rng.Perm(in.n.Resources())[:1+rng.IntN(3)] {
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32(r), Weight: weight})
		}
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
	}

	if rng.IntN(2) == 0 {
		for k := range 10 {
			at, l := engine.Time(k)*200_000_000, rng.Int32N(int32(links))
			in.n.Changes = append(in.n.Changes,
				engine.Change{At: at, Link: l, Rate: 1e9 * float64(rng.IntN(3))},
				engine.Change{At: at + 100_000_000, Link: l, Rate: 1e9 * float64(1+rng.IntN(400))})
		}
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return in
}

// simulateNaively returns the end of each task. At each event it computes all rates by progressive
// filling from scratch and advances each transfer. Remaining bits have 120 binary digits. If an end is a
// whole number of ticks within the rounding of rates, which have 53, it rounds as got does.
func (in instance) simulateNaively(got []engine.Time) []engine.Time {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(120).SetFloat64(x) }
	ends, starts := make([]engine.Time, len(in.g.Tasks)), make([]engine.Time, len(in.g.Tasks))
	left := map[int32]*big.Float{} // remaining bits of running transfers
	for id := range int32(len(in.g.Tasks)) {
		if k := &in.g.Tasks[id]; k.Kind == engine.Compute {
			ends[id] = k.Duration
			continue
		}
		ends[id] = engine.Never
		for _, e := range in.g.In(id) {
			starts[id] = max(starts[id], ends[e.From])
		}
	}

	for now := engine.Time(0); ; {
		m := interval{from: now}
		for r := range int32(in.n.Resources()) {
			m.capacity = append(m.capacity, in.n.Rate(r)*perTick)
		}
		next := engine.Never
		for _, c := range in.n.Changes {
			if c.At <= now {
				m.capacity[c.Link] = c.Rate * perTick
			} else {
				next = min(next, c.At)
			}
		}
		for id, end := range ends {
			switch {
			case end < engine.Never:
			case starts[id] > now:
				next = min(next, starts[id])
			default:
				if left[int32(id)] == nil {
					left[int32(id)] = number(8 * float64(in.g.Tasks[id].Bytes))
				}
				m.ids = append(m.ids, int32(id))
			}
		}

		rates := in.waterFill(m)
		end := map[int32]engine.Time{}
		for id, rate := range rates {
			if rate > 0 {
				ticks, _ := new(big.Float).Quo(left[id], number(rate)).Float64()
				tolerance := 1e-6 + float64(now)*0x1p-50
				end[id] = now + engine.Time(math.Ceil(ticks-tolerance))
				if later := now + engine.Time(math.Ceil(ticks+tolerance)); got[id] == later {
					end[id] = later
				}
				next = min(next, end[id])
			}
		}
		if next == engine.Never {
			return ends
		}
		for id, rate := range rates {
			left[id].Sub(left[id], new(big.Float).Mul(number(rate), number(float64(next-now))))
			if end[id] == next && rate > 0 {
				ends[id] = next
			}
		}
		now = next
	}
}

// TestFlowSets compares the ends of random transfers with the ends of a naive simulation, to the tick.
func TestFlowSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 1))
	for k := range *flowSets {
		in := drawFlowSet(t, rng)
		trace := in.run(t, flow.MaxMin)
		in.checkTimes(t, trace)
		for id, want := range in.simulateNaively(trace.End) {
			if got := trace.End[id]; got != want {
				t.Fatalf("set %d: task %d ends at %d, want %d", k, id, got, want)
			}
		}
	}
}

// TestSwitchTraffic compares the ends of transfers through one switch with the ends of a naive
// simulation, with and without a record of rates.
func TestSwitchTraffic(t *testing.T) {
	for _, randomSizes := range []bool{false, true} {
		in := switchTraffic(t, 14, randomSizes)
		recorded := in.run(t, flow.MaxMin).End
		want := in.simulateNaively(recorded)
		if !slices.Equal(recorded, want) {
			t.Errorf("random sizes %t: ends %v, want %v", randomSizes, recorded, want)
		}
		got, err := flow.Run(t.Context(), in.g, in.n, in.r, flow.Options{})
		if err != nil || !slices.Equal(got.End, want) {
			t.Errorf("random sizes %t, no rates: %v, ends %v, want %v", randomSizes, err, got.End, want)
		}
	}
}

// checkSomeRates compares the rates in every k-th interval of a trace with progressive filling.
func (in instance) checkSomeRates(t *testing.T, trace *engine.Trace, k int) {
	t.Helper()
	in.checkTimes(t, trace)
	all := in.intervals(trace)
	for i := 0; i < len(all); i += k {
		for id, want := range in.waterFill(all[i]) {
			if got := all[i].rate[id]; math.Abs(got-want) > rateTolerance*want {
				t.Fatalf("from %d: transfer %d at %v bits per tick, want %v", all[i].from, id, got, want)
			}
		}
	}
}

// TestSwitchRates compares the rates of many transfers through one switch with progressive filling.
// The order in which links saturate changes in every tenth event.
func TestSwitchRates(t *testing.T) {
	for _, randomSizes := range []bool{false, true} {
		in := switchTraffic(t, 36, randomSizes)
		in.checkSomeRates(t, in.run(t, flow.MaxMin), 60)
	}
}

// TestLocalChanges compares the rates of transfers in a large component, in which an event affects few
// of them, with progressive filling.
func TestLocalChanges(t *testing.T) {
	const links, transfers = 400, 1600
	rng := rand.New(rand.NewPCG(38, 2))
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	for range links {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: 1e9 * float64(1+rng.IntN(5))})
	}
	for i := range transfers {
		in.g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: 1e6 + rng.Int64N(1e6)})
		for k := range 2 {
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32((i + k) % links), Weight: 1})
		}
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	in.checkSomeRates(t, in.run(t, flow.MaxMin), 40)
}

// TestBothMethods compares rates with progressive filling where transfers over rings of links, in which
// events affect few rates, run next to transfers through a switch, in which events affect all rates.
func TestBothMethods(t *testing.T) {
	const links, nodes = 500, 10
	rng := rand.New(rand.NewPCG(38, 3))
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	for range links {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: 1e9 * float64(1+rng.IntN(5))})
	}
	for range 2 * nodes {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: 10e9})
	}
	add := func(bytes, start int64, first, second int) {
		in.g.AddTask(engine.Task{Duration: engine.Time(start)})
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		id := in.g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: bytes})
		in.g.AddEdge(id-1, id, 0)
		in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32(first), Weight: 1}, engine.Use{Resource: int32(second), Weight: 1})
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
	}
	for i := range 4 * links {
		add(1e6+rng.Int64N(1e7), rng.Int64N(20e9), i%links, (i+1)%links)
	}
	for round := range int64(3) { // bursts through the switch
		for pair := range nodes * nodes {
			add(1e5+rng.Int64N(1e5), (1+4*round)*10e9+rng.Int64N(1e9), links+pair%nodes, links+nodes+pair/nodes)
		}
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	in.checkSomeRates(t, in.run(t, flow.MaxMin), 60)
}

// TestEndOnDownLink checks that transfers of a large component that are complete except for a part of a
// tick end when their link goes down.
func TestEndOnDownLink(t *testing.T) {
	const transfers, rate, bytes = 100, 97e9, 1_000_003
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2, Links: []engine.Link{{To: 1, Rate: rate}}}, r: &engine.Routes{Start: []int32{0}}}
	for i := range int32(transfers) {
		in.g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: bytes})
		in.r.Uses = append(in.r.Uses, engine.Use{Resource: 0, Weight: 1})
		in.r.Start = append(in.r.Start, i+1)
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	lastTick := engine.Time(math.Floor(8 * bytes * transfers / (rate * perTick)))
	in.n.Changes = []engine.Change{{At: lastTick, Link: 0}}
	for id, end := range in.run(t, flow.MaxMin).End {
		if end != lastTick {
			t.Fatalf("transfer %d ends at %v, want %v", id, end, lastTick)
		}
	}
}

// TestEvaluatorOfClasses checks that an evaluator with transfers in large components returns the same
// makespan again, after a fork, and in a controlled run, and that remaining bytes add up.
func TestEvaluatorOfClasses(t *testing.T) {
	in := switchTraffic(t, 12, true)
	want := in.run(t, flow.MaxMin).Makespan
	e := in.evaluator(t, flow.MaxMin)
	for range 2 {
		if got, ok := e.Makespan(engine.Never); got != want || !ok {
			t.Fatalf("makespan %v, %t, want %v", got, ok, want)
		}
	}
	e.Fork([]int32{5}, engine.Never)
	for range 2 {
		if got, ok := e.Resume(engine.Never); got != want || !ok {
			t.Fatalf("resumed makespan %v, %t, want %v", got, ok, want)
		}
	}

	e.PrepareControl(make([]int32, len(in.g.Tasks)), 1)
	for r := range int32(in.n.Resources()) {
		e.SetPeak(r, in.n.Rate(r))
	}
	if !e.Begin(engine.Never) {
		t.Fatal("a controlled run ended at its begin")
	}
	half, ok := e.AwaitTime(want / 2)
	if !ok || half != want/2 {
		t.Fatalf("awaited %v, got %v, %t", want/2, half, ok)
	}
	before, after := make([]float64, in.n.Resources()), make([]float64, in.n.Resources())
	e.AddRemaining(before)
	if _, ok := e.AwaitTime(want/2 + 1000); !ok {
		t.Fatal("a controlled run ended early")
	}
	e.AddRemaining(after)
	for r := range before {
		// Each link is saturated or has no more than its own bottlenecks' transfers left.
		if moved := before[r] - after[r]; moved < 0 || moved > 1000*in.n.Rate(int32(r))*perTick/8*(1+1e-9) {
			t.Errorf("link %d carries %v bytes in 1000 ticks", r, moved)
		}
	}
	if got, ok := e.Finish(); got != want || !ok {
		t.Fatalf("controlled makespan %v, %t, want %v", got, ok, want)
	}
}

// BenchmarkSwitch simulates transfers between all nodes of one switch.
func BenchmarkSwitch(b *testing.B) {
	for _, c := range []struct {
		name        string
		randomSizes bool
	}{{"staggered", false}, {"sizes", true}} {
		in := switchTraffic(b, 64, c.randomSizes)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := flow.Run(b.Context(), in.g, in.n, in.r, flow.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
