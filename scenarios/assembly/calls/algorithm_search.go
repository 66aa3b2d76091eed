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

// SplitBest returns the algorithms with the default one in each dimension for which the best is
// searched, and these dimensions.
func (a Algorithms) SplitBest() (Algorithms, []training.Phase) {
	var open []training.Phase
	for _, d := range training.Dims {
		if a.ForDim(d) == collective.BestName {
			open = append(open, d)
		}
	}
	for _, d := range open {
		a = a.With(d, "")
	}
	return a, open
}

// Names returns the algorithms that are named, of dimensions in order.
func (a Algorithms) Names() []string {
	if a == "" || !a.hasDimensions() {
		return []string{string(a)}
	}
	var names []string
	for _, d := range training.Dims {
		names = append(names, a.ForDim(d))
	}
	return names
}

// algorithmSearch is a training step of which the algorithms of some dimensions are looked for. It is safe for concurrent use.
type algorithmSearch struct {
	assembly.System // with the usual algorithms, for the reference
	build           func(ctx context.Context, by Algorithms) (assembly.System, error)
	initial         Algorithms
	openDims        []training.Phase
	buildTime       time.Duration
}

// NewAlgorithmSearch makes the system of a training step in which the algorithm of some dimensions of parallelism is the best,
// found by simulating the whole step: a dimension at a time takes the algorithm that ends the iteration first with
// those that the others have, begun with the usual ones, until none can do better. build makes the system of a step
// with algorithms that are settled.
func NewAlgorithmSearch(ctx context.Context, s *training.Spec, algorithms Algorithms, build func(ctx context.Context, by Algorithms) (assembly.System, error)) (assembly.System, error) {
	b := &algorithmSearch{build: build}
	b.initial, b.openDims = algorithms.SplitBest()
	usedDims := map[training.Phase]bool{}
	for _, c := range s.StepCalls() {
		usedDims[c.Dim] = true
	}
	b.openDims = slices.DeleteFunc(b.openDims, func(dim training.Phase) bool { return !usedDims[dim] })
	start := time.Now()
	var err error
	b.System, err = build(ctx, b.initial)
	b.buildTime = time.Since(start)
	return b, err
}

// Decide has the policy decide with one algorithm after the other. All rows are compared with one reference, that of the
// usual algorithms, and share no bounds, which hold for the transfers of some algorithms.
func (b *algorithmSearch) Decide(ctx context.Context, policy string, workers int, limit float64) (*assembly.PolicyResult, error) {
	best, err := b.System.Decide(ctx, policy, workers, limit)
	if best == nil || err != nil || best.Rejection != nil {
		return best, err
	}
	start, incumbent, evaluated := time.Now(), b.initial, map[Algorithms]bool{b.initial: true}
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
				if a != nil && completionTime(a) < completionTime(best)*(1-boundTolerance) {
					best, incumbent, improved = a, candidate, true
				}
			}
		}
	}
	best.Timings.SolveS += (b.buildTime + time.Since(start)).Seconds()
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

// evaluate returns the answer of a policy with some algorithms, nil where these do not serve or provably end later than limit
// seconds.
func (b *algorithmSearch) evaluate(ctx context.Context, algorithms Algorithms, policy string, workers int, limit float64) (*assembly.PolicyResult, error) {
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

// completionTime returns when an answer ends; at level static when the link that takes longest has carried all that it is to.
func completionTime(a *assembly.PolicyResult) float64 {
	for _, name := range []string{"makespan_s", "completion_s", "fluid_s"} {
		if v, ok := a.Row.Metrics[name]; ok {
			return v
		}
	}
	return math.Inf(1)
}
