package engine_test

import (
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// drawGraph draws a graph whose tasks all have fixed durations.
func drawGraph(t *rapid.T, tasks int) *engine.Graph {
	g := &engine.Graph{}
	dense := rapid.IntRange(1, 6).Draw(t, "dense")
	for i := range rapid.IntRange(0, tasks).Draw(t, "tasks") {
		g.AddTask(engine.Task{Duration: engine.Time(rapid.Int64Range(0, 9).Draw(t, "duration") / 3)})
		for j := range i {
			if rapid.IntRange(0, dense).Draw(t, "edge") == 0 {
				g.AddEdge(int32(j), int32(i), engine.Time(rapid.Int64Range(0, 5).Draw(t, "lag")))
			}
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return g
}

// simulate starts every task as soon as it is ready.
func simulate(g *engine.Graph) *engine.Trace {
	n := len(g.Tasks)
	tr := &engine.Trace{Start: make([]engine.Time, n), End: make([]engine.Time, n), StepStart: make([]int32, n+1)}
	for _, id := range g.Order() {
		for _, e := range g.In(id) {
			tr.Start[id] = max(tr.Start[id], tr.End[e.From]+e.Lag)
		}
		tr.End[id] = tr.Start[id] + g.Tasks[id].Duration
		tr.Makespan = max(tr.Makespan, tr.End[id])
	}
	return tr
}

// TestContract: for any set of retained tasks and any durations of them, their starts and ends
// are the same as in the original graph, and the sink ends with the graph.
func TestContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 16)
		isRetained := make([]bool, len(g.Tasks))
		for i := range isRetained {
			isRetained[i] = rapid.IntRange(0, 2).Draw(t, "keep") == 0
		}
		small, origin, err := engine.Contract(g, func(id int32) bool { return isRetained[id] }, func(id int32) engine.Time { return g.Tasks[id].Duration })
		if err != nil {
			t.Fatal(err)
		}
		edges := g.EdgeCount() // in addition, source and sink have edges to the first and last tasks
		for i := range int32(len(g.Tasks)) {
			if len(g.In(i)) == 0 {
				edges++
			}
			if len(g.Out(i)) == 0 {
				edges++
			}
		}
		if len(small.Tasks) > len(g.Tasks)+2 || small.EdgeCount() > edges {
			t.Fatalf("%d tasks and %d edges became %d and %d", len(g.Tasks), edges, len(small.Tasks), small.EdgeCount())
		}
		newID := map[int32]int32{}
		for id, from := range origin {
			virtual := id == 0 || id == len(origin)-1
			if virtual != (from < 0) {
				t.Fatalf("task %d of %d comes from %d", id, len(origin), from)
			}
			if from < 0 {
				continue
			}
			newID[from] = int32(id)
			if isRetained[from] && small.Tasks[id] != g.Tasks[from] {
				t.Fatalf("kept task %+v became %+v", g.Tasks[from], small.Tasks[id])
			}
			if !isRetained[from] && small.Tasks[id] != (engine.Task{}) {
				t.Fatalf("a merged task stayed as %+v, no milestone", small.Tasks[id])
			}
			if small.Name(int32(id)) != g.Name(from) {
				t.Fatalf("%q became %q", g.Name(from), small.Name(int32(id)))
			}
		}
		for range 3 {
			for i := range g.Tasks {
				if isRetained[i] {
					d := engine.Time(rapid.Int64Range(0, 9).Draw(t, "new duration"))
					g.Tasks[i].Duration, small.Tasks[newID[int32(i)]].Duration = d, d
				}
			}
			want, got := simulate(g), simulate(small)
			if got.Makespan != want.Makespan || got.End[len(origin)-1] != want.Makespan {
				t.Fatalf("makespan %d, sink at %d, want %d", got.Makespan, got.End[len(origin)-1], want.Makespan)
			}
			for i := range int32(len(g.Tasks)) {
				if k := newID[i]; isRetained[i] && (got.Start[k] != want.Start[i] || got.End[k] != want.End[i]) {
					t.Fatalf("task %d runs from %d to %d, want %d to %d", i, got.Start[k], got.End[k], want.Start[i], want.End[i])
				}
			}
		}
	})
}

