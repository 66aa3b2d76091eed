package flow

import "context"

// pollEvery is the work after which a run checks its context, in starts, ends and steps of
// sharing. It takes a few milliseconds at most.
const pollEvery = 1 << 15

// interrupted adds work and reports whether the context of z was cancelled. It checks the
// context once per pollEvery units of work, and stays true once the context was cancelled.
func (z *sim) interrupted(work int) bool {
	if z.workSincePoll += work; z.workSincePoll >= pollEvery {
		z.polledWork += int64(z.workSincePoll)
		z.workSincePoll = 0
		z.cancelled = z.cancelled || z.ctx.Err() != nil
	}
	return z.cancelled
}

// SetContext makes the following runs and bounds stop early when ctx is cancelled. Makespan
// and Resume then return false, and Bound returns 0. Callers must check ctx before they use
// these results.
func (e *Evaluator) SetContext(ctx context.Context) { e.sim.ctx = ctx }

// Work returns the work of all runs and bounds of e so far: starts, ends, steps of sharing
// and steps of passes over the graph. It is proportional to CPU time, some tens of millions
// per second, but does not depend on the machine.
func (e *Evaluator) Work() int64 { return e.sim.polledWork + int64(e.sim.workSincePoll) }
