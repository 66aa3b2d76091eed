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
	*Model
	in     *Instance
	step   float64 // seconds
	slices int
	unit   float64 // bits

	x          []int
	r, y, s, e [][]int // by transfer and slice, -1 where it cannot be active
	at         []int   // start of a step, by task; -1 of transfers
	c          int
}

// maxSlices bounds what is still a model and no mistake.
const maxSlices = 100_000

// NewFixed builds the model for slices of so many seconds. Only Fair of form counts. It fails where the instance does
// not check out.
func NewFixed(in *Instance, step float64, form Form) (*Fixed, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	if !(step > 0) || in.Upper/step > maxSlices || len(in.Bundles) == 0 {
		return nil, fmt.Errorf("milp: slices of %v s in %v s make no model", step, in.Upper)
	}
	f := &Fixed{Model: &Model{Name: "delta_fixed"}, in: in, step: step, unit: in.Bundles[0].Rate * step}
	// what is rounded up on the longest path must still fit
	f.slices = int(math.Ceil(in.Upper/step)) + len(in.Tasks)
	f.columns()
	in.ports(f.Model, f.x)
	f.capacity()
	f.life()
	f.precedence()
	if form.Fair {
		f.fairness()
	}
	return f, nil
}

// first and last are the slices, from 0, in which transfer i may be active.
func (f *Fixed) first(i int) int { return int(math.Floor(f.in.Tasks[i].Head/f.step + 1e-9)) }
func (f *Fixed) last(i int) int {
	return f.slices - 1 - int(math.Floor(f.in.Tasks[i].Tail/f.step+1e-9))
}

func (f *Fixed) active(i, t int) bool {
	return f.in.Tasks[i].Bits > 0 && t >= f.first(i) && t <= f.last(i)
}

func (f *Fixed) columns() {
	f.c = f.Add(Column{Name: "C", Up: float64(f.slices), Cost: 1})
	for e, b := range f.in.Bundles {
		f.x = append(f.x, f.Add(Column{Name: fmt.Sprintf("x_e%d", e), Low: 1, Up: float64(b.Most), Integer: true}))
	}
	grid := func(name string, integer bool, up func(i int) float64, more int) [][]int {
		g := make([][]int, len(f.in.Tasks))
		for i := range g {
			g[i] = make([]int, f.slices+1)
			for t := range g[i] {
				g[i][t] = -1
				if f.active(i, t) || more > 0 && t > 0 && f.active(i, t-1) {
					g[i][t] = f.Add(Column{Name: fmt.Sprintf("%s_m%d_t%d", name, i, t+1), Up: up(i), Integer: integer})
				}
			}
		}
		return g
	}
	one := func(int) float64 { return 1 }
	f.r = grid("r", false, func(i int) float64 { return f.in.Tasks[i].Rate * f.step / f.unit }, 0)
	f.y = grid("y", true, one, 0)
	f.s = grid("S", true, one, 0)
	f.e = grid("E", true, one, 1) // a task that is active in a slice ends at the next one's beginning
	for i := range f.in.Tasks {
		f.at = append(f.at, -1)
		if f.in.Tasks[i].Bits == 0 {
			f.at[i] = f.Add(Column{Name: fmt.Sprintf("at_m%d", i), Up: float64(f.slices)})
		}
	}
}

// capacity adds Eqs. 22 and 23.
func (f *Fixed) capacity() {
	for l, tasks := range f.in.links() {
		if len(tasks) == 0 {
			continue
		}
		e := f.in.Tasks[tasks[0]].Bundle
		for t := range f.slices {
			var terms []Term
			for _, i := range tasks {
				if f.active(i, t) {
					terms = append(terms, Term{f.r[i][t], 1})
				}
			}
			if terms != nil {
				terms = append(terms, Term{f.x[e], -f.in.Bundles[e].Rate * f.step / f.unit})
				f.Require(fmt.Sprintf("link_l%d_t%d", l, t+1), AtMost, 0, terms...)
			}
		}
	}
	for g, users := range f.in.users() {
		for t := range f.slices {
			var terms []Term
			for _, u := range users {
				if f.active(u.Column, t) {
					terms = append(terms, Term{f.r[u.Column][t], u.Factor})
				}
			}
			if terms != nil {
				f.Require(fmt.Sprintf("nic_g%d_t%d", g, t+1), AtMost, f.in.Groups[g]*f.step/f.unit, terms...)
			}
		}
	}
}

