package flow

import (
	"math"
	"slices"
)

// component is scratch space for sharing capacity among transfers that are connected through resources they use.
type component struct {
	epoch    int32
	shares   int32   // times that capacity was shared
	resSeen  []int32 // epoch in which a resource was collected; or -shares, of many that are connected
	taskSeen []int32
	tasks    []int32
	res      []int32
	level    []float64 // of tasks, by task id; only under the priority services

	free  []float64 // by resource: capacity not given away yet
	load  []float64 // by resource: weight of the unfrozen transfers on it
	count []int32   // and their number
	tight []bool
	open  []int32   // transfers without a rate yet
	used  []int32   // resources that these use
	out   []float64 // by task: the rate found
}

func (c *component) init(m *model) {
	c.resSeen = make([]int32, m.resources)
	c.taskSeen = make([]int32, m.tasks)
	c.level = make([]float64, m.tasks)
	c.free = make([]float64, m.resources)
	c.load = make([]float64, m.resources)
	c.count = make([]int32, m.resources)
	c.tight = make([]bool, m.resources)
	c.out = make([]float64, m.tasks)
}

// share gives new rates to every transfer connected to a dirty resource.
func (z *sim) share() {
	z.comp.shares++
	kept := z.dirty[:0]
	for _, r := range z.dirty {
		if !z.dirtyMark[r] {
			continue
		}
		z.dirtyMark[r] = false
		if z.kept.valid {
			z.kept.forget(r)
		}
		if z.active[r] == 0 {
			continue
		}
		if z.active[r] == 1 {
			if id := z.useTask[z.head[r]]; z.alone(id) {
				continue
			}
		}
		if !z.collect(r) {
			kept = append(kept, r)
			continue
		}
		switch z.service {
		case MaxMin:
			z.open()
			z.fill(z.comp.tasks, z.weight)
		default:
			z.byPriority()
		}
		if z.stopped { // these are no rates
			return
		}
		for _, r := range z.comp.res {
			z.dirtyMark[r] = false
		}
		if z.kept.valid {
			for _, r := range z.comp.res {
				z.kept.forget(r)
			}
			for _, id := range z.comp.tasks {
				z.kept.leave(id)
			}
		}
		for _, id := range z.comp.tasks {
			z.setRate(id, z.comp.out[id])
		}
	}
	if len(kept) > 0 || z.kept.valid && z.kept.until > 0 {
		z.update(kept)
	}
	z.dirty = z.dirty[:0]
}

// alone gives id all it can use if it shares no resource, and reports whether that is so.
func (z *sim) alone(id int32) bool {
	rate := z.limit[id]
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		if z.active[r] > 1 {
			return false
		}
		rate = min(rate, z.rates[r]/z.useW[u])
	}
	for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
		z.dirtyMark[r] = false
	}
	if z.kept.valid {
		z.kept.leave(id)
		for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
			z.kept.forget(r)
		}
	}
	z.setRate(id, rate)
	return true
}

// collect gathers the transfers and resources connected to r. It reports false where there are many transfers, whose
// shares are kept.
func (z *sim) collect(r int32) bool {
	c := &z.comp
	c.epoch++
	c.tasks, c.res = c.tasks[:0], append(c.res[:0], r)
	few := !z.keeps() || c.resSeen[r] != -c.shares
	c.resSeen[r] = c.epoch
	for k := 0; k < len(c.res) && few; k++ {
		for u := z.head[c.res[k]]; u >= 0; u = z.next[u] {
			id := z.useTask[u]
			if c.taskSeen[id] == c.epoch {
				continue
			}
			c.taskSeen[id] = c.epoch
			c.tasks = append(c.tasks, id)
			for v := z.useStart[id]; v < z.useStart[id+1]; v++ {
				if o := z.useRes[v]; c.resSeen[o] != c.epoch {
					few = few && c.resSeen[o] != -c.shares
					c.resSeen[o] = c.epoch
					c.res = append(c.res, o)
				}
			}
		}
		few = few && (len(c.tasks) < many || !z.keeps())
	}
	if !few {
		for _, o := range c.res {
			c.resSeen[o] = -c.shares
		}
	}
	return few
}

// keeps reports whether shares of large components are kept.
func (z *sim) keeps() bool { return z.service == MaxMin && !z.capped }

// open makes the whole capacity of the component available.
func (z *sim) open() {
	for _, r := range z.comp.res {
		z.comp.free[r] = z.rates[r]
	}
}

// together is the relative distance within which two fair shares count as equal: far above rounding, far below any
// difference between real rates.
const together = 1e-12

