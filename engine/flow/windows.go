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
	p, m := &e.z.path, e.z.model
	p.fullRates(e.z)
	p.computeTails(m)
	p.computeHeads(m)
	s := Spans{
		Full: make([]float64, m.tasks),
		Head: append([]float64(nil), p.head...),
		Tail: append([]float64(nil), p.tail...),
	}
	for i := range s.Full {
		if m.fixed[i] < 0 {
			s.Full[i] = p.full[i] / perTick
		}
	}
	return s
}
