package circuits

import (
	"cmp"
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
		random := training.Stream(seed, fmt.Sprintf("circuits of bundle %d", e))
		for range provisioned {
			all = append(all, circuit{e, random.Uint64(), random.Float64()})
		}
	}
	slices.SortStableFunc(all, func(a, b circuit) int { return cmp.Compare(a.rank, b.rank) })
	return all[:min(n, len(all))]
}

// lose takes the circuits from e that a trial loses: at the start, or each at its time, a fraction of the makespan that
// was planned.
func (r *trials) lose(e *flow.Evaluator, x []int, seed uint64, planned engine.Time) error {
	k := &r.s.Replay
	if k.LostCircuits == 0 {
		return nil
	}
	left, lost := slices.Clone(x), drawLost(x, k.LostCircuits, seed)
	if k.LostWhen == "start" {
		for _, c := range lost {
			left[c.bundle]--
		}
		r.provision(e, left)
		return nil
	}
	slices.SortStableFunc(lost, func(a, b circuit) int { return cmp.Compare(a.when, b.when) })
	var changes []engine.Change
	for _, c := range lost {
		left[c.bundle]--
		b := &r.optical.Bundles[c.bundle]
		for _, l := range b.Links {
			changes = append(changes, engine.Change{At: engine.Time(c.when * float64(planned)), Link: l, Rate: float64(left[c.bundle]) * float64(b.Rate)})
		}
	}
	return e.SetChanges(changes)
}
