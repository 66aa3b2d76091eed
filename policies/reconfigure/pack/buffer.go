package pack

import (
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
)

// limitBuffer reports whether no GPU holds more than o.Buffer chunks in transit. If one
// does, and no chunk rests across a reconfiguration, it first reschedules the chunks
// without waiting.
func (r *Schedule) limitBuffer(o Options) (bool, error) {
	if fits, err := r.fitsBuffer(o); fits || err != nil || r.Relay && len(r.Topologies) > 1 {
		return fits, err
	}
	r.maxTransit, r.Total = o.Buffer, 0
	list := r.phasePaths()
	for i := range list {
		_, r.Slots[i] = r.scheduleWithoutWaiting(i, &list[i].Paths, o.Stop)
		r.Total += int64(r.Slots[i])
	}
	return r.fitsBuffer(o)
}

// fitsBuffer sets r.Buffer if there is a limit, and reports whether it is within the limit.
func (r *Schedule) fitsBuffer(o Options) (bool, error) {
	if o.Buffer == 0 {
		return true, nil
	}
	p, err := r.buildPlan("", o.Stop)
	if err != nil {
		return false, err
	}
	r.Buffer = p.Buffer
	return r.Buffer <= o.Buffer, nil
}

// scheduleWithoutWaiting schedules the chunks of a phase so that a chunk never waits after
// its first hop. Chunks are scheduled one at a time, longest paths first. Each starts as
// early as the links and the limit of r.maxTransit chunks in transit per GPU allow. This
// always succeeds, because a chunk can start after all others. It returns the slot of each
// crossing, and the number of slots.
func (r *Schedule) scheduleWithoutWaiting(phase int, w *Paths, stop cancellation.Condition) (crossings []int32, slots int32) {
	t := linkTimetable{topology: r.Topologies[phase], maxTransit: r.maxTransit,
		busy:    make([][]bool, len(r.Topologies[phase])),
		transit: make([][]int32, r.problem.GPUs)}
	order := numbers.Below(int32(w.Len()))
	slices.SortStableFunc(order, func(a, b int32) int {
		return int(w.Start[b+1] - w.Start[b] - w.Start[a+1] + w.Start[a])
	})
	crossings = make([]int32, len(w.Link))

	for _, j := range order {
		stop.Check()
		path := w.Link[w.Start[j]:w.Start[j+1]]
		start := 0
		for !t.fits(path, start) {
			start++
		}
		t.reserve(path, start)
		for h := range path {
			crossings[int(w.Start[j])+h] = int32(start + h)
		}
		slots = max(slots, int32(start+len(path)))
	}

	return crossings, slots
}

// linkTimetable has the reservations of the links and GPUs of a phase.
type linkTimetable struct {
	topology   scaleup.Topology
	maxTransit int32     // limit of chunks in transit per GPU
	busy       [][]bool  // indexed by link and slot
	transit    [][]int32 // chunks in transit after the slot, indexed by GPU and slot
}

// fits reports whether a chunk can start on the path in the given slot and continue without
// waiting.
func (t *linkTimetable) fits(path []int32, start int) bool {
	for h, e := range path {
		slot, u := start+h, t.topology[e].To
		if slot < len(t.busy[e]) && t.busy[e][slot] ||
			h < len(path)-1 && slot < len(t.transit[u]) && t.transit[u][slot] == t.maxTransit {
			return false
		}
	}

	return true
}

// reserve reserves the path for a chunk that starts in the given slot.
func (t *linkTimetable) reserve(path []int32, start int) {
	for h, e := range path {
		slot, u := start+h, t.topology[e].To
		t.busy[e] = append(t.busy[e], make([]bool, max(0, slot+1-len(t.busy[e])))...)
		t.busy[e][slot] = true
		if h < len(path)-1 {
			t.transit[u] = append(t.transit[u], make([]int32, max(0, slot+1-len(t.transit[u])))...)
			t.transit[u][slot]++
		}
	}
}
