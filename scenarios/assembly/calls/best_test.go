package calls

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

type stubAnswer struct {
	assembly.Answer
	end float64
}

func (a stubAnswer) Measured() (result.Row, result.PolicyTimings) {
	return result.Row{Metrics: map[string]float64{"completion_s": a.end}, Labels: map[string]string{}}, result.PolicyTimings{}
}

// stubSystem is hardware on which a call ends at a time.
type stubSystem struct {
	assembly.System
	end float64
}

func (s stubSystem) Decide(context.Context, string, int) (assembly.Answer, error) {
	return stubAnswer{end: s.end}, nil
}

// TestBestOfKnown: the best algorithm is the same whatever rows came before it, the first of those that end at once, and
// none that these have shown to be no better, or not to serve, is expanded again.
func TestBestOfKnown(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		ends, asked := map[string]float64{}, map[string]int{}
		for _, r := range collective.Table {
			ends[r.Name] = float64(rapid.IntRange(0, 4).Draw(t, r.Name)) // 0 does not serve
		}
		of := func() *system {
			z, err := NewSystem(ctx, &Scenario{
				Call: &Call{}, Policy: "dor",
				Build: func(_ context.Context, algorithm string) (assembly.System, error) {
					asked[algorithm]++
					if ends[algorithm] == 0 {
						return nil, fmt.Errorf("%w: %s", collective.ErrUnserved, algorithm)
					}
					return stubSystem{end: ends[algorithm]}, nil
				},
				Limit: func(context.Context) (collective.Limit, error) { return collective.Limit{}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			return z.(*system)
		}
		decide := func(z *system, name string) (algorithm string) {
			a, err := z.Decide(ctx, name, 1)
			if err != nil {
				t.Fatal(err)
			}
			if why, none := assembly.Unserves(a); none {
				return why
			}
			return a.(*answer).algorithm
		}
		want := decide(of(), collective.BestName)
		z, before, least := of(), map[string]bool{}, math.Inf(1)
		for _, r := range collective.Table {
			if rapid.Bool().Draw(t, "before") {
				decide(z, r.Name)
				before[r.Name] = true
				if end := ends[r.Name]; end > 0 {
					least = min(least, end)
				}
			}
		}
		clear(asked)
		if got := decide(z, collective.BestName); got != want {
			t.Fatalf("%v, of which %v came before: %q is the best, want %q", ends, before, got, want)
		}
		for name := range before {
			if asked[name] > 0 && (ends[name] == 0 || ends[name] > least) {
				t.Fatalf("%v, of which %v came before: %s is expanded again", ends, before, name)
			}
		}
	})
}
