// This file computes slowdowns: the duration of a job's training step on a slice, relative to
// its duration on another slice or without a failed switch. Slowdowns come from simulated
// steps if there are any, else from link loads (package slowdown) or published values.

package fleets

import (
	"context"
	"fmt"
	"math"

	"sim/scenarios/assembly/fleets/slowdown"
	"sim/workloads/fleet"
)

// Step is a simulated training step. It is the step of all jobs whose slice has a given
// number of chips.
type Step struct {
	Chips int // chips of the slice
	// Seconds simulates the step on a slice and returns its duration in seconds. down is the
	// dimension whose switch has failed, or negative if none has. The duration is infinite
	// if the slice has no paths around the switch.
	Seconds func(ctx context.Context, s fleet.Shape, down int) (float64, error)
}

// table3Slowdowns are the measured relative slowdowns of steps with a failed switch (Zu et
// al., "Resiliency at Scale: Managing Google's TPUv4 Machine Learning Supercomputer",
// NSDI 24, Table 3).
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

// streamTable3 is the kind of random stream that chooses rows of Table 3. It differs from the
// kinds of all other streams, which are smaller.
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
// slice with the same number of chips, relative to its own slice.
func (s *Scenario) shapeSlowdown(
	ctx context.Context, j *fleet.Job, to fleet.Shape,
) (float64, error) {
	requested := slowdown.Slice{Shape: j.Shape, FailedDim: slowdown.NoFailure}
	other := slowdown.Slice{Shape: to, FailedDim: slowdown.NoFailure}
	return s.stepRatio(ctx, j, requested, other)
}

// stepRatio returns the duration of a job's step on slice to, relative to slice from.
func (s *Scenario) stepRatio(
	ctx context.Context, j *fleet.Job, from, to slowdown.Slice,
) (float64, error) {
	// Jobs with a simulated step use its durations.
	for _, step := range s.Steps {
		if step.Chips == j.Shape.Chips() && j.Shape.Cubes() > 0 {
			return step.ratio(ctx, from, to)
		}
	}

	fromLoads, err := slowdown.LoadsOf(ctx, from)
	if err != nil {
		return 0, err
	}
	toLoads, err := slowdown.LoadsOf(ctx, to)
	if err != nil {
		return 0, err
	}

	// The shares of a step that wait for traffic grow in proportion to the maximum link
	// loads. The rest of the step does not change.
	allToAll := j.Traffic.AllToAll * (toLoads.AllToAll/fromLoads.AllToAll - 1)
	neighbours := j.Traffic.Neighbours * (toLoads.Neighbours/fromLoads.Neighbours - 1)
	return 1 + allToAll + neighbours, nil
}

// ratio returns the duration of the step on slice to, relative to slice from.
func (x *Step) ratio(ctx context.Context, from, to slowdown.Slice) (float64, error) {
	fromSeconds, err := x.Seconds(ctx, from.Shape, from.FailedDim)
	if err != nil {
		return 0, err
	}
	if fromSeconds <= 0 || math.IsInf(fromSeconds, 1) {
		return 0, fmt.Errorf("fleet: the step of jobs of %d chips has no routes on a slice %s, or takes no time",
			x.Chips, from.Shape)
	}
	toSeconds, err := x.Seconds(ctx, to.Shape, to.FailedDim)
	return toSeconds / fromSeconds, err
}
