package milp

import (
	"fmt"
	"math"
)

// slotModel is the common part of both models. Time is divided into slots (intervals or slices).
// In each slot a transfer is active or not and sends at one rate.
type slotModel struct {
	*Model
	in   *Instance
	tick float64 // unit of time in the model, called a tick, in seconds
	// unit is the unit of data in the model, in bits. It is the number of bits that a circuit
	// of the first bundle carries per tick.
	unit     float64
	slotName string // prefix of slots in names of columns and rows
	numSlots int    // number of slots

	// All fields from makespan to u hold indices of columns in Model.Columns; -1 if the column
	// does not exist. x, y and u are symbols of the DELTA paper, as is C for the makespan.
	makespan int
	x        []int // number of circuits, indexed by bundle
	// sent is the data that a task sends in a slot, y is 1 if the task is active. Both are
	// indexed by task and slot.
	sent, y [][]int
	// u is the data that each flow sends if flows share a link (Eq. 17), indexed by link and slot.
	u [][]int

	isActive func(i, k int) bool // reports whether task i may be active in slot k
}

// newSlotModel returns a model without columns that has n slots. model is its name, slot the prefix
// of slots in names, and tick the unit of time in seconds.
func newSlotModel(in *Instance, model, slot string, tick float64, n int) (slotModel, error) {
	if err := in.Check(); err != nil {
		return slotModel{}, err
	}
	if n < 1 || len(in.Bundles) == 0 {
		return slotModel{}, fmt.Errorf("milp: %d slots of time and %d bundles; want at least one of each", n, len(in.Bundles))
	}

	return slotModel{
		Model:    &Model{Name: model},
		in:       in,
		tick:     tick,
		unit:     in.Bundles[0].Rate * tick,
		slotName: slot,
		numSlots: n,
	}, nil
}

// ticks converts seconds to ticks.
func (z *slotModel) ticks(seconds float64) float64 {
	return seconds / z.tick
}

// unitsPerTick converts a rate from bits per second to units of data per tick.
func (z *slotModel) unitsPerTick(rate float64) float64 {
	return rate * z.tick / z.unit
}

// volume returns the data of a task in the model's unit.
func (z *slotModel) volume(i int) float64 {
	return z.in.Tasks[i].Bits / z.unit
}

// addMakespanAndCircuits adds the columns of the makespan, at most upper, and of the circuits of
// every bundle.
func (z *slotModel) addMakespanAndCircuits(upper float64) {
	z.makespan = z.AddColumn(Column{
		Name: "C",
		Up:   upper,
		Cost: 1,
	})

	// Every bundle has at least one circuit.
	for e, b := range z.in.Bundles {
		z.x = append(z.x, z.AddColumn(Column{
			Name:    fmt.Sprintf("x_e%d", e),
			Low:     1,
			Up:      float64(b.MaxCircuits),
			Integer: true,
		}))
	}
}

// addPortRows adds Eq. 5 (21): no pod uses more ports than it has.
func (z *slotModel) addPortRows() {
	for p, ports := range z.in.Pods {
		var terms []Term
		for e, b := range z.in.Bundles {
			if b.A == p || b.B == p {
				terms = append(terms, Term{z.x[e], float64(b.Ends)})
			}
		}

		if len(terms) > 0 {
			z.AddRow(fmt.Sprintf("ports_p%d", p), LessOrEqual, float64(ports), terms...)
		}
	}
}

// Values of the argument integer of addGrid.
const (
	continuous = false
	whole      = true // an integer
)

// addGrid adds a column for each task and each of n slots for which has is true; its index is -1
// elsewhere. name starts the names of the columns, and up is the upper bound for a task.
func (z *slotModel) addGrid(
	name string,
	n int,
	integer bool,
	up func(i int) float64,
	has func(i, k int) bool,
) [][]int {
	g := make([][]int, len(z.in.Tasks))
	for i := range g {
		g[i] = make([]int, n)
		for k := range g[i] {
			g[i][k] = -1
			if has(i, k) {
				g[i][k] = z.AddColumn(Column{
					Name:    fmt.Sprintf("%s_m%d_%s%d", name, i, z.slotName, k+1),
					Up:      up(i),
					Integer: integer,
				})
			}
		}
	}

	return g
}

