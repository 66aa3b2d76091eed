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
	Makespan  Time  // when the last task ended
	Events    int64 // starts and ends of transfers that were simulated
}

// Rates returns the rate steps of a task. Read only.
func (t *Trace) Rates(task int32) []RateStep {
	return t.Steps[t.StepStart[task]:t.StepStart[task+1]]
}

// CriticalPath returns tasks in order of time such that each starts when the one before it ended plus the lag of the
// edge between them, the first starts at zero (or when nothing bound it) and the last ends at the makespan. Ties go to
// the lowest task id (docs/model.md, "References").
func (t *Trace) CriticalPath(g *Graph) []int32 {
	last := int32(slices.Index(t.End, t.Makespan))
	if last < 0 {
		return nil
	}
	path := []int32{last}
	for {
		prev := int32(-1)
		for _, e := range g.In(last) {
			if t.End[e.From]+e.Lag == t.Start[last] && (prev < 0 || e.From < prev) {
				prev = e.From
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
