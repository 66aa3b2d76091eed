package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/policies/collective"
	collectives "sim/policies/reconfigure/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/simulate"
)

const us = engine.Microsecond

// TestSteps compares random plans in steps with their closed-form cost.
// Synchronised packets take exactly the cost. Free packets, and rates without
// latency, take at most as long.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &plan.Collective{GPUs: rapid.IntRange(2, 14).Draw(t, "n")}
		p.Op = rapid.SampledFrom([]collective.Kind{collective.AllReduce,
			collective.ReduceScatter,
			collective.AllGather}).Draw(t, "op")
		p.Degree = rapid.IntRange(1, min(4, p.GPUs-1)).Draw(t, "k")
		p.Bytes = int64(p.GPUs)*rapid.SampledFrom([]int64{1, 3, 100, 1e4, 5e4}).Draw(t,
			"shard") + rapid.Int64Range(0, 3*int64(p.GPUs)).Draw(t, "more")
		p.Rate = rapid.SampledFrom([]float64{8e9, 8e11, 7e10, 1e5}).Draw(t, "rate")
		p.Latency = rapid.SampledFrom([]engine.Time{1, us / 2, us}).Draw(t, "latency")
		p.Delay = rapid.SampledFrom([]engine.Time{0, us / 100, us, 1000 * us}).Draw(t,
			"delay")

		// Choose one of the plans, and compare its costs before and after
		// building.
		list, err := collectives.Candidates(p)
		if err != nil {
			t.Fatal(err)
		}
		c := &list[rapid.IntRange(0, len(list)-1).Draw(t, "plan")]
		pl, err := c.Build(0, nil)
		if err != nil {
			t.Fatal(err)
		}
		cost, steps := pl.Cost(p.Delay, 0), engine.Time(pl.TotalSlots())
		if got := c.Cost(p.Delay, 0); got != cost {
			t.Fatalf("%s: the candidate costs %v, the plan %v", pl.Name, got, cost)
		}

		d := domain(p.GPUs, p.Degree)
		if end, err := simulate.Synchronised(t.Context(), d, pl, 0); err != nil ||
			end != cost {
			t.Fatalf("%s: got %v (%v), want the closed-form cost of %v", pl.Name, end, err, cost)
		}

		// The fraction of a tick that a busy link carries on adds at most one tick
		// per message.
		if free, err := simulate.Free(t.Context(), d, pl, 0); err != nil ||
			free.Completion > cost+steps {
			t.Fatalf("%s: free takes %v, want at most the closed-form cost of %v; %v", pl.Name, free,
				cost, err)
		}
		if fluid, err := simulate.Fluid(t.Context(), d, pl, 0); err != nil ||
			fluid.Completion > cost-steps*p.Latency+2*steps {
			t.Fatalf("%s: fluid takes %v, want at most the cost without latency of %v; %v",
				pl.Name,
				fluid, cost-steps*p.Latency, err)
		}
	})
}

