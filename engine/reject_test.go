package engine_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"sim/engine"
)

// isRejected reports whether an error contains the given words, or is nil if words is empty.
func isRejected(err error, words string) bool {
	if words == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), words)
}

// TestPathsRejected: Paths.Check accepts paths on a ring of three nodes and rejects each
// corruption.
func TestPathsRejected(t *testing.T) {
	type input struct {
		n     *engine.Network
		w     *engine.Paths
		flows []engine.Flow
	}
	for _, c := range []struct {
		words   string
		corrupt func(x *input)
	}{
		{"", func(*input) {}},
		{"", func(x *input) { x.w.Share = []float64{1, 1} }},
		{"", func(x *input) { x.w.First = []int32{0, 1, 2} }},
		{"", func(x *input) { x.w.Link[1] = -1 }}, // no path takes this port
		{"", func(x *input) { x.n.Links[0].Channels, x.w.Step[0] = 2, engine.MakeStep(0, 1) }},
		{"", func(x *input) { // the maximum number of ports per node
			x.w.Degree, x.w.Link = engine.MaxPort+1, make([]int32, 3*(engine.MaxPort+1))
			for i := range x.w.Link {
				if x.w.Link[i] = -1; i%x.w.Degree == 0 {
					x.w.Link[i] = int32(i / x.w.Degree)
				}
			}
		}},
		{"0 a node", func(x *input) { x.w.Degree = 0 }},
		{"a node, of 3 nodes", func(x *input) { x.w.Degree = 3 }},
		{"a node, of 1 nodes", func(x *input) {
			x.w.Degree, x.n.Nodes = engine.MaxPort+2, 1
			x.w.Link = make([]int32, x.w.Degree)
		}},
		{"port 1 of node 0 is no link out of it", func(x *input) { x.w.Link[1] = -2 }},
		{"port 1 of node 0 is no link out of it", func(x *input) { x.w.Link[1] = 3 }},
		{"port 0 of node 2 is no link out of it", func(x *input) { x.w.Link[4] = 1 }},
		{"the last path has no end", func(x *input) { x.w.Step = x.w.Step[:len(x.w.Step)-1] }},
		{"3 flows have paths of 2 classes", func(x *input) { x.flows = append(x.flows, x.flows[0]) }},
		{"2 flows have paths of 2 classes", func(x *input) { x.w.Class = []int32{0} }},
		{"and 1 shares for 2 paths", func(x *input) { x.w.Share = []float64{1} }},
		{"a path begins at step -2 of", func(x *input) { x.w.Start[1] = -2 }},
		{"a path begins at step 5 of 5", func(x *input) { x.w.Start[1] = 5 }},
		{"flow 1 is of class 2 of 2", func(x *input) { x.w.Class = []int32{0, 2} }},
		{"flow 0 is of class -1 of 2", func(x *input) { x.w.Class = []int32{-1, 0} }},
		{"no path leads flow 0", func(x *input) { x.w.First = []int32{0, 0, 2} }},
		{"no path leads flow 0", func(x *input) { x.w.First = []int32{-1, 1, 2} }},
		{"no path leads flow 1", func(x *input) { x.w.First = []int32{0, 1, 3} }},
		{"no path leads flow 1", func(x *input) { x.w.Start[1] = -1 }},
		{"no path leads flow 0", func(x *input) { x.flows[0].Src = 3 }},
		{"no path leads flow 0", func(x *input) { x.flows[0].Src = -1 }},
		{"cannot take port 0 at node 1", func(x *input) { x.n.Links[1].Rate = 0 }},
		{"cannot take port 1 at node 0", func(x *input) { x.w.Step[0] = engine.MakeStep(1, 0) }},
		{"cannot take port 2 at node 0", func(x *input) { x.w.Step[0] = engine.MakeStep(2, 0) }},
		{"takes channel 1 of link 0, which has 1", func(x *input) { x.w.Step[0] = engine.MakeStep(0, 1) }},
		{"takes channel 2 of link 0, which has 2", func(x *input) { x.n.Links[0].Channels, x.w.Step[0] = 2, engine.MakeStep(0, 2) }},
		{"ends at 2", func(x *input) { x.flows[0].Dst = 1 }},
	} {
		x := &input{n: &engine.Network{Nodes: 3}, w: &engine.Paths{Degree: 2}, flows: []engine.Flow{{Src: 0, Dst: 2}, {Src: 1, Dst: 2}}}
		for a := range int32(3) {
			x.n.Links = append(x.n.Links, engine.Link{From: a, To: (a + 1) % 3, Rate: 1})
			x.w.Link = append(x.w.Link, a, -1)
		}
		x.w.Add(engine.MakeStep(0, 0), engine.MakeStep(0, 0))
		x.w.Add(engine.MakeStep(0, 0))
		c.corrupt(x)
		if err := x.w.Check(context.Background(), x.n, x.flows); !isRejected(err, c.words) {
			t.Errorf("got %v, want %q", err, c.words)
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := x.w.Check(ctx, x.n, x.flows); c.words == "" && err != context.Canceled {
			t.Errorf("after the context's end: %v", err)
		}
	}
}

// TestNextHopsRejected: Paths.Check accepts next hops on a ring of three nodes and rejects each
// corruption.
func TestNextHopsRejected(t *testing.T) {
	type input struct {
		n     *engine.Network
		s     *engine.NextHops
		flows []engine.Flow
	}
	for _, c := range []struct {
		words   string
		corrupt func(x *input)
	}{
		{"", func(*input) {}},
		{"", func(x *input) { x.s.Hops[0] = nil }}, // no flow has this destination
		{"", func(x *input) { x.s.Weight = [][]float32{nil, {1, 1, 1}, {1, 1, 1}} }},
		{"", func(x *input) { // an unreachable node that sends nothing
			x.flows = x.flows[1:2]
			x.s.Hops[2][0], x.s.Link[0] = engine.NoPath, -1
		}},
		{"next hops of 3 ports", func(x *input) { x.s.Degree = 0 }},
		{"next hops of 3 ports", func(x *input) { x.s.Degree = 2 }},
		{"next hops of 3 ports", func(x *input) { x.s.To = x.s.To[:2] }},
		{"and 2 destinations", func(x *input) { x.s.Hops = x.s.Hops[:2] }},
		{"next hops of 3 ports", func(x *input) { x.s.Weight = [][]float32{{1, 1, 1}} }},
		{"port 0 of node 0 is no link", func(x *input) { x.s.Link[0] = 3 }},
		{"port 0 of node 0 is no link", func(x *input) { x.s.Link[0] = 1 }},
		{"port 0 of node 1 is no link", func(x *input) { x.s.To[1] = 0 }},
		{"port 0 of node 2 is no link", func(x *input) { x.n.Links[2].Rate = 0 }},
		{"no next hop leads flow 0", func(x *input) { x.flows[0].Src = -1 }},
		{"no next hop leads flow 0", func(x *input) { x.flows[0].Src = 3 }},
		{"no next hop leads flow 1", func(x *input) { x.flows[1].Dst = -1 }},
		{"no next hop leads flow 1", func(x *input) { x.flows[1].Dst = 3 }},
		{"no next hop leads flow 2", func(x *input) { x.s.Hops[1] = nil }},
		{"no next hop leads flow 2", func(x *input) { x.s.Weight = [][]float32{nil, nil, {1, 1, 1}} }},
		{"no next hop leads flow 0", func(x *input) { x.s.Hops[2][0] = engine.NoPath }},
		{"packets to node 2 do not get beyond 0", func(x *input) { x.s.Hops[2][0] = 1 }},
		{"packets to node 2 do not get beyond 1", func(x *input) { x.s.Hops[2][2] = 3 }},
		{"packets to node 2 do not get beyond 0", func(x *input) { x.s.Hops[2][0] = 0 }},
		{"packets to node 2 do not get beyond 0", func(x *input) { x.s.Weight = [][]float32{nil, {1, 1, 1}, {1, 0, 1}} }},
		{"packets to node 2 do not get beyond 0", func(x *input) { x.s.Weight = [][]float32{nil, {1, 1, 1}, {1, float32(math.NaN()), 1}} }},
		{"packets to node 2 do not get beyond 0", func(x *input) { x.s.Link[0] = -1 }},
	} {
		x := &input{n: &engine.Network{Nodes: 3}, s: &engine.NextHops{Degree: 1}, flows: []engine.Flow{{Src: 0, Dst: 2}, {Src: 1, Dst: 2}, {Src: 2, Dst: 1}}}
		for a := range int32(3) {
			x.n.Links = append(x.n.Links, engine.Link{From: a, To: (a + 1) % 3, Rate: 1})
			x.s.Link, x.s.To = append(x.s.Link, a), append(x.s.To, (a+1)%3)
			hops := make([]uint16, 3)
			for b := range int32(3) {
				hops[b] = uint16((a + 3 - b) % 3)
			}
			x.s.Hops = append(x.s.Hops, hops)
		}
		c.corrupt(x)
		w := &engine.Paths{Degree: 1, Link: []int32{0, 1, 2}, Spread: x.s}
		if err := w.Check(context.Background(), x.n, x.flows); !isRejected(err, c.words) {
			t.Errorf("got %v, want %q", err, c.words)
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := w.Check(ctx, x.n, x.flows); c.words == "" && err != context.Canceled {
			t.Errorf("after the context's end: %v", err)
		}
	}
}

// TestContentionRejected: Freeze accepts a contention of five compute tasks and a transfer, and
// rejects each corruption.
func TestContentionRejected(t *testing.T) {
	for _, c := range []struct {
		words   string
		corrupt func(c *engine.Contention)
	}{
		{"", func(*engine.Contention) {}},
		{"", func(c *engine.Contention) { c.Holds = append(c.Holds, engine.Hold{Server: 1, First: 3, Last: 4}) }},
		{"contention of task 6, which is not in the graph of 6 tasks", func(c *engine.Contention) { c.Requests[0].Task = 6 }},
		{"contention of task -1", func(c *engine.Contention) { c.Offers[0].Task = -1 }},
		{"contention of task 6", func(c *engine.Contention) { c.Offers[0].Until = 6 }},
		{"contention of task 6", func(c *engine.Contention) { c.Holds[0].First = 6 }},
		{"contention of task -1", func(c *engine.Contention) { c.Holds[0].First = -1 }},
		{"contention of task 6", func(c *engine.Contention) { c.Holds[0].Last = 6 }},
		{"contention of task 5, which is a transfer", func(c *engine.Contention) { c.Holds[0].Last = 5 }},
		{"contention of task 5, which is a transfer", func(c *engine.Contention) { c.Requests[0].Task = 5 }},
		{"task 0 competes for several things", func(c *engine.Contention) { c.Requests = append(c.Requests, c.Requests[0]) }},
		{"task 1 competes for several things", func(c *engine.Contention) { c.Offers = append(c.Offers, c.Offers[0]) }},
		{"task 0 competes for several things", func(c *engine.Contention) { c.Offers[0].Task = 0 }},
		{"task 0 competes for several things", func(c *engine.Contention) { c.Offers[0].Until = 0 }},
		{"task 0 competes for several things", func(c *engine.Contention) { c.Holds[0].First = 0 }},
		{"task 1 competes for several things", func(c *engine.Contention) { c.Holds[0].First = 1 }},
		{"task 0 competes for several things", func(c *engine.Contention) { c.Holds[0].Last = 0 }},
		{"task 3 holds server 0 twice", func(c *engine.Contention) { c.Holds = append(c.Holds, c.Holds[0]) }},
		{"the server is negative", func(c *engine.Contention) { c.Holds[0].Server = -1 }},
	} {
		g := &engine.Graph{}
		for range 5 {
			g.AddTask(engine.Task{})
		}
		g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1})
		g.Contention = engine.Contention{
			Requests: []engine.Request{{Task: 0}},
			Offers:   []engine.Offer{{Task: 1, Until: 2}},
			Holds:    []engine.Hold{{First: 3, Last: 4}},
		}
		c.corrupt(&g.Contention)
		if err := g.Freeze(); !isRejected(err, c.words) {
			t.Errorf("got %v, want %q", err, c.words)
		}
	}
}
