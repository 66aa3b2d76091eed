package plan_test

import (
	"testing"

	"sim/engine"
	"sim/policies/reconfigure/plan"
)

// The bound is the minimum over numbers of topologies, and does not increase if rules allow
// more.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		n, k   int
		chunks int32
	}{{2, 1, 1}, {8, 1, 1}, {8, 3, 1}, {16, 2, 3}, {64, 1, 8}} {
		b, err := plan.NewBounder(plan.UniformProblem(c.n, c.k, c.chunks), nil)
		if err != nil {
			t.Fatal(err)
		}
		const slot = 40
		for _, delay := range []engine.Time{0, 1, 40, 900, 1e6} {
			for _, limit := range []int{0, 1, 3} {
				forward, relay := engine.Never, engine.Never
				for d := 1; d < c.n && (limit == 0 || d <= limit); d++ {
					x, err := b.At(d)
					if err != nil {
						t.Fatal(err)
					}
					forward = min(forward, engine.Time(d)*delay+engine.Time(x.Forward)*slot)
					relay = min(relay, engine.Time(d)*delay+engine.Time(x.Relay)*slot)
				}
				rules := plan.Rules{Topologies: limit}
				if got := b.Completion(rules, delay, slot, false); got != forward {
					t.Errorf("%v, delay %d, at most %d: %d without relaying, want %d", c, delay, limit, got, forward)
				}
				fluid := b.Completion(rules, delay, slot, true)
				rules.Relay = true
				if got := b.Completion(rules, delay, slot, false); got != relay || got > forward {
					t.Errorf("%v, delay %d, at most %d: %d with it, want %d", c, delay, limit, got, relay)
				}
				if fluid > forward || forward >= fluid+slot {
					t.Errorf("%v, delay %d: %d fluid, %d in whole slots", c, delay, fluid, forward)
				}
				if got := b.Completion(plan.Rules{Independent: true}, delay, slot, false); got > relay {
					t.Errorf("%v, delay %d: %d on their own, %d together", c, delay, got, relay)
				}
			}
			if got, want := b.Completion(plan.Rules{Standing: true, Topologies: 1}, delay, slot, false), b.Completion(plan.Rules{Topologies: 1}, 0, slot, false); got != want {
				t.Errorf("%v, delay %d: a topology that stands takes %d, want %d", c, delay, got, want)
			}
		}
	}
}
