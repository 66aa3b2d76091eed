package flow_test

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/engine/flow"
)

// unlimitedWork is more work than QueueBound needs for small graphs.
const unlimitedWork = math.MaxInt32

// TestQueueBoundHolds: no service is faster than the bound, for any tails and any limit of the
// work. Without a limit the bound is at least Bound.
func TestQueueBoundHolds(t *testing.T) {
	sharper := 0
	rapid.Check(t, func(t *rapid.T) {
		var in instance
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			in = drawLimited(t)
		} else {
			in = drawInstance(t, shape{tasks: 14, changes: rapid.IntRange(0, 3).Draw(t, "changing") == 0, plain: rapid.Bool().Draw(t, "plain")})
		}
		e := in.evaluator(t, flow.MaxMin)
		plain := e.Bound()
		bound, work := e.QueueBound(context.Background(), unlimitedWork)
		if bound < plain {
			t.Fatalf("bound %d, without queues %d", bound, plain)
		}
		if bound > plain+10 {
			sharper++
		}
		if again, same := e.QueueBound(context.Background(), unlimitedWork); again != bound || same != work {
			t.Fatalf("bound %d by %d, then %d by %d", bound, work, again, same)
		}
		maxWork := rapid.Int64Range(0, work).Draw(t, "most")
		if less, done := e.Clone().QueueBound(context.Background(), maxWork); less > bound || less < plain || done > work {
			t.Fatalf("bound %d by %d with work for %d, %d by %d with all, %d without", less, done, maxWork, bound, work, plain)
		}
		for _, s := range services {
			if c := in.run(t, s).Makespan; c < bound {
				t.Fatalf("%v: makespan %d is below the bound %d", s, c, bound)
			}
		}
		tail := rapid.SliceOfN(rapid.Float64Range(0, 1e8), len(in.g.Tasks), len(in.g.Tasks))
		for range 3 {
			if err := e.SetTails(tail.Draw(t, "tails")); err != nil {
				t.Fatal(err)
			}
			e.SetService(rapid.SampledFrom([]flow.Service{flow.LevelPriority, flow.TailPriority}).Draw(t, "service"))
			if c, ok := e.Makespan(engine.Never); ok && c < bound {
				t.Fatalf("makespan %d is below the bound %d", c, bound)
			}
		}
	})
	if sharper == 0 {
		t.Error("queues say nothing in any instance")
	}
}

// stage is a set of transfers on one link, each given by its duration at full rate.
type stage []engine.Time

// stagedInstance returns consecutive stages on links of equal rate. A transfer starts when all
// transfers of the previous stage have ended.
func stagedInstance(t *testing.T, stages ...stage) instance {
	t.Helper()
	in := instance{g: &engine.Graph{}, n: &engine.Network{}, r: &engine.Routes{Start: []int32{0}}}
	from := int32(0)
	for l, s := range stages {
		in.n.Links = append(in.n.Links, engine.Link{Rate: 8e12})
		first := int32(len(in.g.Tasks))
		for _, d := range s {
			id := in.g.AddTask(engine.Task{Kind: engine.Transfer, Flows: 1, Bytes: int64(d)})
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32(l), Weight: 1})
			in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
			for before := from; before < first; before++ {
				in.g.AddEdge(before, id, 0)
			}
		}
		from = first
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestQueueBoundByHand: the durations of consecutive queues add up, in both directions.
func TestQueueBoundByHand(t *testing.T) {
	us := engine.Microsecond
	for _, c := range []struct {
		name        string
		in          instance
		plain, want engine.Time
	}{
		{"one queue", stagedInstance(t, stage{us, 2 * us}), 3 * us, 3 * us},
		// The longest path is 2 + 2 us. Behind the first queue it is 2 us.
		{"two queues", stagedInstance(t, stage{us, 2 * us}, stage{2 * us, 2 * us}), 6 * us, 7 * us},
		{"three queues", stagedInstance(t, stage{us, us}, stage{us, us}, stage{us, us}), 4 * us, 6 * us},
		{"a queue in the middle", stagedInstance(t, stage{us}, stage{us, us, us}, stage{us}), 5 * us, 5 * us},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := c.in.evaluator(t, flow.MaxMin)
			if got := e.Bound(); got > c.plain || c.plain-got > 20 {
				t.Errorf("without queues %v, want %v", got, c.plain)
			}
			if got, _ := e.QueueBound(context.Background(), unlimitedWork); got > c.want || c.want-got > 20 {
				t.Errorf("bound %v, want %v", got, c.want)
			}
			if m := c.in.run(t, flow.LevelPriority).Makespan; m != c.want {
				t.Errorf("makespan %v, want %v", m, c.want)
			}
		})
	}
}

// TestQueueBoundEnds: a cancelled context ends the computation, and the returned bound holds.
func TestQueueBoundEnds(t *testing.T) {
	in := stagedInstance(t, stage{1e6, 1e6}, stage{1e6, 1e6}, stage{1e6, 1e6})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := in.evaluator(t, flow.MaxMin)
	if bound, work := e.QueueBound(ctx, unlimitedWork); bound != e.Bound() || work > 2 {
		t.Errorf("bound %v by %d, want %v by 2", bound, work, e.Bound())
	}
	dead := twoTransfers(0, 1, 1).evaluator(t, flow.MaxMin)
	if bound, _ := dead.QueueBound(context.Background(), unlimitedWork); bound != engine.Never {
		t.Errorf("bound %v of a graph that cannot be simulated", bound)
	}
}
