package pack

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/reconfigure/plan"
)

// Plan returns the frontier of all sequences, although it skips some. The reference
// schedules all sequences. Candidates agree in topologies and slots; of several equal ones,
// another may come first. Plans do not depend on the number of workers.
func TestPlanIsTheFrontierOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		o := Options{Relay: rapid.Bool().Draw(t, "relay"),
			Buffer: rapid.SampledFrom([]int32{0, 0, 4, 10}).Draw(t, "buffer")}
		base := []Sequence{drawSequence(t, p.GPUs, p.Degree)}
		start := func() SequenceSpec {
			s := SequenceSpec{Base: base}
			step := rapid.IntRange(1, 3).Draw(t, "step")
			for d := 1; d <= p.GPUs; d += step {
				s.Counts = append(s.Counts, d)
			}
			return s
		}
		within, across := start(), start()
		var all []plan.Candidate
		add := func(s SequenceSpec, o Options) {
			m, err := newSequenceBuilder(p, s, o.Relay)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.build(); err != nil {
				t.Fatal(err)
			}
			some, err := candidates(p, m.selected(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, some...)
		}
		alone := o
		alone.Relay = false
		add(within, alone)
		if o.Relay {
			add(across, o)
		}
		want := countsAndSlots(plan.Frontier(all))
		var plans []string
		for o.Workers = 1; o.Workers < 3; o.Workers++ {
			got, err := Plan(p, within, across, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := countsAndSlots(got); !slices.Equal(got, want) {
				t.Fatalf("%d workers plan %v, want %v", o.Workers, got, want)
			}
			if text := planTexts(t, got); o.Workers == 1 {
				plans = text
			} else if !slices.Equal(text, plans) {
				t.Fatalf("%d workers plan\n%v, one\n%v", o.Workers, text, plans)
			}
		}
	})
}

// countsAndSlots returns the numbers of topologies and slots of candidates.
func countsAndSlots(list []plan.Candidate) (pairs [][2]int64) {
	for _, c := range list {
		pairs = append(pairs, [2]int64{int64(c.Reconfigurations), c.Slots})
	}
	return pairs
}

// planTexts returns candidates and their plans as text.
func planTexts(t *rapid.T, list []plan.Candidate) (text []string) {
	for _, c := range list {
		q, err := c.Build(0, nil)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, fmt.Sprint(c.Origin, c.Reconfigurations, c.Slots, c.Relay, q.Topologies, q.Slots, q.Tx))
	}
	return text
}

// A candidate is dominated if an incumbent has fewer slots, or the same slots and fewer
// topologies. An equal candidate is not dominated.
func TestIncumbents(t *testing.T) {
	p := drawDemand(8, 1, "zipf", 4, 1)
	r := newIncumbents(p, bounder(t, p), []int{1, 2, 3})
	if r.dominates(3, 1<<40) {
		t.Error("dominated although there is no incumbent")
	}
	r.record(2, 50)
	r.record(2, 60)
	for _, c := range []struct {
		d     int
		slots int64
		want  bool
	}{{1, 90, false}, {2, 49, false}, {2, 50, false}, {2, 51, true}, {3, 49, false}, {3, 50, true}, {3, 51, true}} {
		if got := r.dominates(c.d, c.slots); got != c.want {
			t.Errorf("%d topologies, at least %d slots: dominated %v by 50 slots of 2 topologies", c.d, c.slots, got)
		}
	}
	list, err := buildAllSequences(p, nil, []int{2}, true)
	if err != nil {
		t.Fatal(err)
	}
	// What takes fewer slots than its bound says is known for lost before or while it is scheduled.
	var w scheduleWorker
	// A sequence whose bound is above the incumbent's slots is rejected.
	for _, slots := range []int64{0, 1} {
		fitted, err := w.bestSchedule(p, list[0], Options{Relay: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := newIncumbents(p, bounder(t, p), []int{2})
		r.record(2, fitted.Bound-1+slots)
		_, err = w.bestSchedule(p, list[0], Options{Relay: true}, r)
		if lost := err == errDominated; lost != (slots == 0) {
			t.Errorf("incumbent with %d slots, bound %d: %v", fitted.Bound-1+slots, fitted.Bound, err)
		}
	}
}

// No schedule beats the bound of a sequence. For uniform demand on circulants the schedules
// reach it.
func TestIncumbentsBound(t *testing.T) {
	p := plan.UniformProblem(8, 1, 1)
	r := newIncumbents(p, bounder(t, p), []int{1, 2, 3, 7})
	for _, c := range []struct {
		d     int
		relay bool
		want  int64
	}{{1, false, 28}, {2, true, 14}, {7, false, 7}} {
		m, err := newSequenceBuilder(p, SequenceSpec{Counts: []int{c.d}}, c.relay)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.build(); err != nil {
			t.Fatal(err)
		}
		s := m.selected()[0]
		bound, err := r.bound(s, c.relay)
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := fitSequence(p, s.Sequence, Options{Relay: c.relay})
		if err != nil {
			t.Fatal(err)
		}
		if bound != c.want || fitted.Total != c.want {
			t.Errorf("%d topologies: bound %d, %d slots; want %d", c.d, bound, fitted.Total, c.want)
		}
	}
}

// bounder returns the bounds of a problem.
func bounder(t interface{ Fatal(...any) }, p *plan.Problem) *plan.Bounder {
	b, err := plan.NewBounder(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
