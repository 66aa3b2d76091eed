package flow

import "context"

// pollEvery is the work, in starts, ends and steps of sharing, after which a run asks whether its context has ended:
// some milliseconds at most.
const pollEvery = 1 << 15

// interrupted reports whether the context of z has ended. It asks once in so much work, and goes on saying so once it
// has.
func (z *sim) interrupted(work int) bool {
	if z.workSincePoll += work; z.workSincePoll >= pollEvery {
		z.polledWork += int64(z.workSincePoll)
		z.workSincePoll = 0
		z.cancelled = z.cancelled || z.ctx.Err() != nil
	}
	return z.cancelled
}

// SetContext lets the runs and bounds that follow end early when ctx does. Makespan and Resume then return false and
// Bound returns 0: whoever gave a context that can end must ask it before it believes them.
func (e *Evaluator) SetContext(ctx context.Context) { e.sim.ctx = ctx }

// Work counts what the runs and bounds of e have done so far, in starts, ends and steps of sharing and of passes over
// the graph. It grows as time does, some tens of million in a second, but is the same on every machine.
func (e *Evaluator) Work() int64 { return e.sim.polledWork + int64(e.sim.workSincePoll) }
