package result

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// ringOf4 returns a ring of four nodes with a path to the opposite node.
func ringOf4() Detail {
	l := &Torus{Dims: []int{4}, Unit: "messages"}
	for n := range 4 {
		l.Links = append(l.Links, TorusLink{From: n, To: (n + 1) % 4, Up: true, Wrap: n == 3, Load: 2})
	}
	l.Links[2].State = "down"
	l.Pairs = []string{" 0 00 000", "000  0 00", "00 000  0", "0 00 000 "}
	l.Routes = []TorusRoute{{Src: 3, Dst: 1, Links: []int{3, 0}}, {Src: 2, Dst: 2}}
	d := &Delay{MeanS: 1, P50S: 1, P99S: 2, MaxS: 3, Bins: []DelayBin{{0, 1, 5}, {1, 3, 5}}}
	return Detail{Policies: []Simulation{{Policy: "dor", Torus: l, Delay: d}}}
}

func TestCheckTorus(t *testing.T) {
	d := ringOf4()
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want    string
		corrupt func(l *Torus, d *Delay)
	}{
		{"has the dimensions [0]", func(l *Torus, _ *Delay) { l.Dims[0] = 0 }},
		{"has the dimensions [4", func(l *Torus, _ *Delay) { l.Dims = append(l.Dims, math.MaxInt) }},
		{"joins nodes 0 and 4 of 4", func(l *Torus, _ *Delay) { l.Links[0].To = 4 }},
		{"joins nodes -1 and 1 of 4", func(l *Torus, _ *Delay) { l.Links[0].From = -1 }},
		{"lies in dimension 1 of 1", func(l *Torus, _ *Delay) { l.Links[2].Dim = 1 }},
		{`is "dead"`, func(l *Torus, _ *Delay) { l.Links[2].State = "dead" }},
		{"carries -1", func(l *Torus, _ *Delay) { l.Links[2].Load = -1 }},
		{"not a finite number", func(l *Torus, _ *Delay) { l.Links[2].Load = math.NaN() }},
		{"from node 3 to 7 of 4", func(l *Torus, _ *Delay) { l.Routes[0].Dst = 7 }},
		{"takes link 9 of 4", func(l *Torus, _ *Delay) { l.Routes[0].Links[1] = 9 }},
		{"is at node 0 and takes link 2, which leaves node 2", func(l *Torus, _ *Delay) { l.Routes[0].Links[1] = 2 }},
		{"ends at node 0, not at 1", func(l *Torus, _ *Delay) { l.Routes[0].Links = l.Routes[0].Links[:1] }},
		{"ends at node 2, not at 3", func(l *Torus, _ *Delay) { l.Routes[1].Dst = 3 }},
		{"has routes from 3 nodes of 4", func(l *Torus, _ *Delay) { l.Pairs = l.Pairs[1:] }},
		{"from node 1 to 3 nodes of 4", func(l *Torus, _ *Delay) { l.Pairs[1] = "000  0" }},
		{"from node 1 to 2 leaves node 1 by link 1 of 1", func(l *Torus, _ *Delay) { l.Pairs[1] = "000  1 00" }},
		{"from node 1 to 2 ends at 3", func(l *Torus, _ *Delay) { l.Pairs[1] = "000  00 00" }},
		{"out of order: median", func(_ *Torus, d *Delay) { d.P99S = 0.5 }},
		{"out of order: median", func(_ *Torus, d *Delay) { d.MeanS = -1 }},
		{"not a finite number", func(_ *Torus, d *Delay) { d.MaxS = math.Inf(1) }},
		{"bin 1 of the delays", func(_ *Torus, d *Delay) { d.Bins[1].FromS = 0.5 }},
		{"bin 0 of the delays", func(_ *Torus, d *Delay) { d.Bins[0].Packets = -1 }},
	} {
		d := ringOf4()
		tt.corrupt(d.Policies[0].Torus, d.Policies[0].Delay)
		err := d.Check()
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// TestCheckSimulation: a consistent detail passes, including the last node, pod and time;
// each inconsistent part is an error.
func TestCheckSimulation(t *testing.T) {
	series := []Series{{Name: "s", TimeS: []float64{0, 1, 1}, Value: []float64{1, 2, 3}}}
	spans := []Track{{Name: "t", Spans: []Span{{Label: "a", StartS: 0, EndS: 0}, {Label: "b", StartS: 0, EndS: 2}, {Label: "c", StartS: 1, EndS: 1}}}}
	build := func() *Detail {
		d := ringOf4()
		p := &d.Policies[0]
		copied := func(s []Series) []Series {
			return []Series{{Name: s[0].Name, TimeS: slices.Clone(s[0].TimeS), Value: slices.Clone(s[0].Value)}}
		}
		p.Demand, p.Rates, p.Circuits, p.Links = copied(series), copied(series), copied(series), copied(series)
		p.Tracks = []Track{{Name: "t", Spans: slices.Clone(spans[0].Spans)}}
		p.Nodes = []Track{{Name: "n", Spans: slices.Clone(spans[0].Spans)}}
		p.Graph = &Graph{Nodes: make([]GraphNode, 2), Links: []GraphLink{{From: 0, To: 1}, {From: 1, To: 0}}, Pairs: []string{" 0", "0 "}}
		p.Topology = &Topology{Pods: make([]PodPorts, 2), Pairs: []Pair{{A: 0, B: 1}, {A: 1, B: 0}}}
		d.Windows.Task = []string{"x", "y"}
		d.Windows.StartS, d.Windows.MinK = []float64{0, 1}, []int{1, 2}
		return &d
	}
	if err := build().Check(); err != nil {
		t.Fatal(err)
	}
	for i, corrupt := range []func(d *Detail, p *Simulation){
		func(_ *Detail, p *Simulation) { p.Demand[0].Value = p.Demand[0].Value[1:] },
		func(_ *Detail, p *Simulation) { p.Rates[0].TimeS[0] = 2 },
		func(_ *Detail, p *Simulation) { p.Circuits[0].TimeS = append(p.Circuits[0].TimeS, 3) },
		func(_ *Detail, p *Simulation) { p.Links[0].TimeS[2] = 0.5 },
		func(_ *Detail, p *Simulation) { p.Tracks[0].Spans[0].StartS = -1 },
		func(_ *Detail, p *Simulation) { p.Tracks[0].Spans[2].StartS = -1 },
		func(_ *Detail, p *Simulation) { p.Nodes[0].Spans[1].EndS = -1 },
		func(_ *Detail, p *Simulation) { p.Nodes[0].Spans[1].StartS, p.Nodes[0].Spans[2].StartS = 1, 0.5 },
		func(_ *Detail, p *Simulation) { p.Graph.Links[0].From = -1 },
		func(_ *Detail, p *Simulation) { p.Graph.Links[0].From = 2 },
		func(_ *Detail, p *Simulation) { p.Graph.Links[1].To = -1 },
		func(_ *Detail, p *Simulation) { p.Graph.Links[1].To = 2 },
		func(_ *Detail, p *Simulation) { p.Graph.Pairs[0] = " 1" },
		func(_ *Detail, p *Simulation) { p.Topology.Pairs[0].A = -1 },
		func(_ *Detail, p *Simulation) { p.Topology.Pairs[0].A = 2 },
		func(_ *Detail, p *Simulation) { p.Topology.Pairs[1].B = -1 },
		func(_ *Detail, p *Simulation) { p.Topology.Pairs[1].B = 2 },
		func(d *Detail, _ *Simulation) { d.Windows.StartS = d.Windows.StartS[1:] },
		func(d *Detail, _ *Simulation) { d.Windows.MinK = append(d.Windows.MinK, 3) },
		func(d *Detail, _ *Simulation) { d.Windows.Task = nil },
		func(d *Detail, p *Simulation) {
			d.Reference = *p
			d.Reference.Torus, d.Reference.Delay = nil, &Delay{MeanS: -1}
		},
	} {
		d := build()
		if corrupt(d, &d.Policies[0]); d.Check() == nil {
			t.Errorf("fault %d passes", i)
		}
	}
}
