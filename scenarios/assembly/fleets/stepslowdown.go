package fleets

import (
	"context"
	"fmt"
	"math"

	"sim/scenarios/assembly/fleets/slowdown"
	"sim/workloads/fleet"
)

// Step is the training step of jobs whose slice has a given number of chips.
type Step struct {
	Chips int
	// Seconds returns the duration of the step on a slice with a failed switch of
	// dimension down; negative values mean no failure. It is infinite if there are
	// no paths, and returns the error of the simulation.
	Seconds func(ctx context.Context, s fleet.Shape, down int) (float64, error)
}

// table3Slowdowns are the measured slowdowns of steps with a failed switch (TPU v4
// paper, Table 3).
var table3Slowdowns = [...]float64{
	0.005, 0.03, 0.039, 0.086, 0.083, 0.047, 0.026, 0.012, 0.032,
}

// slowdownFunc returns Config.RouteSlowdown by the key policy.fault.slowdown.
func (s *Scenario) slowdownFunc() func(context.Context, *fleet.Job, int) (float64, error) {
	f := &s.Policy.Fault
	switch f.Slowdown {
	case "table3":
		return func(_ context.Context, j *fleet.Job, _ int) (float64, error) {
			random := fleet.HashUniform(s.Seed, streamTable3, uint64(j.Number))
			row := int(random * float64(len(table3Slowdowns)))
			return 1 + table3Slowdowns[row], nil
		}
	case "constant":
		return func(context.Context, *fleet.Job, int) (float64, error) {
			return 1 + f.ConstantSlowdown, nil
		}
	}
	return s.routeSlowdown
}

// streamTable3 is the random stream of the rows of Table 3. It exceeds all numbers
// of other streams.
const streamTable3 = 1 << 40

// routeSlowdown returns the slowdown of a job's step if a switch of dimension dim
// has failed. It follows from the job's Step if there is one, and otherwise from
// link loads: the shares of a step that wait for traffic grow in proportion to the
// maximum link load. It is 0 if the step has no paths.
func (s *Scenario) routeSlowdown(ctx context.Context, j *fleet.Job, dim int) (float64, error) {
	healthy := slowdown.Slice{Shape: j.Shape, FailedDim: slowdown.NoFailure}
	failed := slowdown.Slice{Shape: j.Shape, FailedDim: dim}
	ratio, err := s.stepRatio(ctx, j, healthy, failed)
	if math.IsInf(ratio, 1) {
		return 0, err
	}
	return max(1, ratio), err
}

// shapeSlowdown is Config.ShapeSlowdown: the duration of a job's step on another
// slice with as many chips, relative to its own slice.
func (s *Scenario) shapeSlowdown(
	ctx context.Context, j *fleet.Job, to fleet.Shape,
) (float64, error) {
	requested := slowdown.Slice{Shape: j.Shape, FailedDim: slowdown.NoFailure}
	other := slowdown.Slice{Shape: to, FailedDim: slowdown.NoFailure}
	return s.stepRatio(ctx, j, requested, other)
}

// stepRatio returns the duration of a job's step on one slice relative to another.
func (s *Scenario) stepRatio(
	ctx context.Context, j *fleet.Job, from, to slowdown.Slice,
) (float64, error) {
	// Jobs with a simulated step use its durations.
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

	// The shares of a step that wait for traffic grow with the maximum link loads.
	allToAll := j.Traffic.AllToAll * (b.AllToAll/a.AllToAll - 1)
	neighbours := j.Traffic.Neighbours * (b.Neighbours/a.Neighbours - 1)
	return 1 + allToAll + neighbours, nil
}

// ratio returns the duration of the step on slice to, relative to slice from.
func (x *Step) ratio(ctx context.Context, from, to slowdown.Slice) (float64, error) {
	a, err := x.Seconds(ctx, from.Shape, from.FailedDim)
	if err != nil {
		return 0, err
	}
	if a <= 0 || math.IsInf(a, 1) {
		return 0, fmt.Errorf("fleet: the step of jobs of %d chips has no routes on a slice %s, or takes no time",
			x.Chips, from.Shape)
	}
	b, err := x.Seconds(ctx, to.Shape, to.FailedDim)
	return b / a, err
}
