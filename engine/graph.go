package engine

import (
	"errors"
	"fmt"
	"slices"

	"sim/internal/csr"
)

// Kind says what a task does.
type Kind uint8

const (
	// Compute tasks last Task.Duration and use no network. A compute task of duration zero is a milestone: it only
	// joins dependencies.
	Compute Kind = iota
	// Transfer tasks move Task.Bytes from Task.Src to Task.Dst.
	Transfer
)

// Task is a node of a Graph. A transfer names its end points, never the links between them: the same graph runs on any
// network under any routes. A compute task may name the node that it runs on (ComputeAt).
type Task struct {
	Kind     Kind
	Duration Time  // of a compute task
	Src, Dst int32 // nodes, of a transfer; of a compute task with Flows 1 the node that it runs on
	Flows    int32 // parallel flows that a transfer aggregates, at least 1; they share its rate equally
	Bytes    int64 // of a transfer, over all its flows
	// Priority orders transfers under the priority discipline where levels are not used: larger goes first.
	Priority int64
}

// ComputeAt returns a compute task that runs on one node.
func ComputeAt(node int32, d Time) Task { return Task{Duration: d, Src: node, Dst: node, Flows: 1} }

// IsLocated reports whether a task starts on one node, Src.
func (t *Task) IsLocated() bool { return t.Kind == Transfer || t.Flows > 0 }

// Edge is a dependency: task To starts no sooner than Lag after From ends.
type Edge struct {
	From, To int32
	Lag      Time
}

// Graph is a directed acyclic graph of tasks. The zero value is empty and ready to use; after the last AddTask and
// AddEdge call Freeze.
type Graph struct {
	Tasks []Task
	// Namer names a task in messages and traces. nil names it by its id.
	Namer func(id int32) string
	// Contention is what tasks compete for besides the network. Freeze checks it.
	Contention Contention
	// MessageOverhead is how long starting a message (see IsMessage) occupies its source node. A node starts one message
	// at a time, in the order in which they become ready; those that become ready together in order of id.
	MessageOverhead Time

	contention *contentionIndex // of Contention after Freeze; nil if that is empty
	edges      []Edge
	// Compressed rows after Freeze: the out-edges of task i are out[outStart[i]:outStart[i+1]], and likewise into.
	outStart, inStart []int32
	out, in           []Edge
	order             []int32
}

// ErrCycle is wrapped by Freeze when the dependencies are cyclic.
var ErrCycle = errors.New("engine: dependencies form a cycle")

// NeedsArrival reports whether the task e.To waits until the data of e.From has arrived, if that
// is a transfer. A task on the node that sends the data waits only until the last bit has left.
func (g *Graph) NeedsArrival(e Edge) bool {
	from, to := &g.Tasks[e.From], &g.Tasks[e.To]
	return from.Src == from.Dst || !to.IsLocated() || to.Src != from.Src
}

// Grow makes room for that many more tasks and edges.
func (g *Graph) Grow(tasks, edges int) {
	g.Tasks = slices.Grow(g.Tasks, tasks)
	g.edges = slices.Grow(g.edges, edges)
}

// AddTask appends t and returns its id.
func (g *Graph) AddTask(t Task) int32 {
	g.Tasks = append(g.Tasks, t)
	return int32(len(g.Tasks) - 1)
}

// AddEdge makes to depend on from with the given lag. Of several edges between the same two tasks the one with the
// longest lag is kept by Freeze.
func (g *Graph) AddEdge(from, to int32, lag Time) {
	g.edges = append(g.edges, Edge{from, to, lag})
}

// Name returns the name of task id.
func (g *Graph) Name(id int32) string {
	if g.Namer != nil {
		return g.Namer(id)
	}
	return fmt.Sprintf("task %d", id)
}

// Out returns the edges that leave task id, ordered by their heads. Read only.
func (g *Graph) Out(id int32) []Edge { return g.out[g.outStart[id]:g.outStart[id+1]] }

// In returns the edges that enter task id, ordered by their tails. Read only.
func (g *Graph) In(id int32) []Edge { return g.in[g.inStart[id]:g.inStart[id+1]] }

