package study

import (
	"fmt"
	"math"
	"testing"

	"sim/scenarios/result"
)

// TestRemaining: where times are products of factors of policy and values, a third of the cells tells what the others
// take; a value that no cell has is taken to be as the nearest.
func TestRemaining(t *testing.T) {
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
				p.Variant, p.Decides = append(p.Variant, variant), append(p.Decides, variant)
				took := factor(at, policy)
				switch {
				case x == 0 || y == x%3: // the first value, and of the others one cell each
					store.records[key] = &Record{Key: key, Timings: result.PolicyTimings{SimulateS: took}}
				default:
					want += took
				}
			}
		}
	}
	if got, rough := p.Remaining(store); rough || math.Abs(got-want) > 0.05*want {
		t.Errorf("%g s remain, want %g (rough %t)", got, want, rough)
	}
	for key := range store.records {
		if key[len(key)-1] == '1' { // of the slower policy none
			delete(store.records, key)
		}
	}
	if got, rough := p.Remaining(store); !rough || !(got > 0) {
		t.Errorf("%g s remain of a policy that has no time, rough %t", got, rough)
	}
	if got, rough := p.Remaining(newStore("")); got != 0 || !rough {
		t.Errorf("%g s remain by no cell, rough %t", got, rough)
	}
}

// TestRemainingShared: where the first cell of a group does the work of all that differ in one axis alone, the others are
// known to take little as soon as one of them has been seen.
func TestRemainingShared(t *testing.T) {
	p := &Plan{Sweep: result.Sweep{Axes: []result.Axis{{Labels: []string{"1", "2"}}, {Labels: make([]string, 50)}, {Labels: []string{"a", "b", "c"}}}}}
	for i := range 2 * 50 * 3 {
		at := []int{1 - i/150, 49 - i/3%50, i % 3}
		p.Sweep.Cells = append(p.Sweep.Cells, result.Cell{At: at, Policy: "p", Key: fmt.Sprint(i)})
		p.Variant, p.Decides = append(p.Variant, i), append(p.Decides, i)
	}
	store := newStore("")
	finish := func(i int) {
		took := 1e-5
		if c := p.Sweep.Cells[i]; c.At[1] == 49 {
			took = math.Pow(10, float64(c.At[2]))
		}
		key := p.Sweep.Cells[i].Key
		store.records[key] = &Record{Key: key, Timings: result.PolicyTimings{SolveS: took}}
	}
	for i := range 3 {
		finish(i)
	}
	if got, rough := p.Remaining(store); !rough || got < 1000 {
		t.Errorf("%g s remain when only first cells are known, rough %t", got, rough)
	}
	for i := 3; i < 6; i++ {
		finish(i)
	}
	if got, rough := p.Remaining(store); !rough || math.Abs(got-111) > 1 {
		t.Errorf("%g s remain, want 111: the first cells of the other half; rough %t", got, rough)
	}
	for i := 6; i < 153; i++ {
		finish(i)
	}
	if got, rough := p.Remaining(store); rough || got > 1 {
		t.Errorf("%g s remain, rough %t", got, rough)
	}
}
