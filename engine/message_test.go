package engine_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// startedTimes is a reference for graphs whose transfers have links of their own and which have
// no contention. It returns the start and end of each task if the start of a message occupies
// its source. It scans all tasks for the next one to start.
func startedTimes(g *engine.Graph, perByte engine.Time) (start, end []engine.Time) {
	n := len(g.Tasks)
	start, end = make([]engine.Time, n), make([]engine.Time, n)
	begun := make([]bool, n)
	free := map[int32]engine.Time{} // time at which each node is free
	for range n {
		next, nextReady := -1, engine.Never
		for i := range n {
			ready := engine.Time(0)
			for _, e := range g.In(int32(i)) {
				if !begun[e.From] {
					ready = engine.Never
					break
				}
				ready = max(ready, end[e.From]+e.Lag)
			}
			// Of the ready messages of a node, the one that became ready first goes first.
			if !begun[i] && ready < nextReady {
				next, nextReady = i, ready
			}
		}
		t := &g.Tasks[next]
		begun[next] = true
		start[next], end[next] = nextReady, nextReady
		switch {
		case t.Kind == engine.Transfer && t.Bytes > 0:
			start[next] = max(nextReady, free[t.Src])
			free[t.Src] = start[next] + g.MessageOverhead
			end[next] = free[t.Src] + engine.Time(t.Bytes)*perByte
		case t.Kind == engine.Compute:
			end[next] += t.Duration
		}
	}
	return start, end
}

// anyMessages draws a graph of up to 12 tasks on 3 nodes, and a network with one link per transfer.
func anyMessages(t *rapid.T) (*engine.Graph, *engine.Network, *engine.Routes) {
	const nodes = 3
	g := &engine.Graph{MessageOverhead: engine.Time(rapid.IntRange(0, 7).Draw(t, "overhead"))}
	n := &engine.Network{Nodes: nodes}
	r := &engine.Routes{Start: []int32{0}}
	for i := range rapid.IntRange(1, 12).Draw(t, "tasks") {
		task := engine.Task{Duration: engine.Time(rapid.IntRange(0, 9).Draw(t, "duration"))}
		if rapid.IntRange(0, 2).Draw(t, "transfer") > 0 {
			src := int32(rapid.IntRange(0, nodes-1).Draw(t, "src"))
			task = engine.Task{Kind: engine.Transfer, Flows: 1, Src: src, Dst: (src + 1) % nodes, Bytes: int64(rapid.IntRange(0, 9).Draw(t, "bytes"))}
			r.Uses = append(r.Uses, engine.Use{Resource: int32(len(n.Links)), Weight: 1})
			n.Links = append(n.Links, engine.Link{From: src, To: task.Dst, Rate: 8e12}) // a byte per tick
		}
		id := g.AddTask(task)
		r.Start = append(r.Start, int32(len(r.Uses)))
		for from := range int32(i) {
			if rapid.IntRange(0, 4).Draw(t, "edge") == 0 {
				g.AddEdge(from, id, engine.Time(rapid.IntRange(0, 3).Draw(t, "lag")))
			}
		}
	}
	n.Links = append(n.Links, engine.Link{From: 0, To: 1, Rate: 8e12}) // used by no transfer
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return g, n, r
}

// directPaths returns a flow and a one-link path for each transfer of a graph, in order.
func directPaths(g *engine.Graph, n *engine.Network) ([]engine.Flow, *engine.Paths) {
	out := make([][]int32, n.Nodes)
	for i, l := range n.Links {
		out[l.From] = append(out[l.From], int32(i))
	}
	degree := max(1, len(n.Links))
	w := &engine.Paths{Degree: degree, Link: slices.Repeat([]int32{-1}, int(n.Nodes)*degree)}
	for node, links := range out {
		copy(w.Link[node*degree:], links)
	}
	flows, link := make([]engine.Flow, len(g.Tasks)), int32(0)
	for i, t := range g.Tasks {
		if t.Kind != engine.Transfer {
			w.Add()
			continue
		}
		flows[i] = engine.Flow{Src: t.Src, Dst: t.Dst}
		w.Add(engine.MakeStep(slices.Index(out[t.Src], link), 0))
		link++
	}
	return flows, w
}

// TestMessageOverhead: on random graphs, both levels, an evaluator and a contracted graph agree
// with startedTimes.
func TestMessageOverhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, n, r := anyMessages(t)
		start, end := startedTimes(g, 1)
		makespan := slices.Max(end)
		check := func(name string, trace *engine.Trace, err error) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if trace.Makespan != makespan || !slices.Equal(trace.Start, start) || !slices.Equal(trace.End, end) {
				t.Fatalf("%s: tasks %v with an overhead of %v begin at %v and end at %v, want %v and %v", name, g.Tasks, g.MessageOverhead, trace.Start, trace.End, start, end)
			}
		}
		fluid, err := flow.Run(context.Background(), g, n, r, flow.Options{Rates: true})
		check("flow", fluid, err)
		flows, paths := directPaths(g, n)
		packets, _, err := packet.RunGraph(g, n, flows, paths, 100, packet.Options{})
		check("packet", packets, err)
		for _, service := range []flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority} {
			e, err := flow.NewEvaluator(g, n, r, service)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := e.Makespan(engine.Never); !ok || got != makespan {
				t.Fatalf("evaluator by %v: %v, want %v", service, got, makespan)
			}
			if bound := e.Bound(); bound > makespan {
				t.Fatalf("bound %v by %v above the makespan %v", bound, service, makespan)
			}
			if tails := e.Spans().Tail; e.SetTails(tails) != nil || len(tails) != len(g.Tasks) {
				t.Fatalf("%d tails for %d tasks", len(tails), len(g.Tasks))
			}
		}
		small, origin, err := engine.Contract(g, func(id int32) bool { return g.MessageOverhead == 0 && g.IsMessage(id) }, func(id int32) engine.Time { return g.Tasks[id].Duration })
		if err != nil {
			t.Fatal(err)
		}
		led := &engine.Routes{Start: []int32{0}}
		for _, from := range origin {
			if from >= 0 {
				led.Uses = append(led.Uses, r.Of(from)...)
			}
			led.Start = append(led.Start, int32(len(led.Uses)))
		}
		contracted, err := flow.Run(context.Background(), small, n, led, flow.Options{})
		if err != nil || contracted.Makespan != makespan {
			t.Fatalf("contracted: %v %v, want %v", contracted, err, makespan)
		}
	})
}