// TestContractMergesAll: a chain of computes around one transfer becomes two lags (DELTA, Fig. 3b).
func TestContractMergesAll(t *testing.T) {
	g := &engine.Graph{}
	for i := range int32(7) {
		k := engine.Task{Duration: 10}
		if i == 3 {
			k = engine.Task{Kind: engine.Transfer, Flows: 2, Bytes: 5}
		}
		g.AddTask(k)
		if i > 0 {
			g.AddEdge(i-1, i, 1)
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	small, origin, err := engine.Contract(g, func(id int32) bool { return id == 3 }, func(id int32) engine.Time { return g.Tasks[id].Duration })
	if err != nil {
		t.Fatal(err)
	}
	if len(small.Tasks) != 3 || small.EdgeCount() != 2 || origin[1] != 3 {
		t.Fatalf("%d tasks, %d edges, origin %v", len(small.Tasks), small.EdgeCount(), origin)
	}
	if before, after := small.Out(0)[0].Lag, small.Out(1)[0].Lag; before != 33 || after != 33 {
		t.Errorf("lags %d and %d, want 33 and 33", before, after)
	}
	if small.Name(0) != "start" || small.Name(2) != "end" {
		t.Errorf("virtual tasks are called %q and %q", small.Name(0), small.Name(2))
	}
}

// TestCriticalPath: the path is contiguous, its first task waits for no other, it ends at the
// makespan, and it is the path with the lowest ids.
func TestCriticalPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 14)
		tr := simulate(g)
		path := tr.CriticalPath(g)
		if len(g.Tasks) == 0 {
			if path != nil {
				t.Fatalf("path %v of no tasks", path)
			}
			return
		}
		for id, end := range tr.End {
			if end == tr.Makespan {
				if last := path[len(path)-1]; int(last) != id {
					t.Fatalf("path %v ends with %d, want %d", path, last, id)
				}
				break
			}
		}
		if tr.Start[path[0]] != 0 || len(g.In(path[0])) > 0 && decidingPredecessor(g, tr, path[0]) >= 0 {
			t.Fatalf("path %v does not start at the start", path)
		}
		for k := 1; k < len(path); k++ {
			if want := decidingPredecessor(g, tr, path[k]); path[k-1] != want {
				t.Fatalf("path %v: %d is bound by %d", path, path[k], want)
			}
		}
	})
}

// decidingPredecessor returns the lowest task whose end determined the start of id, -1 if id
// waited for no task.
func decidingPredecessor(g *engine.Graph, tr *engine.Trace, id int32) int32 {
	for _, e := range g.In(id) {
		if tr.End[e.From]+e.Lag == tr.Start[id] {
			return e.From
		}
	}
	return -1
}

// TestContractStops: two consecutive milestones have two predecessors and two successors. Only
// one of them can be merged without adding an edge.
func TestContractStops(t *testing.T) {
	const a1, a2, c, b, d1, d2, v, w = 0, 1, 2, 3, 4, 5, 6, 7
	g := &engine.Graph{Tasks: make([]engine.Task, 8)}
	for _, e := range [][2]int32{{a1, v}, {a2, v}, {v, w}, {v, b}, {c, w}, {w, d1}, {w, d2}} {
		g.AddEdge(e[0], e[1], 1)
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	small, _, err := engine.Contract(g, func(id int32) bool { return id < v }, func(int32) engine.Time { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	// Source, sink and one milestone are added to the six tasks, and their edges to the seven edges.
	if len(small.Tasks) != 9 || small.EdgeCount() != 7+6 {
		t.Errorf("%d tasks and %d edges, want 9 and 13", len(small.Tasks), small.EdgeCount())
	}
}
