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

// circuit is one that may go down.
type circuit struct {
	bundle int
	rank   uint64  // the lowest ranks go down
	when   float64 // in fractions of the iteration
}

// drawLost returns n of the circuits x, by bundle, each choice of n being as likely as any other. The k-th circuit of a
// bundle has a rank of its own under a seed, whatever else is up, and the lowest go down: so of two topologies that
// share most circuits, most trials take the same ones from both.
func drawLost(x []int, n int, seed uint64) []circuit {
	if n == 0 {
		return nil
	}
	var all []circuit
	for e, provisioned := range x {
		random := training.RandomStream(seed, fmt.Sprintf("circuits of bundle %d", e))
		for range provisioned {
			all = append(all, circuit{e, random.Uint64(), random.Float64()})
		}
	}
	slices.SortStableFunc(all, func(a, b circuit) int { return cmp.Compare(a.rank, b.rank) })
	return all[:min(n, len(all))]
}

// lose takes the circuits from e that a trial loses: at the start, or each at its time, a fraction of the makespan that
// was planned; and has a controller react, if there is one, when it has decided after the last of them. It returns the
// circuits that there are in the end, and whether it has moved some.
func (r *trials) lose(ctx context.Context, e *flow.Evaluator, x []int, seed uint64, planned engine.Time, c *reaction) (after []int, moved bool, err error) {
	k := &r.s.Replay
	if k.LostCircuits == 0 {
		return x, false, nil
	}
	left, lost, at := slices.Clone(x), drawLost(x, k.LostCircuits, seed), engine.Time(0)
	var changes []engine.Change
	if k.LostWhen == "start" {
		for _, l := range lost {
			left[l.bundle]--
		}
		r.provision(e, left)
	} else {
		slices.SortStableFunc(lost, func(a, b circuit) int { return cmp.Compare(a.when, b.when) })
		r.provision(e, x)
		for _, l := range lost {
			before := slices.Clone(left)
			left[l.bundle]--
			at = engine.Time(l.when * float64(planned))
			changes = append(changes, r.changes(at, before, left)...)
		}
	}
	after = left
	if c != nil {
		if after, err = r.redecide(ctx, c, left, lost); err != nil {
			return nil, false, err
		}
		changes = append(changes, r.moves(at+k.DecisionTime, left, after)...)
	}
	if changes == nil && c == nil {
		return after, false, nil
	}
	return after, !slices.Equal(after, left), e.SetChanges(changes)
}