// TestMessageStarts: a message of 8 bytes follows a compute task that occupies a server. It
// becomes ready after 2 ticks, takes 5 ticks to start, and is then sent at its flow limit of 2
// ticks per byte.
func TestMessageStarts(t *testing.T) {
	g := &engine.Graph{MessageOverhead: 5}
	g.AddTask(engine.Task{Duration: 3})
	g.AddTask(engine.Task{Kind: engine.Transfer, Src: 1, Dst: 0, Flows: 1, Bytes: 8})
	g.AddEdge(0, 1, 2)
	g.Contention.Holds = []engine.Hold{{Server: 3}}
	g.Namer = func(id int32) string { return []string{"forward", "message"}[id] }
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	n := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 1, To: 0, Rate: 8e12}}}
	r := &engine.Routes{Start: []int32{0, 0, 1}, Uses: []engine.Use{{Resource: 0, Weight: 1}}, FlowCap: []float64{0, 4e12}}
	s, err := g.WithMessageStarts()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range []string{"forward", "message", "the start of message"} {
		if got := s.Graph.Name(int32(id)); got != want {
			t.Errorf("task %d is %s, want %s", id, got, want)
		}
	}
	if want := (engine.Hold{Server: 3 + 1 + 1, First: 2, Last: 2}); len(s.Graph.Contention.Holds) != 2 || s.Graph.Contention.Holds[1] != want {
		t.Errorf("holds are %v, want %v behind that of the graph", s.Graph.Contention.Holds, want)
	}
	if got := s.Routes(r); !slices.Equal(got.FlowCap, []float64{0, 4e12, 0}) || !slices.Equal(got.Start, []int32{0, 0, 1, 1}) {
		t.Errorf("routes start at %v with caps %v", got.Start, got.FlowCap)
	}
	trace, err := flow.Run(t.Context(), g, n, r, flow.Options{Rates: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(trace.Start, []engine.Time{0, 5}) || !slices.Equal(trace.End, []engine.Time{3, 26}) || !slices.Equal(trace.Cause, []int32{-1, -1}) {
		t.Errorf("tasks start at %v and end at %v by %v", trace.Start, trace.End, trace.Cause)
	}
	if got, want := trace.Rates(1), []engine.RateStep{{At: 10, Rate: 4e12}, {At: 26}}; !slices.Equal(got, want) || len(trace.Rates(0)) != 0 {
		t.Errorf("rates are %v and %v, want %v and none", got, trace.Rates(0), want)
	}
	g.Tasks[1].Src = -1
	if err := g.Freeze(); !isRejected(err, "transfer message has source -1, want a node") {
		t.Error(err)
	}
}

// TestWaitReason: the error of a stalled run contains the reason why each task of a contention
// waits.
func TestWaitReason(t *testing.T) {
	g := &engine.Graph{}
	for range 5 {
		g.AddTask(engine.Task{})
	}
	g.Contention = engine.Contention{Requests: []engine.Request{{Task: 0}}, Offers: []engine.Offer{{Task: 1, Until: 4}}, Holds: []engine.Hold{{First: 2, Last: 3}}}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	c := g.NewContentionState()
	for id, want := range []string{"a message that it accepts", "a receive that accepts it", "its turn", "others", "others"} {
		if got := c.WaitReason(int32(id)); got != want {
			t.Errorf("task %d waits for %s, want %s", id, got, want)
		}
	}
}

// TestNeedsArrival: a task waits for the arrival of data unless it starts on the sender.
func TestNeedsArrival(t *testing.T) {
	g := &engine.Graph{}
	transfer := func(src, dst int32) int32 {
		return g.AddTask(engine.Task{Kind: engine.Transfer, Src: src, Dst: dst, Flows: 1})
	}
	from, self := transfer(0, 1), transfer(0, 0)
	for _, c := range []struct {
		from, to int32
		want     bool
	}{
		{from, transfer(1, 0), true}, {from, transfer(0, 2), false}, {from, g.AddTask(engine.ComputeAt(0, 1)), false},
		{from, g.AddTask(engine.ComputeAt(1, 1)), true}, {from, g.AddTask(engine.Task{}), true}, {self, transfer(0, 2), true},
	} {
		if got := g.NeedsArrival(engine.Edge{From: c.from, To: c.to}); got != c.want {
			t.Errorf("task %+v after %+v: %v, want %v", g.Tasks[c.to], g.Tasks[c.from], got, c.want)
		}
	}
}
