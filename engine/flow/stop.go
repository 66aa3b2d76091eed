package flow

import "context"

// pollEvery is the work, in starts, ends and steps of sharing, after which a run asks whether its context has ended:
// some milliseconds at most.
const pollEvery = 1 << 15

// interrupted reports whether the context of z has ended. It asks once in so much work, and goes on saying so once it
// has.
func (z *sim) interrupted(work int) bool {
	if z.work += work; z.work >= pollEvery {
		z.total += int64(z.work)
		z.work = 0
		z.stopped = z.stopped || z.ctx.Err() != nil
	}
	return z.stopped
}

// SetContext lets the runs and bounds that follow end early when ctx does. Makespan and Resume then return false and
// Bound returns 0: whoever gave a context that can end must ask it before it believes them.
func (e *Evaluator) SetContext(ctx context.Context) { e.z.ctx = ctx }

// Work counts what the runs and bounds of e have done so far, in starts, ends and steps of sharing and of passes over
// the graph. It grows as time does, some tens of million in a second, but is the same on every machine.
func (e *Evaluator) Work() int64 { return e.z.total + int64(e.z.work) }
