package fleets

import (
	"context"
	"fmt"
	"math"

	"sim/scenarios/assembly/fleets/slowdown"
	"sim/workloads/fleet"
)

// Step is the step of jobs whose slice has so many chips.
type Step struct {
	Chips int
	// Seconds returns how long it takes on a slice, with a switch of a dimension down, or none below 0. It is infinite
	// where there are no routes, and fails where the simulation does.
	Seconds func(ctx context.Context, s fleet.Shape, down int) (float64, error)
}

// table3Slowdowns is how much longer steps took with a switch down (Table 3 of the paper).
var table3Slowdowns = [...]float64{0.005, 0.03, 0.039, 0.086, 0.083, 0.047, 0.026, 0.012, 0.032}

// slowdownFunc returns how much longer a job's step takes with a switch down, as the keys say.
func (s *Scenario) slowdownFunc() func(context.Context, *fleet.Job, int) (float64, error) {
	f := &s.Policy.Fault
	switch f.Slowdown {
	case "table3":
		return func(_ context.Context, j *fleet.Job, _ int) (float64, error) {
			at := int(fleet.HashUniform(s.Seed, streamTable3,
				uint64(j.Number)) * float64(len(table3Slowdowns)))
			return 1 + table3Slowdowns[at], nil
		}
	case "constant":
		return func(context.Context, *fleet.Job, int) (float64, error) { return 1 + f.ConstantSlowdown, nil }
	}
	return s.routeSlowdown
}

// streamTable3 numbers what is drawn of Table 3.
const streamTable3 = 1 << 40

// routeSlowdown is by the step of a job or, of one that has none, by the loads of links: the shares of a step that wait for
// traffic grow as its most loaded link does. It is 0 where the step has no routes.
func (s *Scenario) routeSlowdown(ctx context.Context, j *fleet.Job, dim int) (float64, error) {
	x, err := s.stepRatio(ctx, j, slowdown.Slice{Shape: j.Shape,
		FailedDim: slowdown.NoFailure},
		slowdown.Slice{Shape: j.Shape, FailedDim: dim})
	if math.IsInf(x, 1) {
		return 0, err
	}
	return max(1, x), err
}

// shapeSlowdown is likewise of another slice of as many chips.
func (s *Scenario) shapeSlowdown(
	ctx context.Context, j *fleet.Job, to fleet.Shape,
) (float64, error) {
	return s.stepRatio(ctx, j, slowdown.Slice{Shape: j.Shape, FailedDim: slowdown.NoFailure},
		slowdown.Slice{Shape: to, FailedDim: slowdown.NoFailure})
}

// stepRatio returns how many times as long a job's step takes in one slice as in another.
func (s *Scenario) stepRatio(
	ctx context.Context, j *fleet.Job, from, to slowdown.Slice,
) (float64, error) {
	for _, x := range s.Steps {
		if x.Chips == j.Shape.Chips() && j.Shape.Cubes() > 0 {
			return x.ratio(ctx, from, to)
		}
	}

	a, err := slowdown.LoadsOf(ctx, from)
	if err != nil {
		return 0, err
	}
	b, err := slowdown.LoadsOf(ctx, to)
	if err != nil {
		return 0, err
	}
	x := j.Traffic
	return 1 + x.AllToAll*(b.AllToAll/a.AllToAll-1) + x.Neighbours*(b.Neighbours/a.Neighbours-1), nil
}

// ratio returns how many times as long the step takes in one slice as in another.
func (x *Step) ratio(ctx context.Context, from, to slowdown.Slice) (float64, error) {
	a, err := x.Seconds(ctx, from.Shape, from.FailedDim)
	if err != nil {
		return 0, err
	}
	if a <= 0 || math.IsInf(a, 1) {
		return 0, fmt.Errorf("fleet: the step of jobs of %d chips has no routes on a slice %s, or takes no time", x.Chips, from.Shape)
	}
	b, err := x.Seconds(ctx, to.Shape, to.FailedDim)
	return b / a, err
}
