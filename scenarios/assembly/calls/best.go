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

// Settled returns the algorithms with the default one in each dimension for which the best is
// searched, and these dimensions.
func (a Algorithms) Settled() (Algorithms, []training.Phase) {
	var open []training.Phase
	for _, d := range training.Dims {
		if a.Of(d) == collective.BestName {
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
	if a == "" || !a.byDimension() {
		return []string{string(a)}
	}
	var names []string
	for _, d := range training.Dims {
		names = append(names, a.Of(d))
	}
	return names
}

// bestStep is a training step of which the algorithms of some dimensions are looked for. It is safe for concurrent use.
type bestStep struct {
	assembly.System // with the usual algorithms, for the reference
	build           func(ctx context.Context, by Algorithms) (assembly.System, error)
	start           Algorithms
	open            []training.Phase
	took            time.Duration
}

// NewBest makes the system of a training step in which the algorithm of some dimensions of parallelism is the best,
// found by simulating the whole step: a dimension at a time takes the algorithm that ends the iteration first with
// those that the others have, begun with the usual ones, until none can do better. build makes the system of a step
// with algorithms that are settled.
func NewBest(ctx context.Context, s *training.Spec, of Algorithms, build func(ctx context.Context, by Algorithms) (assembly.System, error)) (assembly.System, error) {
	b := &bestStep{build: build}
	b.start, b.open = of.Settled()
	made := map[training.Phase]bool{}
	for _, c := range s.StepCalls() {
		made[c.Dim] = true
	}
	b.open = slices.DeleteFunc(b.open, func(dim training.Phase) bool { return !made[dim] })
	begin := time.Now()
	var err error
	b.System, err = build(ctx, b.start)
	b.took = time.Since(begin)
	return b, err
}

// Decide has the policy decide with one algorithm after the other. All rows are compared with one reference, that of the
// usual algorithms, and share no bounds, which hold for the transfers of some algorithms.
func (b *bestStep) Decide(ctx context.Context, policy string, workers int, limit float64) (*assembly.Answer, error) {
	best, err := b.System.Decide(ctx, policy, workers, limit)
	if best == nil || err != nil || best.Fault != nil {
		return best, err
	}
	begin, chosen, tried := time.Now(), b.start, map[Algorithms]bool{b.start: true}
	for improved := true; improved; {
		improved = false
		for _, dim := range b.open {
			for _, row := range collective.Table {
				by := chosen.With(dim, row.Name)
				if tried[by] {
					continue
				}
				tried[by] = true
				a, err := b.try(ctx, by, policy, workers, end(best))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", by, err)
				}
				if a != nil && end(a) < end(best)*(1-rounding) {
					best, chosen, improved = a, by, true
				}
			}
		}
	}
	best.Timings.SolveS += (b.took + time.Since(begin)).Seconds()
	best.Then(func(context.Context) error {
		row := &best.Row
		row.Bounds, row.Labels["algorithm"] = nil, string(chosen)
		if ideal := b.Reference()["comm_exposed_s"]; ideal > 0 && row.Metrics["nct"] > 0 {
			row.Metrics["nct"] = row.Metrics["comm_exposed_s"] / ideal
		}
		return nil
	})
	return best, nil
}

// try returns the answer of a policy with some algorithms, nil where these do not serve or provably end later than limit
// seconds.
func (b *bestStep) try(ctx context.Context, by Algorithms, policy string, workers int, limit float64) (*assembly.Answer, error) {
	s, err := b.build(ctx, by)
	if errors.Is(err, collective.ErrUnserved) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	a, err := s.Decide(ctx, policy, workers, limit)
	if a == nil || err != nil || a.Fault != nil {
		return nil, err
	}
	return a, nil
}

// end returns when an answer ends; at level static when the link that takes longest has carried all that it is to.
func end(a *assembly.Answer) float64 {
	for _, name := range []string{"makespan_s", "completion_s", "fluid_s"} {
		if v, ok := a.Row.Metrics[name]; ok {
			return v
		}
	}
	return math.Inf(1)
}
