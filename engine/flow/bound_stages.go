package flow

import (
	"math"
	"slices"

	"sim/engine"
)

// Stage is capacities from a time on.
type Stage struct {
	From  engine.Time
	Rates []float64 // by resource, bits per second; the highest that each may have while the stage lasts
}

// deadlines is what Misses works with.
type deadlines struct {
	head, due []float64 // by task: its earliest start, its latest end
	full      []float64 // of one stage after the other, by task: bits a tick at most
	left      []float64
	byHead    [][]int32
	heap      keyHeap   // released transfers, the one that is due first first
	urgent    []float64 // by task: -due
	begin     []float64 // by stage; the last is never
	late      float64   // what rounding may make of a time, so that nothing waits for the next stage for it
}

// Misses reports whether no way of sharing capacities that change as stages do, the first of which begins at 0, ends
// the graph by a time. It is the bound of Bound turned round, as heads and tails are no longer lengths: each task's
// earliest end follows from those before it, and its latest end from those after it, with transfers at the full rate
// that each stage allows them alone; and the transfers of a resource must meet their latest ends by themselves, one
// after the other at its capacity, the one that is due first before the others, which misses none where any order
// misses none.
func (e *Evaluator) Misses(by engine.Time, stages []Stage) bool {
	z, d := e.z, e.d
	if d == nil {
		d = &deadlines{}
		d.init(z.model)
		e.d = d
	}
	z.work += 2 * (z.tasks + len(z.outTo))
	d.late = float64(by)*together + slack
	d.rates(z.model, stages)
	order := z.graph.Order()
	clear(d.head)
	for _, i := range order {
		end := d.after(z.model, i, d.head[i])
		if end > float64(by)+d.late {
			return true
		}
		for o := z.outStart[i]; o < z.outStart[i+1]; o++ {
			to := z.outTo[o]
			d.head[to] = max(d.head[to], end+float64(z.outLag[o]))
		}
	}
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		due := float64(by)
		for o := z.outStart[i]; o < z.outStart[i+1]; o++ {
			to := z.outTo[o]
			due = min(due, d.before(z.model, to, d.due[to])-float64(z.outLag[o]))
		}
		d.urgent[i] = -due
		if d.due[i] = due; d.after(z.model, i, d.head[i]) > due+d.late {
			return true
		}
	}
	for r := range z.resources {
		if uses := d.byHead[r]; len(uses) > 1 && d.overrun(z, r, uses, stages) {
			return true
		}
	}
	return false
}

func (d *deadlines) init(m *model) {
	d.head, d.due, d.left, d.urgent = make([]float64, m.tasks), make([]float64, m.tasks), make([]float64, m.tasks), make([]float64, m.tasks)
	d.byHead = make([][]int32, m.resources)
	for r := range m.resources {
		d.byHead[r] = slices.Clone(m.resUse[m.resStart[r]:m.resStart[r+1]])
	}
}

// rates computes the full rates of transfers.
func (d *deadlines) rates(m *model, stages []Stage) {
	d.begin = d.begin[:0]
	for _, s := range stages {
		d.begin = append(d.begin, float64(s.From))
	}
	d.begin = append(d.begin, math.Inf(1))
	d.full = slices.Grow(d.full[:0], len(stages)*m.tasks)[:len(stages)*m.tasks]
	for k, s := range stages {
		for i := range m.tasks {
			if m.fixed[i] >= 0 {
				continue
			}
			rate := m.limit[i]
			for u := m.useStart[i]; u < m.useStart[i+1]; u++ {
				rate = min(rate, s.Rates[m.useRes[u]]*perTick/m.useW[u])
			}
			d.full[k*m.tasks+i] = rate
		}
	}
}

// after returns when a task ends at the earliest that starts at a time.
func (d *deadlines) after(m *model, i int32, start float64) float64 {
	if f := m.fixed[i]; f >= 0 {
		return start + float64(f)
	}
	left := m.bits[i]
	for k := range len(d.begin) - 1 {
		if start >= d.begin[k+1] {
			continue
		}
		rate := d.full[k*m.tasks+int(i)]
		if end := start + left/rate; rate > 0 && end <= d.begin[k+1]+d.late {
			return end
		}
		left -= rate * (d.begin[k+1] - start)
		start = d.begin[k+1]
	}
	return math.Inf(1)
}

// before returns when a task starts at the latest that ends at a time.
func (d *deadlines) before(m *model, i int32, end float64) float64 {
	if f := m.fixed[i]; f >= 0 {
		return end - float64(f)
	}
	left := m.bits[i]
	for k := len(d.begin) - 2; k >= 0; k-- {
		if end <= d.begin[k] {
			continue
		}
		rate := d.full[k*m.tasks+int(i)]
		if start := end - left/rate; rate > 0 && (start >= d.begin[k]-d.late || k == 0) {
			return start
		}
		left -= rate * (end - d.begin[k])
		end = d.begin[k]
	}
	return math.Inf(-1)
}

// overrun reports whether the transfers of a resource, earliest due first, miss a latest end.
func (d *deadlines) overrun(z *sim, r int, uses []int32, stages []Stage) bool {
	for i := 1; i < len(uses); i++ { // by head; the order changes little from call to call
		u, j := uses[i], i
		h := d.head[z.useTask[u]]
		for ; j > 0; j-- {
			if o := d.head[z.useTask[uses[j-1]]]; o < h || o == h && uses[j-1] < u {
				break
			}
			uses[j] = uses[j-1]
		}
		uses[j] = u
	}
	z.work += 4 * len(uses)
	d.heap = d.heap[:0]
	now, stage := 0.0, 0
	for k := 0; k < len(uses) || len(d.heap) > 0; {
		if len(d.heap) == 0 {
			now = max(now, d.head[z.useTask[uses[k]]])
		}
		for now >= d.begin[stage+1] {
			stage++
		}
		for ; k < len(uses) && d.head[z.useTask[uses[k]]] <= now; k++ {
			id := z.useTask[uses[k]]
			d.left[id] = z.bits[id] * z.useW[uses[k]]
			d.heap.push(d.urgent, id)
		}
		id := d.heap[0]
		rate := stages[stage].Rates[r] * perTick
		until := d.begin[stage+1]
		if k < len(uses) {
			until = min(until, d.head[z.useTask[uses[k]]])
		}
		if end := now + d.left[id]/rate; rate > 0 && end <= until+d.late {
			if now = end; now > d.due[id]+d.late {
				return true
			}
			d.heap.pop(d.urgent)
			continue
		}
		if math.IsInf(until, 1) { // no capacity is left for it
			return true
		}
		d.left[id] -= rate * (until - now)
		now = until
	}
	return false
}