// TestFreeSteps compares a plan with uneven steps with times computed by hand. A
// message depends only on the messages with its content. Three GPUs have one link
// each, one shard of 2 B and two of 1 B, at 1 us per byte and a latency of 1 us.
// GPU 0 sends the shard of 2 B until 2 us; it arrives at 3 us, is sent on until 5
// us, and arrives at 6 us. A synchronised step takes 3 us.
func TestFreeSteps(t *testing.T) {
	list, err := collectives.StaticRings(&plan.Collective{GPUs: 3, Degree: 1,
		Op: collective.AllGather, Bytes: 4, Rate: 8e6, Latency: us})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := list[0].Build(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	free, err := simulate.Free(t.Context(), domain(3, 1), ring, 0)
	if err != nil || free.Completion != 6*us || ring.Cost(0, 0) != 6*us {
		t.Errorf("free takes %v (%v), closed-form cost %v; want 6 us", free, err, ring.Cost(0, 0))
	}
	if sync, err := simulate.Synchronised(t.Context(), domain(3, 1), ring, 0); err != nil ||
		sync != 6*us {
		t.Errorf("synchronised takes %v (%v), want 6 us", sync, err)
	}
}

// TestMessages checks the simulated messages of random plans in steps. Every
// message of the plan is a transfer on a link between its ends. No message starts
// before the preceding step has ended, and no link carries two messages at the
// same time.
func TestMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &plan.Collective{GPUs: rapid.IntRange(2, 9).Draw(t, "n"),
			Op:   collective.AllReduce,
			Rate: 8e9, Latency: us, Delay: 3 * us}
		p.Degree = rapid.IntRange(1, min(3, p.GPUs-1)).Draw(t, "k")
		p.Bytes = int64(p.GPUs) * rapid.Int64Range(1, 1000).Draw(t, "shard")
		list, err := collectives.Candidates(p)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := list[rapid.IntRange(0, len(list)-1).Draw(t, "plan")].Build(0, nil)
		if err != nil {
			t.Fatal(err)
		}

		fluid := rapid.Bool().Draw(t, "fluid")
		m, err := simulate.SimulateMessages(t.Context(), pl, fluid)
		if err != nil {
			t.Fatal(err)
		}

		// count is the number of messages of the plan that are not seen yet.
		type message struct {
			from, to int32
			bytes    int64
		}
		count := map[message]int{}
		for _, ph := range pl.Steps.Phases {
			for _, x := range ph.Messages() {
				if x.From != x.To {
					count[message{x.From, x.To, pl.Steps.Size(&x)}]++
				}
			}
		}

		busy := make([]engine.Time, len(m.Links)) // end of the last transfer, by link
		if len(m.Link) != len(m.Graph.Tasks) {
			t.Fatalf("got links of %d tasks, want %d", len(m.Link),
				len(m.Graph.Tasks))
		}

		// Tasks are numbered in the order of steps, so that last is the end of the
		// preceding step.
		last, reconfigurations := engine.Time(0), 0
		for i, x := range m.Graph.Tasks {
			name := m.Graph.Namer(int32(i))
			if x.Kind == engine.Compute {
				want := "milestone"
				if x.Duration > 0 {
					want = "reconfiguration"
					reconfigurations++
				}
				if m.Link[i] != -1 || !strings.HasPrefix(name, want) {
					t.Errorf("%s, task %d, is on link %d", name, i, m.Link[i])
				}
				last = m.Trace.End[i]
				continue
			}
			if want := fmt.Sprintf("from %d to %d ", x.Src,
				x.Dst); !strings.Contains(name, want) {
				t.Errorf("got the name %q, want %q in it", name, want)
			}

			l := m.Links[m.Link[i]]
			if l.From != x.Src || l.To != x.Dst || l.Rate != p.Rate ||
				l.Latency != p.Latency {
				t.Errorf("%s is on link %+v", name, l)
			}

			if m.Trace.Start[i] < max(last, busy[m.Link[i]]) {
				t.Errorf("%s starts at %v; the step begins at %v, its link is busy until %v", name,
					m.Trace.Start[i], last, busy[m.Link[i]])
			}
			busy[m.Link[i]] = m.Trace.End[i]
			count[message{x.Src, x.Dst, x.Bytes}]--
		}

		for x, n := range count {
			if n != 0 {
				t.Errorf("%d messages %+v are missing", n, x)
			}
		}
		if reconfigurations != pl.Reconfigurations() {
			t.Errorf("%d reconfigurations, want %d", reconfigurations, pl.Reconfigurations())
		}
	})
}

// TestCancellation cancels the context at each poll of a simulation. The
// simulation must return the error of the context every time.
func TestCancellation(t *testing.T) {
	list, err := collectives.StaticRings(&plan.Collective{GPUs: 9, Degree: 1,
		Op: collective.AllReduce, Bytes: 9000, Rate: 8e9, Latency: us})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := list[0].Build(0, nil)
	if err != nil {
		t.Fatal(err)
	}

	slots := ring(5, 4)
	for name, run := range map[string]func(ctx context.Context) error{
		"steps": func(ctx context.Context) error {
			_, err := simulate.Synchronised(ctx, domain(9, 1), steps, 0)
			return err
		},
		"messages":          func(ctx context.Context) error { _, err := simulate.SimulateMessages(ctx, steps, false); return err },
		"messages as fluid": func(ctx context.Context) error { _, err := simulate.SimulateMessages(ctx, steps, true); return err },
		"steps, free":       func(ctx context.Context) error { _, err := simulate.Free(ctx, domain(9, 1), steps, 0); return err },
		"steps as fluid":    func(ctx context.Context) error { _, err := simulate.Fluid(ctx, domain(9, 1), steps, 0); return err },
		"slots": func(ctx context.Context) error {
			_, err := simulate.Synchronised(ctx, domain(5, 1), slots, 1000)
			return err
		},
		"slots, free":    func(ctx context.Context) error { _, err := simulate.Free(ctx, domain(5, 1), slots, 1000); return err },
		"slots as fluid": func(ctx context.Context) error { _, err := simulate.Fluid(ctx, domain(5, 1), slots, 1000); return err },
	} {
		// Count the polls of a run, and then cancel at each of them.
		counter := &canceledContext{Context: t.Context(), after: -1}
		if err := run(counter); err != nil || counter.calls == 0 {
			t.Fatalf("%s: got error %v after %d polls, want none", name, err, counter.calls)
		}
		for after := range counter.calls {
			if err := run(&canceledContext{Context: t.Context(), after: after}); !errors.Is(err,
				context.Canceled) {
				t.Errorf("%s: cancelled after %d of %d polls: got error %v", name,
					after, counter.calls, err)
			}
		}
	}
}

// canceledContext is a context that is cancelled after a number of calls of Err,
// or never if the number is negative.
type canceledContext struct {
	context.Context
	after, calls int
}

// Err counts the calls.
func (c *canceledContext) Err() error {
	c.calls++
	if c.after >= 0 && c.calls > c.after {
		return context.Canceled
	}
	return nil
}
