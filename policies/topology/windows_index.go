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
func (p *Problem) indexWindows(tasks []int32, k int, from, to []int) (least, largest []int) {
	least, largest = make([]int, len(tasks)), make([]int, len(tasks))
	at := slices.Repeat([]int32{-1}, len(p.Graph.Tasks)) // by task of the graph, its place in tasks
	for i, id := range tasks {
		at[id] = int32(i)
	}
	order := p.Graph.Order()
	succ := p.followed(at)
	for i, id := range tasks {
		least[i], largest[i] = 1, k
		if from != nil && succ[id] {
			least[i], largest[i] = max(1, from[i]), min(k, to[i])
		}
	}

	// Step 2: forward. near is the least index that a task may have if it follows without a lag, far if it follows at
	// one.
	near, far := make([]int, len(at)), make([]int, len(at))
	for _, v := range order {
		for _, e := range p.Graph.In(v) {
			if e.Lag > 0 {
				far[v] = max(far[v], far[e.From], near[e.From]+1)
			} else {
				near[v], far[v] = max(near[v], near[e.From]), max(far[v], far[e.From])
			}
		}
		if i := at[v]; i >= 0 {
			least[i] = max(least[i], near[v], far[v])
			near[v], far[v] = least[i]+1, 0
		} else if p.Graph.Tasks[v].Duration > 0 {
			far[v] = max(far[v], near[v]+1)
		}
	}

	// Step 3: backward, likewise.
	for v := range near {
		near[v], far[v] = k+1, k+1
	}
	for _, u := range slices.Backward(order) {
		for _, e := range p.Graph.Out(u) {
			if e.Lag > 0 {
				far[u] = min(far[u], far[e.To], near[e.To]-1)
			} else {
				near[u], far[u] = min(near[u], near[e.To]), min(far[u], far[e.To])
			}
		}
		if i := at[u]; i >= 0 {
			largest[i] = min(largest[i], near[u], far[u])
			near[u], far[u] = largest[i]-1, k+1
		} else if p.Graph.Tasks[u].Duration > 0 {
			far[u] = min(far[u], near[u]-1)
		}
	}
	return least, largest
}

// followed returns, by task of the graph, whether a transfer waits for it: the paper's M_succ among the transfers.
func (p *Problem) followed(at []int32) []bool {
	succ := make([]bool, len(at))
	for _, u := range slices.Backward(p.Graph.Order()) {
		for _, e := range p.Graph.Out(u) {
			succ[u] = succ[u] || at[e.To] >= 0 || succ[e.To]
		}
	}
	return succ
}
