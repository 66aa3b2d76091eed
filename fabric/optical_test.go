package fabric_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/fabric/electrical"
)

// three returns pods 0, 1 and 2 with circuits of 100, 100 and 50 Gb/s. Each has two nodes, of 4
// and 2 GPUs; the second node has two NIC sets.
func three() *fabric.Pods {
	p := &fabric.Pods{Copies: 3, PeerEnds: 2, PeerDirections: 2}
	for i, name := range []string{"a", "b", "c"} {
		rate := units.Rate(100e9)
		if i == 2 {
			rate = 50e9
		}
		p.Pods = append(p.Pods, fabric.Pod{Name: name, Ports: 8, Rate: rate})
		k := int32(len(p.NICs))
		for _, s := range []string{" x", " y", " z"} {
			p.NICs = append(p.NICs, fabric.NIC{Name: name + s, Rate: 100e9})
		}
		p.Nodes = append(p.Nodes, fabric.Node{Pod: int32(i), GPUs: 4, NICs: []int32{k}}, fabric.Node{Pod: int32(i), GPUs: 2, NICs: []int32{k + 1, k + 2}})
	}
	return p
}

// moves returns a graph of transfers of 1 MB between pairs of nodes.
func moves(t *testing.T, pairs ...[2]int32) *engine.Graph {
	t.Helper()
	g := &engine.Graph{}
	for _, q := range pairs {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: q[0], Dst: q[1], Flows: 4, Bytes: 1_000_000})
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestConnect checks bundles, links and routes of a small job against values computed by hand.
func TestConnect(t *testing.T) {
	p := three()
	// pods a and b in both directions, c to a in one, inside b, and a to its DP peers
	g := moves(t, [2]int32{0, 2}, [2]int32{2, 1}, [2]int32{4, 0}, [2]int32{2, 3}, [2]int32{1, 1})
	o, err := p.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	rates := []float64{100e9, 50e9, 100e9}
	want := []fabric.Bundle{
		{A: 0, B: 1, Ends: 1, Links: []int32{0, 1}, Bytes: 2_000_000, Flows: 4},
		{A: 0, B: 2, Ends: 1, Links: []int32{2}, Bytes: 1_000_000, Flows: 8},
		{A: 0, B: 0, Peer: true, Ends: 2, Links: []int32{3}, Bytes: 2_000_000, Flows: 2},
	}
	if len(o.Bundles) != len(want) {
		t.Fatalf("bundles %+v", o.Bundles)
	}
	for i, b := range o.Bundles {
		if w := want[i]; b.A != w.A || b.B != w.B || b.Peer != w.Peer || b.Ends != w.Ends || o.Rate(i) != rates[i] ||
			!slices.Equal(b.Links, w.Links) || b.Bytes != w.Bytes || b.Flows != w.Flows {
			t.Errorf("bundle %d at %v is %+v, want %+v at %v", i, o.Rate(i), b, w, rates[i])
		}
	}
	for r, name := range []string{"a to b", "b to a", "c to a", "a to DP peer", "a x out", "a x in", "a y out"} {
		if got := o.Network.ResourceName(int32(r)); got != name {
			t.Errorf("resource %d is called %q, want %q", r, got, name)
		}
	}
	nic := o.Network.GroupResource(0)
	for task, uses := range [][]engine.Use{
		{{Resource: 0, Weight: 1}, {Resource: nic, Weight: 0.25}, {Resource: nic + 7, Weight: 0.25}},
		{{Resource: 1, Weight: 1}, {Resource: nic + 6, Weight: 0.25}, {Resource: nic + 3, Weight: 0.5}, {Resource: nic + 5, Weight: 0.5}},
		{{Resource: 2, Weight: 1}, {Resource: nic + 12, Weight: 0.25}, {Resource: nic + 1, Weight: 0.25}},
		nil,
		{{Resource: 3, Weight: 1}, {Resource: nic + 2, Weight: 0.5}, {Resource: nic + 4, Weight: 0.5}, {Resource: nic + 3, Weight: 0.5}, {Resource: nic + 5, Weight: 0.5}},
	} {
		if got := o.Routes.Of(int32(task)); !slices.Equal(got, uses) {
			t.Errorf("transfer %d uses %v, want %v", task, got, uses)
		}
	}
	if got := o.Ports([]int{3, 2, 1}); !slices.Equal(got, []int{3 + 2 + 2, 3, 2}) {
		t.Errorf("ports %v, want [7 3 2]", got)
	}
	n, err := o.Provision([]int{3, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	for l, rate := range []float64{300e9, 300e9, 100e9, 100e9} {
		if n.Links[l].Rate != rate || o.Network.Links[l].Rate != 0 {
			t.Errorf("%s has %g b/s, without circuits %g", n.ResourceName(int32(l)), n.Links[l].Rate, o.Network.Links[l].Rate)
		}
	}
}

func TestProvisionRejectsInvalid(t *testing.T) {
	o, err := three().Connect(moves(t, [2]int32{0, 2}, [2]int32{4, 0}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		circuits []int
		want     string
	}{
		{[]int{1}, "1 circuit counts for 2 bundles"},
		{[]int{5, 4}, "a needs 9 ports of 8"},
		{[]int{1, -1}, "-1 circuits between a and c"},
	} {
		if _, err := o.Provision(c.circuits); !errors.Is(err, fabric.ErrFabric) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q in it", c.circuits, err, c.want)
		}
	}
	if _, err := o.Provision([]int{0, 8}); err != nil {
		t.Errorf("no circuit is allowed: %v", err)
	}
}

func TestCheckRejectsInvalid(t *testing.T) {
	for name, spoil := range map[string]func(p *fabric.Pods){
		"no ports":   func(p *fabric.Pods) { p.Pods[1].Ports = 0 },
		"no rate":    func(p *fabric.Pods) { p.Pods[1].Rate = 0 },
		"no NIC":     func(p *fabric.Pods) { p.NICs[2].Rate = 0 },
		"no pod":     func(p *fabric.Pods) { p.Nodes[3].Pod = 3 },
		"pod -1":     func(p *fabric.Pods) { p.Nodes[3].Pod = -1 },
		"no GPUs":    func(p *fabric.Pods) { p.Nodes[3].GPUs = 0 },
		"no NIC set": func(p *fabric.Pods) { p.Nodes[3].NICs[0] = 9 },
	} {
		p := three()
		spoil(p)
		g := moves(t, [2]int32{0, 2})
		if _, err := p.Connect(g); !errors.Is(err, fabric.ErrFabric) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, _, err := electrical.Connect(p, g); !errors.Is(err, fabric.ErrFabric) {
			t.Errorf("%s, electrical: error %v", name, err)
		}
	}
}

// TestCircuitsBeyondFlows: more circuits than the NICs can fill change nothing. With that number
// in every bundle, the pods are as fast as the ideal fabric.
func TestCircuitsBeyondFlows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	services := []flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority}
	for range 200 {
		p := three()
		for i := range p.Pods {
			p.Pods[i].Ports = 1000
		}
		for i := range p.NICs {
			p.NICs[i].Rate = []units.Rate{50e9, 100e9, 170e9}[rng.IntN(3)]
		}
		var pairs [][2]int32
		for range 1 + rng.IntN(8) {
			pairs = append(pairs, [2]int32{rng.Int32N(6), rng.Int32N(6)})
		}
		g := moves(t, pairs...)
		o, err := p.Connect(g)
		if err != nil {
			t.Fatal(err)
		}
		n, r, err := electrical.Connect(p, g)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]int, len(o.Bundles))
		for i, b := range o.Bundles {
			x[i] = int(b.Flows)
		}
		enough, err := o.Provision(x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			x[i] += rng.IntN(5)
		}
		more, err := o.Provision(x)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range services {
			var c [3]engine.Time
			for i, network := range []*engine.Network{enough, more, n} {
				routes := o.Routes
				if i == 2 {
					routes = r
				}
				tr, err := flow.Run(t.Context(), g, network, routes, flow.Options{Service: s})
				if err != nil {
					t.Fatal(err)
				}
				c[i] = tr.Makespan
			}
			if c[0] != c[1] || c[0] != c[2] {
				t.Fatalf("%v, %v: %v with enough circuits, %v with more, %v on the ideal fabric", pairs, s, c[0], c[1], c[2])
			}
		}
	}
}

// TestIdealNeedsOnlyNICs: on the ideal fabric, two transfers from one node share its NICs.
// Transfers between other nodes are not affected.
func TestIdealNeedsOnlyNICs(t *testing.T) {
	p := three()
	g := moves(t, [2]int32{0, 2}, [2]int32{0, 4}, [2]int32{3, 5}, [2]int32{2, 3}, [2]int32{5, 5})
	n, r, err := electrical.Connect(p, g)
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Links) != 0 || n.ResourceName(3) != "a y in" {
		t.Fatalf("%d links, resource 3 is %q", len(n.Links), n.ResourceName(3))
	}
	tr, err := flow.Run(t.Context(), g, n, r, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	us := engine.Microsecond
	// 8 Mb: at half of 400 Gb/s; at the 200 Gb/s that the incoming NICs of node 5 share with its DP
	// peer's; inside a pod; at the other half of these 200 Gb/s
	for id, want := range []engine.Time{40 * us, 40 * us, 80 * us, 0, 80 * us} {
		if tr.End[id] != want {
			t.Errorf("transfer %d ends at %v, want %v", id, tr.End[id], want)
		}
	}
}
