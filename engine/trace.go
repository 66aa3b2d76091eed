package engine

import "slices"

// RateStep is a change of a transfer's rate: from At on it runs at Rate.
type RateStep struct {
	At   Time
	Rate float64 // bits per second over all flows
}

// Trace is what happened when a graph was simulated: for every task when it became ready and started (the same for all
// models so far), when it ended and, for transfers, every rate in between.
type Trace struct {
	Start, End []Time // by task
	// Rates of task i are Steps[StepStart[i]:StepStart[i+1]], the last with rate 0 at the task's end. Compute tasks
	// have none.
	StepStart []int32
	Steps     []RateStep
	Makespan  Time // when the last task ended
	// Cause is by task the one that decided when it started, if the graph's contention did: the task that freed its
	// server, the last task of the message that a receive took, or the receive that a message waited for (when that became
	// ready). -1 of other tasks; nil if the graph has no contention.
	Cause  []int32
	Events int64 // starts and ends of transfers that were simulated
}

// Rates returns the rate steps of a task. Read only.
func (t *Trace) Rates(task int32) []RateStep {
	return t.Steps[t.StepStart[task]:t.StepStart[task+1]]
}

// CriticalPath returns tasks in order of time such that each starts when the one before it ended plus the lag of the
// edge between them, or because of what the contention decided then, the first starts at zero (or when nothing bound it) and the last ends at the makespan. Ties go to
// the lowest task id (docs/model.md, "References").
func (t *Trace) CriticalPath(g *Graph) []int32 {
	last := int32(slices.Index(t.End, t.Makespan))
	if last < 0 {
		return nil
	}
	path := []int32{last}
	// binding returns the predecessor of a task that ended last, if it decided a start at that time.
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
			if prev = t.Cause[last]; g.contention.role[last]&roleOffers != 0 { // started when the receive became ready
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
