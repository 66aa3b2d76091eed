package milp

import (
	"fmt"
	"math"
)

// FixedStepModel is the model of DELTA, App. A (Eqs. 19..30), for comparison. Time is divided
// into slices of equal length, in which the rate of a task is constant. Starts, ends and delays
// are rounded up to complete slices. The optimum therefore exceeds the optimum of
// VariableIntervalModel by up to one slice per task on the critical path.
//
// Times in the model are in slices. The unit of data is the capacity of a circuit of the
// first bundle in one of them.
type FixedStepModel struct {
	slotModel
	// s and e are the columns of two kinds of flags, with the names in the DELTA paper. Flag
	// s[i][t] is 1 if transfer i starts in slice t. Flag e[i][t] is 1 if it ends at the beginning
	// of slice t. The index is -1 if the transfer cannot start or end there.
	s, e [][]int
	// stepStart is the start of a step, indexed by task; -1 for transfers.
	stepStart []int
}

// maxSlices limits the slices. Every task has several columns per slice, so a model with more of
// them is too large for a solver. A larger number is likely a mistake in the unit of step.
const maxSlices = 100_000

// Values of the argument end of eventTime.
const (
	ofStart = false
	ofEnd   = true
)

// NewFixedStepModel builds the model for slices of step seconds. Only Fair of form has an effect.
// It fails if the instance is invalid.
func NewFixedStepModel(in *Instance, step float64, form Form) (*FixedStepModel, error) {
	if !(step > 0) || in.Upper/step > maxSlices {
		return nil, fmt.Errorf("milp: slices of %v s in %v s; want a positive length and at most 100,000 slices", step, in.Upper)
	}

	// One more slice per task leaves capacity for rounding up along the longest path.
	z, err := newSlotModel(in, "delta_fixed", "t", step,
		int(math.Ceil(in.Upper/step))+len(in.Tasks))
	if err != nil {
		return nil, err
	}
	f := &FixedStepModel{slotModel: z}
	f.isActive = func(i, t int) bool {
		return in.Tasks[i].Bits > 0 && t >= f.firstSlice(i) && t <= f.lastSlice(i)
	}

	// The rows follow the equations of the paper.
	f.addColumns()
	f.addPortRows()

	// Eqs. 22 and 23: all slices have one length, so the capacity of a circuit and of a NIC in a
	// slice is a constant.
	circuits := func(bundle, _ int) []Term {
		return []Term{{f.x[bundle], -f.unitsPerTick(in.Bundles[bundle].Rate)}}
	}
	nics := func(group, _ int) ([]Term, float64) { return nil, f.unitsPerTick(in.Groups[group]) }
	f.addCapacityRows(circuits, nics)

	f.addActivityRows()
	f.addPrecedenceRows()
	if form.Fair {
		f.addFairnessRows(f.maxPerSlice) // Eq. 29
	}

	return f, nil
}

// sliceError is the tolerance of the rounding to whole slices, in slices. A time just below the
// boundary of a slice lies on it: the division of seconds by the step has a rounding error.
const sliceError = 1e-9

// firstSlice returns the first slice, from 0, in which transfer i may be active.
func (f *FixedStepModel) firstSlice(i int) int {
	return int(math.Floor(f.ticks(f.in.Tasks[i].Head) + sliceError))
}

// lastSlice returns the last slice in which transfer i may be active.
func (f *FixedStepModel) lastSlice(i int) int {
	return f.numSlots - 1 - int(math.Floor(f.ticks(f.in.Tasks[i].Tail)+sliceError))
}

// maxPerSlice returns the maximum data that transfer i sends in a slice.
func (f *FixedStepModel) maxPerSlice(i int) float64 {
	return f.unitsPerTick(f.in.Tasks[i].Rate)
}

// addColumns adds all columns except the flow shares of addFairnessRows.
func (f *FixedStepModel) addColumns() {
	f.addMakespanAndCircuits(float64(f.numSlots))

	// The grids have one more slice, since a task can end at the start of the slice after the
	// last one.
	f.sent = f.addGrid("r", f.numSlots+1, continuous, f.maxPerSlice, f.isActive)
	f.y = f.addFlags("y", f.numSlots+1, f.isActive)
	f.s = f.addFlags("S", f.numSlots+1, f.isActive)

	// A task that is active in a slice can end at the start of the next one.
	f.e = f.addFlags("E", f.numSlots+1, func(i, t int) bool {
		return f.isActive(i, t) || t > 0 && f.isActive(i, t-1)
	})
	for i := range f.in.Tasks {
		// A step is not divided into slices. It may start at any time.
		f.stepStart = append(f.stepStart, -1)
		if f.in.Tasks[i].Bits == 0 {
			f.stepStart[i] = f.AddColumn(Column{
				Name: fmt.Sprintf("at_m%d", i),
				Up:   float64(f.numSlots),
			})
		}
	}
}

