package engine

import "slices"

// RateStep is a change of a transfer's rate: from time At on the transfer has the given rate.
type RateStep struct {
	At   Time
	Rate float64 // bits per second over all flows
}

// Trace is the result of a simulation: the start and end of every task and the rates of every
// transfer. In all simulators a task starts when it becomes ready, or when the contention grants
// its request.
type Trace struct {
	Start, End []Time // indexed by task
	// The rate steps of task i are Steps[StepStart[i]:StepStart[i+1]]. The last one has rate 0 at
	// the end of the task. Compute tasks have no steps.
	StepStart []int32
	Steps     []RateStep
	Makespan  Time // end of the last task
	// Cause is, indexed by task, the task that determined the start of a task through the
	// contention. It is the task that freed its server, the last task of the message that a receive
	// accepted, or the receive that a message waited for (at the time when the receive became
	// ready). It is -1 for other tasks, and nil if the graph has no contention.
	Cause  []int32
	Events int64 // number of simulated starts and ends of transfers
	// Perturbation states how far the run is from an exact one; nil if it is exact.
	Perturbation *Perturbation
}

// Perturbation describes a run in which rates are computed at least Tolerance apart. The run is the
// exact run of an instance in which each transfer starts up to Delay later, and holds its rate for
// up to Bytes more after its end. Delay is at most Tolerance, and Bytes at most a transfer's rate
// times Tolerance. It bounds no change of an end.
type Perturbation struct {
	Tolerance Time
	Delay     Time    // maximum delay of a start
	Bytes     float64 // maximum of the bytes for which a transfer holds its rate
	Load      float64 // maximum, over all links and groups, of these bytes divided by the bytes carried
}

// Rates returns the rate steps of a task. The slice must not be modified.
func (t *Trace) Rates(task int32) []RateStep {
	return t.Steps[t.StepStart[task]:t.StepStart[task+1]]
}

// CriticalPath returns a chain of tasks, in order of time, that determines the makespan. Each
// task starts when its predecessor in the chain ends plus the lag of the edge between them, or
// when the contention grants its request because of that predecessor. The last task ends at the
// makespan. Of several possible tasks the one with the lowest id is chosen (docs/model.md,
// "References").
func (t *Trace) CriticalPath(g *Graph) []int32 {
	last := int32(slices.Index(t.End, t.Makespan))
	if last < 0 {
		return nil
	}
	path := []int32{last}
	// binding returns the predecessor in g whose end determined the start of a task, -1 if there is
	// none.
	binding := func(task int32, start Time) int32 {
		prev := int32(-1)
		for _, e := range g.In(task) {
			if t.End[e.From]+e.Lag == start && (prev < 0 || e.From < prev) {
				prev = e.From
			}
		}
		return prev
	}

	for {
		prev := binding(last, t.Start[last])
		if prev < 0 && t.Cause != nil && t.Cause[last] >= 0 {
			// A message that waited for a receive started when that became ready.
			if prev = t.Cause[last]; g.contention.role[last]&roleOffers != 0 {
				prev = binding(prev, t.Start[last])
			}
		}
		if prev < 0 {
			break
		}
		path = append(path, prev)
		last = prev
	}
	slices.Reverse(path)
	return path
}