// addFlags is addGrid with binary columns.
func (z *slotModel) addFlags(name string, n int, has func(i, k int) bool) [][]int {
	return z.addGrid(name, n, whole, func(int) float64 { return 1 }, has)
}

// addCapacityRows adds the capacities of links and NICs in each slot. circuits returns the terms
// of a bundle at the end of the rows of its links. nics returns the terms and the right side for
// a set of NICs.
func (z *slotModel) addCapacityRows(circuits func(e, k int) []Term, nics func(g, k int) ([]Term, float64)) {
	// Eq. 9 (22): the tasks of a link send at most what its circuits carry.
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
				z.AddRow(fmt.Sprintf("link_l%d_%s%d", l, z.slotName, k+1), LessOrEqual, 0,
					terms...)
			}
		}
	}

	// Eq. 10 (23): the tasks that use a set of NICs.
	for g, users := range z.in.users() {
		for k := range z.numSlots {
			var terms []Term
			for _, u := range users {
				if z.isActive(u.task, k) {
					terms = append(terms, Term{z.sent[u.task][k], u.weight})
				}
			}

			if terms != nil {
				extra, right := nics(g, k)
				z.AddRow(fmt.Sprintf("nic_g%d_%s%d", g, z.slotName, k+1), LessOrEqual, right,
					append(terms, extra...)...)
			}
		}
	}
}

// addFairnessRows requires that the active tasks of a link send equally much per flow. up is the
// maximum data of a task in a slot.
func (z *slotModel) addFairnessRows(up func(i int) float64) {
	for l, tasks := range z.in.links() {
		z.u = append(z.u, make([]int, z.numSlots))
		for k := range z.numSlots {
			z.u[l][k] = -1

			// bigM is the maximum share of a flow. Rows bind only tasks that are active.
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
			z.u[l][k] = z.AddColumn(Column{
				Name: fmt.Sprintf("u_l%d_%s%d", l, z.slotName, k+1),
				Up:   bigM,
			})

			for _, i := range tasks {
				if !z.isActive(i, k) {
					continue
				}

				// The rows are sent/flows - u <= bigM (1-y), and its opposite. For an active task
				// (y = 1) both together state sent/flows = u. For an idle one they always hold.
				suffix := fmt.Sprintf("l%d_m%d_%s%d", l, i, z.slotName, k+1)
				perFlow := 1 / z.in.Tasks[i].Flows
				z.AddRow("more_"+suffix, LessOrEqual, bigM, Term{z.sent[i][k], perFlow},
					Term{z.u[l][k], -1},
					Term{z.y[i][k], bigM})
				z.AddRow("less_"+suffix, LessOrEqual, bigM, Term{z.u[l][k], 1},
					Term{z.sent[i][k], -perFlow},
					Term{z.y[i][k], bigM})
			}
		}
	}
}

// MinimisePorts replaces the objective by Eq. 4 (20): the number of ports, with a makespan of at
// most the given seconds.
func (z *slotModel) MinimisePorts(makespan float64) {
	z.Columns[z.makespan].Cost = 0
	z.Columns[z.makespan].Up = min(z.Columns[z.makespan].Up, z.ticks(makespan))
	for e, x := range z.x {
		// A circuit between two pods uses ports at both of its ends.
		b := &z.in.Bundles[e]
		if z.Columns[x].Cost = float64(b.Ends); b.A != b.B {
			z.Columns[x].Cost *= 2
		}
	}
}

// Seconds converts an objective value of the makespan to seconds.
func (z *slotModel) Seconds(value float64) float64 { return value * z.tick }

// circuitCounts returns the circuits of each bundle in a solution.
func (z *slotModel) circuitCounts(values []float64) []int {
	var counts []int
	for _, x := range z.x {
		counts = append(counts, int(math.Round(values[x])))
	}
	return counts
}

// sentBits returns the bits that a task sends in each slot of a solution.
func (z *slotModel) sentBits(i int, values []float64) []float64 {
	bits := make([]float64, z.numSlots)
	for k := range bits {
		if column := z.sent[i][k]; column >= 0 {
			bits[k] = values[column] * z.unit
		}
	}
	return bits
}
