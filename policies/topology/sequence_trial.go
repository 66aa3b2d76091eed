package topology

import (
	"slices"

	"sim/engine/flow"
)

// Trial simulates iterations of a sequence whose tasks take other times than planned; one a goroutine. The controller
// counts the transfers that it waits for as they end, and moves circuits then.
type Trial struct {
	p     *Problem
	q     *Sequence
	class []int32 // by task: which of the bundles of the plan stands for its own
	plan  int
	from  history // in which an iteration begins, that of those that repeat as planned
}

// NewTrial returns trials of the sequence of m, which was decided for a plan of so many bundles, on p. Of is the
// bundle of the plan that stands for each of p: where several are one there, replicas of it, they have as many
// circuits, and what is waited for is the transfers of all of them. E has the rates and times of the plan, and its
// service.
func (p *Problem) NewTrial(e *flow.Evaluator, m *Moves, of []int, plan int) *Trial {
	t := &Trial{p: p, q: &Sequence{}, class: p.classes(), plan: plan}
	copies := make([]int, plan)
	spread := func(x []int) []int {
		out := make([]int, len(of))
		for e, k := range of {
			out[e] = x[k]
		}
		return out
	}
	for _, k := range of {
		copies[k]++
	}
	for i, e := range t.class {
		if e >= 0 {
			t.class[i] = int32(of[e])
		}
	}
	t.q.First = spread(m.First)
	for _, s := range m.Steps {
		s.Circuits = spread(s.Circuits)
		if s.Bundle >= 0 {
			s.Count *= copies[s.Bundle]
		}
		t.q.Steps = append(t.q.Steps, s)
	}
	o, _ := t.rehearse(e).steady(t.q)
	if n := len(o.starts); n > 0 {
		t.from = o.starts[n-1]
	}
	return t
}

// Sequence returns what is simulated.
func (t *Trial) Sequence() *Sequence { return t.q }

func (t *Trial) rehearse(e *flow.Evaluator) *rehearsal {
	r := (&evaluator{e, t.p}).rehearse()
	r.w.Stage(t.class, t.plan)
	return r
}

// Run simulates an iteration with the times of e, a clone of the plan's; false where it does not end.
func (t *Trial) Run(e *flow.Evaluator) (Run, bool) {
	r := t.rehearse(e)
	_, ok := r.run(t.q, &t.from, never)
	return r.made, ok
}

// Most returns by bundle the most circuits that it ever has.
func (q *Sequence) Most() []int {
	most := slices.Clone(q.First)
	for _, s := range q.Steps {
		for e, n := range s.Circuits {
			most[e] = max(most[e], n)
		}
	}
	return most
}
