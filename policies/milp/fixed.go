package milp

import (
	"fmt"
	"math"
)

// Fixed is the model of DELTA, App. A (Eqs. 19..30), to compare with: time is cut into slices of one length, in which a
// task's rate is constant. Starts, ends and what lies between them are rounded up to whole slices, so its optimum is up
// to a slice for each task on the critical path above that of Variable.
//
// Inside, times are in slices and data in what a circuit of the first bundle carries in one.
type Fixed struct {
	slots
	s, e [][]int // by transfer and slice: it starts, or ends, there; -1 where it cannot
	at   []int   // start of a step, by task; -1 of transfers
}

// maxSlices bounds what is still a model and no mistake.
const maxSlices = 100_000

// NewFixed builds the model for slices of so many seconds. Only Fair of form counts. It fails where the instance does
// not check out.
func NewFixed(in *Instance, step float64, form Form) (*Fixed, error) {
	if !(step > 0) || in.Upper/step > maxSlices {
		return nil, fmt.Errorf("milp: slices of %v s in %v s make no model", step, in.Upper)
	}
	// what is rounded up on the longest path must still fit
	z, err := newSlots(in, "delta_fixed", "t", step, int(math.Ceil(in.Upper/step))+len(in.Tasks))
	if err != nil {
		return nil, err
	}
	f := &Fixed{slots: z}
	f.active = func(i, t int) bool { return in.Tasks[i].Bits > 0 && t >= f.first(i) && t <= f.last(i) }
	f.columns()
	f.ports()
	f.capacity(func(e, _ int) []Term { return []Term{{f.x[e], -f.carries(in.Bundles[e].Rate)}} }, // Eqs. 22 and 23
		func(g, _ int) ([]Term, float64) { return nil, f.carries(in.Groups[g]) })
	f.life()
	f.precedence()
	if form.Fair {
		f.fairness(f.most) // Eq. 29
	}
	return f, nil
}

// first and last are the slices, from 0, in which transfer i may be active.
func (f *Fixed) first(i int) int { return int(math.Floor(f.time(f.in.Tasks[i].Head) + 1e-9)) }
func (f *Fixed) last(i int) int {
	return f.n - 1 - int(math.Floor(f.time(f.in.Tasks[i].Tail)+1e-9))
}

// most is what transfer i sends in a slice at most.
func (f *Fixed) most(i int) float64 { return f.carries(f.in.Tasks[i].Rate) }

func (f *Fixed) columns() {
	f.begin(float64(f.n))
	f.sent = f.grid("r", f.n+1, false, f.most, f.active)
	f.y = f.flags("y", f.n+1, f.active)
	f.s = f.flags("S", f.n+1, f.active)
	// a task that is active in a slice ends at the next one's beginning
	f.e = f.flags("E", f.n+1, func(i, t int) bool { return f.active(i, t) || t > 0 && f.active(i, t-1) })
	for i := range f.in.Tasks {
		f.at = append(f.at, -1)
		if f.in.Tasks[i].Bits == 0 {
			f.at[i] = f.Add(Column{Name: fmt.Sprintf("at_m%d", i), Up: float64(f.n)})
		}
	}
}

// life adds Eqs. 24..27.
func (f *Fixed) life() {
	for i := range f.in.Tasks {
		if f.in.Tasks[i].Bits == 0 {
			continue
		}
		var starts, ends, sent []Term
		for t := range f.n + 1 {
			change := []Term{}
			if f.y[i][t] >= 0 {
				sent = append(sent, Term{f.sent[i][t], 1})
				starts = append(starts, Term{f.s[i][t], 1})
				change = append(change, Term{f.y[i][t], 1}, Term{f.s[i][t], -1})
				f.Require(fmt.Sprintf("send_m%d_t%d", i, t+1), AtMost, 0,
					Term{f.sent[i][t], 1}, Term{f.y[i][t], -f.most(i)})
			}
			if f.e[i][t] >= 0 {
				ends = append(ends, Term{f.e[i][t], 1})
				change = append(change, Term{f.e[i][t], 1})
			}
			if t > 0 && f.y[i][t-1] >= 0 {
				change = append(change, Term{f.y[i][t-1], -1})
			}
			if len(change) > 0 {
				f.Require(fmt.Sprintf("change_m%d_t%d", i, t+1), Equal, 0, change...)
			}
		}
		f.Require(fmt.Sprintf("starts_m%d", i), Equal, 1, starts...)
		f.Require(fmt.Sprintf("ends_m%d", i), Equal, 1, ends...)
		f.Require(fmt.Sprintf("all_m%d", i), AtLeast, f.volume(i), sent...)
	}
}

// moment returns the beginning of the slice in which a task starts, or ends, as terms and a number.
func (f *Fixed) moment(i int, end bool) (terms []Term, plus float64) {
	if f.at[i] >= 0 {
		if end {
			plus = f.time(f.in.Tasks[i].Duration)
		}
		return []Term{{f.at[i], 1}}, plus
	}
	of := f.s[i]
	if end {
		of = f.e[i]
	}
	for t, c := range of {
		if c >= 0 {
			terms = append(terms, Term{c, float64(t)})
		}
	}
	return terms, 0
}

// precedence adds Eqs. 28 and 30. What lies between two transfers need not be rounded up: the second starts with a
// slice.
func (f *Fixed) precedence() {
	for n, d := range f.in.Deps {
		from, plus := f.moment(d.From, true)
		to, _ := f.moment(d.To, false)
		for _, t := range from {
			to = append(to, Term{t.Column, -t.Factor})
		}
		f.Require(fmt.Sprintf("after_%d", n), AtLeast, plus+f.time(d.Lag), to...)
	}
	for i := range f.in.Tasks {
		end, plus := f.moment(i, true)
		terms := []Term{{f.c, 1}}
		for _, t := range end {
			terms = append(terms, Term{t.Column, -t.Factor})
		}
		f.Require(fmt.Sprintf("last_m%d", i), AtLeast, plus, terms...)
	}
}

// Schedule reads a solution.
func (f *Fixed) Schedule(values []float64) *Schedule {
	s := &Schedule{Makespan: f.Seconds(values[f.c]), Circuits: f.circuits(values)}
	for t := range f.n + 1 {
		s.Times = append(s.Times, f.Seconds(float64(t)))
	}
	at := func(terms []Term, plus float64) float64 {
		for _, t := range terms {
			plus += t.Factor * values[t.Column]
		}
		return f.Seconds(plus)
	}
	for i := range f.in.Tasks {
		s.Start = append(s.Start, at(f.moment(i, false)))
		s.End = append(s.End, at(f.moment(i, true)))
		s.Sent = append(s.Sent, f.sends(i, values))
	}
	return s
}