// life adds Eqs. 24..27.
func (f *Fixed) life() {
	for i := range f.in.Tasks {
		task := &f.in.Tasks[i]
		if task.Bits == 0 {
			continue
		}
		var starts, ends, sent []Term
		for t := range f.slices + 1 {
			change := []Term{}
			if f.y[i][t] >= 0 {
				sent = append(sent, Term{f.r[i][t], 1})
				starts = append(starts, Term{f.s[i][t], 1})
				change = append(change, Term{f.y[i][t], 1}, Term{f.s[i][t], -1})
				f.Require(fmt.Sprintf("send_m%d_t%d", i, t+1), AtMost, 0,
					Term{f.r[i][t], 1}, Term{f.y[i][t], -task.Rate * f.step / f.unit})
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
		f.Require(fmt.Sprintf("all_m%d", i), AtLeast, task.Bits/f.unit, sent...)
	}
}

// moment returns the beginning of the slice in which a task starts, or ends, as terms and a number.
func (f *Fixed) moment(i int, end bool) (terms []Term, plus float64) {
	if f.at[i] >= 0 {
		if end {
			plus = f.in.Tasks[i].Duration / f.step
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
		f.Require(fmt.Sprintf("after_%d", n), AtLeast, plus+d.Lag/f.step, to...)
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

// fairness adds Eq. 29.
func (f *Fixed) fairness() {
	for l, tasks := range f.in.links() {
		for t := range f.slices {
			most, n := 0.0, 0
			for _, i := range tasks {
				if f.active(i, t) {
					n++
					most = max(most, f.in.Tasks[i].Rate*f.step/f.unit/f.in.Tasks[i].Flows)
				}
			}
			if n < 2 {
				continue
			}
			u := f.Add(Column{Name: fmt.Sprintf("u_l%d_t%d", l, t+1), Up: most})
			for _, i := range tasks {
				if !f.active(i, t) {
					continue
				}
				at := fmt.Sprintf("l%d_m%d_t%d", l, i, t+1)
				per := 1 / f.in.Tasks[i].Flows
				f.Require("more_"+at, AtMost, most, Term{f.r[i][t], per}, Term{u, -1}, Term{f.y[i][t], most})
				f.Require("less_"+at, AtMost, most, Term{u, 1}, Term{f.r[i][t], -per}, Term{f.y[i][t], most})
			}
		}
	}
}

// FewestPorts turns the objective into Eq. 20: the fewest ports with a makespan of at most so many seconds.
func (f *Fixed) FewestPorts(makespan float64) {
	fewestPorts(f.Model, f.in, f.c, f.x, makespan/f.step)
}

// Seconds returns what an objective value of the makespan means.
func (f *Fixed) Seconds(value float64) float64 { return value * f.step }

// Schedule reads a solution.
func (f *Fixed) Schedule(values []float64) *Schedule {
	s := &Schedule{Makespan: values[f.c] * f.step}
	for _, x := range f.x {
		s.Circuits = append(s.Circuits, int(math.Round(values[x])))
	}
	for t := range f.slices + 1 {
		s.Times = append(s.Times, float64(t)*f.step)
	}
	at := func(terms []Term, plus float64) float64 {
		for _, t := range terms {
			plus += t.Factor * values[t.Column]
		}
		return plus * f.step
	}
	for i := range f.in.Tasks {
		s.Start = append(s.Start, at(f.moment(i, false)))
		s.End = append(s.End, at(f.moment(i, true)))
		sent := make([]float64, f.slices)
		for t := range sent {
			if f.r[i][t] >= 0 {
				sent[t] = values[f.r[i][t]] * f.unit
			}
		}
		s.Sent = append(s.Sent, sent)
	}
	return s
}
