package electrical_test

import (
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/fabric/electrical"
)

// TestOnlyNICsLimit sends between pods at the rate of the NICs, two transfers over the same NICs at half of it, and
// within a pod in no time.
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
