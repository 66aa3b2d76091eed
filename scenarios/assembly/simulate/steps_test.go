package simulate_test

import (
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	collectives "sim/policies/reconfigure/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/simulate"
	"sim/workloads/collective"
)

const us = engine.Microsecond

// TestSteps: simulated packet by packet, a plan in steps takes what its closed cost says, and as fluid, which has no
// latency, no longer; message by message it takes no longer either.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &plan.Collective{GPUs: rapid.IntRange(2, 14).Draw(t, "n")}
		p.Op = rapid.SampledFrom([]collective.Op{collective.AllReduce, collective.ReduceScatter, collective.AllGather}).Draw(t, "op")
		p.Degree = rapid.IntRange(1, min(4, p.GPUs-1)).Draw(t, "k")
		p.Bytes = int64(p.GPUs)*rapid.SampledFrom([]int64{1, 3, 100, 1e4, 5e4}).Draw(t, "shard") + rapid.Int64Range(0, 3*int64(p.GPUs)).Draw(t, "more")
		p.Rate = rapid.SampledFrom([]float64{8e9, 8e11, 7e10, 1e5}).Draw(t, "rate")
		p.Latency = rapid.SampledFrom([]engine.Time{1, us / 2, us}).Draw(t, "latency")
		p.Delay = rapid.SampledFrom([]engine.Time{0, us / 100, us, 1000 * us}).Draw(t, "delay")
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
			t.Fatalf("%s is offered for %v and costs %v", pl.Name, got, cost)
		}
		d := domain(p.GPUs, p.Degree)
		if end, err := simulate.Synchronised(t.Context(), d, pl, 0); err != nil || end != cost {
			t.Fatalf("%s takes %v, the closed cost is %v; %v", pl.Name, end, cost, err)
		}
		// A link that is never idle carries its remainder on: a tick a message at most.
		if free, err := simulate.Free(t.Context(), d, pl, 0); err != nil || free.Completion > cost+steps {
			t.Fatalf("%s, free, takes %v, the closed cost is %v; %v", pl.Name, free, cost, err)
		}
		if fluid, err := simulate.Fluid(t.Context(), d, pl, 0); err != nil || fluid.Completion > cost-steps*p.Latency+2*steps {
			t.Fatalf("%s in fluid takes %v, the closed cost without latency is %v; %v", pl.Name, fluid, cost-steps*p.Latency, err)
		}
	})
}

// TestFreeInSteps: without steps that all wait for, a plan of uneven steps ends sooner: what a message waits for is
// what it carries. By hand: 3 GPUs with a link each, a shard of 2 B and two of 1 B at 1 us a byte, alpha 1 us. Shard 0,
// of 2 B, is sent by GPU 0 until 2 us, there at 3, and sent on until 5: there at 6. Synchronised, each step takes 3 us.
func TestFreeInSteps(t *testing.T) {
	list, err := collectives.StaticRings(&plan.Collective{GPUs: 3, Degree: 1, Op: collective.AllGather, Bytes: 4, Rate: 8e6, Latency: us})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := list[0].Build(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	free, err := simulate.Free(t.Context(), domain(3, 1), ring, 0)
	if err != nil || free.Completion != 6*us || ring.Cost(0, 0) != 6*us {
		t.Errorf("takes %v, closed cost %v; %v", free, ring.Cost(0, 0), err)
	}
	if sync, err := simulate.Synchronised(t.Context(), domain(3, 1), ring, 0); err != nil || sync != 6*us {
		t.Errorf("synchronised it takes %v; %v", sync, err)
	}
}
