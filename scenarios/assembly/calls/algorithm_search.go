// This file searches the best algorithms of the collective calls of a training step, by
// simulating the whole step with different algorithms.

package calls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/workloads/training"
)

// algorithmSearch is a training step for which the algorithms of some dimensions are
// searched. It implements assembly.System and is safe for concurrent use.
type algorithmSearch struct {
	assembly.System // the step with the initial algorithms; provides the reference
	build           func(ctx context.Context, by Algorithms) (assembly.System, error)
	initial         Algorithms
	openDims        []training.Phase // dimensions whose algorithm is searched
	buildTime       time.Duration    // time to build System
}

// NewAlgorithmSearch returns the system of a training step that searches the best
// algorithms of some dimensions. The function build returns the system of the step with
// given algorithms.
//
// The search is a coordinate descent that simulates the whole step. It starts with the
// default algorithms. One dimension at a time takes the algorithm with which the
// iteration ends first, given the algorithms of the other dimensions. It ends when no
// change of one dimension improves the iteration.
func NewAlgorithmSearch(
	ctx context.Context, s *training.Spec, algorithms Algorithms,
	build func(ctx context.Context, by Algorithms) (assembly.System, error),
) (assembly.System, error) {
	b := &algorithmSearch{build: build}
	b.initial, b.openDims = algorithms.SplitBest()

	// Dimensions without calls need no search.
	usedDims := map[training.Phase]bool{}
	for _, c := range s.StepCalls() {
		usedDims[c.Dim] = true
	}
	b.openDims = slices.DeleteFunc(b.openDims, func(dim training.Phase) bool {
		return !usedDims[dim]
	})

	start := time.Now()
	var err error
	b.System, err = build(ctx, b.initial)
	b.buildTime = time.Since(start)
	return b, err
}

// Decide searches the algorithms that are best under a policy. All rows are compared with
// one reference, with the initial algorithms. They share no bounds, because bounds hold
// only for the transfers of certain algorithms.
func (b *algorithmSearch) Decide(
	ctx context.Context, policy string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	best, err := b.System.Decide(ctx, policy, workers, limit)
	if best == nil || err != nil || best.Rejection != nil {
		return best, err
	}

	start, incumbent := time.Now(), b.initial
	evaluated := map[Algorithms]bool{b.initial: true}
	for improved := true; improved; {
		improved = false
		for _, dim := range b.openDims {
			for _, row := range collective.Table {
				candidate := incumbent.With(dim, row.Name)
				if evaluated[candidate] {
					continue
				}
				evaluated[candidate] = true
				a, err := b.evaluate(ctx, candidate, policy, workers, completionTime(best))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", candidate, err)
				}
				// Candidates that differ only by rounding errors (boundTolerance, a
				// relative 1e-6) count as equal. They could alternate without end.
				if a != nil && completionTime(a) < completionTime(best)*(1-boundTolerance) {
					best, incumbent, improved = a, candidate, true
				}
			}
		}
	}

	best.Timings.SolveS += (b.buildTime + time.Since(start)).Seconds()
	// The row of best was measured against the reference of its own algorithms. NCT is
	// computed again with the reference of b, which all rows share.
	best.AddMeasure(func(context.Context) error {
		row := &best.Row
		row.Bounds, row.Labels["algorithm"] = nil, string(incumbent)
		if ideal := b.Reference()["comm_exposed_s"]; ideal > 0 && row.Metrics["nct"] > 0 {
			row.Metrics["nct"] = row.Metrics["comm_exposed_s"] / ideal
		}
		return nil
	})
	return best, nil
}

// evaluate returns the result of a policy with the given algorithms. It returns nil if
// they do not serve the step, or if the step provably ends later than limit seconds.
func (b *algorithmSearch) evaluate(
	ctx context.Context, algorithms Algorithms, policy string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	s, err := b.build(ctx, algorithms)
	if errors.Is(err, collective.ErrUnserved) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	a, err := s.Decide(ctx, policy, workers, limit)
	if a == nil || err != nil || a.Rejection != nil {
		return nil, err
	}
	return a, nil
}

// completionTime returns the time in seconds at which the work of a result ends. At level
// static it is the busy time of the bottleneck link. It is +Inf if the work does not end.
func completionTime(a *assembly.PolicyResult) float64 {
	for _, name := range []string{"makespan_s", "completion_s", "fluid_s"} {
		if v, ok := a.Row.Metrics[name]; ok {
			return v
		}
	}
	return math.Inf(1)
}
