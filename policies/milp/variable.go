package milp

import (
	"fmt"
	"math"
)

// Form says how the variable-interval model is written.
type Form struct {
	// Paper is the model as the paper has it. Otherwise it is strengthened by rows that every schedule satisfies:
	// shortest durations at full rate and at the circuits chosen, heads and tails, and a big M of each task's own.
	Paper bool
	// Fair adds Eq. 17: active tasks of a link send as much a flow.
	Fair bool
}

// Variable is the model of DELTA, Sec. III-B (Eqs. 3..18): time is cut into K intervals whose lengths are chosen.
// Within an interval every task is active or not, and sends at one rate. Its optimum is that of all schedules with at
// most K intervals in which every task is active without a break and, if it waits at all, waits before it starts.
//
// Inside, times are in milliseconds and data in what a circuit of the first bundle carries in one.
type Variable struct {
	slots
	form Form

	bits  [][]int // binary digits of circuits, by bundle
	t, d  []int   // t_k (K+1 of them) and the intervals' lengths
	rho   [][][]int
	s     [][]int // by task and interval: it starts there; -1 where it cannot be active
	start []int   // by task
	end   []int   // by transfer, -1 of steps
}

// millisecond is the unit of time inside the models, in seconds.
const millisecond = 1e-3

// NewVariable builds the model. It fails where the instance does not check out.
func NewVariable(in *Instance, form Form) (*Variable, error) {
	for i, t := range in.Tasks {
		if t.Bits > 0 && (t.First < 1 || t.Last > in.Intervals || t.First > t.Last) {
			return nil, fmt.Errorf("milp: task %d (%s) may be active in intervals %d..%d of %d", i, t.Name, t.First, t.Last, in.Intervals)
		}
	}
	z, err := newSlots(in, "delta", "k", millisecond, in.Intervals)
	if err != nil {
		return nil, err
	}
	v := &Variable{slots: z, form: form}
	v.active = func(i, k int) bool {
		t := &in.Tasks[i]
		return t.Bits > 0 && k+1 >= t.First && k+1 <= t.Last
	}
	v.columns()
	v.ports()
	v.expand()
	v.intervals()
	v.capacity(v.carried, func(g, k int) ([]Term, float64) { // Eqs. 9 and 10
		return []Term{{v.d[k], -v.carries(in.Groups[g])}}, 0
	})
	v.activity()
	v.precedence()
	if form.Fair {
		v.fairness(v.volume) // Eq. 17
	}
	if !form.Paper {
		v.strengthen()
	}
	return v, nil
}

func (v *Variable) columns() {
	in, inf := v.in, math.Inf(1)
	upper := v.time(in.Upper)
	v.begin(upper)
	for e, b := range in.Bundles {
		var digits []int
		for n := 0; b.Most>>n > 0; n++ {
			digits = append(digits, v.Add(Column{Name: fmt.Sprintf("beta_e%d_b%d", e, n), Up: 1, Integer: true}))
		}
		v.bits = append(v.bits, digits)
	}
	for k := range in.Intervals + 1 {
		v.t = append(v.t, v.Add(Column{Name: fmt.Sprintf("t_k%d", k+1), Up: upper}))
	}
	for k := range in.Intervals {
		v.d = append(v.d, v.Add(Column{Name: fmt.Sprintf("d_k%d", k+1), Up: upper}))
	}
	for i := range in.Tasks {
		low, high := 0.0, upper
		if t := &in.Tasks[i]; !v.form.Paper {
			low, high = v.time(t.Head), max(v.time(t.Head), upper-v.time(t.Tail))
		}
		v.start = append(v.start, v.Add(Column{Name: fmt.Sprintf("S_m%d", i), Low: low, Up: high}))
		if in.Tasks[i].Bits == 0 {
			v.end = append(v.end, -1)
			continue
		}
		v.end = append(v.end, v.Add(Column{Name: fmt.Sprintf("E_m%d", i), Low: low, Up: high}))
	}
	v.sent = v.grid("w", v.n, false, v.volume, v.active)
	v.y = v.flags("y", v.n, v.active)
	v.s = v.flags("s", v.n, v.active)
	v.rho = make([][][]int, len(in.Bundles))
	for e := range in.Bundles {
		v.rho[e] = make([][]int, in.Intervals)
		for k := range in.Intervals {
			used := false // where a task may be active
			for i := range in.Tasks {
				used = used || in.Tasks[i].Bundle == e && v.active(i, k)
			}
			if !used {
				continue
			}
			for n := range v.bits[e] {
				v.rho[e][k] = append(v.rho[e][k], v.Add(Column{Name: fmt.Sprintf("rho_e%d_b%d_k%d", e, n, k+1), Up: inf}))
			}
		}
	}
}

// expand adds Eqs. 7 and 8: binary digits of the circuits, and their products with the intervals' lengths. Eq. 6 is met
// by one variable for both directions.
func (v *Variable) expand() {
	upper := v.time(v.in.Upper)
	for e := range v.in.Bundles {
		terms := []Term{{v.x[e], -1}}
		for n, b := range v.bits[e] {
			terms = append(terms, Term{b, float64(int(1) << n)})
		}
		v.Require(fmt.Sprintf("digits_e%d", e), Equal, 0, terms...)
		for k := range v.rho[e] {
			for n, r := range v.rho[e][k] {
				at := fmt.Sprintf("e%d_b%d_k%d", e, n, k+1)
				v.Require("off_"+at, AtMost, 0, Term{r, 1}, Term{v.bits[e][n], -upper})
				v.Require("on_"+at, AtMost, 0, Term{r, 1}, Term{v.d[k], -1})
				v.Require("full_"+at, AtLeast, -upper, Term{r, 1}, Term{v.d[k], -1}, Term{v.bits[e][n], -upper})
			}
		}
	}
}

