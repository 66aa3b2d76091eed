package flow

// Spans is what a graph says of its tasks when every transfer runs at the full rate that the network allows it alone.
// Times are in ticks and need not be whole; slices are by task.
type Spans struct {
	Full []float64 // rate over all flows in bits per second; 0 for tasks that use no resource
	Head []float64 // earliest start
	Tail []float64 // longest path from its end to the end of the graph
}

// Spans returns the full rates, heads and tails at the current capacities. No run at these capacities or lower ones,
// under whatever service, starts a task before its head or ends the graph sooner than its tail after the task's end,
// but for the rounding of times to ticks.
func (e *Evaluator) Spans() Spans {
	p, m := &e.sim.paths, e.sim.model
	p.computeFullRates(e.sim)
	p.computeTails(m)
	p.computeHeads(m)
	s := Spans{
		Full: make([]float64, m.graphTasks),
		Head: append([]float64(nil), p.head[:m.graphTasks]...),
		Tail: append([]float64(nil), p.tail[:m.graphTasks]...),
	}
	for i := range s.Full {
		if m.fixedDuration[i] < 0 {
			s.Full[i] = p.fullRate[i] / perTick
		}
	}
	return s
}

// LongestPath appends the tasks of a longest path through the graph to path, every transfer at the full rate that the
// network allows it alone at the current capacities, in their order.
func (e *Evaluator) LongestPath(path []int32) []int32 {
	z := e.sim
	p, m := &z.paths, z.model
	z.workSincePoll += z.tasks + len(z.outTo)
	p.computeFullRates(z)
	p.computeTails(m)
	task := int32(-1)
	for i := range int32(m.tasks) {
		if m.numPreds[i] == 0 && (task < 0 || p.span[i] > p.span[task]) {
			task = i
		}
	}
	for task >= 0 {
		if int(task) < m.graphTasks {
			path = append(path, task)
		}
		next := int32(-1)
		for k := m.outStart[task]; k < m.outStart[task+1] && next < 0; k++ {
			if to := m.outTo[k]; float64(m.outLag[k])+p.span[to] == p.tail[task] {
				next = to
			}
		}
		task = next
	}
	return path
}
