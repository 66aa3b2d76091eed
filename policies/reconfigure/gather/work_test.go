package gather

import (
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// TestPlay: played packet by packet, in packets of any size, a plan takes what its closed cost says, and in fluid, but
// for the rounding of each step to ticks; message by message it takes no longer. Single phases too.
func TestPlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProblem(t, 14)
		p.Latency = rapid.SampledFrom([]engine.Time{1, us / 2, us}).Draw(t, "latency")
		p.Bytes = min(p.Bytes, 1e6)
		plans := must(Plans(p))(t)
		pl := plans[rapid.IntRange(0, len(plans)-1).Draw(t, "plan")]
		size := rapid.SampledFrom([]int32{packetBytes, 1e5, 1 << 28}).Draw(t, "packet")
		w := must(pl.Work(0, len(pl.Phases), false))(t)
		trace, stats, err := packet.RunGraph(w.Graph, w.Network, w.Flows, w.Walks, size, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if trace.Makespan != pl.Cost() || stats.Dropped > 0 {
			t.Fatalf("%s takes %v, the closed cost is %v", pl.Name, trace.Makespan, pl.Cost())
		}
		fluid := must(flow.Run(t.Context(), w.Graph, w.Network, must(engine.RoutesOf(w.Graph, w.Network, w.Walks, w.Flows))(t), flow.Options{}))(t)
		// The fluid engine leaves latency to lags of edges.
		want := pl.Cost() - engine.Time(pl.Steps())*p.Latency
		if off := fluid.Makespan - want; off < -engine.Time(2*pl.Steps()) || off > engine.Time(2*pl.Steps()) {
			t.Fatalf("%s in fluid takes %v, the closed cost without latency is %v", pl.Name, fluid.Makespan, want)
		}
		w = must(pl.Work(0, len(pl.Phases), true))(t)
		trace, _, err = packet.RunGraph(w.Graph, w.Network, w.Flows, w.Walks, size, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// A link that is never idle carries its remainder on: a tick a message at most.
		if trace.Makespan > pl.Cost()+engine.Time(pl.Steps()) {
			t.Fatalf("%s, free, takes %v, the closed cost is %v", pl.Name, trace.Makespan, pl.Cost())
		}
		i := rapid.IntRange(0, len(pl.Phases)-1).Draw(t, "phase")
		sum := p.Delay
		for _, b := range pl.Phases[i].Longest {
			sum += p.StepTime(b)
		}
		w = must(pl.Work(i, i+1, false))(t)
		if trace, _, err = packet.RunGraph(w.Graph, w.Network, w.Flows, w.Walks, size, packet.Options{}); err != nil || trace.Makespan != sum {
			t.Fatalf("phase %d of %s takes %v, want %v; %v", i, pl.Name, trace.Makespan, sum, err)
		}
	})
}

const packetBytes = 4096

// TestFree: without steps that all wait for, a plan of uneven steps ends sooner: what a message waits for is what it
// carries. By hand: 3 GPUs with a link each, a shard of 2 B and two of 1 B at 1 us a byte, alpha 1 us.
func TestFree(t *testing.T) {
	p := &Problem{3, 1, ops[2], 4, 8e6, us, 0, nil}
	ring := must(StaticRing(p))(t)
	w := must(ring.Work(0, 1, true))(t)
	trace, _, err := packet.RunGraph(w.Graph, w.Network, w.Flows, w.Walks, 1, packet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Shard 0, of 2 B, is sent by GPU 0 until 2 us, there at 3, and sent on until 5: there at 6. Synchronised, each
	// step takes 3 us.
	if trace.Makespan != 6*us || ring.Cost() != 6*us {
		t.Errorf("takes %v, closed cost %v", trace.Makespan, ring.Cost())
	}
	ends := 0
	for i, task := range w.Graph.Tasks {
		if task.Kind == engine.Transfer && trace.End[i] == 4*us {
			ends++ // shards of 1 B: there at 2 us and, passed on, at 4
		}
	}
	if ends != 1 {
		t.Errorf("%d messages arrive at 4 us, want 1: %v", ends, trace.End)
	}
}