// intervals adds Eq. 14.
func (v *Variable) intervals() {
	for k := range v.d {
		v.Require(fmt.Sprintf("length_k%d", k+1), Equal, 0, Term{v.d[k], 1}, Term{v.t[k+1], -1}, Term{v.t[k], 1})
	}
}

// carried is what the circuits of a bundle carry in an interval, taken off.
func (v *Variable) carried(e, k int) (terms []Term) {
	for n, r := range v.rho[e][k] {
		terms = append(terms, Term{r, -v.carries(v.in.Bundles[e].Rate) * float64(int(1)<<n)})
	}
	return terms
}

// activity adds Eqs. 11, 12, 13 and 15: all data are sent, while active, in one run of intervals between start and end.
func (v *Variable) activity() {
	upper := v.time(v.in.Upper)
	for i := range v.in.Tasks {
		t := &v.in.Tasks[i]
		if t.Bits == 0 {
			continue
		}
		volume := v.volume(i)
		late, early := upper, upper // big M of start and end
		if !v.form.Paper {
			// where the task is idle its start may be its latest, its end its earliest
			late = v.Columns[v.start[i]].Up
			early = upper - v.Columns[v.end[i]].Low
		}
		var sent, flags []Term
		for k := range v.in.Intervals {
			if !v.active(i, k) {
				continue
			}
			at := fmt.Sprintf("m%d_k%d", i, k+1)
			y := v.y[i][k]
			sent = append(sent, Term{v.sent[i][k], 1})
			flags = append(flags, Term{v.s[i][k], 1})
			v.Require("send_"+at, AtMost, 0, Term{v.sent[i][k], 1}, Term{y, -volume})
			rise := []Term{{v.s[i][k], 1}, {y, -1}}
			if k > 0 && v.active(i, k-1) {
				rise = append(rise, Term{v.y[i][k-1], 1})
			}
			v.Require("rise_"+at, AtLeast, 0, rise...)
			v.Require("from_"+at, AtMost, late, Term{v.start[i], 1}, Term{v.t[k], -1}, Term{y, late})
			v.Require("till_"+at, AtLeast, -early, Term{v.end[i], 1}, Term{v.t[k+1], -1}, Term{y, -early})
		}
		v.Require(fmt.Sprintf("all_m%d", i), Equal, volume, sent...)
		v.Require(fmt.Sprintf("once_m%d", i), Equal, 1, flags...)
	}
}

// precedence adds Eqs. 16 and 18.
func (v *Variable) precedence() {
	follows := make([]bool, len(v.in.Tasks))
	for n, d := range v.in.Deps {
		follows[d.From] = true
		lag, end := v.time(d.Lag), v.end[d.From]
		if end < 0 {
			end = v.start[d.From]
			lag += v.time(v.in.Tasks[d.From].Duration)
		}
		v.Require(fmt.Sprintf("after_%d", n), AtLeast, lag, Term{v.start[d.To], 1}, Term{end, -1})
	}
	for i := range v.in.Tasks {
		end, rest := v.end[i], 0.0
		if end < 0 {
			end, rest = v.start[i], v.time(v.in.Tasks[i].Duration)
		}
		if !v.form.Paper {
			rest += v.time(v.in.Tasks[i].Tail)
			if v.end[i] < 0 { // the tail of a step begins at its end
				rest = v.time(v.in.Tasks[i].Duration + v.in.Tasks[i].Tail)
			}
		} else if follows[i] {
			continue // a later task says more
		}
		v.Require(fmt.Sprintf("last_m%d", i), AtLeast, rest, Term{v.c, 1}, Term{end, -1})
	}
}

// strengthen adds rows that every schedule satisfies and the relaxation need not.
func (v *Variable) strengthen() {
	for i := range v.in.Tasks {
		t := &v.in.Tasks[i]
		if t.Bits == 0 {
			continue
		}
		least := v.time(t.Bits / t.Rate)
		v.Require(fmt.Sprintf("least_m%d", i), AtLeast, least, Term{v.end[i], 1}, Term{v.start[i], -1})
		// V/(x B) is convex in x: the chords between whole x bound it from below
		b := &v.in.Bundles[t.Bundle]
		at := func(x int) float64 { return v.time(t.Bits / (float64(x) * b.Rate)) }
		for n := 1; n < b.Most && at(n) > least; n++ {
			slope := at(n+1) - at(n)
			v.Require(fmt.Sprintf("chord_m%d_x%d", i, n), AtLeast, at(n)-slope*float64(n),
				Term{v.end[i], 1}, Term{v.start[i], -1}, Term{v.x[t.Bundle], -slope})
		}
		for k := range v.in.Intervals {
			if v.active(i, k) { // its own NICs, whoever else there is
				v.Require(fmt.Sprintf("pace_m%d_k%d", i, k+1), AtMost, 0,
					Term{v.sent[i][k], 1}, Term{v.d[k], -v.carries(t.Rate)})
			}
		}
	}
}
