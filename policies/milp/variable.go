package milp

import (
	"fmt"
	"math"
)

// Form selects a variant of the variable-interval model.
type Form struct {
	// Paper selects the model as printed. Otherwise it has additional rows that every schedule
	// satisfies: minimum durations at full rate and on the chosen circuits, heads and tails, and
	// a big M per task.
	Paper bool
	// Fair adds Eq. 17: active tasks of a link send equally much per flow.
	Fair bool
}

// VariableIntervalModel is the model of DELTA, Sec. III-B (Eqs. 3..18). Time is divided into K
// intervals whose lengths are variables. In an interval a task is active or not and sends at one
// rate. The optimum is over all schedules with at most K intervals in which each task is active
// without interruption and waits only before its start.
//
// Times in the model are in ticks of a millisecond. The unit of data is the number of bits that a
// circuit of the first bundle carries per tick.
//
// All fields from bits on hold indices of columns in Model.Columns. t, d, rho and s, as well as x,
// y and u of slotModel, are symbols of the DELTA paper.
type VariableIntervalModel struct {
	slotModel
	form Form

	// bits are the binary digits of the number of circuits, indexed by bundle and digit, the
	// lowest digit first (Eq. 7).
	bits [][]int
	// t are the boundaries of the intervals, indexed by boundary 0..K, in ticks.
	t []int
	// d are the lengths of the intervals, indexed by interval, in ticks.
	d []int
	// rho are the products of a digit and an interval length, in ticks, indexed by bundle,
	// interval and digit (Eq. 8). An interval has no columns if no task can use the bundle in it.
	rho [][][]int
	// s are flags that are 1 if a task becomes active in an interval, indexed by task and interval
	// (Eq. 13). The index is -1 if the task cannot be active in it.
	s [][]int
	// start and end are the times of each task, in ticks, indexed by task. The end is -1 for
	// steps: a step ends at its start plus its duration.
	start, end []int
}

// millisecond is the tick of the VariableIntervalModel, in seconds.
const millisecond = 1e-3

// NewVariableIntervalModel builds the model. It fails if the instance is invalid.
func NewVariableIntervalModel(in *Instance, form Form) (*VariableIntervalModel, error) {
	for i, t := range in.Tasks {
		if t.Bits > 0 && (t.FirstInterval < 1 || t.LastInterval > in.Intervals ||
			t.FirstInterval > t.LastInterval) {
			return nil, fmt.Errorf("milp: task %d (%s) may be active in intervals %d..%d of %d", i,
				t.Name, t.FirstInterval, t.LastInterval, in.Intervals)
		}
	}

	z, err := newSlotModel(in, "delta", "k", millisecond, in.Intervals)
	if err != nil {
		return nil, err
	}
	v := &VariableIntervalModel{slotModel: z, form: form}
	v.isActive = func(i, k int) bool {
		t := &in.Tasks[i]
		return t.Bits > 0 && k+1 >= t.FirstInterval && k+1 <= t.LastInterval
	}

	v.addColumns()
	v.addPortRows()
	v.addDigitRows()
	v.addIntervalRows()

	// Eqs. 9 and 10: the capacity of circuits and NICs grows with the length of the interval.
	v.addCapacityRows(v.circuitTerms, func(g, k int) ([]Term, float64) {
		return []Term{{v.d[k], -v.unitsPerTick(in.Groups[g])}}, 0
	})

	v.addActivityRows()
	v.addPrecedenceRows()
	if form.Fair {
		v.addFairnessRows(v.volume) // Eq. 17
	}
	if !form.Paper {
		v.addStrengtheningRows()
	}

	return v, nil
}

