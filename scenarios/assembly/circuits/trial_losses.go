// This file draws the circuits that go down in a trial, and applies their losses to a
// simulation. A loss takes effect at the start of the iteration or at a random time
// within it.

package circuits

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/workloads/training"
)

// circuitLoss is a circuit that a trial may lose.
type circuitLoss struct {
	bundle int
	rank   uint64  // random; the circuits with the lowest ranks go down
	time   float64 // random time of the loss, as a fraction of the planned makespan
}

// drawLosses draws n circuits of a topology, indexed by bundle. All sets of n circuits
// are equally likely.
//
// The rank of circuit k of a bundle depends only on the seed, the bundle and k. If two
// topologies share most of their circuits, most trials therefore take the same circuits
// from both. This reduces the variance of their difference (common random numbers).
func drawLosses(circuits []int, n int, seed uint64) []circuitLoss {
	if n == 0 {
		return nil
	}
	var losses []circuitLoss
	for e, provisioned := range circuits {
		// The stream of a bundle does not depend on other bundles.
		random := training.RandomStream(seed, fmt.Sprintf("circuits of bundle %d", e))
		for range provisioned {
			losses = append(losses, circuitLoss{e, random.Uint64(), random.Float64()})
		}
	}
	slices.SortStableFunc(losses, func(a, b circuitLoss) int { return cmp.Compare(a.rank, b.rank) })
	return losses[:min(n, len(losses))]
}

// applyLosses takes the lost circuits of a trial from e: at the start, or each at its
// random time within the planned makespan. A controller, if not nil, reacts to the last
// loss after its decision time.
//
// It returns the topology at the end, and whether the controller has moved circuits.
func (r *trials) applyLosses(
	ctx context.Context, e *flow.Evaluator, circuits []int, seed uint64, planMakespan engine.Time,
	controller *lossController,
) (after []int, moved bool, err error) {
	k := &r.scenario.Trials
	if k.LostCircuits == 0 {
		return circuits, false, nil
	}

	remaining, lost := slices.Clone(circuits), drawLosses(circuits, k.LostCircuits, seed)
	lastLoss := engine.Time(0)
	var changes []engine.Change
	if k.LossTime == "start" {
		for _, l := range lost {
			remaining[l.bundle]--
		}
		r.setCircuits(e, remaining)
	} else {
		byTime := func(a, b circuitLoss) int { return cmp.Compare(a.time, b.time) }
		slices.SortStableFunc(lost, byTime)
		r.setCircuits(e, circuits)
		for _, l := range lost {
			previous := slices.Clone(remaining)
			remaining[l.bundle]--
			lastLoss = engine.Time(l.time * float64(planMakespan))
			changes = append(changes, r.rateChanges(lastLoss, previous, remaining)...)
		}
	}

	after = remaining
	if controller != nil {
		if after, err = r.redecide(ctx, controller, remaining, lost); err != nil {
			return nil, false, err
		}
		// The new topology is decided after the last loss. Its circuits then move.
		moves := r.moveChanges(lastLoss+k.DecisionTime, remaining, after)
		changes = append(changes, moves...)
	}
	if changes == nil && controller == nil {
		return after, false, nil
	}
	return after, !slices.Equal(after, remaining), e.SetChanges(changes)
}