// addActivityRows adds Eqs. 24..27: a transfer starts once, ends once, and sends all its data in
// between.
func (f *FixedStepModel) addActivityRows() {
	for i := range f.in.Tasks {
		if f.in.Tasks[i].Bits == 0 {
			continue
		}

		// Eqs. 24 and 25: activity changes by a start or an end. Data are sent only while active.
		var starts, ends, sent []Term
		for t := range f.numSlots + 1 {
			// The row of change is y[t] - y[t-1] - s[t] + e[t] = 0.
			change := []Term{}
			if f.y[i][t] >= 0 {
				sent = append(sent, Term{f.sent[i][t], 1})
				starts = append(starts, Term{f.s[i][t], 1})
				change = append(change, Term{f.y[i][t], 1}, Term{f.s[i][t], -1})
				f.AddRow(fmt.Sprintf("send_m%d_t%d", i, t+1), LessOrEqual, 0,
					Term{f.sent[i][t], 1}, Term{f.y[i][t], -f.maxPerSlice(i)})
			}

			// The end of a transfer is the slice after its last active one.
			if f.e[i][t] >= 0 {
				ends = append(ends, Term{f.e[i][t], 1})
				change = append(change, Term{f.e[i][t], 1})
			}

			if t > 0 && f.y[i][t-1] >= 0 {
				change = append(change, Term{f.y[i][t-1], -1})
			}
			if len(change) > 0 {
				f.AddRow(fmt.Sprintf("change_m%d_t%d", i, t+1), Equal, 0, change...)
			}
		}

		// The sums over all slices.
		f.AddRow(fmt.Sprintf("starts_m%d", i), Equal, 1, starts...)
		f.AddRow(fmt.Sprintf("ends_m%d", i), Equal, 1, ends...)
		f.AddRow(fmt.Sprintf("all_m%d", i), GreaterOrEqual, f.volume(i), sent...)
	}
}

// eventTime returns the time at which a task starts, or with end at which it ends, in slices. It
// is the sum of terms and of the constant plus.
func (f *FixedStepModel) eventTime(i int, end bool) (terms []Term, plus float64) {
	if f.stepStart[i] >= 0 {
		if end {
			plus = f.ticks(f.in.Tasks[i].Duration)
		}
		return []Term{{f.stepStart[i], 1}}, plus
	}

	// Exactly one flag of a transfer is 1, so the sum of flags times slices is its slice.
	flags := f.s[i]
	if end {
		flags = f.e[i]
	}
	for t, c := range flags {
		if c >= 0 {
			terms = append(terms, Term{c, float64(t)})
		}
	}

	return terms, 0
}

// addPrecedenceRows adds Eqs. 28 and 30: dependencies, and the makespan. The lag between two
// transfers is not rounded up itself, since the second transfer starts with a slice.
func (f *FixedStepModel) addPrecedenceRows() {
	// Eq. 28: dependencies.
	for n, d := range f.in.Deps {
		from, plus := f.eventTime(d.From, ofEnd)
		to, _ := f.eventTime(d.To, ofStart)
		for _, t := range from {
			to = append(to, Term{t.Column, -t.Factor})
		}
		f.AddRow(fmt.Sprintf("after_%d", n), GreaterOrEqual, plus+f.ticks(d.Lag), to...)
	}

	// Eq. 30: the makespan.
	for i := range f.in.Tasks {
		end, plus := f.eventTime(i, ofEnd)
		terms := []Term{{f.makespan, 1}}
		for _, t := range end {
			terms = append(terms, Term{t.Column, -t.Factor})
		}
		f.AddRow(fmt.Sprintf("last_m%d", i), GreaterOrEqual, plus, terms...)
	}
}

// Schedule returns the schedule of a solution.
func (f *FixedStepModel) Schedule(values []float64) *Schedule {
	s := &Schedule{
		Makespan: f.Seconds(values[f.makespan]),
		Circuits: f.circuitCounts(values),
	}

	for t := range f.numSlots + 1 {
		s.Times = append(s.Times, f.Seconds(float64(t)))
	}

	// seconds evaluates an event time in a solution.
	seconds := func(terms []Term, plus float64) float64 {
		for _, t := range terms {
			plus += t.Factor * values[t.Column]
		}
		return f.Seconds(plus)
	}

	for i := range f.in.Tasks {
		s.Start = append(s.Start, seconds(f.eventTime(i, ofStart)))
		s.End = append(s.End, seconds(f.eventTime(i, ofEnd)))
		s.Sent = append(s.Sent, f.sentBits(i, values))
	}

	return s
}