// addColumns adds all columns except the flow shares of addFairnessRows.
func (v *VariableIntervalModel) addColumns() {
	in, inf := v.in, math.Inf(1)
	upper := v.ticks(in.Upper)
	v.addMakespanAndCircuits(upper)

	// Binary digits of the circuits (Eq. 7), as many as the largest number has.
	for e, b := range in.Bundles {
		var digits []int
		for n := 0; b.MaxCircuits>>n > 0; n++ {
			digits = append(digits, v.AddColumn(Column{
				Name:    fmt.Sprintf("beta_e%d_b%d", e, n),
				Up:      1,
				Integer: true,
			}))
		}

		v.bits = append(v.bits, digits)
	}

	// Boundaries and lengths of the intervals.
	for k := range in.Intervals + 1 {
		v.t = append(v.t, v.AddColumn(Column{
			Name: fmt.Sprintf("t_k%d", k+1),
			Up:   upper,
		}))
	}

	for k := range in.Intervals {
		v.d = append(v.d, v.AddColumn(Column{
			Name: fmt.Sprintf("d_k%d", k+1),
			Up:   upper,
		}))
	}

	// Starts and ends. Heads and tails bound them.
	for i := range in.Tasks {
		low, high := 0.0, upper
		if t := &in.Tasks[i]; !v.form.Paper {
			low, high = v.ticks(t.Head), max(v.ticks(t.Head), upper-v.ticks(t.Tail))
		}
		v.start = append(v.start, v.AddColumn(Column{
			Name: fmt.Sprintf("S_m%d", i),
			Low:  low,
			Up:   high,
		}))

		if in.Tasks[i].Bits == 0 {
			v.end = append(v.end, -1)
			continue
		}

		v.end = append(v.end, v.AddColumn(Column{
			Name: fmt.Sprintf("E_m%d", i),
			Low:  low,
			Up:   high,
		}))
	}

	// Data and activity per task and interval.
	v.sent = v.addGrid("w", v.numSlots, continuous, v.volume, v.isActive)
	v.y = v.addFlags("y", v.numSlots, v.isActive)
	v.s = v.addFlags("s", v.numSlots, v.isActive)

	// Products of digits with lengths (Eq. 8), only where a task can use them.
	v.rho = make([][][]int, len(in.Bundles))
	for e := range in.Bundles {
		v.rho[e] = make([][]int, in.Intervals)
		for k := range in.Intervals {
			used := false // a task of the bundle may be active
			for i := range in.Tasks {
				used = used || in.Tasks[i].Bundle == e && v.isActive(i, k)
			}
			if !used {
				continue
			}

			for n := range v.bits[e] {
				v.rho[e][k] = append(v.rho[e][k], v.AddColumn(Column{
					Name: fmt.Sprintf("rho_e%d_b%d_k%d", e, n, k+1),
					Up:   inf,
				}))
			}
		}
	}
}

// addDigitRows adds Eqs. 7 and 8: the binary digits of the circuits, and their products with the
// lengths of the intervals. Eq. 6 holds because both directions share one variable.
func (v *VariableIntervalModel) addDigitRows() {
	upper := v.ticks(v.in.Upper)
	for e := range v.in.Bundles {
		// The digits add up to x.
		terms := []Term{{v.x[e], -1}}
		for n, b := range v.bits[e] {
			terms = append(terms, Term{b, digitValue(n)})
		}
		v.AddRow(fmt.Sprintf("digits_e%d", e), Equal, 0, terms...)

		// The three rows state rho = digit * length without a product. Row "off" forces rho to 0
		// if the digit is 0. Row "on" limits rho to the length. Row "full" is
		// rho >= length - upper*(1-digit), which forces rho up to the length if the digit is 1.
		// No length exceeds upper.
		for k := range v.rho[e] {
			for n, r := range v.rho[e][k] {
				suffix := fmt.Sprintf("e%d_b%d_k%d", e, n, k+1)
				v.AddRow("off_"+suffix, LessOrEqual, 0, Term{r, 1},
					Term{v.bits[e][n], -upper})
				v.AddRow("on_"+suffix, LessOrEqual, 0, Term{r, 1}, Term{v.d[k], -1})
				v.AddRow("full_"+suffix, GreaterOrEqual, -upper, Term{r, 1},
					Term{v.d[k], -1},
					Term{v.bits[e][n], -upper})
			}
		}
	}
}

// addIntervalRows adds Eq. 14: the lengths of the intervals.
func (v *VariableIntervalModel) addIntervalRows() {
	for k := range v.d {
		v.AddRow(fmt.Sprintf("length_k%d", k+1), Equal, 0, Term{v.d[k], 1},
			Term{v.t[k+1], -1},
			Term{v.t[k], 1})
	}
}

// digitValue returns the number of circuits that binary digit n stands for.
func digitValue(n int) float64 { return float64(int(1) << n) }

// circuitTerms returns the negative capacity of the circuits of bundle e in interval k.
func (v *VariableIntervalModel) circuitTerms(e, k int) (terms []Term) {
	for n, r := range v.rho[e][k] {
		terms = append(terms, Term{r, -v.unitsPerTick(v.in.Bundles[e].Rate) * digitValue(n)})
	}
	return terms
}

