package topology

import "slices"

// indexWindows is Alg. 1 (TaskTimeIndexPruning), Steps 1 to 3: the least and the largest interval index in which each
// task can be active when there are k intervals. from and to are the anchors, by task; nil is topological sorting
// alone. Only tasks that others wait for are anchored (M_succ).
//
// A task takes at least one interval, so that its successor starts at least one index later; and at least two where
// some time must pass between the end of the one and the start of the other, as both are events and bound an idle
// interval. Milestones, the source and the sink take no interval and are no events: what counts for two tasks joined
// through them is whether any edge on the way has a lag, or any task of fixed duration lies on it. A node that is no
// task therefore passes two bounds on, of what reached it without a lag and with one; only the first grows at the next
// edge with a lag.
func (p *Problem) indexWindows(tasks []int32, k int, from, to []int) (lowest, highest []int) {
	lowest, highest = make([]int, len(tasks)), make([]int, len(tasks))
	at := slices.Repeat([]int32{-1}, len(p.Graph.Tasks)) // by task of the graph, its place in tasks
	for i, id := range tasks {
		at[id] = int32(i)
	}
	order := p.Graph.Order()
	succ := p.precedesTransfer(at)
	for i, id := range tasks {
		lowest[i], highest[i] = 1, k
		if from != nil && succ[id] {
			lowest[i], highest[i] = max(1, from[i]), min(k, to[i])
		}
	}

	// Step 2: forward. near is the least index that a task may have if it follows without a lag, far if it follows at
	// one.
	reached, reachedByLag := make([]int, len(at)), make([]int, len(at))
	for _, v := range order {
		for _, e := range p.Graph.In(v) {
			if e.Lag > 0 {
				reachedByLag[v] = max(reachedByLag[v], reachedByLag[e.From], reached[e.From]+1)
			} else {
				reached[v], reachedByLag[v] = max(reached[v], reached[e.From]), max(reachedByLag[v], reachedByLag[e.From])
			}
		}
		if i := at[v]; i >= 0 {
			lowest[i] = max(lowest[i], reached[v], reachedByLag[v])
			reached[v], reachedByLag[v] = lowest[i]+1, 0
		} else if p.Graph.Tasks[v].Duration > 0 {
			reachedByLag[v] = max(reachedByLag[v], reached[v]+1)
		}
	}

	// Step 3: backward, likewise.
	for v := range reached {
		reached[v], reachedByLag[v] = k+1, k+1
	}
	for _, u := range slices.Backward(order) {
		for _, e := range p.Graph.Out(u) {
			if e.Lag > 0 {
				reachedByLag[u] = min(reachedByLag[u], reachedByLag[e.To], reached[e.To]-1)
			} else {
				reached[u], reachedByLag[u] = min(reached[u], reached[e.To]), min(reachedByLag[u], reachedByLag[e.To])
			}
		}
		if i := at[u]; i >= 0 {
			highest[i] = min(highest[i], reached[u], reachedByLag[u])
			reached[u], reachedByLag[u] = highest[i]-1, k+1
		} else if p.Graph.Tasks[u].Duration > 0 {
			reachedByLag[u] = min(reachedByLag[u], reached[u]-1)
		}
	}
	return lowest, highest
}

// precedesTransfer returns, by task of the graph, whether a transfer waits for it: the paper's M_succ among the transfers.
func (p *Problem) precedesTransfer(at []int32) []bool {
	succ := make([]bool, len(at))
	for _, u := range slices.Backward(p.Graph.Order()) {
		for _, e := range p.Graph.Out(u) {
			succ[u] = succ[u] || at[e.To] >= 0 || succ[e.To]
		}
	}
	return succ
}