// fill shares what is free among tasks max-min fairly by weight: the common share rises until a resource or a
// transfer's own limit is met, what is bound there is frozen, and so on. A transfer of no weight gets nothing.
func (z *sim) fill(tasks []int32, weight []float64) {
	c := &z.comp
	c.open, c.used = c.open[:0], c.used[:0]
	for _, id := range tasks {
		c.out[id] = 0
		if weight[id] == 0 {
			continue
		}
		c.open = append(c.open, id)
		for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
			c.count[r] = 0
		}
	}
	for _, id := range c.open {
		for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
			r := z.useRes[u]
			if c.count[r] == 0 {
				c.load[r], c.used = 0, append(c.used, r)
			}
			c.load[r] += weight[id] * z.useW[u]
			c.count[r]++
		}
	}
	for len(c.open) > 0 && !z.interrupted(len(c.open)+len(c.res)) { // work is counted as if all resources were looked at
		share := z.common(c.used)
		for _, id := range c.open {
			share = min(share, z.limit[id]/weight[id])
		}
		share = max(share, 0)
		edge := z.tighten(c.used, share)
		kept := c.open[:0]
		for _, id := range c.open {
			if !z.bound(id, edge*weight[id]) {
				kept = append(kept, id)
				continue
			}
			z.freeze(id, share, weight[id])
		}
		c.open = kept
	}
}

// common returns the share at which the first of some resources is full.
func (z *sim) common(res []int32) float64 {
	c, share := &z.comp, math.Inf(1)
	for _, r := range res {
		if c.count[r] > 0 {
			share = min(share, c.free[r]/c.load[r])
		}
	}
	return share
}

// tighten marks those of some resources that are full at a share, and returns the share up to which they count as that.
func (z *sim) tighten(res []int32, share float64) (edge float64) {
	c := &z.comp
	edge = share * (1 + together)
	for _, r := range res {
		c.tight[r] = c.count[r] > 0 && c.free[r]/c.load[r] <= edge
	}
	return edge
}

// freeze gives a transfer its rate.
func (z *sim) freeze(id int32, share, weight float64) {
	c := &z.comp
	c.out[id] = share * weight
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		if c.free[r] -= c.out[id] * z.useW[u]; c.free[r] < together*z.rates[r] {
			c.free[r] = 0 // no crumbs of rounding
		}
		c.load[r] -= weight * z.useW[u]
		c.count[r]--
	}
}

// bound reports whether id can have no more than the rate that edge is just above of.
func (z *sim) bound(id int32, edge float64) bool {
	if z.limit[id] <= edge {
		return true
	}
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		if z.comp.tight[z.useRes[u]] {
			return true
		}
	}
	return false
}

// tie is the span in ticks within which two levels count as equal: it covers the rounding of the crossing's time to a
// tick, and of the levels themselves.
const tie = 16

// byPriority serves the transfers of the component in order of priority; those of equal priority share fairly. Under
// LevelPriority a fair share is one in proportion to the full rates, so that levels fall alike, and an event is set for
// the first time at which two transfers change places.
func (z *sim) byPriority() {
	c := &z.comp
	weight := z.weight
	if z.service == LevelPriority {
		weight = z.path.full
	}
	tail := z.path.tail
	if z.known != nil {
		tail = z.known
	}
	for _, id := range c.tasks {
		switch z.service {
		case LevelPriority:
			z.advance(id)
			c.level[id] = z.rem[id]/z.path.full[id] + tail[id]
		case TailPriority:
			c.level[id] = tail[id]
		default:
			c.level[id] = float64(z.graph.Tasks[id].Priority)
		}
	}
	slices.SortFunc(c.tasks, func(a, b int32) int {
		if c.level[a] != c.level[b] {
			if c.level[a] > c.level[b] {
				return -1
			}
			return 1
		}
		return int(a - b)
	})
	z.open()
	for from := 0; from < len(c.tasks); {
		to := z.equals(from)
		z.fill(c.tasks[from:to], weight)
		from = to
	}
	if z.service == LevelPriority {
		z.expectCrossing()
	}
}

// equals returns the end of the group of equal priority that starts at from.
func (z *sim) equals(from int) int {
	c := &z.comp
	to := from + 1
	for to < len(c.tasks) && z.tied(c.tasks[to-1], c.tasks[to]) {
		to++
	}
	return to
}

func (z *sim) tied(a, b int32) bool {
	if z.service == LevelPriority {
		return z.comp.level[a]-z.comp.level[b] <= tie
	}
	return z.comp.level[a] == z.comp.level[b]
}

// expectCrossing finds the first time at which a transfer's level falls to that of a lower one. Only neighbouring
// groups of equals can meet first; in each the fastest or slowest may be any, as what binds them may differ.
func (z *sim) expectCrossing() {
	c := &z.comp
	soonest, above := math.Inf(1), 0.0
	for from := 0; from < len(c.tasks); {
		to := z.equals(from)
		slowest, fastest := math.Inf(1), 0.0
		for _, id := range c.tasks[from:to] {
			z.queue.Remove(id + int32(z.tasks))
			fall := c.out[id] / z.path.full[id]
			slowest, fastest = min(slowest, fall), max(fastest, fall)
		}
		if from > 0 {
			gap, closing := c.level[c.tasks[from-1]]-c.level[c.tasks[from]], above-slowest
			if gap > tie && closing > together {
				soonest = min(soonest, gap/closing)
			}
		}
		above, from = fastest, to
	}
	if !math.IsInf(soonest, 1) {
		z.queue.Set(c.tasks[0]+int32(z.tasks), z.now+max(1, ticks(soonest)))
	}
}
