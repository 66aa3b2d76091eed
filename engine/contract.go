// This file contracts task graphs: it removes tasks of fixed duration, such as computes, so
// that the simulation of the remaining tasks is faster and has the same result.

package engine

import "slices"

// Contract returns a smaller graph with the same makespan and the same start and end of every
// retained task, on any network and under any service. Tasks for which keep returns false must
// have a fixed duration, which duration returns. They are merged into the lags of edges ("DELTA: A
// DAG-aware Efficient OCS Logical Topology Optimization Framework for AIDCs", Sec. III-A, Fig. 3b).
// Tasks of the graph's contention and messages with an overhead are always
// retained. keep and duration are called at most once per task.
//
// A task whose removal would add more edges than it removes stays as a milestone of duration
// zero, so the result is never larger than g. The first task of the result is a source at time
// zero (the virtual task of Sec. III-A), the last one a sink that ends with the graph. origin maps
// the new ids to ids of g, and source and sink to -1.
func Contract(
	g *Graph, keep func(id int32) bool, duration func(id int32) Time) (small *Graph, origin []int32, err error) {

	c := newContraction(g, keep, duration)
	c.eliminate()
	return c.build(g)
}

// arc is an out-edge of a node of a contraction.
type arc struct {
	node int32 // the node to which the arc leads
	// lag is the time from the end of the first node to the start of the second one. If the
	// first node may be removed, it is the time from its start, and includes its duration.
	lag Time
}

// contraction is a graph from which tasks are being removed. Node ids are the ids of the original
// tasks plus one. Node 0 is the source, and the last node is the sink. Slices are indexed by node.
type contraction struct {
	isRetained []bool // the node must stay
	// duration is the duration of a node that may be removed. It is included in the lags of its
	// out-edges.
	duration []Time
	in       [][]int32 // predecessors
	out      [][]arc   // out-edges
	isMerged []bool    // the node was removed
	queue    []int32   // candidates for removal
	isQueued []bool    // the node is in queue
}

// newContraction returns the graph g with a source and a sink.
func newContraction(g *Graph, keep func(int32) bool, duration func(int32) Time) *contraction {
	n := len(g.Tasks)
	c := &contraction{
		isRetained: make([]bool, n+2), duration: make([]Time, n+2), isMerged: make([]bool, n+2),
		in: make([][]int32, n+2), out: make([][]arc, n+2), isQueued: make([]bool, n+2),
	}

	source, sink := int32(0), int32(n+1)
	c.isRetained[source], c.isRetained[sink] = true, true
	for i := range int32(n) {
		v := i + 1
		hasOverhead := g.MessageOverhead > 0 && g.IsMessage(i)
		c.isRetained[v] = keep(i) || g.Competes(i) || hasOverhead
		if !c.isRetained[v] {
			c.duration[v] = duration(i)
		}

		c.out[v], c.in[v] = make([]arc, 0, len(g.Out(i))), make([]int32, 0, len(g.In(i)))
		for _, e := range g.Out(i) {
			c.out[v] = append(c.out[v], arc{e.To + 1, e.Lag + c.duration[v]})
		}
		for _, e := range g.In(i) {
			c.in[v] = append(c.in[v], e.From+1)
		}

		// Tasks without predecessors follow the source; tasks without successors precede the sink.
		if len(c.in[v]) == 0 {
			c.out[source] = append(c.out[source], arc{v, 0})
			c.in[v] = append(c.in[v], source)
		}
		if len(c.out[v]) == 0 {
			c.out[v] = append(c.out[v], arc{sink, c.duration[v]})
			c.in[sink] = append(c.in[sink], v)
		}
	}
	return c
}

// eliminate removes nodes as long as no removal adds edges. A removal can make its neighbours
// candidates again.
func (c *contraction) eliminate() {
	for v := range c.isRetained {
		c.enqueue(int32(v))
	}
	for k := 0; k < len(c.queue); k++ {
		v := c.queue[k]
		c.isQueued[v] = false
		if !c.addsEdges(v) { // the number of its edges may have changed since it was queued
			c.merge(v)
		}
	}
}

// addsEdges reports whether the removal of node v would add edges: each predecessor gets an edge to
// each successor, and the edges of v disappear.
func (c *contraction) addsEdges(v int32) bool {
	in, out := len(c.in[v]), len(c.out[v])
	return in*out > in+out
}

// enqueue adds node v to the queue if it may be removed and its removal would not add edges.
func (c *contraction) enqueue(v int32) {
	if c.isRetained[v] || c.isMerged[v] || c.isQueued[v] || c.addsEdges(v) {
		return
	}
	c.isQueued[v] = true
	c.queue = append(c.queue, v)
}

// merge removes node v and connects its predecessors to its successors.
func (c *contraction) merge(v int32) {
	c.isMerged[v] = true
	for _, u := range c.in[v] {
		index := slices.IndexFunc(c.out[u], func(a arc) bool { return a.node == v })
		before := c.out[u][index].lag
		c.out[u] = slices.Delete(c.out[u], index, index+1)
		for _, o := range c.out[v] {
			c.addArc(u, o.node, before+o.lag)
		}
	}

	for _, o := range c.out[v] {
		index := slices.Index(c.in[o.node], v)
		c.in[o.node] = slices.Delete(c.in[o.node], index, index+1)
	}

	for _, u := range c.in[v] {
		c.enqueue(u)
	}

	for _, o := range c.out[v] {
		c.enqueue(o.node)
	}
}

// addArc adds an edge from node u to node w. If there is one already, it keeps the longer lag.
func (c *contraction) addArc(u, w int32, lag Time) {
	for k := range c.out[u] {
		if c.out[u][k].node == w {
			c.out[u][k].lag = max(c.out[u][k].lag, lag)
			return
		}
	}
	c.out[u] = append(c.out[u], arc{w, lag})
	c.in[w] = append(c.in[w], u)
}

// build returns the contracted graph and the original id of each of its tasks.
func (c *contraction) build(g *Graph) (*Graph, []int32, error) {
	small := &Graph{MessageOverhead: g.MessageOverhead}
	id := make([]int32, len(c.isRetained))
	tasks, edges := 0, 0
	for v := range c.isRetained {
		if !c.isMerged[v] {
			tasks++
			edges += len(c.out[v])
		}
	}

	// Add the remaining nodes. Milestones, the source and the sink become tasks without
	// duration.
	small.Grow(tasks, edges)
	var origin []int32
	for v := range int32(len(c.isRetained)) {
		if c.isMerged[v] {
			continue
		}
		t := Task{}
		from := v - 1
		switch {
		case v == 0 || int(v) == len(c.isRetained)-1:
			from = -1
		case c.isRetained[v]:
			t = g.Tasks[from]
		}
		id[v] = small.AddTask(t)
		origin = append(origin, from)
	}

	for v := range int32(len(c.isRetained)) {
		if c.isMerged[v] {
			continue
		}
		for _, a := range c.out[v] {
			small.AddEdge(id[v], id[a.node], a.lag)
		}
	}

	small.Contention = g.Contention.Mapped(func(task int32) int32 { return id[task+1] }) // node task+1
	small.Namer = func(id int32) string {
		switch {
		case origin[id] >= 0:
			return g.Name(origin[id])
		case id == 0:
			return "start"
		}
		return "end"
	}
	if err := small.Freeze(); err != nil {
		return nil, nil, err
	}
	return small, origin, nil
}
