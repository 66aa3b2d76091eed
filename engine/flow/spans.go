package flow

// Spans describes the tasks of a graph if every transfer runs at its full rate, that is the rate
// it has on an otherwise empty network. Slices are indexed by task. Times are in ticks and need
// not be whole numbers.
type Spans struct {
	Full []float64 // full rate over all flows, in bits per second; 0 for tasks that use no resource
	Head []float64 // earliest start
	Tail []float64 // longest path from the task's end to the end of the graph
}

// Spans returns the full rates, heads and tails at the current capacities. At these or lower
// capacities no run starts a task before its head, and none ends the graph before the task's
// end plus its tail, whatever the service. Times are exact up to rounding to ticks.
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

// LongestPath appends to path the tasks of a longest path through the graph, in order, with
// every transfer at its full rate at the current capacities.
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
