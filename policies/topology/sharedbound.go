package topology

import (
	"context"
	"fmt"
	"time"

	"sim/engine"
)

// sharedEvaluations and sharedWork limit the search for the shared bound independently of
// the allocators. They are the default of delta-joint and about 2 s on one processor. The
// jobs of the papers need up to a fifth of this.
const (
	sharedEvaluations = 20_000
	sharedWork        = 200_000_000
)

// newSharedBudget returns the budget of the search for the shared bound.
func newSharedBudget() searchBudget {
	return searchBudget{SearchOptions: SearchOptions{MaxEvaluations: sharedEvaluations}, maxWork: sharedWork}
}

// Bound returns the shared bound: a lower bound on the makespan of every topology under
// any sharing of capacity. It comes from the search of delta-joint with its own budget
// and is computed once. It fails only if ctx is cancelled.
func (p *Problem) Bound(ctx context.Context) (engine.Time, error) {
	best, err := p.sharedResult(ctx)
	return max(best.bound, p.KnownBound), err
}

// Optimum returns the best schedule found by the search for Bound, with minimum ports
// within half of that search's work (fewer circuits may be faster under some services).
// It returns nil if none was found. seed and tails are as in Options.
func (p *Problem) Optimum(ctx context.Context, seed uint64, tails bool) (*Decision, error) {
	best, err := p.sharedResult(ctx)
	if err != nil || best.circuits == nil {
		return nil, err
	}
	if tails {
		search := newSharedBudget()
		if err := best.searchPriorities(ctx, p, seed, &search); err != nil {
			return nil, err
		}
	}
	const noTolerance = 0
	return p.minimisePorts(ctx, best.decision(), makespanLimit{limit: withTolerance(best.makespan, noTolerance)},
		&Options{}, searchBudget{maxWork: sharedWork / 2})
}

// sharedResult returns the result of the search for Bound.
func (p *Problem) sharedResult(ctx context.Context) (jointResult, error) {
	return p.sharedSearch.Get(ctx, func() (jointResult, error) {
		within := newSharedBudget()
		if p.Brief {
			within.MaxEvaluations = briefEvaluations
		}
		return solveJoint(ctx, p, within), nil
	})
}

// sharedResultWithin is sharedResult for a search with a time limit. It may use half of
// the limit. If that is too short, the result contains no bound but the reason, and no
// error is returned.
func (p *Problem) sharedResultWithin(ctx context.Context, o *searchBudget) (jointResult, error) {
	within := ctx
	if !o.deadline.IsZero() {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, time.Until(o.deadline)/2)
		defer cancel()
	}
	best, err := p.sharedResult(within)
	if err != nil {
		return jointResult{stopped: fmt.Sprintf("the bound was sought for half of the time limit of %v, in vain", wallClock(o.TimeLimit))}, ctx.Err()
	}
	best.stopped = "" // the shared search has its own budget, which does not limit the caller
	return best, nil
}
