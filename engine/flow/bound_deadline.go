package flow

import (
	"math"
	"slices"

	"sim/engine"
)

// Period holds the maximum capacities from a time until the next period.
type Period struct {
	From  engine.Time // start time
	Rates []float64   // bits per second, indexed by resource
}

// deadlineCheck is the state of MissesDeadline. Times are in ticks.
type deadlineCheck struct {
	head, latestEnd []float64 // earliest start and latest end, indexed by task
	fullRate        []float64 // maximum rate in bits per tick, indexed by period*tasks+task
	remaining       []float64 // bits left of a released transfer, times weight, indexed by task
	byHead          [][]int32 // uses in order of heads, indexed by resource
	heap            taskHeap  // released transfers, earliest latestEnd first
	urgency         []float64 // key of heap: -latestEnd, indexed by task
	periodStart     []float64 // start times, indexed by period; +Inf follows the last one
	// tolerance covers the rounding errors of a time, so that no transfer waits for the next
	// period because of them.
	tolerance float64
}

// MissesDeadline reports whether the graph provably cannot end by a deadline under any service,
// with capacities that change from period to period. The first period must start at 0.
//
// This is Bound as a decision problem, because durations depend on the period. A forward pass
// computes the earliest end of each task and a backward pass its latest end, with transfers at
// the full rate of each period. Then the transfers of each resource are scheduled one at a
// time at its capacity, earliest latest end first (EDF). EDF misses a deadline only if every
// order does.
func (e *Evaluator) MissesDeadline(deadline engine.Time, periods []Period) bool {
	z, d := e.sim, e.deadlines
	if d == nil {
		d = &deadlineCheck{}
		d.init(z.model)
		e.deadlines = d
	}
	z.workSincePoll += 2 * (z.tasks + len(z.outTo))
	d.tolerance = float64(deadline)*relTol + tickTolerance
	d.computeFullRates(z.model, periods)

	// Forward pass: the earliest start of each task, and a check of its earliest end.
	order := z.graph.Order()
	clear(d.head)
	for _, i := range order {
		end := d.earliestEnd(z.model, i, d.head[i])
		if end > float64(deadline)+d.tolerance {
			return true
		}
		for o := z.outStart[i]; o < z.outStart[i+1]; o++ {
			to := z.outTo[o]
			d.head[to] = max(d.head[to], end+float64(z.outLag[o]))
		}
	}

	// Backward pass: the latest end of each task.
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		latestEnd := float64(deadline)
		for o := z.outStart[i]; o < z.outStart[i+1]; o++ {
			to := z.outTo[o]
			latestEnd = min(latestEnd, d.latestStart(z.model, to, d.latestEnd[to])-float64(z.outLag[o]))
		}
		d.urgency[i] = -latestEnd
		if d.latestEnd[i] = latestEnd; d.earliestEnd(z.model, i, d.head[i]) > latestEnd+d.tolerance {
			return true
		}
	}

	// Each resource alone.
	for r := range z.resources {
		if uses := d.byHead[r]; len(uses) > 1 && d.missesDeadline(z, r, uses, periods) {
			return true
		}
	}
	return false
}

// init allocates the arrays.
func (d *deadlineCheck) init(m *model) {
	d.head, d.latestEnd, d.remaining, d.urgency =
		make([]float64, m.tasks), make([]float64, m.tasks),
		make([]float64, m.tasks), make([]float64, m.tasks)
	d.byHead = make([][]int32, m.resources)
	for r := range m.resources {
		d.byHead[r] = slices.Clone(m.resUse[m.resStart[r]:m.resStart[r+1]])
	}
}

// computeFullRates computes the maximum rates of all transfers in all periods.
func (d *deadlineCheck) computeFullRates(m *model, periods []Period) {
	d.periodStart = d.periodStart[:0]
	for _, s := range periods {
		d.periodStart = append(d.periodStart, float64(s.From))
	}

	d.periodStart = append(d.periodStart, math.Inf(1))
	d.fullRate = slices.Grow(d.fullRate[:0], len(periods)*m.tasks)[:len(periods)*m.tasks]
	for k, s := range periods {
		for i := range m.tasks {
			if m.fixedDuration[i] >= 0 {
				continue
			}
			rate := m.rateLimit[i]
			for u := m.useStart[i]; u < m.useStart[i+1]; u++ {
				rate = min(rate, s.Rates[m.useRes[u]]*perTick/m.useWeight[u])
			}
			d.fullRate[k*m.tasks+i] = rate
		}
	}
}

// earliestEnd returns the earliest end of a task with the given start.
func (d *deadlineCheck) earliestEnd(m *model, i int32, start float64) float64 {
	if f := m.fixedDuration[i]; f >= 0 {
		return start + float64(f)
	}

	remaining := m.bits[i]
	for k := range len(d.periodStart) - 1 {
		if start >= d.periodStart[k+1] {
			continue
		}
		rate := d.fullRate[k*m.tasks+int(i)]
		if end := start + remaining/rate; rate > 0 && end <= d.periodStart[k+1]+d.tolerance {
			return end
		}
		remaining -= rate * (d.periodStart[k+1] - start)
		start = d.periodStart[k+1]
	}
	return math.Inf(1)
}

// latestStart returns the latest start of a task with the given end.
func (d *deadlineCheck) latestStart(m *model, i int32, end float64) float64 {
	if f := m.fixedDuration[i]; f >= 0 {
		return end - float64(f)
	}

	remaining := m.bits[i]
	for k := len(d.periodStart) - 2; k >= 0; k-- {
		if end <= d.periodStart[k] {
			continue
		}
		rate := d.fullRate[k*m.tasks+int(i)]
		if start := end - remaining/rate; rate > 0 && (start >= d.periodStart[k]-d.tolerance || k == 0) {
			return start
		}
		remaining -= rate * (end - d.periodStart[k])
		end = d.periodStart[k]
	}
	return math.Inf(-1)
}

// missesDeadline reports whether the transfers of a resource miss a latest end under EDF.
func (d *deadlineCheck) missesDeadline(z *sim, r int, uses []int32, periods []Period) bool {
	// Insertion sort by head; the order changes little from call to call.
	for i := 1; i < len(uses); i++ {
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

	z.workSincePoll += 4 * len(uses)
	d.heap = d.heap[:0]
	now, period := 0.0, 0
	for k := 0; k < len(uses) || len(d.heap) > 0; {
		if len(d.heap) == 0 {
			now = max(now, d.head[z.useTask[uses[k]]])
		}

		// Advance to the period of now, and release the transfers whose heads are reached.
		for now >= d.periodStart[period+1] {
			period++
		}
		for ; k < len(uses) && d.head[z.useTask[uses[k]]] <= now; k++ {
			id := z.useTask[uses[k]]
			d.remaining[id] = z.bits[id] * z.useWeight[uses[k]]
			d.heap.push(d.urgency, id)
		}

		// Serve the most urgent transfer until it ends, the next one is released, or the
		// period ends.
		id := d.heap[0]
		rate := periods[period].Rates[r] * perTick
		until := d.periodStart[period+1]
		if k < len(uses) {
			until = min(until, d.head[z.useTask[uses[k]]])
		}
		if end := now + d.remaining[id]/rate; rate > 0 && end <= until+d.tolerance {
			if now = end; now > d.latestEnd[id]+d.tolerance {
				return true
			}
			d.heap.pop(d.urgency)
			continue
		}
		if math.IsInf(until, 1) { // no capacity is left
			return true
		}
		d.remaining[id] -= rate * (until - now)
		now = until
	}
	return false
}
