package topology

import "slices"

// indexWindows is Alg. 1 (TaskTimeIndexPruning), Steps 1 to 3. It returns the lowest and
// the highest interval index at which each task can be active if there are k intervals.
// from and to are the anchors, indexed by task; nil means precedence alone. Only tasks
// that other transfers wait for are anchored (M_succ).
//
// A task takes at least one interval, so its successor starts at least one index later.
// It starts at least two indices later if time must pass between the two, because the end
// and the start are both events that bound an idle interval. Milestones, the source and
// the sink take no interval and are no events. Two tasks joined through them are
// separated by an idle interval if any edge between them has a lag, or if any task
// between them has a duration.
//
// Nodes that are no tasks therefore propagate two bounds: one for paths without a lag and
// one for paths with a lag. Only the first grows at the next edge with a lag.
func (p *Problem) indexWindows(tasks []int32, k int, from, to []int) (lowest, highest []int) {
	lowest, highest = make([]int, len(tasks)), make([]int, len(tasks))
	// The index in tasks of each graph task; -1 if it is not in tasks.
	index := slices.Repeat([]int32{-1}, len(p.Graph.Tasks))
	for i, id := range tasks {
		index[id] = int32(i)
	}
	order := p.Graph.Order()
	succ := p.precedesTransfer(index)
	for i, id := range tasks {
		lowest[i], highest[i] = 1, k
		if from != nil && succ[id] {
			lowest[i], highest[i] = max(1, from[i]), min(k, to[i])
		}
	}

	// Step 2: forward propagation. reached is the lowest index permitted by paths without
	// a lag, reachedByLag by paths with a lag.
	reached, reachedByLag := make([]int, len(index)), make([]int, len(index))
	for _, v := range order {
		for _, e := range p.Graph.In(v) {
			if e.Lag > 0 {
				reachedByLag[v] = max(reachedByLag[v], reachedByLag[e.From], reached[e.From]+1)
			} else {
				reached[v], reachedByLag[v] = max(reached[v], reached[e.From]),
					max(reachedByLag[v], reachedByLag[e.From])
			}
		}
		if i := index[v]; i >= 0 {
			lowest[i] = max(lowest[i], reached[v], reachedByLag[v])
			reached[v], reachedByLag[v] = lowest[i]+1, 0
		} else if p.Graph.Tasks[v].Duration > 0 {
			reachedByLag[v] = max(reachedByLag[v], reached[v]+1)
		}
	}

	// Step 3: backward propagation, symmetric to step 2.
	for v := range reached {
		reached[v], reachedByLag[v] = k+1, k+1
	}
	for _, u := range slices.Backward(order) {
		for _, e := range p.Graph.Out(u) {
			if e.Lag > 0 {
				reachedByLag[u] = min(reachedByLag[u], reachedByLag[e.To], reached[e.To]-1)
			} else {
				reached[u], reachedByLag[u] = min(reached[u], reached[e.To]),
					min(reachedByLag[u], reachedByLag[e.To])
			}
		}
		if i := index[u]; i >= 0 {
			highest[i] = min(highest[i], reached[u], reachedByLag[u])
			reached[u], reachedByLag[u] = highest[i]-1, k+1
		} else if p.Graph.Tasks[u].Duration > 0 {
			reachedByLag[u] = min(reachedByLag[u], reached[u]-1)
		}
	}

	return lowest, highest
}

// precedesTransfer reports, for each task of the graph, whether a transfer waits for it:
// M_succ of the paper among the transfers.
func (p *Problem) precedesTransfer(index []int32) []bool {
	succ := make([]bool, len(index))
	for _, u := range slices.Backward(p.Graph.Order()) {
		for _, e := range p.Graph.Out(u) {
			succ[u] = succ[u] || index[e.To] >= 0 || succ[e.To]
		}
	}
	return succ
}
