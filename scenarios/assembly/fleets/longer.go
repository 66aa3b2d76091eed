package fleets

import (
	"context"

	"sim/scenarios/assembly/fleets/slowdown"
	"sim/workloads/fleet"
)

// table3 is how much longer steps took with a switch down (Table 3 of the paper).
var table3 = [...]float64{0.005, 0.03, 0.039, 0.086, 0.083, 0.047, 0.026, 0.012, 0.032}

// slowdown returns how much longer a job's step takes with a switch down, as the keys say.
func (s *Scenario) slowdown() func(context.Context, *fleet.Job, int) (float64, error) {
	f := &s.Policy.Fault
	switch f.Slowdown {
	case "table3":
		return func(_ context.Context, j *fleet.Job, _ int) (float64, error) {
			at := int(fleet.Chance(s.Seed, streamTable3, uint64(j.Number)) * float64(len(table3)))
			return 1 + table3[at], nil
		}
	case "constant":
		return func(context.Context, *fleet.Job, int) (float64, error) { return 1 + f.Slower, nil }
	}
	return longer
}

// streamTable3 numbers what is drawn of Table 3.
const streamTable3 = 1 << 40

// longer is by the loads of links: the shares of a step that wait for traffic grow as its most loaded link does.
func longer(ctx context.Context, j *fleet.Job, dim int) (float64, error) {
	x, err := step(ctx, j, slowdown.Slice{Shape: j.Shape, Down: slowdown.None}, slowdown.Slice{Shape: j.Shape, Down: dim})
	return max(1, x), err
}

// reshaped is likewise of another slice of as many chips.
func reshaped(ctx context.Context, j *fleet.Job, to fleet.Shape) (float64, error) {
	return step(ctx, j, slowdown.Slice{Shape: j.Shape, Down: slowdown.None}, slowdown.Slice{Shape: to, Down: slowdown.None})
}

// step returns how many times as long a job's step takes in one slice as in another.
func step(ctx context.Context, j *fleet.Job, from, to slowdown.Slice) (float64, error) {
	a, err := slowdown.Of(ctx, from)
	if err != nil {
		return 0, err
	}
	b, err := slowdown.Of(ctx, to)
	if err != nil {
		return 0, err
	}
	x := j.Traffic
	return 1 + x.AllToAll*(b.AllToAll/a.AllToAll-1) + x.Neighbours*(b.Neighbours/a.Neighbours-1), nil
}