// Order returns a topological order of the tasks. Read only.
func (g *Graph) Order() []int32 { return g.order }

// EdgeCount returns the number of edges kept by Freeze.
func (g *Graph) EdgeCount() int { return len(g.out) }

// Freeze checks the graph and builds its adjacency. It fails on an edge to a task that does not exist, a negative lag,
// duration or size, a transfer of no flows, and on a cycle (ErrCycle, naming a task on it).
func (g *Graph) Freeze() error {
	n := int32(len(g.Tasks))
	for i := range g.Tasks {
		t := &g.Tasks[i]
		switch {
		case t.Kind == Transfer && t.Src < 0 && g.MessageOverhead > 0:
			return fmt.Errorf("engine: transfer %s has source %d, want a node", g.Name(int32(i)), t.Src)
		case t.Duration < 0 || t.Bytes < 0 || g.MessageOverhead < 0:
			return fmt.Errorf("engine: %s has a negative duration or size", g.Name(int32(i)))
		case t.Kind == Transfer && t.Flows < 1:
			return fmt.Errorf("engine: transfer %s has %d flows, want at least 1", g.Name(int32(i)), t.Flows)
		}
	}
	for _, e := range g.edges {
		if e.From < 0 || e.From >= n || e.To < 0 || e.To >= n {
			return fmt.Errorf("engine: edge %d -> %d leaves the graph of %d tasks", e.From, e.To, n)
		}
		if e.Lag < 0 {
			return fmt.Errorf("engine: edge %s -> %s has negative lag %v", g.Name(e.From), g.Name(e.To), e.Lag)
		}
	}
	_, byTo := csr.Sort(g.edges, int(n), func(e Edge) int32 { return e.To })
	g.outStart, g.out = mergeParallel(csr.Sort(byTo, int(n), func(e Edge) int32 { return e.From }))
	g.inStart, g.in = csr.Sort(g.out, int(n), func(e Edge) int32 { return e.To })
	g.edges = g.out
	if g.contention = nil; !g.Contention.IsEmpty() {
		var err error
		if g.contention, err = g.Contention.index(g); err != nil {
			return err
		}
	}
	return g.sortTopologically()
}

// Competes reports whether a task has a part in the graph's contention.
func (g *Graph) Competes(id int32) bool { return g.contention != nil && g.contention.role[id] != 0 }

// mergeParallel keeps, of parallel edges, the one with the longest lag. Rows must be ordered by head.
func mergeParallel(rows []int32, edges []Edge) (start []int32, out []Edge) {
	start, out = make([]int32, len(rows)), make([]Edge, 0, len(edges))
	for i := range len(rows) - 1 {
		start[i] = int32(len(out))
		for _, e := range edges[rows[i]:rows[i+1]] {
			if k := len(out); k > int(start[i]) && out[k-1].To == e.To {
				out[k-1].Lag = max(out[k-1].Lag, e.Lag)
				continue
			}
			out = append(out, e)
		}
	}
	start[len(rows)-1] = int32(len(out))
	return start, out
}

// sortTopologically computes the topological order (Kahn), lowest id first among the ready in order of becoming ready.
func (g *Graph) sortTopologically() error {
	n := len(g.Tasks)
	pending := make([]int32, n)
	g.order = make([]int32, 0, n)
	for i := range n {
		pending[i] = g.inStart[i+1] - g.inStart[i]
		if pending[i] == 0 {
			g.order = append(g.order, int32(i))
		}
	}
	for k := 0; k < len(g.order); k++ {
		for _, e := range g.Out(g.order[k]) {
			if pending[e.To]--; pending[e.To] == 0 {
				g.order = append(g.order, e.To)
			}
		}
	}
	if len(g.order) < n {
		waits := func(e Edge) bool { return pending[e.From] > 0 }
		id := int32(slices.IndexFunc(pending, func(k int32) bool { return k > 0 }))
		for range n { // every task that waits has one before it; so back, to the cycle
			in := g.In(id)
			id = in[slices.IndexFunc(in, waits)].From
		}
		return fmt.Errorf("%w: %s waits for itself", ErrCycle, g.Name(id))
	}
	return nil
}
