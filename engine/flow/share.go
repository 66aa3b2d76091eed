package flow

import (
	"math"
	"slices"
)

// This file computes the rates of transfers after an event. A resource whose transfers or
// capacity changed is dirty (sim.markDirty). A use is one resource used by one running
// transfer; the uses of a resource form a list (runState.firstUse and nextUse).

// component is the scratch space of shareCapacity for one connected component: transfers
// that are connected, directly or indirectly, through the resources they use.
type component struct {
	epoch  int32 // number of the current collection (collectComponent), from 1
	passes int32 // number of calls of shareCapacity
	// resMark is indexed by resource. A positive mark is the epoch in which the resource was
	// collected last. The mark -passes means that the resource belongs to a component that was
	// found large in the current call of shareCapacity. Example: in the third call, the mark is -3.
	// All other marks are outdated.
	resMark   []int32
	taskMark  []int32   // epoch in which a task was collected, indexed by task
	tasks     []int32   // the collected transfers
	resources []int32   // the collected resources
	level     []float64 // priority, indexed by task; only under the priority services

	// State of fillProgressively.
	free        []float64 // capacity not assigned yet, indexed by resource
	load        []float64 // weight of the transfers without a rate, indexed by resource
	unfixedUses []int32   // number of uses by transfers without a rate, indexed by resource
	isSaturated []bool    // saturated in the current round, indexed by resource
	unfixed     []int32   // transfers without a rate
	usedRes     []int32   // the resources that transfers without a rate use
	rate        []float64 // the computed rates, indexed by task
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

// shareCapacity computes new rates for every transfer that is connected to a dirty resource.
// shareAlone handles transfers that share no resource. fillProgressively or shareByPriority handle
// small components, and updateShares handles large ones.
//
// z.incremental (incrementalShares, incremental.go) maintains the shares of large components, if
// its field valid is set. If transfers and resources become part of a small component, leaveLarge
// and releaseTask remove them there. clearSaturation reports that a resource changed. recheckLevel
// is above 0 if such a change has not been taken into account.
func (z *sim) shareCapacity() {
	z.component.passes++
	large := z.dirty[:0] // dirty resources in large components
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

		// A transfer that shares no resource.
		if z.numActive[r] == 1 {
			if id := z.useTask[z.firstUse[r]]; z.shareAlone(id) {
				continue
			}
		}
		// A large component: its shares are updated below.
		if !z.collectComponent(r) {
			large = append(large, r)
			continue
		}

		// A small component.
		switch z.service {
		case MaxMin:
			z.freeAllCapacity()
			z.fillProgressively(z.component.tasks, z.weight)
		default:
			z.shareByPriority()
		}
		if z.cancelled { // the computed rates are incomplete
			return
		}

		for _, r := range z.component.resources {
			z.isDirty[r] = false
		}
		if z.incremental.valid {
			for _, r := range z.component.resources {
				z.incremental.leaveLarge(r)
			}
			for _, id := range z.component.tasks {
				z.releaseTask(id)
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

// shareAlone assigns a transfer its maximum rate if no other transfer uses its resources. It
// reports whether this is the case.
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
		z.releaseTask(id)
		for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
			z.incremental.leaveLarge(r)
		}
	}
	z.setRate(id, rate)
	return true
}

// collectComponent collects the component of resource r in z.component. It returns false if
// the component is large, that is if updateShares maintains its shares. It then stops early
// and marks the resources found so far, so that the search from another resource of the
// component stops at once.
func (z *sim) collectComponent(r int32) bool {
	c := &z.component
	c.epoch++
	c.tasks, c.resources = c.tasks[:0], append(c.resources[:0], r)
	isSmall := !z.usesIncremental() || c.resMark[r] != -c.passes
	c.resMark[r] = c.epoch

	// Breadth-first search over resources and their transfers.
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

// usesIncremental reports whether updateShares maintains the shares of large components. It
// supports neither priorities nor rate limits.
func (z *sim) usesIncremental() bool { return z.service == MaxMin && !z.hasRateLimits }

// freeAllCapacity marks the full capacity of the component as free.
func (z *sim) freeAllCapacity() {
	for _, r := range z.component.resources {
		z.component.free[r] = z.capacity[r]
	}
}

// relTol is the relative difference below which two fair shares are considered equal. It is
// far above rounding errors, of about 1e-16 per operation, and far below differences between
// real rates.
const relTol = 1e-12

// fillProgressively shares the free capacity among tasks by progressive filling (Bertsekas
// and Gallager, Data Networks, 2nd ed., Sec. 6.5.2). The share per weight rises until a
// resource saturates or a transfer reaches its rate limit. The rates of the affected transfers
// are then fixed, and the others continue to rise. A transfer of weight 0 gets rate 0.
func (z *sim) fillProgressively(tasks []int32, weight []float64) {
	c := &z.component
	c.unfixed, c.usedRes = c.unfixed[:0], c.usedRes[:0]
	// Transfers without a rate, and the load of the resources that they use.
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

	// Each round fixes the rates at the next bottleneck. It visits all transfers without a rate and
	// all resources; interrupted counts these as work.
	for len(c.unfixed) > 0 && !z.interrupted(len(c.unfixed)+len(c.resources)) {
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

// minFairShare returns the share at which the first of the resources saturates.
func (z *sim) minFairShare(res []int32) float64 {
	c, share := &z.component, math.Inf(1)
	for _, r := range res {
		if c.unfixedUses[r] > 0 {
			share = min(share, c.free[r]/c.load[r])
		}
	}
	return share
}

// markSaturated marks the resources that saturate at the given share, within relTol. It
// returns the upper end of this range.
func (z *sim) markSaturated(res []int32, share float64) (edge float64) {
	c := &z.component
	edge = share * (1 + relTol)
	for _, r := range res {
		c.isSaturated[r] = c.unfixedUses[r] > 0 && c.free[r]/c.load[r] <= edge
	}
	return edge
}

// fixRate fixes the rate of a transfer and subtracts it from its resources.
func (z *sim) fixRate(id int32, share, weight float64) {
	c := &z.component
	c.rate[id] = share * weight
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		if c.free[r] -= c.rate[id] * z.useWeight[u]; c.free[r] < relTol*z.capacity[r] {
			c.free[r] = 0 // remove rounding errors
		}
		c.load[r] -= weight * z.useWeight[u]
		c.unfixedUses[r]--
	}
}

// isBottlenecked reports whether the rate of a transfer must be fixed in this round: it uses
// a saturated resource, or its rate limit is at most edge.
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

// levelTolerance is the difference in ticks below which two levels are considered equal. It
// covers the rounding of the crossing time to a tick, and of the levels themselves: a level of
// up to 2^56 ticks, 20 hours, is rounded by at most 8 ticks.
const levelTolerance = 16

// shareByPriority serves the transfers of the component in order of priority. Transfers of
// equal priority share fairly. Under LevelPriority they share in proportion to their full
// rates, so that their levels fall at the same rate. An event is then scheduled for the first
// time at which the order of two transfers changes.
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

	// Priorities, in ticks for the services with levels.
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

	// Each group shares the capacity that higher groups leave.
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

// groupEnd returns the end of the group of equal priority that starts at index from.
func (z *sim) groupEnd(from int) int {
	c := &z.component
	to := from + 1
	for to < len(c.tasks) && z.sameLevel(c.tasks[to-1], c.tasks[to]) {
		to++
	}
	return to
}

// sameLevel reports whether two adjacent transfers in order of priority have equal priority.
func (z *sim) sameLevel(a, b int32) bool {
	if z.service == LevelPriority {
		return z.component.level[a]-z.component.level[b] <= levelTolerance
	}
	return z.component.level[a] == z.component.level[b]
}

// scheduleCrossing schedules the first time at which the level of a transfer falls to the
// level of a lower one. Only adjacent groups can cross first. Within a group the rates may
// differ, because the transfers can have different bottlenecks. The bound on the crossing
// time therefore uses the fastest transfer of the upper and the slowest of the lower group.
func (z *sim) scheduleCrossing() {
	c := &z.component
	earliest, fastestAbove := math.Inf(1), 0.0
	for from := 0; from < len(c.tasks); {
		to := z.groupEnd(from)
		slowest, fastest := math.Inf(1), 0.0
		for _, id := range c.tasks[from:to] {
			z.queue.Remove(z.crossingEvent(id))
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
		// The event is kept with the first transfer; markTaskDirty finds the component from it.
		z.queue.Set(z.crossingEvent(c.tasks[0]), z.now+max(1, ceilTicks(earliest)))
	}
}
