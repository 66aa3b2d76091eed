package fabric_test

import (
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/fabric"
	"sim/fabric/electrical"
)

// TestPodNetwork compares transfers inside and between pods with times computed by hand, at both
// levels. At the packet level, one packet per hop is added. Nodes have 2 GPUs, each with a link
// of 8 Gb/s and 1 us to the network inside the pod.
func TestPodNetwork(t *testing.T) {
	p := fabric.UniformPods{Pods: 2, NodesPerPod: 2, GPUsPerNode: 2, Ports: 4, PortRate: 8e9, NICRate: 8e9}.New()
	p.Inside = p.SwitchedNetwork(8e9)
	for i := range p.Inside.Network.Links {
		p.Inside.Network.Links[i].Latency = engine.Microsecond
	}
	const ms = engine.Millisecond
	for _, c := range []struct {
		pairs [][2]int32
		want  engine.Time
	}{
		{[][2]int32{{0, 1}}, 1 * ms},         // 2 MB at 16 Gb/s inside a pod
		{[][2]int32{{0, 1}, {0, 1}}, 2 * ms}, // over the same links
		{[][2]int32{{0, 1}, {1, 0}}, 1 * ms}, // in the opposite direction
		{[][2]int32{{0, 1}, {2, 3}}, 1 * ms}, // in another pod
		{[][2]int32{{0, 2}}, 1 * ms},         // between pods, over NICs of 16 Gb/s
		{[][2]int32{{0, 2}, {0, 3}}, 2 * ms}, // from the same NICs
		{[][2]int32{{0, 2}, {0, 1}}, 1 * ms}, // the NICs are not part of the network inside
	} {
		g := &engine.Graph{}
		for _, q := range c.pairs {
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: q[0], Dst: q[1], Flows: 2, Bytes: 2_000_000})
		}
		g.AddTask(engine.Task{Duration: 5})
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		c.want = max(c.want, 5)
		n, r, err := electrical.Connect(p, g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := flow.Run(t.Context(), g, n, r, flow.Options{})
		if err != nil || got.Makespan != c.want {
			t.Errorf("%v: %v (%v), want %v", c.pairs, got, err, c.want)
		}
		late := p.ArrivalDelays(g)
		for i, q := range c.pairs {
			want := engine.Time(0)
			if q[0]/2 == q[1]/2 && q[0] != q[1] {
				want = 2 * engine.Microsecond
			}
			have := engine.Time(0)
			if late != nil {
				have = late[i]
			}
			if q[0] != q[1] && have != want {
				t.Errorf("%v: the data of %v arrive %v late, want %v", c.pairs, q, have, want)
			}
		}
		o, err := p.Connect(g)
		if err != nil {
			t.Fatal(err)
		}
		circuits := make([]int, len(o.Bundles))
		for i := range circuits {
			circuits[i] = 2 // as fast as the NICs
		}
		provisioned, err := o.Provision(circuits)
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Packets(g, o, provisioned)
		if err != nil {
			t.Fatal(err)
		}
		bytes := make([]int64, len(g.Tasks))
		for part, task := range k.Origin {
			bytes[task] += k.Graph.Tasks[part].Bytes
		}
		for i := range c.pairs {
			if q := c.pairs[i]; q[0] != q[1] && bytes[i] != 2_000_000 {
				t.Errorf("%v: parts of transfer %d carry %d B, want 2 MB", c.pairs, i, bytes[i])
			}
		}
		trace, _, err := packet.RunGraph(k.Graph, k.Network, k.Flows, k.Paths, 1000, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if whole := k.Trace(g, trace); whole.Makespan < c.want || whole.Makespan > c.want+10*engine.Microsecond || len(whole.End) != len(g.Tasks) {
			t.Errorf("%v: %v as packets, want %v", c.pairs, whole.Makespan, c.want)
		}
	}
}

// TestParts: a transfer between nodes with several NIC sets becomes one transfer per set of the
// node with more sets. They have equal parts of its bytes and take as long as at the flow level.
func TestParts(t *testing.T) {
	p := three()
	g := moves(t, [2]int32{1, 3}, [2]int32{0, 3}, [2]int32{3, 0}, [2]int32{0, 2}, [2]int32{2, 3})
	g.Tasks[0].Bytes++ // not a multiple of the number of parts
	o, err := p.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	provisioned, err := o.Provision(slices.Repeat([]int{2}, len(o.Bundles)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.Packets(g, o, provisioned)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int64{{500_000, 500_001}, {500_000, 500_000}, {500_000, 500_000}, {1_000_000}, {0}} {
		var got []int64
		for part, task := range k.Origin {
			if int(task) == i {
				got = append(got, k.Graph.Tasks[part].Bytes)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("transfer %d has parts of %v B, want %v", i, got, want)
		}
	}
	fluid, err := flow.Run(t.Context(), g, provisioned, o.Routes, flow.Options{Rates: true})
	if err != nil {
		t.Fatal(err)
	}
	trace, _, err := packet.RunGraph(k.Graph, k.Network, k.Flows, k.Paths, 1000, packet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Trace(g, trace).Makespan; got < fluid.Makespan*9/10 || got > fluid.Makespan*11/10 {
		t.Errorf("%v as packets, %v at flow level", got, fluid.Makespan)
	}
	for part, task := range k.Origin {
		sum := 0.0
		for _, s := range k.Reference(fluid).Rates(int32(part)) {
			sum = max(sum, s.Rate)
		}
		maxTime := 0.0
		for _, s := range fluid.Rates(task) {
			maxTime = max(maxTime, s.Rate)
		}
		parts := 0
		for _, other := range k.Origin {
			if other == task {
				parts++
			}
		}
		if k.Graph.Tasks[part].Kind == engine.Transfer && math.Abs(sum-maxTime/float64(parts)) > 1 {
			t.Errorf("part %d of transfer %d has a rate of %v in the reference, want %v over %d", part, task, sum, maxTime, parts)
		}
	}
}
