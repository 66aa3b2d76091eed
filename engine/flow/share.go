package flow

import (
	"math"
	"slices"
)

// component is scratch space for sharing capacity among transfers that are connected through resources they use.
type component struct {
	epoch     int32
	passes    int32   // times that capacity was shared
	resMark   []int32 // epoch in which a resource was collected; or -shares, of many that are connected
	taskMark  []int32
	tasks     []int32
	resources []int32
	level     []float64 // of tasks, by task id; only under the priority services

	free        []float64 // by resource: capacity not given away yet
	load        []float64 // by resource: weight of the unfrozen transfers on it
	unfixedUses []int32   // and their number
	isSaturated []bool
	unfixed     []int32   // transfers without a rate yet
	usedRes     []int32   // resources that these use
	rate        []float64 // by task: the rate found
}

func (c *component) init(m *model) {
	c.resMark = make([]int32, m.resources)
	c.taskMark = make([]int32, m.tasks)
	c.level = make([]float64, m.tasks)
	c.free = make([]float64, m.resources)
	c.load = make([]float64, m.resources)
	c.unfixedUses = make([]int32, m.resources)
	c.isSaturated = make([]bool, m.resources)
	c.rate = make([]float64, m.tasks)
}

// shareCapacity gives new rates to every transfer connected to a dirty resource.
func (z *sim) shareCapacity() {
	z.component.passes++
	large := z.dirty[:0]
	for _, r := range z.dirty {
		if !z.isDirty[r] {
			continue
		}
		z.isDirty[r] = false
		if z.incremental.valid {
			z.incremental.clearSaturation(r)
		}
		if z.numActive[r] == 0 {
			continue
		}
		if z.numActive[r] == 1 {
			if id := z.useTask[z.firstUse[r]]; z.shareAlone(id) {
				continue
			}
		}
		if !z.collectComponent(r) {
			large = append(large, r)
			continue
		}
		switch z.service {
		case MaxMin:
			z.freeAllCapacity()
			z.fillProgressively(z.component.tasks, z.weight)
		default:
			z.shareByPriority()
		}
		if z.cancelled { // these are no rates
			return
		}
		for _, r := range z.component.resources {
			z.isDirty[r] = false
		}
		if z.incremental.valid {
			for _, r := range z.component.resources {
				z.incremental.clearSaturation(r)
			}
			for _, id := range z.component.tasks {
				z.incremental.clearLevel(id)
			}
		}
		for _, id := range z.component.tasks {
			z.setRate(id, z.component.rate[id])
		}
	}
	if len(large) > 0 || z.incremental.valid && z.incremental.recheckLevel > 0 {
		z.updateShares(large)
	}
	z.dirty = z.dirty[:0]
}

// shareAlone gives id all it can use if it shares no resource, and reports whether that is so.
func (z *sim) shareAlone(id int32) bool {
	rate := z.rateLimit[id]
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		if z.numActive[r] > 1 {
			return false
		}
		rate = min(rate, z.capacity[r]/z.useWeight[u])
	}
	for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
		z.isDirty[r] = false
	}
	if z.incremental.valid {
		z.incremental.clearLevel(id)
		for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
			z.incremental.clearSaturation(r)
		}
	}
	z.setRate(id, rate)
	return true
}

// collectComponent gathers the transfers and resources connected to r. It reports false where there are many transfers, whose
// shares are kept.
func (z *sim) collectComponent(r int32) bool {
	c := &z.component
	c.epoch++
	c.tasks, c.resources = c.tasks[:0], append(c.resources[:0], r)
	isSmall := !z.usesIncremental() || c.resMark[r] != -c.passes
	c.resMark[r] = c.epoch
	for k := 0; k < len(c.resources) && isSmall; k++ {
		for u := z.firstUse[c.resources[k]]; u >= 0; u = z.nextUse[u] {
			id := z.useTask[u]
			if c.taskMark[id] == c.epoch {
				continue
			}
			c.taskMark[id] = c.epoch
			c.tasks = append(c.tasks, id)
			for v := z.useStart[id]; v < z.useStart[id+1]; v++ {
				if o := z.useRes[v]; c.resMark[o] != c.epoch {
					isSmall = isSmall && c.resMark[o] != -c.passes
					c.resMark[o] = c.epoch
					c.resources = append(c.resources, o)
				}
			}
		}
		isSmall = isSmall && (len(c.tasks) < incrementalThreshold || !z.usesIncremental())
	}
	if !isSmall {
		for _, o := range c.resources {
			c.resMark[o] = -c.passes
		}
	}
	return isSmall
}

// usesIncremental reports whether shares of large components are kept.
func (z *sim) usesIncremental() bool { return z.service == MaxMin && !z.hasRateLimits }

// freeAllCapacity makes the whole capacity of the component available.
func (z *sim) freeAllCapacity() {
	for _, r := range z.component.resources {
		z.component.free[r] = z.capacity[r]
	}
}

// relTol is the relative distance within which two fair shares count as equal: far above rounding, far below any
// difference between real rates.
const relTol = 1e-12

