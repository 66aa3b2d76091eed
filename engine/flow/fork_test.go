package flow_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// TestForkAndResume: a run resumed with other capacities of resources that were not used yet
// equals a full run, with and without cut-offs, in any order.
func TestForkAndResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 10, changes: rapid.Bool().Draw(t, "changing")})
		e, fresh := in.evaluator(t, flow.MaxMin), in.evaluator(t, flow.MaxMin)
		order := rapid.Permutation(resources(in.n)).Draw(t, "order")
		vary := order[:rapid.IntRange(0, len(order)).Draw(t, "vary")]
		for range 2 {
			cut := engine.Never
			if rapid.IntRange(0, 2).Draw(t, "cut fork") == 0 {
				cut = engine.Time(rapid.Int64Range(0, 50_000_000).Draw(t, "cut"))
			}
			for _, r := range order {
				rate := rapid.SampledFrom([]float64{100e9, 400e9, 900e9}).Draw(t, "rate")
				if slices.Contains(vary, r) {
					rate = 900e9
				}
				e.SetRate(r, rate)
				fresh.SetRate(r, rate)
			}
			e.Fork(vary, cut)
			for range 3 {
				for _, r := range vary {
					rate := rapid.SampledFrom([]float64{100e9, 300e9, 900e9}).Draw(t, "varied rate")
					e.SetRate(r, rate)
					fresh.SetRate(r, rate)
				}
				now := min(cut, engine.Time(rapid.SampledFrom([]int64{1_000_000, 20_000_000, int64(engine.Never)}).Draw(t, "cut resume")))
				got, ok := e.Resume(now)
				want, wantOK := fresh.Makespan(now)
				if ok != wantOK || ok && got != want {
					t.Fatalf("cut off at %v: %v (%v), want %v (%v)", now, got, ok, want, wantOK)
				}
			}
		}
	})
}
