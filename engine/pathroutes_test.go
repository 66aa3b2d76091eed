package engine

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ring returns n nodes with a link up (port 0) and a link down (port 1) from each.
func ring(n int32) (*Network, []int32) {
	net := &Network{Nodes: n}
	var ports []int32
	for a := range n {
		ports = append(ports, int32(len(net.Links)), int32(len(net.Links))+1)
		net.Links = append(net.Links, Link{From: a, To: (a + 1) % n, Rate: 1e9}, Link{From: a, To: (a + n - 1) % n, Rate: 1e9})
	}
	return net, ports
}

// TestRoutesOf: random paths on a ring. Some turn back or go around several times. Every
// transfer has one Use per link: the share of its paths times the number of times they take
// the link. The tasks are not in the order of the flows.
func TestRoutesOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(2, 6).Draw(t, "nodes")
		net, ports := ring(n)
		w := &Paths{Degree: 2, Link: ports, First: []int32{0}}
		if rapid.Bool().Draw(t, "shares") {
			w.Share = []float64{}
		}
		var flows []Flow
		for range rapid.IntRange(1, 5).Draw(t, "flows") {
			// All paths of a flow have the same end: they take as many links up, plus pairs of
			// links up and down.
			node := rapid.Int32Range(0, n-1).Draw(t, "source")
			up, of := rapid.IntRange(1, int(n)-1).Draw(t, "up"), rapid.IntRange(1, 3).Draw(t, "paths")
			for k := range of {
				var steps []Step
				for range up + int(n)*rapid.IntRange(0, 1).Draw(t, "rounds") {
					for range rapid.IntRange(0, 1).Draw(t, "detour") {
						steps = append(steps, MakeStep(1, 0), MakeStep(0, 0))
					}
					steps = append(steps, MakeStep(0, 0))
				}
				w.Add(steps...)
				if w.Share != nil {
					w.Share = append(w.Share, []float64{0.5, 0.25, 0.25, 0}[(k+of)%4])
				}
			}
			w.First = append(w.First, int32(len(w.Start)))
			flows = append(flows, Flow{node, (node + int32(up)) % n})
		}
		if err := w.Check(t.Context(), net, flows); err != nil {
			t.Fatal(err)
		}
		g := &Graph{}
		var of []int32
		for range rapid.IntRange(0, 9).Draw(t, "tasks") {
			f := rapid.Int32Range(-2, int32(len(flows))-1).Draw(t, "flow")
			task := Task{}
			switch {
			case f >= 0:
				task = Task{Kind: Transfer, Src: flows[f].Src, Dst: flows[f].Dst, Flows: 1, Bytes: 1}
				for i := range f { // the first of several flows
					if flows[i] == flows[f] {
						f = i
						break
					}
				}
			case f == -2:
				task = Task{Kind: Transfer, Src: 1, Dst: 1, Flows: 1, Bytes: 1}
			}
			g.AddTask(task)
			of = append(of, f)
		}
		r, err := RoutesOf(g, net, w, flows)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range of {
			want, have := make([]float64, len(net.Links)), make([]float64, len(net.Links))
			if f >= 0 {
				if i < len(flows) && flows[i] == flows[f] {
					f = int32(i) // the flow with the number of the task comes first
				}
				first, end := w.Of(f)
				for k := first; k < end; k++ {
					node := flows[f].Src
					for _, s := range w.Steps(k) {
						l := w.Out(node, s)
						want[l] += w.ShareOf(f, k)
						node = net.Links[l].To
					}
				}
			}
			for _, u := range r.Of(int32(i)) {
				if have[u.Resource] != 0 || u.Weight == 0 {
					t.Fatalf("task %d has two uses of link %d, or none: %v", i, u.Resource, r.Of(int32(i)))
				}
				have[u.Resource] = u.Weight
			}
			for l := range want {
				if math.Abs(want[l]-have[l]) > 1e-12 {
					t.Fatalf("task %d uses link %d %g times, want %g", i, l, have[l], want[l])
				}
			}
		}
	})
	net, ports := ring(3)
	w := &Paths{Degree: 2, Link: ports}
	w.Add(MakeStep(0, 0))
	g := &Graph{}
	g.AddTask(Task{Kind: Transfer, Src: 2, Dst: 1, Flows: 1})
	if _, err := RoutesOf(g, net, w, []Flow{{0, 1}}); err == nil || !strings.Contains(err.Error(), "task 0 goes from node 2 to 1, between which there is no flow") {
		t.Error(err)
	}
}