// fillProgressively shares what is free among tasks max-min fairly by weight: the common share rises until a resource or a
// transfer's own limit is met, what is bound there is frozen, and so on. A transfer of no weight gets nothing.
func (z *sim) fillProgressively(tasks []int32, weight []float64) {
	c := &z.component
	c.unfixed, c.usedRes = c.unfixed[:0], c.usedRes[:0]
	for _, id := range tasks {
		c.rate[id] = 0
		if weight[id] == 0 {
			continue
		}
		c.unfixed = append(c.unfixed, id)
		for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
			c.unfixedUses[r] = 0
		}
	}
	for _, id := range c.unfixed {
		for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
			r := z.useRes[u]
			if c.unfixedUses[r] == 0 {
				c.load[r], c.usedRes = 0, append(c.usedRes, r)
			}
			c.load[r] += weight[id] * z.useWeight[u]
			c.unfixedUses[r]++
		}
	}
	for len(c.unfixed) > 0 && !z.interrupted(len(c.unfixed)+len(c.resources)) { // work is counted as if all resources were looked at
		share := z.minFairShare(c.usedRes)
		for _, id := range c.unfixed {
			share = min(share, z.rateLimit[id]/weight[id])
		}
		share = max(share, 0)
		edge := z.markSaturated(c.usedRes, share)
		unfixed := c.unfixed[:0]
		for _, id := range c.unfixed {
			if !z.isBottlenecked(id, edge*weight[id]) {
				unfixed = append(unfixed, id)
				continue
			}
			z.fixRate(id, share, weight[id])
		}
		c.unfixed = unfixed
	}
}

// minFairShare returns the share at which the first of some resources is full.
func (z *sim) minFairShare(res []int32) float64 {
	c, share := &z.component, math.Inf(1)
	for _, r := range res {
		if c.unfixedUses[r] > 0 {
			share = min(share, c.free[r]/c.load[r])
		}
	}
	return share
}

// markSaturated marks those of some resources that are full at a share, and returns the share up to which they count as that.
func (z *sim) markSaturated(res []int32, share float64) (edge float64) {
	c := &z.component
	edge = share * (1 + relTol)
	for _, r := range res {
		c.isSaturated[r] = c.unfixedUses[r] > 0 && c.free[r]/c.load[r] <= edge
	}
	return edge
}

// fixRate gives a transfer its rate.
func (z *sim) fixRate(id int32, share, weight float64) {
	c := &z.component
	c.rate[id] = share * weight
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		if c.free[r] -= c.rate[id] * z.useWeight[u]; c.free[r] < relTol*z.capacity[r] {
			c.free[r] = 0 // no crumbs of rounding
		}
		c.load[r] -= weight * z.useWeight[u]
		c.unfixedUses[r]--
	}
}

// isBottlenecked reports whether id can have no more than the rate that edge is just above of.
func (z *sim) isBottlenecked(id int32, edge float64) bool {
	if z.rateLimit[id] <= edge {
		return true
	}
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		if z.component.isSaturated[z.useRes[u]] {
			return true
		}
	}
	return false
}

// levelTolerance is the span in ticks within which two levels count as equal: it covers the rounding of the crossing's time to a
// tick, and of the levels themselves.
const levelTolerance = 16

// shareByPriority serves the transfers of the component in order of priority; those of equal priority share fairly. Under
// LevelPriority a fair share is one in proportion to the full rates, so that levels fall alike, and an event is set for
// the first time at which two transfers change places.
func (z *sim) shareByPriority() {
	c := &z.component
	weight := z.weight
	if z.service == LevelPriority {
		weight = z.paths.fullRate
	}
	tail := z.paths.tail
	if z.givenTails != nil {
		tail = z.givenTails
	}
	for _, id := range c.tasks {
		switch z.service {
		case LevelPriority:
			z.updateRemaining(id)
			c.level[id] = z.remaining[id]/z.paths.fullRate[id] + tail[id]
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
	z.freeAllCapacity()
	for from := 0; from < len(c.tasks); {
		to := z.groupEnd(from)
		z.fillProgressively(c.tasks[from:to], weight)
		from = to
	}
	if z.service == LevelPriority {
		z.scheduleCrossing()
	}
}

// groupEnd returns the end of the group of equal priority that starts at from.
func (z *sim) groupEnd(from int) int {
	c := &z.component
	to := from + 1
	for to < len(c.tasks) && z.sameLevel(c.tasks[to-1], c.tasks[to]) {
		to++
	}
	return to
}

func (z *sim) sameLevel(a, b int32) bool {
	if z.service == LevelPriority {
		return z.component.level[a]-z.component.level[b] <= levelTolerance
	}
	return z.component.level[a] == z.component.level[b]
}

// scheduleCrossing finds the first time at which a transfer's level falls to that of a lower one. Only neighbouring
// groups of equals can meet first; in each the fastest or slowest may be any, as what binds them may differ.
func (z *sim) scheduleCrossing() {
	c := &z.component
	earliest, fastestAbove := math.Inf(1), 0.0
	for from := 0; from < len(c.tasks); {
		to := z.groupEnd(from)
		slowest, fastest := math.Inf(1), 0.0
		for _, id := range c.tasks[from:to] {
			z.queue.Remove(id + int32(z.tasks))
			fall := c.rate[id] / z.paths.fullRate[id]
			slowest, fastest = min(slowest, fall), max(fastest, fall)
		}
		if from > 0 {
			gap, closing := c.level[c.tasks[from-1]]-c.level[c.tasks[from]], fastestAbove-slowest
			if gap > levelTolerance && closing > relTol {
				earliest = min(earliest, gap/closing)
			}
		}
		fastestAbove, from = fastest, to
	}
	if !math.IsInf(earliest, 1) {
		z.queue.Set(c.tasks[0]+int32(z.tasks), z.now+max(1, ceilTicks(earliest)))
	}
}
