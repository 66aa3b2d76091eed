package reconfigure

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"sim/engine/contexttest"
	"sim/policies/reconfigure/plan"
)

// unequal returns an all-to-all with unequal demand.
func unequal(n, k int) *plan.Problem {
	p := plan.UniformProblem(n, k, 1)
	random := rand.New(rand.NewPCG(1, 2))
	for i, c := range p.Chunks {
		if c > 0 {
			p.Chunks[i] = random.Int32N(9)
		}
	}
	return p
}

// If its context ends, at any time, a planner returns the error of the context. It leaves
// no goroutines and no partial result: the next caller gets the same candidates as without
// an interrupt.
func TestPlanningEndsWithContext(t *testing.T) {
	for name, p := range map[string]*plan.Problem{"uniform": plan.UniformProblem(12, 2, 2), "unequal": unequal(8, 2)} {
		for _, r := range Table {
			if r.Name == "imported" || r.Name == "spreadout" {
				continue // one has nothing to plan, the other is done at once
			}
			o := Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}, Workers: 2}
			whole := contexttest.After(t.Context(), 0)
			want, err := newTestSet(t, p, o).Candidates(whole, r.Name)
			if err != nil {
				t.Fatalf("%s, %s: %v", r.Name, name, err)
			}
			if whole.Asked() < 5 {
				t.Errorf("%s, %s: the context is asked %d times", r.Name, name, whole.Asked())
			}
			before := runtime.NumGoroutine()
			for _, n := range []int64{1, 2, whole.Asked() / 3, whole.Asked() / 2, whole.Asked() * 9 / 10} {
				s := newTestSet(t, p, o)
				if _, err := s.Candidates(contexttest.After(t.Context(), max(1, n)), r.Name); !errors.Is(err, context.Canceled) {
					t.Errorf("%s, %s, asked %d of %d times: %v", r.Name, name, n, whole.Asked(), err)
				}
				got, err := s.Candidates(t.Context(), r.Name)
				if err != nil || len(got) != len(want) {
					t.Fatalf("%s, %s, after an interrupt at %d: %d candidates, want %d: %v", r.Name, name, n, len(got), len(want), err)
				}
				for i := range want {
					if got[i].Slots != want[i].Slots || got[i].Reconfigurations != want[i].Reconfigurations || got[i].Origin != want[i].Origin {
						t.Errorf("%s, %s, after an interrupt at %d: candidate %d is %s, want %s", r.Name, name, n, i, got[i].Origin, want[i].Origin)
					}
				}
			}
			for wait := time.Millisecond; runtime.NumGoroutine() > before && wait < 10*time.Second; wait *= 2 {
				time.Sleep(wait)
			}
			if now := runtime.NumGoroutine(); now > before {
				t.Errorf("%s, %s: %d goroutines are left", r.Name, name, now-before)
			}
		}
	}
}

// Building and sealing of plans end when stop reports true.
func TestBuildEndsWithContext(t *testing.T) {
	p := unequal(14, 2)
	s := newTestSet(t, p, Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}})
	for _, r := range Table {
		if r.Name == "imported" {
			continue
		}
		list, err := s.Candidates(t.Context(), r.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Build == nil {
				continue
			}
			if _, err := c.Build(0, func() bool { return true }); err == nil {
				t.Errorf("%s: it is written out though it is to stop", c.Origin)
			}
			built, err := c.Build(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := built.SealWithStop(func() bool { return true }); err == nil {
				t.Errorf("%s: it is sealed though it is to stop", c.Origin)
			}
			if err := built.Seal(); err != nil {
				t.Errorf("%s, after a stop: %v", c.Origin, err)
			}
		}
	}
}
