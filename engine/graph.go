// This file defines task graphs: the compute tasks and transfers of a workload, and the
// dependencies between them.

package engine

import (
	"errors"
	"fmt"
	"slices"

	"sim/internal/csr"
)

// Kind distinguishes compute tasks and transfers.
type Kind uint8

const (
	// Compute tasks run for Task.Duration and use no network. A compute task of duration zero is a
	// milestone, which only joins dependencies.
	Compute Kind = iota
	// Transfer tasks move Task.Bytes from Task.Src to Task.Dst.
	Transfer
)

// Task is a node of a Graph. A transfer has endpoints but no links, so the same graph can run on
// any network with any routes. A compute task may name the node it runs on; see ComputeAt.
type Task struct {
	Kind     Kind
	Duration Time // of a compute task
	// Src and Dst are the source and the destination node of a transfer. Both are the node
	// of a compute task that is located (see Flows).
	Src, Dst int32
	// Flows is the number of parallel flows of a transfer, at least 1; they share its rate
	// equally. For a compute task it is 1 if the task runs on node Src, and 0 if it has no
	// node.
	Flows int32
	Bytes int64 // size of a transfer over all its flows
	// Priority orders transfers if the network serves them by fixed priority; larger values
	// go first.
	Priority int64
}

// ComputeAt returns a compute task that runs on one node.
func ComputeAt(node int32, d Time) Task { return Task{Duration: d, Src: node, Dst: node, Flows: 1} }

// IsLocated reports whether a task starts on a specific node, Src.
func (t *Task) IsLocated() bool { return t.Kind == Transfer || t.Flows > 0 }

// Edge is a dependency: task To starts at the earliest Lag after the end of task From.
type Edge struct {
	From, To int32
	Lag      Time
}

// Graph is a directed acyclic graph of tasks. The zero value is an empty graph. Call Freeze after
// the last AddTask and AddEdge.
type Graph struct {
	Tasks []Task
	// Namer returns the name of a task in messages and traces. If nil, the name contains the id.
	Namer func(id int32) string
	// Contention describes servers that compute tasks occupy, and boxes in which messages wait
	// for receives. Freeze checks it.
	Contention Contention
	// MessageOverhead is the time for which the start of a message occupies its source node,
	// such as the overhead o of the LogP model. A message is a transfer of at least one byte
	// (IsMessage). A node starts one message at a time, in the order in which they become
	// ready and then in order of id.
	MessageOverhead Time

	contention *contentionIndex // index of Contention, set by Freeze; nil if it is empty
	edges      []Edge           // in the order of AddEdge; sorted by Freeze
	// Edges in compressed sparse rows (package csr), set by Freeze: the out-edges of task i
	// are out[outStart[i]:outStart[i+1]], and likewise for the in-edges.
	outStart, inStart []int32
	out, in           []Edge
	order             []int32 // topological order, set by Freeze
}

// ErrCycle is wrapped by Freeze if the dependencies contain a cycle.
var ErrCycle = errors.New("engine: dependencies form a cycle")

// NeedsArrival reports whether task e.To waits until the data of transfer e.From have arrived.
// If it is false, e.To is on the node that sends the data, and waits only until the last bit has
// left.
//
// A transfer from a node to itself arrives at the node that sends it, so its successors on that
// node need the arrival too. The result has no meaning if e.From is a compute task, whose data do not
// travel.
func (g *Graph) NeedsArrival(e Edge) bool {
	from, to := &g.Tasks[e.From], &g.Tasks[e.To]
	isOnSender := to.IsLocated() && to.Src == from.Src
	isLoop := from.Src == from.Dst
	return !isOnSender || isLoop
}

// Grow reserves capacity for the given numbers of additional tasks and edges.
func (g *Graph) Grow(tasks, edges int) {
	g.Tasks = slices.Grow(g.Tasks, tasks)
	g.edges = slices.Grow(g.edges, edges)
}

// AddTask appends t and returns its id.
func (g *Graph) AddTask(t Task) int32 {
	g.Tasks = append(g.Tasks, t)
	return int32(len(g.Tasks) - 1)
}

