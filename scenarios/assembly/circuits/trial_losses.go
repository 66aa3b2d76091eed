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

// circuitLoss is one that may go down.
type circuitLoss struct {
	bundle int
	rank   uint64  // the lowest ranks go down
	time   float64 // in fractions of the iteration
}

// drawLosses returns n of the circuits x, by bundle, each choice of n being as likely as any other. The k-th circuit of a
// bundle has a rank of its own under a seed, whatever else is up, and the lowest go down: so of two topologies that
// share most circuits, most trials take the same ones from both.
func drawLosses(circuits []int, n int, seed uint64) []circuitLoss {
	if n == 0 {
		return nil
	}
	var losses []circuitLoss
	for e, provisioned := range circuits {
		random := training.RandomStream(seed, fmt.Sprintf("circuits of bundle %d", e))
		for range provisioned {
			losses = append(losses, circuitLoss{e, random.Uint64(), random.Float64()})
		}
	}
	slices.SortStableFunc(losses, func(a, b circuitLoss) int { return cmp.Compare(a.rank, b.rank) })
	return losses[:min(n, len(losses))]
}

// applyLosses takes the circuits from e that a trial loses: at the start, or each at its time, a fraction of the makespan that
// was planned; and has a controller react, if there is one, when it has decided after the last of them. It returns the
// circuits that there are in the end, and whether it has moved some.
func (r *trials) applyLosses(ctx context.Context, e *flow.Evaluator, circuits []int, seed uint64, planned engine.Time, controller *lossController) (after []int, moved bool, err error) {
	k := &r.scenario.Replay
	if k.LostCircuits == 0 {
		return circuits, false, nil
	}
	remaining, lost, time := slices.Clone(circuits), drawLosses(circuits, k.LostCircuits, seed), engine.Time(0)
	var changes []engine.Change
	if k.LostWhen == "start" {
		for _, l := range lost {
			remaining[l.bundle]--
		}
		r.setCircuits(e, remaining)
	} else {
		slices.SortStableFunc(lost, func(a, b circuitLoss) int { return cmp.Compare(a.time, b.time) })
		r.setCircuits(e, circuits)
		for _, l := range lost {
			previous := slices.Clone(remaining)
			remaining[l.bundle]--
			time = engine.Time(l.time * float64(planned))
			changes = append(changes, r.rateChanges(time, previous, remaining)...)
		}
	}
	after = remaining
	if controller != nil {
		if after, err = r.redecide(ctx, controller, remaining, lost); err != nil {
			return nil, false, err
		}
		changes = append(changes, r.moveChanges(time+k.DecisionTime, remaining, after)...)
	}
	if changes == nil && controller == nil {
		return after, false, nil
	}
	return after, !slices.Equal(after, remaining), e.SetChanges(changes)
}
