package pack

import (
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
)

// confine says whether no GPU holds more than o.Buffer chunks in transit. It times a schedule in which none rests across
// a reconfiguration tight where it must be.
func (r *Schedule) confine(o Options) (bool, error) {
	if fits, err := r.fits(o); fits || err != nil || r.Relay && len(r.Topologies) > 1 {
		return fits, err
	}
	r.limit, r.Total = o.Buffer, 0
	list := r.segments()
	for i := range list {
		_, r.Slots[i] = r.tight(i, &list[i].Walks, o.Stop)
		r.Total += int64(r.Slots[i])
	}
	return r.fits(o)
}

// fits finds r.Buffer where it is limited, and says whether it is at most what is allowed.
func (r *Schedule) fits(o Options) (bool, error) {
	if o.Buffer == 0 {
		return true, nil
	}
	p, err := r.plan("", o.Stop)
	if err != nil {
		return false, err
	}
	r.Buffer = p.Buffer
	return r.Buffer <= o.Buffer, nil
}

// tight times every chunk of a phase without waiting: one after another, the longest first, each as early as the links
// and r.limit chunks in transit at each GPU allow; there is always a time after all others. It returns the slot of
// every crossing, and how many there are.
func (r *Schedule) tight(phase int, w *Walks, stop halt.When) (at []int32, slots int32) {
	t := timetable{topology: r.Topologies[phase], limit: r.limit, busy: make([][]bool, len(r.Topologies[phase])),
		held: make([][]int32, r.problem.GPUs)}
	order := numbers.Below(int32(w.Len()))
	slices.SortStableFunc(order, func(a, b int32) int { return int(w.Start[b+1] - w.Start[b] - w.Start[a+1] + w.Start[a]) })
	at = make([]int32, len(w.Link))
	for _, j := range order {
		stop.Check()
		path := w.Link[w.Start[j]:w.Start[j+1]]
		begin := 0
		for !t.fits(path, begin) {
			begin++
		}
		t.book(path, begin)
		for h := range path {
			at[int(w.Start[j])+h] = int32(begin + h)
		}
		slots = max(slots, int32(begin+len(path)))
	}
	return at, slots
}

// timetable is that of the links and GPUs of a phase.
type timetable struct {
	topology scaleup.Topology
	limit    int32
	busy     [][]bool  // by link and slot
	held     [][]int32 // by GPU and slot: the chunks in transit after it
}

// fits says whether a chunk can set out in slot begin.
func (t *timetable) fits(path []int32, begin int) bool {
	for h, e := range path {
		slot, u := begin+h, t.topology[e].To
		if slot < len(t.busy[e]) && t.busy[e][slot] || h < len(path)-1 && slot < len(t.held[u]) && t.held[u][slot] == t.limit {
			return false
		}
	}
	return true
}

func (t *timetable) book(path []int32, begin int) {
	for h, e := range path {
		slot, u := begin+h, t.topology[e].To
		t.busy[e] = append(t.busy[e], make([]bool, max(0, slot+1-len(t.busy[e])))...)
		t.busy[e][slot] = true
		if h < len(path)-1 {
			t.held[u] = append(t.held[u], make([]int32, max(0, slot+1-len(t.held[u])))...)
			t.held[u][slot]++
		}
	}
}
