package study

import (
	"fmt"
	"math"
	"testing"

	"sim/scenarios"
	"sim/scenarios/result"
)

// TestForecast: if times are products of factors of policy and values, a third of the
// cells predicts the rest; an unmeasured value is predicted like the nearest measured
// one.
func TestForecast(t *testing.T) {
	p := &Plan{Sweep: result.Sweep{Axes: []result.Axis{{Labels: []string{"1", "2", "3", "4"}}, {Labels: []string{"a", "b", "c"}}}}}
	store := newStore("")
	factor := func(at []int, policy int) float64 {
		return math.Pow(10, float64(at[0])) * float64(1+at[1]) * float64(1+7*policy)
	}
	want := 0.0
	for x := range 4 {
		for y := range 3 {
			for policy := range 2 {
				at := []int{x, y}
				key := fmt.Sprint(at, policy)
				p.Sweep.Cells = append(p.Sweep.Cells, result.Cell{At: at, Policy: fmt.Sprint(policy), Key: key})
				variant := x*3 + y
				p.Variant, p.DecisionVariant = append(p.Variant, variant), append(p.DecisionVariant, variant)
				elapsed := factor(at, policy)
				switch {
				case x == 0 || y == x%3: // the first value, and one cell of each other value
					store.records[key] = &Record{Key: key, Timings: result.PolicyTimings{SimulateS: elapsed}}
				default:
					want += elapsed
				}
			}
		}
	}
	remaining := func(store *Store) (float64, bool) {
		p.costEstimates = make([]scenarios.Cost, len(p.Sweep.Cells)+1) // equal costs
		f, err := p.Forecast(t.Context(), store, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.Seconds, f.Rough
	}
	if got, rough := remaining(store); rough || math.Abs(got-want) > 0.05*want {
		t.Errorf("%g s remain, want %g (rough %t)", got, want, rough)
	}
	for key := range store.records {
		if key[len(key)-1] == '1' { // no cell of the slower policy
			delete(store.records, key)
		}
	}
	if got, rough := remaining(store); !rough || !(got > 0) {
		t.Errorf("%g s remain of a policy that has no time, rough %t", got, rough)
	}
	if got, rough := remaining(newStore("")); got != 0 || !rough {
		t.Errorf("%g s remain by no cell, rough %t", got, rough)
	}
}

// TestForecastShared: if the first cell of a group does the work of all cells that differ
// in one axis, the others are predicted to be fast once one of them has been measured.
func TestForecastShared(t *testing.T) {
	p := &Plan{Sweep: result.Sweep{Axes: []result.Axis{{Labels: []string{"1", "2"}}, {Labels: make([]string, 50)}, {Labels: []string{"a", "b", "c"}}}}}
	for i := range 2 * 50 * 3 {
		at := []int{1 - i/150, 49 - i/3%50, i % 3}
		p.Sweep.Cells = append(p.Sweep.Cells, result.Cell{At: at, Policy: "p", Key: fmt.Sprint(i)})
		p.Variant, p.DecisionVariant = append(p.Variant, i), append(p.DecisionVariant, i)
	}
	store := newStore("")
	finish := func(i int) {
		elapsed := 1e-5
		if c := p.Sweep.Cells[i]; c.At[1] == 49 {
			elapsed = math.Pow(10, float64(c.At[2]))
		}
		key := p.Sweep.Cells[i].Key
		store.records[key] = &Record{Key: key, Timings: result.PolicyTimings{SolveS: elapsed}}
	}
	for i := range 3 {
		finish(i)
	}
	remaining := func() (float64, bool) {
		p.costEstimates = make([]scenarios.Cost, len(p.Sweep.Cells)+1) // equal costs
		f, err := p.Forecast(t.Context(), store, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.Seconds, f.Rough
	}
	if got, rough := remaining(); !rough || got < 1000 {
		t.Errorf("%g s remain when only first cells are known, rough %t", got, rough)
	}
	for i := 3; i < 6; i++ {
		finish(i)
	}
	if got, rough := remaining(); !rough || math.Abs(got-111) > 1 {
		t.Errorf("%g s remain, want 111: the first cells of the other half; rough %t", got, rough)
	}
	for i := 6; i < 153; i++ {
		finish(i)
	}
	if got, rough := remaining(); rough || got > 1 {
		t.Errorf("%g s remain, rough %t", got, rough)
	}
}

// TestForecastPackets: packet-level cells are estimated by their hops, so a small one
// predicts a large one. Cells that reuse another cell's decision take no time.
func TestForecastPackets(t *testing.T) {
	const text = `
[workload]
kind = "all-to-all"
packet = "1000B"
[fabric]
kind = "torus"
dims = [4, 4, 4]
failed_ocs = ["x0"]
[engine]
level = "packet"
[policy]
routers = ["wild-first"]
[sweep]
"workload.message" = ["1KB", "100MB"]
"workload.step.share" = [0.1, 0.2]
`
	p := plan(t, text)
	store := newStore("")
	forecast := func(p *Plan, samples map[string]*Record) *Forecast {
		f, err := p.Forecast(t.Context(), store, samples)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := forecast(p, nil)
	const pairs, hops = 64 * 63, 64.0 / 63 * 3         // on average
	want := pairs * hops * (1 + 1e5)                   // packets
	if f.Cost.Hops < want || f.Cost.Hops > 1.02*want { // detours around the switch
		t.Errorf("%g hops, want %g and a little more", f.Cost.Hops, want)
	}
	if f.Missing != 4 || !f.Unknown || f.Seconds != f.Cost.Seconds {
		t.Errorf("without a time: %+v", f)
	}
	cost, err := p.costs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	small := &Record{Key: p.Sweep.Cells[0].Key}
	small.Timings.SimulateS = 2 * (cost(0).Seconds + minCellSeconds)
	minimum := 2 * cost(p.Variant[2]).Seconds
	if f := forecast(p, map[string]*Record{small.Key: small}); f.Unknown || f.Missing != 4 || f.Seconds < minimum || f.Seconds > 1.01*minimum {
		t.Errorf("by a sample: %+v, want %g s", f, minimum)
	}
	store.records[small.Key] = small
	if f := forecast(p, nil); f.Unknown || f.Missing != 3 || f.Seconds < minimum || f.Seconds > 1.01*minimum {
		t.Errorf("by a cell that is there: %+v, want %g s", f, minimum)
	}
	if f := forecast(plan(t, text, "engine.level=static"), nil); f.Cost.Hops != 0 || f.Missing != 4 {
		t.Errorf("not of packets: %+v", f)
	}
}
