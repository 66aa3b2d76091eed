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
	"sim/scenarios/result"
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

// complete is an answer about a step of which a report needs more than when it ends.
type complete interface {
	Complete(ctx context.Context) error
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

// Decide has the policy decide with one algorithm after the other.
func (b *bestStep) Decide(ctx context.Context, policy string, workers int) (assembly.Answer, error) {
	best := &stepAnswer{by: b.start, took: b.took, of: b}
	var err error
	if best.Answer, err = decideWithin(ctx, b.System, policy, workers, math.Inf(1)); err != nil {
		return nil, err
	}
	if _, none := assembly.Unserves(best.Answer); none {
		return best.Answer, nil
	}
	begin, tried := time.Now(), map[Algorithms]bool{b.start: true}
	for improved := true; improved; {
		improved = false
		for _, dim := range b.open {
			for _, row := range collective.Table {
				by := best.by.With(dim, row.Name)
				if tried[by] {
					continue
				}
				tried[by] = true
				a, err := b.try(ctx, by, policy, workers, best.end())
				if err != nil {
					return nil, fmt.Errorf("%s: %w", by, err)
				}
				if a != nil && end(a) < best.end()*(1-rounding) {
					best.Answer, best.by, improved = a, by, true
				}
			}
		}
	}
	best.took += time.Since(begin)
	if c, ok := best.Answer.(complete); ok {
		err = c.Complete(ctx)
	}
	return best, err
}

// try returns the answer of a policy with some algorithms, nil where these do not serve or provably end later than so
// many seconds.
func (b *bestStep) try(ctx context.Context, by Algorithms, policy string, workers int, most float64) (assembly.Answer, error) {
	s, err := b.build(ctx, by)
	if errors.Is(err, collective.ErrUnserved) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	a, err := decideWithin(ctx, s, policy, workers, most)
	if a == nil || err != nil {
		return nil, err
	}
	if _, none := assembly.Unserves(a); none {
		return nil, nil
	}
	return a, nil
}

// stepAnswer is the answer with the best algorithms.
type stepAnswer struct {
	assembly.Answer
	of   *bestStep
	by   Algorithms
	took time.Duration // to find them
}

func (a *stepAnswer) end() float64 { return end(a.Answer) }

// Failure returns why the simulation came to no end, nil where it did.
func (a *stepAnswer) Failure() error { return assembly.Failure(a.Answer) }

// Rename has the answer be of another policy.
func (a *stepAnswer) Rename(policy string) {
	if r, ok := a.Answer.(renamed); ok {
		r.Rename(policy)
	}
}

// Measured adds to the row which algorithms are best. All rows are compared with one reference, that of the usual
// algorithms, and share no bounds, which hold for the transfers of some algorithms.
func (a *stepAnswer) Measured() (result.Row, result.PolicyTimings) {
	row, timings := a.Answer.Measured()
	timings.SolveS += a.took.Seconds()
	row.Bounds, row.Labels["algorithm"] = nil, string(a.by)
	if ideal := a.of.Reference()["comm_exposed_s"]; ideal > 0 && row.Metrics["nct"] > 0 {
		row.Metrics["nct"] = row.Metrics["comm_exposed_s"] / ideal
	}
	return row, timings
}

// end returns when an answer ends; at level static when the link that takes longest has carried all that it is to.
func end(a assembly.Answer) float64 {
	row, _ := a.Measured()
	for _, name := range []string{"makespan_s", "completion_s", "fluid_s"} {
		if v, ok := row.Metrics[name]; ok {
			return v
		}
	}
	return math.Inf(1)
}

// decideWithin lets a policy decide; what provably takes longer than so many seconds need not be simulated, and has no
// answer then.
func decideWithin(ctx context.Context, s assembly.System, policy string, workers int, most float64) (assembly.Answer, error) {
	if w, ok := s.(within); ok {
		return w.DecideWithin(ctx, policy, workers, most)
	}
	return s.Decide(ctx, policy, workers)
}
