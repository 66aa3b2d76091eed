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

// lose draws n of the circuits x, by bundle, each choice of n being as likely as any other. The k-th circuit of a
// bundle has a rank of its own under a seed, whatever else is up, and the lowest go down: so of two topologies that
// share most circuits, most trials take the same ones from both.
func lose(x []int, n int, seed uint64) []circuit {
	if n == 0 {
		return nil
	}
	var all []circuit
	for e, lit := range x {
		draw := training.Stream(seed, fmt.Sprintf("circuits of bundle %d", e))
		for range lit {
			all = append(all, circuit{e, draw.Uint64(), draw.Float64()})
		}
	}
	slices.SortStableFunc(all, func(a, b circuit) int { return cmp.Compare(a.rank, b.rank) })
	return all[:min(n, len(all))]
}

// darkness takes circuits from one evaluator.
type darkness struct {
	r       *replay
	lit     []int
	left    []int
	changes []engine.Change
}

// fall lets the circuits of a trial go down: at the start, or each at its time, a fraction of the makespan that was
// planned.
func (k *darkness) fall(e *flow.Evaluator, seed uint64, planned engine.Time) error {
	o := &k.r.in.s.Replay
	if o.LostCircuits == 0 {
		return nil
	}
	k.left = append(k.left[:0], k.lit...)
	lost := lose(k.lit, o.LostCircuits, seed)
	if o.LostWhen == "start" {
		for _, c := range lost {
			k.left[c.bundle]--
		}
		k.r.light(e, k.left)
		return nil
	}
	slices.SortStableFunc(lost, func(a, b circuit) int { return cmp.Compare(a.when, b.when) })
	k.changes = k.changes[:0]
	for _, c := range lost {
		k.left[c.bundle]--
		b := &k.r.optical.Bundles[c.bundle]
		for _, l := range b.Links {
			at := engine.Time(c.when * float64(planned))
			k.changes = append(k.changes, engine.Change{At: at, Link: l, Rate: float64(k.left[c.bundle]) * float64(b.Rate)})
		}
	}
	return e.SetChanges(k.changes)
}
