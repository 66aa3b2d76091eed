package flow_test

import (
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// TestBoundHolds: no service is faster than the bound, on random graphs, with and without
// link changes.
func TestBoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 12, changes: rapid.Bool().Draw(t, "changing"), plain: rapid.Bool().Draw(t, "plain")})
		bound := in.evaluator(t, flow.MaxMin).Bound()
		for _, s := range services {
			if c := in.run(t, s).Makespan; c < bound {
				t.Fatalf("%v: makespan %d is below the bound %d", s, c, bound)
			}
		}
	})
}

// TestBoundHoldsForLimited: the bound also holds for many transfers on one resource that no
// single transfer can fill, with different start times. This is the case of a bundle with more
// circuits than flows.
func TestBoundHoldsForLimited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawLimited(t)
		bound := in.evaluator(t, flow.MaxMin).Bound()
		for _, s := range services {
			if c := in.run(t, s).Makespan; c < bound {
				t.Fatalf("%v: makespan %d is below the bound %d", s, c, bound)
			}
		}
	})
}

// drawLimited draws transfers of a few flows each on a link of several circuits. A flow can use
// at most one circuit.
func drawLimited(t *rapid.T) instance {
	in := instance{g: &engine.Graph{}, r: &engine.Routes{Start: []int32{0}}}
	in.n = &engine.Network{Links: []engine.Link{{Rate: float64(rapid.IntRange(1, 12).Draw(t, "circuits")) * 100e9}}}
	start := in.g.AddTask(engine.Task{})
	in.r.Start, in.r.FlowCap = append(in.r.Start, 0), append(in.r.FlowCap, 0)
	for range rapid.IntRange(1, 8).Draw(t, "transfers") {
		id := in.g.AddTask(engine.Task{
			Kind: engine.Transfer, Flows: rapid.Int32Range(1, 5).Draw(t, "flows"),
			Bytes: rapid.Int64Range(1, 8).Draw(t, "size") * 50_000, Priority: rapid.Int64Range(0, 2).Draw(t, "priority"),
		})
		in.g.AddEdge(start, id, engine.Time(rapid.Int64Range(0, 6).Draw(t, "release")*1_000_000))
		in.r.Uses = append(in.r.Uses, engine.Use{Resource: 0, Weight: 1})
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		in.r.FlowCap = append(in.r.FlowCap, 100e9)
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestBoundIsMetByLevels: the bound is tight where a service is optimal. LevelPriority is
// optimal for transfers on one link without tails, whatever their limits. TailPriority
// (Jackson's rule) is optimal for transfers with tails on one link that any of them can fill.
func TestBoundIsMetByLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawLimited(t)
		service := flow.LevelPriority
		if rapid.Bool().Draw(t, "tails") {
			service = flow.TailPriority
			n := int32(len(in.g.Tasks))
			for id := int32(1); id < n; id++ {
				in.r.FlowCap[id] = 0
				end := in.g.AddTask(engine.Task{Duration: engine.Time(rapid.Int64Range(0, 5).Draw(t, "tail") * 1_000_000)})
				in.g.AddEdge(id, end, 0)
				in.r.Start, in.r.FlowCap = append(in.r.Start, in.r.Start[n]), append(in.r.FlowCap, 0)
			}
			if err := in.g.Freeze(); err != nil {
				t.Fatal(err)
			}
		}
		bound, c := in.evaluator(t, service).Bound(), in.run(t, service).Makespan
		if float64(c-bound) > 1e-4*float64(bound) { // events are rounded to ticks, and levels within 16 ticks are equal
			t.Fatalf("makespan %d, bound %d", c, bound)
		}
	})
}

// TestBoundByHand: each of the bounds is the largest one in some instance.
func TestBoundByHand(t *testing.T) {
	us := engine.Microsecond
	for _, c := range []struct {
		name string
		in   instance
		want engine.Time
	}{
		// 10 us of data, then 7 us of compute
		{"path", twoTransfers(800e9, 1_000_000, 1).withComputes(7*us, 0), 17 * us},
		// 10 + 5 us on one link
		{"load", twoTransfers(800e9, 1_000_000, 500_000), 15 * us},
		// the same, followed by at least 2 us of compute
		{"load and tail", twoTransfers(800e9, 1_000_000, 500_000).withComputes(3*us, 2*us), 17 * us},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.in.evaluator(t, flow.MaxMin).Bound()
			if got > c.want || c.want-got > 20 {
				t.Errorf("bound %v, want %v", got, c.want)
			}
		})
	}
	// Transfers of 10 us and one flow each on two circuits. Three of them need 15 us, although each
	// path is 10 us long. Two of them need 10 us, although the load alone is 5 us.
	for transfers, want := range map[int]engine.Time{2: 10 * us, 3: 15 * us, 4: 20 * us} {
		in := instance{g: &engine.Graph{}, n: &engine.Network{Links: []engine.Link{{Rate: 200e9}}}, r: &engine.Routes{Start: []int32{0}}}
		for range transfers {
			in.g.AddTask(engine.Task{Kind: engine.Transfer, Flows: 1, Bytes: 125_000})
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: 0, Weight: 1})
			in.r.Start, in.r.FlowCap = append(in.r.Start, int32(len(in.r.Uses))), append(in.r.FlowCap, 100e9)
		}
		if err := in.g.Freeze(); err != nil {
			t.Fatal(err)
		}
		if got := in.evaluator(t, flow.MaxMin).Bound(); got > want || want-got > 20 {
			t.Errorf("%d transfers on two circuits: bound %v, want %v", transfers, got, want)
		}
	}
}

// TestBoundWithoutCapacity: the bound of a graph that cannot be simulated is Never.
func TestBoundWithoutCapacity(t *testing.T) {
	e := twoTransfers(0, 1, 1).evaluator(t, flow.MaxMin)
	if b := e.Bound(); b != engine.Never {
		t.Errorf("bound %v of a graph that cannot be simulated", b)
	}
	if c, ok := e.Makespan(engine.Never); ok {
		t.Errorf("makespan %v of a graph that cannot be simulated", c)
	}
	in := twoTransfers(0, 1, 1)
	in.n.Groups = []engine.Group{{Rate: 8e12}} // both transfers use it in addition to the dead link
	in.r.Uses = []engine.Use{{Resource: 0, Weight: 1}, {Resource: 1, Weight: 1}, {Resource: 0, Weight: 1}, {Resource: 1, Weight: 1}}
	in.r.Start = []int32{0, 2, 4}
	if b := in.evaluator(t, flow.MaxMin).Bound(); b != engine.Never {
		t.Errorf("bound %v where one of two resources is dead", b)
	}
	e.SetRate(0, 8e12)
	if c, ok := e.Makespan(engine.Never); !ok || c != 2 {
		t.Errorf("makespan %v (%v) of two bytes at a byte a tick", c, ok)
	}
}
