package packet_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// TestGraph compares a small graph with results computed by hand. A compute takes 2 us.
// Then 2,500 B are sent in packets of 1,000, 1,000 and 500 B over two links. 1,000 B take
// 1 us on each, and the second link has a latency of 1 us. A transfer without bytes
// follows 3 us later, and finally a compute of 1 us.
func TestGraph(t *testing.T) {
	n := lineNetwork(2, engine.Link{})
	n.Links[1].Latency = us
	g := &engine.Graph{}
	compute := g.AddTask(engine.Task{Duration: 2 * us})
	move := g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 2, Flows: 1, Bytes: 2500})
	nothing := g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 2, Flows: 1})
	last := g.AddTask(engine.Task{Duration: us})
	g.AddEdge(compute, move, 0)
	g.AddEdge(move, nothing, 3*us)
	g.AddEdge(nothing, last, 0)
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	w := pathsOver(n, nil, []int32{0, 1})
	for _, o := range []packet.Options{{}, packet.ForceQueues(packet.Options{}), {Control: packet.Credit}} {
		trace, s, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, o)
		if err != nil {
			t.Fatal(err)
		}

		// The first link sends until 3, 4 and 4.5 us, and the second until 4, 5 and 5.5
		// us. The packets arrive 1 us later.
		ends := []engine.Time{2 * us, 6*us + us/2, 9*us + us/2, 10*us + us/2}
		starts := []engine.Time{0, 2 * us, 9*us + us/2, 9*us + us/2}
		for i := range ends {
			if trace.Start[i] != starts[i] || trace.End[i] != ends[i] {
				t.Errorf("%s from %v to %v, want %v to %v", g.Name(int32(i)), trace.Start[i], trace.End[i], starts[i], ends[i])
			}
		}
		if trace.Makespan != ends[3] || trace.Events != 6 || s.Injected != 3 || s.Bytes != 2500 {
			t.Errorf("%+v %+v", trace, s)
		}
	}
	trace, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{Until: 5 * us})
	if err != nil || trace.End[1] != engine.Never || trace.Start[2] != engine.Never || trace.Makespan != 2*us {
		t.Errorf("%+v %v", trace, err)
	}
	if _, _, err := packet.RunGraph(g, n, nil, portsOf(n), 1000, packet.Options{}); !errors.Is(err, packet.ErrWork) || !strings.Contains(err.Error(), "task 1 has no path from node 0 to 2") {
		t.Error(err)
	}
}

// TestGraphLoss: if a transfer loses a packet, the run ends with an error that names the
// transfer.
func TestGraphLoss(t *testing.T) {
	n := lineNetwork(2, engine.Link{})
	n.Changes = []engine.Change{{At: 2*us + us/2, Link: 1}, {At: 5 * us, Link: 1, Rate: 8e9}}
	g := &engine.Graph{}
	g.AddEdge(g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 2, Flows: 1, Bytes: 3000}), g.AddTask(engine.Task{}), 0)
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	w := pathsOver(n, nil, []int32{0, 1})
	_, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{})
	if !errors.Is(err, packet.ErrStalled) || !strings.Contains(err.Error(), "task 0 lost 2000 B; 1 tasks wait behind") {
		t.Error(err)
	}
}

// TestGraphAgainstFlow: tasks of a random graph end at the same times as at the flow
// level, except for a few packets. The network has one link per pair of nodes, and all
// links have the same rate.
func TestGraphAgainstFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const nodes = 4
		n := &engine.Network{Nodes: nodes}
		var paths [][]int32
		for a := range int32(nodes) {
			for b := range int32(nodes) {
				if a != b {
					paths = append(paths, []int32{int32(len(n.Links))})
					n.Links = append(n.Links, engine.Link{From: a, To: b, Rate: 8e9})
				}
			}
		}

		w := pathsOver(n, nil, paths...)
		g := &engine.Graph{}
		routes := &engine.Routes{Start: []int32{0}}
		tasks := rapid.IntRange(1, 12).Draw(t, "tasks")
		for i := range tasks {
			task := engine.Task{Duration: engine.Time(rapid.IntRange(0, 300).Draw(t, "duration")) * us}
			if rapid.IntRange(0, 2).Draw(t, "transfer") > 0 {
				f := rapid.IntRange(0, len(w.Flows)-1).Draw(t, "flow")
				task = engine.Task{Kind: engine.Transfer, Src: w.Flows[f].Src, Dst: w.Flows[f].Dst, Flows: 1, Bytes: int64(rapid.IntRange(0, 1_000_000).Draw(t, "bytes"))}
				routes.Uses = append(routes.Uses, engine.Use{Resource: int32(f), Weight: 1})
			}
			routes.Start = append(routes.Start, int32(len(routes.Uses)))
			g.AddTask(task)
			for range rapid.IntRange(0, 2).Draw(t, "before") {
				if i > 0 {
					g.AddEdge(int32(rapid.IntRange(0, i-1).Draw(t, "from")), int32(i), engine.Time(rapid.IntRange(0, 5).Draw(t, "lag"))*us)
				}
			}
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}

		fluid, err := flow.Run(t.Context(), g, n, routes, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []packet.Options{{}, {Control: packet.Credit}} {
			trace, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range tasks {
				// An end may deviate by one packet per other transfer on the link, and
				// later tasks accumulate the deviations of their predecessors.
				if difference := (trace.End[i] - fluid.End[i]).Seconds() / us.Seconds(); math.Abs(difference) > float64(tasks*tasks) {
					t.Fatalf("%s ends at %v, as fluid at %v", g.Name(int32(i)), trace.End[i], fluid.End[i])
				}
			}
		}
	})
}

// TestTransfersAgainstGreedy: transfers that all start at time 0 send the same packets at
// the same times as greedy sources. Each source has one flow with the bytes of one
// transfer. The test covers scheduled links, queued links and credits on random networks.
func TestTransfersAgainstGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := randomWork(t)
		for i := range n.Links { // large enough to prevent drops and deadlocks
			n.Links[i].Buffer = 1 << 20
		}

		o := packet.Options{Seed: 3}
		switch rapid.IntRange(0, 2).Draw(t, "loop") {
		case 0:
			for i := range n.Links {
				n.Links[i].Buffer = 0
			}
		case 1:
			o.Control = packet.Credit
		}

		const bytes = 5
		w.Sources = nil
		g := &engine.Graph{}
		for f, flow := range w.Flows {
			count, last := rapid.Int64Range(1, 9).Draw(t, "count"), rapid.Int32Range(1, bytes).Draw(t, "last")
			w.Sources = append(w.Sources, packet.Source{
				First: int32(f), End: int32(f + 1), Process: packet.Greedy, Order: packet.RoundRobin, Bytes: bytes, Last: last, Count: count,
			})
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: flow.Src, Dst: flow.Dst, Flows: 1, Bytes: (count-1)*bytes + int64(last)})
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}

		want, err := packet.Run(n, w, o)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := packet.RunGraph(g, n, w.Flows, w.Paths, bytes, o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatal(cmp.Diff(*want, *got, cmp.AllowUnexported(packet.Stats{}, packet.Delay{})))
		}
	})
}
