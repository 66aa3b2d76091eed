package assembly

import (
	"context"
	"time"
)

// before is a system of which something is compared that is decided before what its hardware leaves open, such as where
// ranks are: each policy makes a system of its own, in which one policy decides the rest.
type before struct {
	System // of the first policy, for what systems of all have in common
	first  string
	build  func(ctx context.Context, policy string) (System, error)
	rest   string // the policy of what the hardware leaves open
}

// Before makes the system that compares policies of which build makes systems, in each of which the policy called rest
// decides. That of the first is built at once, for the reference.
func Before(ctx context.Context, first, rest string, build func(ctx context.Context, policy string) (System, error)) (System, error) {
	s, err := build(ctx, first)
	if err != nil {
		return nil, err
	}
	return &before{s, first, build, rest}, nil
}

// Decide has the system of a policy built and the rest decided. Bounds hold for what the policy made, and are not shared
// with rows of others.
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
