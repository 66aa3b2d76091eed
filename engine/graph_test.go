package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

func TestFreezeRejectsInvalid(t *testing.T) {
	transfer := engine.Task{Kind: engine.Transfer, Flows: 1}
	for _, c := range []struct {
		name  string
		build func(g *engine.Graph)
		want  string
	}{
		{"negative duration", func(g *engine.Graph) { g.AddTask(engine.Task{Duration: -1}) }, "task 0 has a negative duration or size"},
		{"negative size", func(g *engine.Graph) { g.AddTask(engine.Task{Kind: engine.Transfer, Flows: 1, Bytes: -1}) }, "task 0 has a negative duration or size"},
		{"no flows", func(g *engine.Graph) { g.AddTask(engine.Task{Kind: engine.Transfer}) }, "transfer task 0 has 0 flows"},
		{"edge out of the graph", func(g *engine.Graph) { g.AddTask(transfer); g.AddEdge(0, 1, 0) }, "edge 0 -> 1 leaves the graph of 1 tasks"},
		{"edge into the graph", func(g *engine.Graph) { g.AddTask(transfer); g.AddEdge(-1, 0, 0) }, "edge -1 -> 0 leaves the graph"},
		{"negative lag", func(g *engine.Graph) { g.AddTask(transfer); g.AddTask(transfer); g.AddEdge(0, 1, -3) }, "edge task 0 -> task 1 has negative lag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &engine.Graph{}
			c.build(g)
			if err := g.Freeze(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestFreezeNamesTaskOnCycle: the graph has two tasks before a cycle of three and one behind it.
// The message names a task of the cycle.
func TestFreezeNamesTaskOnCycle(t *testing.T) {
	names := []string{"before", "a", "b", "c", "behind", "far"}
	g := &engine.Graph{Namer: func(id int32) string { return names[id] }}
	for range names {
		g.AddTask(engine.Task{})
	}
	for _, e := range [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 5}} {
		g.AddEdge(e[0], e[1], 0)
	}
	err := g.Freeze()
	if !errors.Is(err, engine.ErrCycle) {
		t.Fatalf("error %v, want ErrCycle", err)
	}
	if !slices.ContainsFunc([]string{": a ", ": b ", ": c "}, func(s string) bool { return strings.Contains(err.Error(), s) }) {
		t.Errorf("%q names no task of the cycle", err)
	}
}

// TestFreezeNamesTaskOnLateCycle: a task behind the cycle has a lower id than the tasks on it. The
// message does not name that task.
func TestFreezeNamesTaskOnLateCycle(t *testing.T) {
	names := []string{"behind", "a", "b"}
	g := &engine.Graph{Namer: func(id int32) string { return names[id] }}
	for range names {
		g.AddTask(engine.Task{})
	}
	g.AddEdge(1, 2, 0)
	g.AddEdge(2, 1, 0)
	g.AddEdge(2, 0, 0)
	err := g.Freeze()
	if !errors.Is(err, engine.ErrCycle) {
		t.Fatalf("error %v, want ErrCycle", err)
	}
	if strings.Contains(err.Error(), "behind waits for itself") {
		t.Errorf("%q names a task that is not on the cycle", err)
	}
}

func TestFreezeSelfEdge(t *testing.T) {
	g := &engine.Graph{}
	g.AddTask(engine.Task{})
	g.AddEdge(0, 0, 5)
	if err := g.Freeze(); !errors.Is(err, engine.ErrCycle) {
		t.Errorf("error %v, want ErrCycle", err)
	}
}

// TestFreeze compares adjacency, merged edges and order with a map of the longest lags.
func TestFreeze(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(1, 12).Draw(t, "tasks")
		rank := rapid.Permutation(seq(n)).Draw(t, "rank") // edges lead to a higher rank, so that ids are in random order
		g := &engine.Graph{}
		for range n {
			g.AddTask(engine.Task{})
		}
		lags := map[[2]int32]engine.Time{}
		for range rapid.IntRange(0, 40).Draw(t, "edges") {
			a, b := rapid.Int32Range(0, n-1).Draw(t, "a"), rapid.Int32Range(0, n-1).Draw(t, "b")
			if a == b {
				continue
			}
			e := [2]int32{rank[min(a, b)], rank[max(a, b)]}
			lag := engine.Time(rapid.Int64Range(0, 9).Draw(t, "lag"))
			g.AddEdge(e[0], e[1], lag)
			if old, ok := lags[e]; !ok || lag > old {
				lags[e] = lag
			}
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		for again := range 2 { // a second Freeze changes nothing
			if g.EdgeCount() != len(lags) {
				t.Fatalf("freeze %d: %d edges, want %d", again, g.EdgeCount(), len(lags))
			}
			for _, side := range []func(int32) []engine.Edge{g.Out, g.In} {
				count := 0
				for i := range n {
					for _, e := range side(i) {
						if want, ok := lags[[2]int32{e.From, e.To}]; !ok || e.Lag != want {
							t.Fatalf("edge %v, want lag %v (%v)", e, want, ok)
						}
						count++
					}
				}
				if count != len(lags) {
					t.Fatalf("%d edges on a side, want %d", count, len(lags))
				}
			}
			for i := range n {
				if !slices.IsSortedFunc(g.Out(i), func(a, b engine.Edge) int { return int(a.To - b.To) }) {
					t.Fatalf("out-edges %v are not ordered by head", g.Out(i))
				}
				if !slices.IsSortedFunc(g.In(i), func(a, b engine.Edge) int { return int(a.From - b.From) }) {
					t.Fatalf("in-edges %v are not ordered by tail", g.In(i))
				}
			}
			position := make([]int, n)
			for k, id := range g.Order() {
				position[id] = k
			}
			for e := range lags {
				if position[e[0]] >= position[e[1]] {
					t.Fatalf("order %v against edge %v", g.Order(), e)
				}
			}
			if len(g.Order()) != int(n) {
				t.Fatalf("order %v of %d tasks", g.Order(), n)
			}
			if err := g.Freeze(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func seq(n int32) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}
