// This file compares policies of a decision that precedes the decision of the hardware,
// such as mappings of ranks before routers.

package assembly

import (
	"context"
	"time"
)

// precedingDecision is a system that compares policies of a decision which precedes the
// decision of its hardware, such as the mapping of ranks. Each policy has its own system,
// in which a single policy makes the remaining decision.
type precedingDecision struct {
	System          // system of firstPolicy, for data that all systems share
	firstPolicy     string
	build           func(ctx context.Context, policy string) (System, error)
	remainingPolicy string // makes the remaining decision
}

// NewPrecedingDecision returns a system that compares policies. The function build
// returns the system of a policy, in which remainingPolicy makes the remaining decision.
// The system of firstPolicy is built immediately, for the reference.
func NewPrecedingDecision(
	ctx context.Context, firstPolicy, remainingPolicy string,
	build func(ctx context.Context, policy string) (System, error),
) (System, error) {
	s, err := build(ctx, firstPolicy)
	if err != nil {
		return nil, err
	}
	return &precedingDecision{s, firstPolicy, build, remainingPolicy}, nil
}

// Decide builds the system of a policy and makes the remaining decision. The row has no
// bounds for other rows, because they hold only for this system.
func (b *precedingDecision) Decide(
	ctx context.Context, policy string, workers int, limit float64,
) (*PolicyResult, error) {
	start, s := time.Now(), b.System
	if policy != b.firstPolicy {
		var err error
		if s, err = b.build(ctx, policy); err != nil {
			return nil, err
		}
	}
	buildTime := time.Since(start)

	a, err := s.Decide(ctx, b.remainingPolicy, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	// Building the system makes the preceding decision.
	a.Timings.SolveS += buildTime.Seconds()
	a.AddMeasure(func(context.Context) error {
		a.Row.Policy, a.Row.Bounds = policy, nil
		return nil
	})
	return a, nil
}
