package assembly

import (
	"context"
	"time"
)

// before is a system that compares a decision which precedes the decision of its hardware, such as the mapping of ranks.
// Each policy builds its own system, in which a single policy makes the remaining decision.
type before struct {
	System // system of the first policy, for data that all systems share
	first  string
	build  func(ctx context.Context, policy string) (System, error)
	rest   string // policy of the hardware's decision
}

// Before returns a system that compares policies. The function build returns the system of a policy, in which the policy
// rest makes the remaining decision. The system of the first policy is built immediately, for the reference.
func Before(ctx context.Context, first, rest string, build func(ctx context.Context, policy string) (System, error)) (System, error) {
	s, err := build(ctx, first)
	if err != nil {
		return nil, err
	}
	return &before{s, first, build, rest}, nil
}

// Decide builds the system of a policy and makes the remaining decision. Bounds hold for this system only, so rows do not
// share them.
func (b *before) Decide(ctx context.Context, policy string, workers int, limit float64) (*Answer, error) {
	begin, s := time.Now(), b.System
	if policy != b.first {
		var err error
		if s, err = b.build(ctx, policy); err != nil {
			return nil, err
		}
	}
	took := time.Since(begin)
	a, err := s.Decide(ctx, b.rest, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	a.Timings.SolveS += took.Seconds()
	a.Then(func(context.Context) error {
		a.Row.Policy, a.Row.Bounds = policy, nil
		return nil
	})
	return a, nil
}
