package milp

import (
	"fmt"
	"math"
)

// slots is what both forms of DELTA's model have in common: time is cut into slots, intervals or slices, in which a
// transfer is active or not and sends at one rate.
type slots struct {
	*Model
	in   *Instance
	tick float64 // seconds, of time
	unit float64 // bits, of what is sent: what a circuit of the first bundle carries in a tick
	name string  // of a slot in names of columns and rows
	n    int     // slots

	c       int     // the makespan
	x       []int   // circuits, by bundle
	sent, y [][]int // by task and slot: what it sends, and whether it is active; -1 where it cannot be
	u       [][]int // by link and slot: what a flow sends, where flows share; -1
	active  func(i, k int) bool
}

// newSlots returns a model without columns.
func newSlots(in *Instance, model, slot string, tick float64, n int) (slots, error) {
	if err := in.Check(); err != nil {
		return slots{}, err
	}
	if n < 1 || len(in.Bundles) == 0 {
		return slots{}, fmt.Errorf("milp: %d slots of time and %d bundles make no model", n, len(in.Bundles))
	}
	return slots{Model: &Model{Name: model}, in: in, tick: tick, unit: in.Bundles[0].Rate * tick, name: slot, n: n}, nil
}

// time returns seconds in ticks, carries what a rate carries in one.
func (z *slots) time(seconds float64) float64 { return seconds / z.tick }
func (z *slots) carries(rate float64) float64 { return rate * z.tick / z.unit }

// volume is what a task sends.
func (z *slots) volume(i int) float64 { return z.in.Tasks[i].Bits / z.unit }

// begin adds the makespan, of at most so much, and the circuits of every bundle.
func (z *slots) begin(upper float64) {
	z.c = z.Add(Column{Name: "C", Up: upper, Cost: 1})
	for e, b := range z.in.Bundles {
		z.x = append(z.x, z.Add(Column{Name: fmt.Sprintf("x_e%d", e), Low: 1, Up: float64(b.Most), Integer: true}))
	}
}

// ports adds the rows of Eq. 5 (21): no pod's ports are overrun.
func (z *slots) ports() {
	for p, u := range z.in.Pods {
		var terms []Term
		for e, b := range z.in.Bundles {
			if b.A == p || b.B == p {
				terms = append(terms, Term{z.x[e], float64(b.Ends)})
			}
		}
		if len(terms) > 0 {
			z.Require(fmt.Sprintf("ports_p%d", p), AtMost, float64(u), terms...)
		}
	}
}

// grid adds a column for each of so many slots that a task may have one in; -1 where it may not.
func (z *slots) grid(name string, n int, integer bool, up func(i int) float64, has func(i, k int) bool) [][]int {
	g := make([][]int, len(z.in.Tasks))
	for i := range g {
		g[i] = make([]int, n)
		for k := range g[i] {
			g[i][k] = -1
			if has(i, k) {
				g[i][k] = z.Add(Column{Name: fmt.Sprintf("%s_m%d_%s%d", name, i, z.name, k+1), Up: up(i), Integer: integer})
			}
		}
	}
	return g
}

// flags is grid of columns that are 0 or 1.
func (z *slots) flags(name string, n int, has func(i, k int) bool) [][]int {
	return z.grid(name, n, true, func(int) float64 { return 1 }, has)
}

// capacity adds what circuits and NICs carry in a slot: the terms that links' rows end with, and those that NIC sets'
// do with the right side, are given by bundle, or set, and slot.
func (z *slots) capacity(circuits func(e, k int) []Term, nics func(g, k int) ([]Term, float64)) {
	for l, tasks := range z.in.links() {
		for k := range z.n {
			var terms []Term
			for _, i := range tasks {
				if z.active(i, k) {
					terms = append(terms, Term{z.sent[i][k], 1})
				}
			}
			if terms != nil {
				terms = append(terms, circuits(z.in.Tasks[tasks[0]].Bundle, k)...)
				z.Require(fmt.Sprintf("link_l%d_%s%d", l, z.name, k+1), AtMost, 0, terms...)
			}
		}
	}
	for g, users := range z.in.users() {
		for k := range z.n {
			var terms []Term
			for _, u := range users {
				if z.active(u.Column, k) {
					terms = append(terms, Term{z.sent[u.Column][k], u.Factor})
				}
			}
			if terms != nil {
				more, right := nics(g, k)
				z.Require(fmt.Sprintf("nic_g%d_%s%d", g, z.name, k+1), AtMost, right, append(terms, more...)...)
			}
		}
	}
}

// fairness has active tasks of a link send as much a flow, of at most so much a task.
func (z *slots) fairness(up func(i int) float64) {
	for l, tasks := range z.in.links() {
		z.u = append(z.u, make([]int, z.n))
		for k := range z.n {
			z.u[l][k] = -1
			most, n := 0.0, 0
			for _, i := range tasks {
				if z.active(i, k) {
					n++
					most = max(most, up(i)/z.in.Tasks[i].Flows)
				}
			}
			if n < 2 {
				continue // nothing to share
			}
			z.u[l][k] = z.Add(Column{Name: fmt.Sprintf("u_l%d_%s%d", l, z.name, k+1), Up: most})
			for _, i := range tasks {
				if !z.active(i, k) {
					continue
				}
				at := fmt.Sprintf("l%d_m%d_%s%d", l, i, z.name, k+1)
				per := 1 / z.in.Tasks[i].Flows
				z.Require("more_"+at, AtMost, most, Term{z.sent[i][k], per}, Term{z.u[l][k], -1}, Term{z.y[i][k], most})
				z.Require("less_"+at, AtMost, most, Term{z.u[l][k], 1}, Term{z.sent[i][k], -per}, Term{z.y[i][k], most})
			}
		}
	}
}

// FewestPorts turns the objective into Eq. 4 (20): the fewest ports with a makespan of at most so many seconds.
func (z *slots) FewestPorts(makespan float64) {
	z.Columns[z.c].Cost = 0
	z.Columns[z.c].Up = min(z.Columns[z.c].Up, z.time(makespan))
	for e, x := range z.x {
		b := &z.in.Bundles[e]
		if z.Columns[x].Cost = float64(b.Ends); b.A != b.B {
			z.Columns[x].Cost *= 2
		}
	}
}

// Seconds returns what an objective value of the makespan means.
func (z *slots) Seconds(value float64) float64 { return value * z.tick }

// circuits and sends read the circuits, and what each task sends in each slot, of a solution.
func (z *slots) circuits(values []float64) []int {
	var of []int
	for _, x := range z.x {
		of = append(of, int(math.Round(values[x])))
	}
	return of
}

func (z *slots) sends(i int, values []float64) []float64 {
	of := make([]float64, z.n)
	for k := range of {
		if w := z.sent[i][k]; w >= 0 {
			of[k] = values[w] * z.unit
		}
	}
	return of
}
