// This file compares policies of a decision that is made before the decision of the
// hardware. For example, mappings put ranks on nodes before a router chooses paths.

package assembly

import (
	"context"
	"time"
)

// precedingDecision compares policies of a decision that is made before the decision of
// the hardware, for example mappings of ranks to nodes. A mapping defines a system of its
// own: ranks on nodes, with open paths. One policy, such as a router, then makes the
// remaining decision in the systems of all mappings. It implements System.
type precedingDecision struct {
	// System is the system of firstPolicy. Its Reference and Begin hold for all policies.
	System
	firstPolicy string
	// build makes the preceding decision by a policy, and returns the resulting system.
	build           func(ctx context.Context, policy string) (System, error)
	remainingPolicy string // makes the remaining decision in every system
}

// NewPrecedingDecision returns a system that compares policies of a preceding decision.
// The function build makes this decision by a policy, and returns the resulting system, in
// which remainingPolicy makes the remaining decision. The system of firstPolicy is built
// immediately, because it provides the reference of all policies.
func NewPrecedingDecision(
	ctx context.Context, firstPolicy, remainingPolicy string,
	build func(ctx context.Context, policy string) (System, error),
) (System, error) {
	s, err := build(ctx, firstPolicy)
	if err != nil {
		return nil, err
	}
	return &precedingDecision{
		System:          s,
		firstPolicy:     firstPolicy,
		build:           build,
		remainingPolicy: remainingPolicy,
	}, nil
}

// Decide makes the preceding decision by a policy, and the remaining decision by
// remainingPolicy. The row has the name of the policy. It has no bounds for other rows,
// because its bounds hold only for the system of this policy.
func (b *precedingDecision) Decide(
	ctx context.Context, policy string, workers int, limit float64,
) (*PolicyResult, error) {
	start := time.Now()
	s, err := b.systemOf(ctx, policy)
	if err != nil {
		return nil, err
	}
	precedingTime := time.Since(start)

	out, err := s.Decide(ctx, b.remainingPolicy, workers, limit)
	if out == nil || err != nil {
		return nil, err
	}
	out.Timings.SolveS += precedingTime.Seconds()
	// Earlier measures may add bounds, so they are removed by the last measure.
	out.AddMeasure(func(context.Context) error {
		out.Row.Policy, out.Row.Bounds = policy, nil
		return nil
	})
	return out, nil
}

// systemOf returns the system that results from the preceding decision of a policy.
func (b *precedingDecision) systemOf(ctx context.Context, policy string) (System, error) {
	if policy == b.firstPolicy {
		return b.System, nil
	}
	return b.build(ctx, policy)
}
