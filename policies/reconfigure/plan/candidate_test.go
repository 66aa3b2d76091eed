package plan_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/policies/reconfigure/plan"
)

// The paper's example, n = 8, k = 1, R = 7T: 28 T + R = 35 T, 16 T + 2 R = 30 T, 7 T + 7 R
// = 56 T (Sec. 2.3). The second is best. With independent switches the last one
// counts. A fluid schedule is rounded to a tick.
func TestCost(t *testing.T) {
	const slot, delay = engine.Time(100), engine.Time(700)
	list := []plan.Candidate{{Reconfigurations: 1, Slots: 28}, {Reconfigurations: 2, Slots: 16}, {Reconfigurations: 7, Slots: 7}}
	for i, want := range []engine.Time{35, 30, 56} {
		if got := list[i].Cost(delay, slot); got != want*slot {
			t.Errorf("%d: %v, want %v", i, got, want*slot)
		}
	}
	if best, err := plan.Best(list, at(delay, slot)); err != nil || best != &list[1] {
		t.Errorf("%+v %v", best, err)
	}
	own := plan.Candidate{Reconfigurations: 9, Slots: 99, Switches: []plan.SwitchLoad{{Reconfigurations: 3, Slots: 4}, {Reconfigurations: 1, Slots: 19}, {Reconfigurations: 2, Slots: 11}}}
	if got := own.Cost(delay, slot); got != 26*slot {
		t.Errorf("%v", got)
	}
	fluid := plan.Candidate{Reconfigurations: 2, Fluid: 1.2345}
	if got := fluid.Cost(delay, slot); got != 1400+123 {
		t.Errorf("%v", got)
	}
	if _, err := plan.Best(nil, at(delay, slot)); !errors.Is(err, plan.ErrNoCandidate) {
		t.Error(err)
	}
	same := []plan.Candidate{{Reconfigurations: 3, Slots: 1, Origin: "late"}, {Reconfigurations: 2, Slots: 1, Origin: "a"}, {Reconfigurations: 2, Slots: 1, Origin: "b"}}
	if best, err := plan.Best(same, at(0, slot)); err != nil || best.Origin != "a" {
		t.Errorf("%+v %v", best, err)
	}
}

// The frontier is sorted and no member beats another. For each delay it contains a best
// candidate with the minimum number of reconfigurations. Each dropped candidate is no
// better than a member.
func TestFrontier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []plan.Candidate
		var own int
		for i := range rapid.IntRange(1, 12).Draw(t, "candidates") {
			c := plan.Candidate{Origin: string(rune('a' + i)), Reconfigurations: rapid.IntRange(1, 5).Draw(t, "d")}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				c.Fluid = float64(rapid.IntRange(1, 40).Draw(t, "fluid")) / 4
			case 1:
				c.Switches = []plan.SwitchLoad{{Reconfigurations: 1, Slots: int64(rapid.IntRange(1, 10).Draw(t, "own"))}}
				own++
			default:
				c.Slots = int64(rapid.IntRange(1, 10).Draw(t, "slots"))
			}
			list = append(list, c)
		}
		frontier := plan.Frontier(slices.Clone(list))
		work := func(c plan.Candidate) float64 { return max(c.Fluid, float64(c.Slots)) }
		together := frontier[:len(frontier)-own]
		for i, c := range frontier {
			switch {
			case (c.Switches != nil) != (i >= len(together)):
				t.Fatalf("%+v is at %d", c, i)
			case i > 0 && i < len(together) && (c.Reconfigurations <= frontier[i-1].Reconfigurations || work(c) >= work(frontier[i-1])):
				t.Fatalf("%+v comes behind %+v", c, frontier[i-1])
			}
		}
		for _, c := range list {
			if c.Switches == nil && !slices.ContainsFunc(together, func(k plan.Candidate) bool {
				return k.Origin == c.Origin || k.Reconfigurations <= c.Reconfigurations && work(k) <= work(c)
			}) {
				t.Fatalf("%+v is dropped for nothing", c)
			}
		}
		delay, slot := engine.Time(rapid.IntRange(0, 1000).Draw(t, "R")), engine.Time(rapid.IntRange(1, 1000).Draw(t, "T"))
		a, err := plan.Best(list, at(delay, slot))
		b, err2 := plan.Best(frontier, at(delay, slot))
		if err != nil || err2 != nil || a.Cost(delay, slot) != b.Cost(delay, slot) {
			t.Fatal(a, b, err, err2)
		}
		minCompletion := engine.Time(math.MaxInt64)
		for i := range list {
			minCompletion = min(minCompletion, list[i].Cost(delay, slot))
		}
		if a.Cost(delay, slot) != minCompletion {
			t.Fatalf("%+v is not the best at %v", a, minCompletion)
		}
	})
}

// at returns the completion time at a delay.
func at(delay, slot engine.Time) func(*plan.Candidate) engine.Time {
	return func(c *plan.Candidate) engine.Time { return c.Cost(delay, slot) }
}