// AddEdge makes to depend on from with the given lag. If several edges connect the same two tasks,
// Freeze keeps the longest lag.
func (g *Graph) AddEdge(from, to int32, lag Time) {
	g.edges = append(g.edges, Edge{from, to, lag})
}

// AddDependency is AddEdge without a lag.
func (g *Graph) AddDependency(from, to int32) { g.AddEdge(from, to, 0) }

// Name returns the name of task id.
func (g *Graph) Name(id int32) string {
	if g.Namer != nil {
		return g.Namer(id)
	}
	return fmt.Sprintf("task %d", id)
}

// Out returns the out-edges of task id, in order of To. The slice must not be modified.
func (g *Graph) Out(id int32) []Edge { return g.out[g.outStart[id]:g.outStart[id+1]] }

// In returns the in-edges of task id, in order of From. The slice must not be modified.
func (g *Graph) In(id int32) []Edge { return g.in[g.inStart[id]:g.inStart[id+1]] }

// Order returns a topological order of the tasks. The slice must not be modified.
func (g *Graph) Order() []int32 { return g.order }

// EdgeCount returns the number of edges after Freeze.
func (g *Graph) EdgeCount() int { return len(g.out) }

// Freeze checks the graph, indexes its edges and sorts its tasks topologically. It returns an error
// for an edge to a task that does not exist, a negative lag, duration, size or message overhead, a
// transfer without flows, or an invalid contention. If messages have an overhead, it also rejects a
// transfer without a source node, because that node would be occupied. For a cycle it returns an
// error that wraps ErrCycle and names a task on the cycle.
func (g *Graph) Freeze() error {
	n := int32(len(g.Tasks))
	for i := range g.Tasks {
		t := &g.Tasks[i]
		switch {
		case t.Kind == Transfer && t.Src < 0 && g.MessageOverhead > 0:
			return fmt.Errorf("engine: transfer %s has source %d, want a node",
				g.Name(int32(i)), t.Src)
		case t.Duration < 0 || t.Bytes < 0 || g.MessageOverhead < 0:
			return fmt.Errorf("engine: %s has a negative duration or size", g.Name(int32(i)))
		case t.Kind == Transfer && t.Flows < 1:
			return fmt.Errorf("engine: transfer %s has %d flows, want at least 1",
				g.Name(int32(i)), t.Flows)
		}
	}

	for _, e := range g.edges {
		if e.From < 0 || e.From >= n || e.To < 0 || e.To >= n {
			return fmt.Errorf("engine: edge %d -> %d leaves the graph of %d tasks", e.From, e.To, n)
		}
		if e.Lag < 0 {
			return fmt.Errorf("engine: edge %s -> %s has negative lag %v",
				g.Name(e.From), g.Name(e.To), e.Lag)
		}
	}

	// The sort is stable: sorting by To and then by From sorts each row of out-edges by To.
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

// Competes reports whether a task has a role in the graph's contention.
func (g *Graph) Competes(id int32) bool { return g.contention != nil && g.contention.role[id] != 0 }

// mergeParallel merges parallel edges into one with the longest lag. The edges of each row must
// be sorted by To.
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

// sortTopologically computes the topological order by Kahn's algorithm ("Topological Sorting of
// Large Networks", CACM 5, 1962). Tasks without predecessors come first, in order of id. The others
// follow in the order in which their last predecessor was placed.
func (g *Graph) sortTopologically() error {
	n := len(g.Tasks)
	pending := make([]int32, n) // predecessors that have no place in the order yet
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
		isWaiting := func(e Edge) bool { return pending[e.From] > 0 }
		id := int32(slices.IndexFunc(pending, func(k int32) bool { return k > 0 }))

		// Every waiting task has a waiting predecessor, so n steps back lead to a task on a cycle.
		for range n {
			in := g.In(id)
			id = in[slices.IndexFunc(in, isWaiting)].From
		}
		return fmt.Errorf("%w: %s waits for itself", ErrCycle, g.Name(id))
	}
	return nil
}
