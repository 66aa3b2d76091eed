package flow

import (
	"context"
	"sync"
)

// pollEvery is the work after which a run checks its context. Work counts the starts and ends of tasks
// and the transfers and resources visited when capacity is shared. This much work takes a few
// milliseconds at most.
const pollEvery = 1 << 15

// interrupted adds work and reports whether the context of z was cancelled or the run exceeded
// maxWork. It checks both once per pollEvery units of work. Once it returned true, it does so until
// the next run.
func (z *sim) interrupted(work int) bool {
	if z.workSincePoll += work; z.workSincePoll >= pollEvery {
		z.polledWork += int64(z.workSincePoll)
		z.workSincePoll = 0
		z.progress.add(z.numEnded - z.numReported)
		z.numReported = z.numEnded
		z.exceededWork = z.exceededWork || z.maxWork > 0 && z.polledWork-z.workBeforeRun > z.maxWork
		z.cancelled = z.cancelled || z.exceededWork || z.ctx.Err() != nil
	}
	return z.cancelled
}

// progress adds up the ended tasks of a run and its parts, which may run concurrently.
type progress struct {
	report func(share float64)
	total  int // tasks of the run

	mu    sync.Mutex // protects ended, and orders the reports
	ended int
}

// add reports the progress after some more tasks have ended. A nil progress reports nothing.
func (p *progress) add(tasks int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended += tasks
	p.report(float64(p.ended) / float64(p.total))
}

// SetContext makes the following runs and bounds stop early when ctx is cancelled. Makespan
// and Resume then return false, and Bound returns 0. Callers must check ctx before they use
// these results.
func (e *Evaluator) SetContext(ctx context.Context) { e.sim.ctx = ctx }

// Work returns the work of all runs and bounds of e so far. It counts steps (see pollEvery, and the
// edges of passes over the graph), so it is the same on every machine. A CPU does some tens of
// millions of steps per second.
func (e *Evaluator) Work() int64 { return e.sim.polledWork + int64(e.sim.workSincePoll) }

// SetMaxWork makes the following runs fail if their work exceeds a limit. 0 removes the limit.
func (e *Evaluator) SetMaxWork(work int64) { e.sim.maxWork = work }

// ExceededMaxWork reports whether the last run failed because it exceeded the limit of SetMaxWork.
func (e *Evaluator) ExceededMaxWork() bool { return e.sim.exceededWork }