// TestFoldRejectsAsymmetric: nodes of an orbit that differ are rejected. A ring of 4 nodes in
// one orbit folds to its two ports.
func TestFoldRejectsAsymmetric(t *testing.T) {
	make4 := func() (*Network, *Paths, []Flow, []int32) {
		net, ports := ring(4)
		w := &Paths{Degree: 2, Link: ports}
		w.Add(MakeStep(0, 0))
		w.Add(MakeStep(0, 0), MakeStep(0, 0))
		w.Add(MakeStep(1, 0))
		var flows []Flow
		for s := range int32(4) {
			for d := range int32(3) {
				flows = append(flows, Flow{s, (s + d + 1) % 4})
				w.Class = append(w.Class, d)
			}
		}
		return net, w, flows, make([]int32, 4)
	}
	net, w, flows, orbit := make4()
	f, err := Fold(net, w, flows, nil, 9, orbit)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Network.Links) != 2 || len(f.Graph.Tasks) != 3 || f.Graph.Tasks[1].Bytes != 9 || len(f.Routes.Of(1)) != 1 || f.Routes.Of(1)[0] != (Use{0, 2}) || f.Routes.Of(2)[0] != (Use{1, 1}) {
		t.Errorf("%+v, %+v, %+v", f.Graph.Tasks, f.Network.Links, f.Routes)
	}
	bytes := make([]int64, 12)
	bytes[3] = 1
	for name, spoil := range map[string]func(*Network, *Paths, *[]Flow, *[]int32, *[]int64){
		"rate":        func(n *Network, _ *Paths, _ *[]Flow, _ *[]int32, _ *[]int64) { n.Links[4].Rate = 1 },
		"port":        func(_ *Network, w *Paths, _ *[]Flow, _ *[]int32, _ *[]int64) { w.Link[3] = -1 },
		"orbits":      func(_ *Network, _ *Paths, _ *[]Flow, o *[]int32, _ *[]int64) { (*o)[1] = 1 },
		"negative":    func(_ *Network, _ *Paths, _ *[]Flow, o *[]int32, _ *[]int64) { (*o)[1] = -1 },
		"few orbits":  func(_ *Network, _ *Paths, _ *[]Flow, o *[]int32, _ *[]int64) { *o = (*o)[1:] },
		"size":        func(_ *Network, _ *Paths, _ *[]Flow, _ *[]int32, b *[]int64) { *b = bytes },
		"few sizes":   func(_ *Network, _ *Paths, _ *[]Flow, _ *[]int32, b *[]int64) { *b = bytes[1:] },
		"few flows":   func(_ *Network, w *Paths, f *[]Flow, _ *[]int32, _ *[]int64) { *f = (*f)[1:]; w.Class = w.Class[1:] },
		"class":       func(_ *Network, w *Paths, _ *[]Flow, _ *[]int32, _ *[]int64) { w.Class[0] = 1 },
		"with groups": func(n *Network, _ *Paths, _ *[]Flow, _ *[]int32, _ *[]int64) { n.Groups = make([]Group, 1) },
		"with change": func(n *Network, _ *Paths, _ *[]Flow, _ *[]int32, _ *[]int64) { n.Changes = make([]Change, 1) },
	} {
		var sizes []int64
		net, w, flows, orbit := make4()
		spoil(net, w, &flows, &orbit, &sizes)
		if _, err := Fold(net, w, flows, sizes, 9, orbit); !errors.Is(err, ErrAsymmetric) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
