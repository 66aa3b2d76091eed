package reconfigure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/contexttest"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

// delayed returns the completion time at a delay, plan.Never above the given number of
// topologies.
func delayed(delay engine.Time, maxTopologies int) func(*plan.Candidate) engine.Time {
	return func(c *plan.Candidate) engine.Time {
		if c.Reconfigurations > maxTopologies {
			return plan.Never
		}
		return c.Cost(delay, slot)
	}
}

// slot is so long that the time of 2^30 slots overflows.
const slot = 10 * engine.Millisecond

// A search for the best plan does not depend on earlier requests. It finds the best plan of
// all numbers of topologies, and no worse one than a usable plan of another planner.
func TestBestFindsTheBestOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 8).Draw(t, "n")
		p := plan.UniformProblem(n, rapid.IntRange(1, 3).Draw(t, "k"), 1)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "demand"), 1))
		if rapid.Bool().Draw(t, "unequal") {
			for i, c := range p.Chunks {
				if c > 0 {
					p.Chunks[i] = r.Int32N(9)
				}
			}
		}
		o := Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}, Workers: 1}
		steps := rapid.Bool().Draw(t, "steps") // as of many GPUs
		fresh := func() *PlannerSet {
			s, err := NewPlannerSet(p, o)
			if err != nil {
				t.Fatal(err)
			}
			if s.search, err = newSearch(s, nil); err != nil {
				t.Fatal(err)
			}
			if steps {
				if s.search.paper, err = rounds.NewSearch(p, s.paperOptions()); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}
		// Where slots alone cost, up to a number of topologies.
		each := fresh()
		var all []plan.Candidate
		for d := 1; d < n; d++ {
			c, err := each.bestOfPlus(t.Context(), func(c *plan.Candidate) engine.Time {
				if c.Reconfigurations > d {
					return plan.Never
				}
				return c.Cost(0, slot)
			})
			if err == nil {
				all = append(all, *c)
			} else if !errors.Is(err, plan.ErrNoCandidate) {
				t.Fatal(err)
			}
		}
		for _, other := range Table {
			if list, err := each.Candidates(t.Context(), other.Name); err == nil && other.Name != "reconfigure-during+" {
				all = append(all, each.usableCandidates(other.Name, list)...)
			}
		}
		s := fresh()
		for i := range 4 {
			cost := delayed(engine.Time(r.IntN(60))*engine.Millisecond, 1+r.IntN(n))
			want, err := plan.Best(all, cost)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.bestOfPlus(t.Context(), cost)
			if err != nil || cost(got) != cost(want) || got.Reconfigurations != want.Reconfigurations {
				t.Fatalf("%+v %v, want %+v", got, err, want)
			}
			if i%3 > 0 && !*long {
				continue
			}
			alone, err := fresh().bestOfPlus(t.Context(), cost)
			if err != nil || written(t, alone) != written(t, got) {
				t.Fatalf("%+v where nothing was asked before, else %+v %v", alone, got, err)
			}
		}
	})
}

// written returns a candidate and its plan as text.
func written(t *rapid.T, c *plan.Candidate) string {
	p, err := c.Build(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(c.Origin, c.Slots, p.Topologies, p.Tx)
}

// If its context ends, at any time, the search returns the error of the context. It leaves
// nothing that changes the result of a later search.
func TestBestEndsWithContext(t *testing.T) {
	for name, p := range map[string]*plan.Problem{"uniform": plan.UniformProblem(12, 2, 2), "unequal": unequal(8, 2)} {
		o := Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}, Workers: 2}
		whole := contexttest.After(t.Context(), 0)
		want, err := newTestSet(t, p, o).bestOfPlus(whole, delayed(20*engine.Millisecond, 20))
		if err != nil {
			t.Fatal(name, err)
		}
		for _, n := range []int64{1, 2, whole.Asked() / 3, whole.Asked() / 2, whole.Asked() * 9 / 10} {
			s := newTestSet(t, p, o)
			if _, err := s.bestOfPlus(contexttest.After(t.Context(), max(1, n)), delayed(20*engine.Millisecond, 20)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, asked %d of %d times: %v", name, n, whole.Asked(), err)
			}
			got, err := s.bestOfPlus(t.Context(), delayed(20*engine.Millisecond, 20))
			if err != nil || got.Slots != want.Slots || got.Reconfigurations != want.Reconfigurations || got.Origin != want.Origin {
				t.Errorf("%s, after an interrupt at %d: %+v %v, want %+v", name, n, got, err, want)
			}
		}
	}
}