// addActivityRows adds Eqs. 11, 12, 13 and 15: all data are sent in active intervals, which are
// consecutive and lie between start and end.
func (v *VariableIntervalModel) addActivityRows() {
	upper := v.ticks(v.in.Upper)
	for i := range v.in.Tasks {
		t := &v.in.Tasks[i]
		if t.Bits == 0 {
			continue
		}
		volume := v.volume(i)

		// startM and endM are the big M of the rows that compare start and end with an interval:
		// so large that the rows hold for any values while the task is idle.
		startM, endM := upper, upper
		if !v.form.Paper {
			// While the task is idle, its start may be the latest one, and its end the earliest.
			startM = v.Columns[v.start[i]].Up
			endM = upper - v.Columns[v.end[i]].Low
		}

		var sent, flags []Term
		for k := range v.in.Intervals {
			if !v.isActive(i, k) {
				continue
			}
			suffix := fmt.Sprintf("m%d_k%d", i, k+1)
			y := v.y[i][k]

			// Eq. 11: data are sent only while active.
			sent = append(sent, Term{v.sent[i][k], 1})
			v.AddRow("send_"+suffix, LessOrEqual, 0, Term{v.sent[i][k], 1},
				Term{y, -volume})

			// Eq. 13: the task becomes active once. Row "rise" is s[k] >= y[k] - y[k-1].
			flags = append(flags, Term{v.s[i][k], 1})
			rise := []Term{{v.s[i][k], 1}, {y, -1}}
			if k > 0 && v.isActive(i, k-1) {
				rise = append(rise, Term{v.y[i][k-1], 1})
			}
			v.AddRow("rise_"+suffix, GreaterOrEqual, 0, rise...)

			// Eqs. 12 and 15: an active interval lies between start and end. Row "from" is
			// start - t[k] <= startM*(1-y). Row "till" is end - t[k+1] >= -endM*(1-y).
			v.AddRow("from_"+suffix, LessOrEqual, startM, Term{v.start[i], 1},
				Term{v.t[k], -1},
				Term{y, startM})
			v.AddRow("till_"+suffix, GreaterOrEqual, -endM, Term{v.end[i], 1},
				Term{v.t[k+1], -1},
				Term{y, -endM})
		}

		// All data are sent, in one run of intervals.
		v.AddRow(fmt.Sprintf("all_m%d", i), Equal, volume, sent...)
		v.AddRow(fmt.Sprintf("once_m%d", i), Equal, 1, flags...)
	}
}

// addPrecedenceRows adds Eqs. 16 and 18: dependencies, and the makespan.
func (v *VariableIntervalModel) addPrecedenceRows() {
	// Eq. 16. A step ends at its start plus its duration.
	follows := make([]bool, len(v.in.Tasks))
	for n, d := range v.in.Deps {
		follows[d.From] = true
		lag, end := v.ticks(d.Lag), v.end[d.From]
		if end < 0 {
			end = v.start[d.From]
			lag += v.ticks(v.in.Tasks[d.From].Duration)
		}

		v.AddRow(fmt.Sprintf("after_%d", n), GreaterOrEqual, lag, Term{v.start[d.To], 1},
			Term{end, -1})
	}

	// Eq. 18. The printed form has a row only for tasks without successors.
	for i := range v.in.Tasks {
		t := &v.in.Tasks[i]

		// The makespan is at least the time in column last plus the seconds that remain.
		last, remaining := v.end[i], 0.0
		if last < 0 { // a step has no column for its end
			last, remaining = v.start[i], t.Duration
		}
		if !v.form.Paper {
			remaining += t.Tail
		} else if follows[i] {
			continue // its successors imply the row
		}

		v.AddRow(fmt.Sprintf("last_m%d", i), GreaterOrEqual, v.ticks(remaining),
			Term{v.makespan, 1}, Term{last, -1})
	}
}

// addStrengtheningRows adds rows that every schedule satisfies and that tighten the relaxation.
func (v *VariableIntervalModel) addStrengtheningRows() {
	for i := range v.in.Tasks {
		t := &v.in.Tasks[i]
		if t.Bits == 0 {
			continue
		}

		// A transfer takes at least its data divided by its maximum rate.
		minDuration := v.ticks(t.Bits / t.Rate)
		v.AddRow(fmt.Sprintf("least_m%d", i), GreaterOrEqual, minDuration,
			Term{v.end[i], 1},
			Term{v.start[i], -1})

		// The duration on x circuits of rate B, V/(x B), is convex in x. The chords between
		// consecutive whole x therefore bound it from below.
		b := &v.in.Bundles[t.Bundle]
		duration := func(x int) float64 { return v.ticks(t.Bits / (float64(x) * b.Rate)) }
		for n := 1; n < b.MaxCircuits && duration(n) > minDuration; n++ {
			slope := duration(n+1) - duration(n)
			v.AddRow(fmt.Sprintf("chord_m%d_x%d", i, n), GreaterOrEqual,
				duration(n)-slope*float64(n),
				Term{v.end[i], 1}, Term{v.start[i], -1}, Term{v.x[t.Bundle], -slope})
		}

		// In each interval, the task sends at most at its maximum rate through its own NICs.
		for k := range v.in.Intervals {
			if v.isActive(i, k) {
				v.AddRow(fmt.Sprintf("pace_m%d_k%d", i, k+1), LessOrEqual, 0,
					Term{v.sent[i][k], 1}, Term{v.d[k], -v.unitsPerTick(t.Rate)})
			}
		}
	}
}
