package milp

import (
	"fmt"
	"math"
)

// slotModel is what both forms of DELTA's model have in common: time is cut into slots, intervals or slices, in which a
// transfer is active or not and sends at one rate.
type slotModel struct {
	*Model
	in       *Instance
	tick     float64 // seconds, of time
	unit     float64 // bits, of what is sent: what a circuit of the first bundle carries in a tick
	slotName string  // of a slot in names of columns and rows
	numSlots int     // slots

	makespan int     // the makespan
	x        []int   // circuits, by bundle
	sent, y  [][]int // by task and slot: what it sends, and whether it is active; -1 where it cannot be
	u        [][]int // by link and slot: what a flow sends, where flows share; -1
	isActive func(i, k int) bool
}

// newSlotModel returns a model without columns.
func newSlotModel(in *Instance, model, slot string, tick float64, n int) (slotModel, error) {
	if err := in.Check(); err != nil {
		return slotModel{}, err
	}
	if n < 1 || len(in.Bundles) == 0 {
		return slotModel{}, fmt.Errorf("milp: %d slots of time and %d bundles make no model", n, len(in.Bundles))
	}
	return slotModel{Model: &Model{Name: model}, in: in, tick: tick, unit: in.Bundles[0].Rate * tick, slotName: slot, numSlots: n}, nil
}

// ticks returns seconds in ticks, carries what a rate carries in one.
func (z *slotModel) ticks(seconds float64) float64     { return seconds / z.tick }
func (z *slotModel) unitsPerTick(rate float64) float64 { return rate * z.tick / z.unit }

// volume is what a task sends.
func (z *slotModel) volume(i int) float64 { return z.in.Tasks[i].Bits / z.unit }

// addMakespanAndCircuits adds the makespan, of at most so much, and the circuits of every bundle.
func (z *slotModel) addMakespanAndCircuits(upper float64) {
	z.makespan = z.AddColumn(Column{Name: "C", Up: upper, Cost: 1})
	for e, b := range z.in.Bundles {
		z.x = append(z.x, z.AddColumn(Column{Name: fmt.Sprintf("x_e%d", e), Low: 1, Up: float64(b.MaxCircuits), Integer: true}))
	}
}

// addPortRows adds the rows of Eq. 5 (21): no pod's ports are overrun.
func (z *slotModel) addPortRows() {
	for p, u := range z.in.Pods {
		var terms []Term
		for e, b := range z.in.Bundles {
			if b.A == p || b.B == p {
				terms = append(terms, Term{z.x[e], float64(b.Ends)})
			}
		}
		if len(terms) > 0 {
			z.AddRow(fmt.Sprintf("ports_p%d", p), AtMost, float64(u), terms...)
		}
	}
}

// addGrid adds a column for each of so many slots that a task may have one in; -1 where it may not.
func (z *slotModel) addGrid(name string, n int, integer bool, up func(i int) float64, has func(i, k int) bool) [][]int {
	g := make([][]int, len(z.in.Tasks))
	for i := range g {
		g[i] = make([]int, n)
		for k := range g[i] {
			g[i][k] = -1
			if has(i, k) {
				g[i][k] = z.AddColumn(Column{Name: fmt.Sprintf("%s_m%d_%s%d", name, i, z.slotName, k+1), Up: up(i), Integer: integer})
			}
		}
	}
	return g
}

// addFlags is grid of columns that are 0 or 1.
func (z *slotModel) addFlags(name string, n int, has func(i, k int) bool) [][]int {
	return z.addGrid(name, n, true, func(int) float64 { return 1 }, has)
}

// addCapacityRows adds what circuits and NICs carry in a slot: the terms that links' rows end with, and those that NIC sets'
// do with the right side, are given by bundle, or set, and slot.
func (z *slotModel) addCapacityRows(circuits func(e, k int) []Term, nics func(g, k int) ([]Term, float64)) {
	for l, tasks := range z.in.links() {
		for k := range z.numSlots {
			var terms []Term
			for _, i := range tasks {
				if z.isActive(i, k) {
					terms = append(terms, Term{z.sent[i][k], 1})
				}
			}
			if terms != nil {
				terms = append(terms, circuits(z.in.Tasks[tasks[0]].Bundle, k)...)
				z.AddRow(fmt.Sprintf("link_l%d_%s%d", l, z.slotName, k+1), AtMost, 0, terms...)
			}
		}
	}
	for g, users := range z.in.users() {
		for k := range z.numSlots {
			var terms []Term
			for _, u := range users {
				if z.isActive(u.Column, k) {
					terms = append(terms, Term{z.sent[u.Column][k], u.Factor})
				}
			}
			if terms != nil {
				extra, right := nics(g, k)
				z.AddRow(fmt.Sprintf("nic_g%d_%s%d", g, z.slotName, k+1), AtMost, right, append(terms, extra...)...)
			}
		}
	}
}

// addFairnessRows has active tasks of a link send as much a flow, of at most so much a task.
func (z *slotModel) addFairnessRows(up func(i int) float64) {
	for l, tasks := range z.in.links() {
		z.u = append(z.u, make([]int, z.numSlots))
		for k := range z.numSlots {
			z.u[l][k] = -1
			bigM, n := 0.0, 0
			for _, i := range tasks {
				if z.isActive(i, k) {
					n++
					bigM = max(bigM, up(i)/z.in.Tasks[i].Flows)
				}
			}
			if n < 2 {
				continue // nothing to share
			}
			z.u[l][k] = z.AddColumn(Column{Name: fmt.Sprintf("u_l%d_%s%d", l, z.slotName, k+1), Up: bigM})
			for _, i := range tasks {
				if !z.isActive(i, k) {
					continue
				}
				suffix := fmt.Sprintf("l%d_m%d_%s%d", l, i, z.slotName, k+1)
				per := 1 / z.in.Tasks[i].Flows
				z.AddRow("more_"+suffix, AtMost, bigM, Term{z.sent[i][k], per}, Term{z.u[l][k], -1}, Term{z.y[i][k], bigM})
				z.AddRow("less_"+suffix, AtMost, bigM, Term{z.u[l][k], 1}, Term{z.sent[i][k], -per}, Term{z.y[i][k], bigM})
			}
		}
	}
}

// MinimisePorts turns the objective into Eq. 4 (20): the fewest ports with a makespan of at most so many seconds.
func (z *slotModel) MinimisePorts(makespan float64) {
	z.Columns[z.makespan].Cost = 0
	z.Columns[z.makespan].Up = min(z.Columns[z.makespan].Up, z.ticks(makespan))
	for e, x := range z.x {
		b := &z.in.Bundles[e]
		if z.Columns[x].Cost = float64(b.Ends); b.A != b.B {
			z.Columns[x].Cost *= 2
		}
	}
}

// Seconds returns what an objective value of the makespan means.
func (z *slotModel) Seconds(value float64) float64 { return value * z.tick }

// circuitCounts and sends read the circuits, and what each task sends in each slot, of a solution.
func (z *slotModel) circuitCounts(values []float64) []int {
	var counts []int
	for _, x := range z.x {
		counts = append(counts, int(math.Round(values[x])))
	}
	return counts
}

func (z *slotModel) sentBits(i int, values []float64) []float64 {
	bits := make([]float64, z.numSlots)
	for k := range bits {
		if w := z.sent[i][k]; w >= 0 {
			bits[k] = values[w] * z.unit
		}
	}
	return bits
}
