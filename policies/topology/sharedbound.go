package topology

import (
	"context"
	"fmt"
	"time"

	"sim/engine"
)

// sharedEvaluations and sharedWork end the search for what all allocators share, whatever they are and whatever they
// may spend: as the default of delta-joint does, and after some 2 s of one processor. The jobs of the papers take up to
// a fifth of it.
const (
	sharedEvaluations = 20_000
	sharedWork        = 200_000_000
)

func newSharedBudget() searchBudget {
	return searchBudget{SearchOptions: SearchOptions{MaxEvaluations: sharedEvaluations}, maxWork: sharedWork}
}

// Bound returns a lower bound on the makespan of every topology, however capacity is shared, by the search of
// delta-joint with a budget of its own. It is computed once. It fails only with ctx's error, when ctx ends.
func (p *Problem) Bound(ctx context.Context) (engine.Time, error) {
	best, err := p.sharedResult(ctx)
	return max(best.bound, p.AtLeast), err
}

// Optimum returns the best schedule that the search for Bound found, with what saving ports makes of it within half of
// that budget (fewer circuits may be faster, too), for those who need one that can be had; nil if none was found. Seed
// and tails are as in Options.
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
	return p.minimisePorts(ctx, best.decision(), makespanLimit{limit: withTolerance(best.makespan, 0)}, &Options{}, searchBudget{maxWork: sharedWork / 2})
}

// sharedResult returns what the search for Bound found.
func (p *Problem) sharedResult(ctx context.Context) (jointResult, error) {
	return p.sharedSearch.Get(ctx, func() jointResult {
		within := newSharedBudget()
		if p.Brief {
			within.MaxEvaluations = briefEvaluations
		}
		return solveJoint(ctx, p, within)
	})
}

// sharedResultWithin is shared for a search with a time limit, half of which it may take. Where that ends first nothing is
// known but why, which is no error.
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
	best.stopped = "" // by its own budget, which says nothing of who asks
	return best, nil
}
