package electrical_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/fabric/electrical"
)

// TestOnlyNICsLimit: transfers between pods run at the rate of the NICs, two over the same NICs
// at half of it, and transfers inside a pod take no time.
func TestOnlyNICsLimit(t *testing.T) {
	p := &fabric.Pods{
		Pods: []fabric.Pod{{Name: "a", Ports: 1, Rate: 8e9}, {Name: "b", Ports: 1, Rate: 8e9}},
		NICs: []fabric.NIC{{Name: "x", Rate: 8e9}, {Name: "y", Rate: 8e9}, {Name: "z", Rate: 8e9}},
		Nodes: []fabric.Node{
			{Pod: 0, GPUs: 2, NICs: []int32{0}}, {Pod: 1, GPUs: 2, NICs: []int32{1}}, {Pod: 0, GPUs: 2, NICs: []int32{2}},
		},
	}
	for _, c := range []struct {
		name string
		to   []int32
		want engine.Time
	}{
		{"to another pod", []int32{1}, engine.Second},
		{"twice over the same NICs", []int32{1, 1}, 2 * engine.Second},
		{"within the pod", []int32{2}, 0},
	} {
		g := &engine.Graph{}
		for _, dst := range c.to {
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: dst, Flows: 2, Bytes: 2e9})
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		n, r, err := electrical.Connect(p, g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := flow.Run(t.Context(), g, n, r, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Makespan != c.want {
			t.Errorf("%s: %v, want %v", c.name, got.Makespan, c.want)
		}
	}
	p.NICs[0].Rate = 0
	if _, _, err := electrical.Connect(p, &engine.Graph{}); err == nil {
		t.Error("a NIC of rate 0 was accepted")
	}
}

// TestConnectNodes: each node has, on each tier, the total rate of its links of that tier in
// each direction. A transfer uses these resources at both ends, on the tier that joins its
// nodes.
func TestConnectNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, tiers := rapid.Int32Range(2, 5).Draw(t, "nodes"), rapid.IntRange(1, 3).Draw(t, "tiers")
		links := &engine.Network{Nodes: nodes}
		node := rapid.Int32Range(0, nodes-1)
		var tierOf []int
		rate := map[string]float64{}
		for range rapid.IntRange(1, 12).Draw(t, "links") {
			l := engine.Link{From: node.Draw(t, "from"), To: node.Draw(t, "to"), Rate: float64(rapid.IntRange(1, 9).Draw(t, "rate"))}
			k := rapid.IntRange(0, tiers-1).Draw(t, "tier")
			links.Links, tierOf = append(links.Links, l), append(tierOf, k)
			rate[fmt.Sprint(k, " node ", l.From, " out")] += l.Rate
			rate[fmt.Sprint(k, " node ", l.To, " in")] += l.Rate
		}
		g := &engine.Graph{}
		for range rapid.IntRange(1, 9).Draw(t, "tasks") {
			kind := rapid.SampledFrom([]engine.Kind{engine.Compute, engine.Transfer, engine.Transfer}).Draw(t, "kind")
			g.AddTask(engine.Task{Kind: kind, Src: node.Draw(t, "src"), Dst: node.Draw(t, "dst"), Flows: 1, Bytes: 1})
		}
		tier, joins := func(link int) int { return tierOf[link] }, func(src, dst int32) int { return int(src+dst) % (slices.Max(tierOf) + 1) }
		if tiers == 1 {
			tier, joins = nil, nil
		}
		n, r := electrical.ConnectNodes(links, g, tier, joins)
		for k := range slices.Max(tierOf) + 1 {
			for a := range 2 * nodes {
				id := int32(k)*2*nodes + a
				if got, want := n.Rate(id), rate[fmt.Sprint(k, " ", n.ResourceName(id))]; got != want {
					t.Fatalf("%s has rate %v in tier %d, want %v", n.ResourceName(id), got, k, want)
				}
			}
		}
		if n.Nodes != nodes || n.Resources() != (slices.Max(tierOf)+1)*int(nodes)*2 {
			t.Fatalf("%d nodes and %d resources", n.Nodes, n.Resources())
		}
		for i, task := range g.Tasks {
			var want []engine.Use
			if task.Kind == engine.Transfer && task.Src != task.Dst {
				first := int32(0)
				if joins != nil {
					first = int32(joins(task.Src, task.Dst)) * 2 * nodes
				}
				want = []engine.Use{{Resource: first + 2*task.Src, Weight: 1}, {Resource: first + 2*task.Dst + 1, Weight: 1}}
			}
			if !slices.Equal(r.Of(int32(i)), want) {
				t.Fatalf("transfer from %d to %d uses %v, want %v", task.Src, task.Dst, r.Of(int32(i)), want)
			}
		}
	})
}

// TestConnectInterfaces: transfers inside a pod use the NICs at both ends, as transfers between
// pods do.
func TestConnectInterfaces(t *testing.T) {
	p := &fabric.Pods{
		Pods: []fabric.Pod{{Name: "a", Ports: 1, Rate: 8e9}},
		NICs: []fabric.NIC{{Name: "x", Rate: 8e9}, {Name: "y", Rate: 8e9}},
		Nodes: []fabric.Node{
			{Pod: 0, GPUs: 1, NICs: []int32{0}}, {Pod: 0, GPUs: 1, NICs: []int32{1}},
		},
	}
	g := &engine.Graph{}
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: 1e9})
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	n, r, err := electrical.ConnectInterfaces(p, g)
	if err != nil {
		t.Fatal(err)
	}
	got, err := flow.Run(t.Context(), g, n, r, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Makespan != engine.Second {
		t.Errorf("a transfer inside a pod takes %v, want 1 s", got.Makespan)
	}
}
