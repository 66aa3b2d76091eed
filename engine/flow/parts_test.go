package flow_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// joinInstances returns a workload of all given ones, which share no link. Tasks and links are in the order
// of the arguments.
func joinInstances(all ...instance) instance {
	out := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	numLinks, numGroups := 0, 0
	for _, in := range all {
		numLinks += len(in.n.Links)
	}
	firstLink := int32(0)
	for _, in := range all {
		firstTask, firstGroup := int32(len(out.g.Tasks)), int32(numLinks+numGroups)
		for id, t := range in.g.Tasks {
			out.g.AddTask(t)
			for _, u := range in.r.Of(int32(id)) {
				if int(u.Resource) < len(in.n.Links) {
					u.Resource += firstLink
				} else {
					u.Resource += firstGroup - int32(len(in.n.Links))
				}
				out.r.Uses = append(out.r.Uses, u)
			}
			out.r.Start = append(out.r.Start, int32(len(out.r.Uses)))
		}
		for id := range int32(len(in.g.Tasks)) {
			for _, e := range in.g.Out(id) {
				out.g.AddEdge(firstTask+id, firstTask+e.To, e.Lag)
			}
		}
		for _, c := range in.n.Changes {
			c.Link += firstLink
			out.n.Changes = append(out.n.Changes, c)
		}
		out.n.Links, out.n.Groups = append(out.n.Links, in.n.Links...), append(out.n.Groups, in.n.Groups...)
		firstLink, numGroups = firstLink+int32(len(in.n.Links)), numGroups+len(in.n.Groups)
	}
	slices.SortStableFunc(out.n.Changes, func(a, b engine.Change) int { return int(a.At - b.At) })
	if err := out.g.Freeze(); err != nil {
		panic(err)
	}
	return out
}

// runParts simulates in with 1 to 3 workers, checks that the traces are equal, and returns one.
func (in instance) runParts(t *testing.T, tolerance engine.Time) *engine.Trace {
	t.Helper()
	var first *engine.Trace
	for _, workers := range []int{1, 2, 3} {
		got, err := flow.Run(t.Context(), in.g, in.n, in.r, flow.Options{Workers: workers, Tolerance: tolerance, Rates: true})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if !reflect.DeepEqual(got, first) {
			t.Fatalf("another trace with %d workers", workers)
		}
	}
	return first
}

// TestParts checks that the parts of a workload have the same times with workers as without. Rates can
// differ by rounding: without workers, equal shares of two parts are computed together.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 5))
	for set := range *flowSets {
		var all []instance
		for range 2 + rng.IntN(3) {
			all = append(all, drawFlowSet(t, rng))
		}
		if rng.IntN(2) == 0 { // a part of few transfers
			all = append(all, switchTraffic(t, 4, true))
		}
		in := joinInstances(all...)
		got := in.runParts(t, 0)
		want := in.run(t, flow.MaxMin)
		if !slices.Equal(got.Start, want.Start) || !slices.Equal(got.End, want.End) || got.Events != want.Events || got.Makespan != want.Makespan {
			t.Fatalf("set %d: other times with workers than without", set)
		}
		in.checkTimes(t, got)
	}
}

// TestWorkersOfCoarseParts checks that the parts of a workload have the same times in a coarse run as alone, and
// that its perturbation is the largest one.
func TestWorkersOfCoarseParts(t *testing.T) {
	all := []instance{switchTraffic(t, 9, false), switchTraffic(t, 10, true), switchTraffic(t, 12, false), switchTraffic(t, 14, true)}
	in := joinInstances(all...)
	for tolerance := engine.Time(1000); tolerance < engine.Second; tolerance *= 30 {
		got := in.runParts(t, tolerance)
		var start, end []engine.Time
		want := engine.Perturbation{Tolerance: tolerance}
		for _, one := range all {
			alone := one.runCoarse(t, tolerance)
			start, end = append(start, alone.Start...), append(end, alone.End...)
			p := alone.Perturbation
			want.Delay, want.Bytes, want.Load = max(want.Delay, p.Delay), max(want.Bytes, p.Bytes), max(want.Load, p.Load)
		}
		if !slices.Equal(got.Start, start) || !slices.Equal(got.End, end) {
			t.Fatalf("tolerance %v: other times than alone", tolerance)
		}
		if *got.Perturbation != want {
			t.Fatalf("got %+v, want %+v", got.Perturbation, want)
		}
	}
}

// TestPartsStall checks that a stall of a part is described as without parts, and that a cut-off stops all.
func TestPartsStall(t *testing.T) {
	in := joinInstances(switchTraffic(t, 12, true), switchTraffic(t, 10, false))
	e := in.evaluator(t, flow.MaxMin)
	e.SetWorkers(2)
	want := in.run(t, flow.MaxMin).Makespan
	for _, c := range []struct {
		cutoff engine.Time
		ok     bool
	}{{engine.Never, true}, {want, false}, {want + 1, true}} {
		if got, ok := e.Makespan(c.cutoff); ok != c.ok || ok && got != want {
			t.Errorf("cut-off %v: got %v, %t, want %v, %t", c.cutoff, got, ok, want, c.ok)
		}
	}

	in.n.Links[0].Rate = 0
	_, err := flow.Run(t.Context(), in.g, in.n, in.r, flow.Options{})
	_, errOfParts := flow.Run(t.Context(), in.g, in.n, in.r, flow.Options{Workers: 2})
	if err == nil || errOfParts == nil || err.Error() != errOfParts.Error() {
		t.Errorf("got error %v, want %v", errOfParts, err)
	}
}

// BenchmarkParts simulates all-to-alls of random sizes, each on a switch of its own.
func BenchmarkParts(b *testing.B) {
	for _, shape := range []struct {
		name         string
		nodes, parts int // nodes of the smallest switch, and number of switches
	}{{"16", 25, 16}, {"4", 62, 4}, {"2", 95, 2}} {
		var all []instance
		for k := range shape.parts {
			all = append(all, switchTraffic(b, shape.nodes+k, true))
		}
		in := joinInstances(all...)
		for workers := range 3 {
			b.Run(fmt.Sprintf("%s/workers=%d", shape.name, workers), func(b *testing.B) {
				for b.Loop() {
					if _, err := flow.Run(b.Context(), in.g, in.n, in.r, flow.Options{Workers: workers}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestProgress: the reported share of ended tasks never decreases, and comes near 1, with and
// without parts.
func TestProgress(t *testing.T) {
	in := joinInstances(switchTraffic(t, 40, true), switchTraffic(t, 40, true))
	for _, workers := range []int{0, 1, 2} {
		var shares []float64
		if _, err := flow.Run(t.Context(), in.g, in.n, in.r, flow.Options{
			Workers: workers, Progress: func(share float64) { shares = append(shares, share) },
		}); err != nil {
			t.Fatal(err)
		}
		if n := len(shares); n < 2 || !slices.IsSorted(shares) || shares[n-1] < 0.5 || shares[n-1] > 1 {
			t.Errorf("%d workers: progress %v", workers, shares)
		}
	}
}
