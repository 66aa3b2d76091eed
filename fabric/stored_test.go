package fabric_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// TestStoredPods: bundles, routes, networks, packets and reduced graphs of seeded jobs on pods, with and without a network
// inside pods and a message overhead, and what traces at both levels become, are as stored.
func TestStoredPods(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	for _, c := range []struct {
		name     string
		inside   bool
		overhead engine.Time
		want     uint64
	}{
		{"pods", false, 0, 0xd28aa6ef6f6682be},
		{"inside", true, 0, 0x7caea29fba0f5198},
		{"messages", true, 300_000, 0x7508599619960d7a},
	} {
		rng := rand.New(rand.NewPCG(1, 141))
		digest := fnv.New64a()
		for range 60 {
			p := three()
			for i := range p.Pods {
				p.Pods[i].Ports = 64
			}
			if c.inside {
				p.Inside = p.SwitchedNetwork(200e9)
				for i := range p.Inside.Network.Links {
					p.Inside.Network.Links[i].Latency = engine.Time(i) * 1000
				}
			}
			g := &engine.Graph{MessageOverhead: c.overhead}
			for i := range int32(2 + rng.IntN(8)) {
				k := engine.Task{Kind: engine.Transfer, Src: rng.Int32N(6), Dst: rng.Int32N(6), Flows: 1 + rng.Int32N(4), Bytes: rng.Int64N(3) * 333_335}
				if rng.IntN(4) == 0 {
					k = engine.ComputeAt(rng.Int32N(6), engine.Time(rng.IntN(3))*2_000_000)
				}
				g.AddTask(k)
				for j := range i {
					if rng.IntN(3) == 0 {
						g.AddEdge(j, i, engine.Time(rng.IntN(2))*700_000)
					}
				}
			}
			if err := g.Freeze(); err != nil {
				t.Fatal(err)
			}
			o, err := p.Connect(g)
			if err != nil {
				t.Fatal(err)
			}
			circuits := make([]int, len(o.Bundles))
			for e := range circuits {
				circuits[e] = 1 + rng.IntN(3)
			}
			n, err := o.Provision(circuits)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(digest, "%+v %d %v %v %v\n", o.Bundles, o.Copies, o.Ports(circuits), n.Links, n.Groups)
			fmt.Fprintf(digest, "%v %v %v %v\n", o.Routes.Start, o.Routes.Uses, o.Routes.FlowCap, p.ArrivalDelays(g))
			for r := range int32(n.Resources()) {
				fmt.Fprintln(digest, n.ResourceName(r))
			}
			small, origin, err := p.Reduce(g, nil)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(digest, small.Tasks, origin)
			for i := range small.Tasks {
				fmt.Fprintln(digest, small.Out(int32(i)))
			}
			k, err := p.Packets(g, o, n)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(digest, "%v %v %v %v %v %+v\n", k.Graph.Tasks, k.Origin, k.Circuits, k.Network.Links, k.Flows, *k.Paths)
			fluid, err := flow.Run(t.Context(), g, n, o.Routes, flow.Options{Rates: true})
			if err != nil {
				t.Fatal(err)
			}
			of := k.Reference(fluid)
			fmt.Fprintf(digest, "%v %v %v %v %d\n", of.Start, of.End, of.StepStart, of.Steps, p.CriticalTransfer(g, fluid))
			trace, _, err := packet.RunGraph(k.Graph, k.Network, k.Flows, k.Paths, 1000, packet.Options{})
			if err != nil {
				t.Fatal(err)
			}
			whole := k.Trace(g, trace)
			fmt.Fprintf(digest, "%v %v %v %v %v %d %d\n", whole.Start, whole.End, whole.StepStart, whole.Steps, whole.Cause, whole.Makespan, whole.Events)
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}
