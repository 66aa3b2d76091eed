package flow

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// incrementalThreshold is the minimum number of transfers in a component for which updating
// the shares is faster than computing them again.
const incrementalThreshold = 64

// incrementalShares maintains the max-min fair shares of large components across events.
//
// As in fillProgressively, shares are computed by progressive filling: in each round the
// resources with the lowest fair share (within relTol) saturate and fix the rates of their
// transfers, which form the class of that resource (taskClasses). After an event, either all
// levels are computed again class by class (recomputeShares), or only the levels that the event
// affects (propagateShares). The latter is chosen while events affect few transfers.
//
// In propagateShares only active resources take part in the rounds. Initially these are the
// resources changed by the event. If the fixed rate of a transfer changes, all resources it uses
// become active from the lower of the old and the new level on; below that level their state is
// unchanged. All other resources remain saturated at their previous share. This is propagation
// along the bottleneck structure (Ros-Giralt et al., "On the Bottleneck Structure of
// Congestion-Controlled Networks", SIGMETRICS 2020).
//
// The results of both are bit-identical to a full recomputation. A resource sums the weights of its
// transfers in order of their numbers and subtracts fixed rates in order of level and then of
// number. Previous events do not change this order.
type incrementalShares struct {
	taskClasses   // classes, indexed by resource; bottleneck, indexed by task; number of the update (classes.go)
	recomputation // resources of large components, numUses and load, for recomputeShares (recompute.go)

	valid        bool // the shares below describe the current run
	exactSums    bool // all weights are whole numbers, so that their sums do not depend on the order
	propagate    bool // the next update is propagateShares, not recomputeShares
	localUpdates int  // number of consecutive calls of recomputeShares that changed few rates

	// roundLevel is the level of the round in which a resource saturated, indexed by resource;
	// +Inf if it is not saturated.
	roundLevel []float64
	// exactLevel is a saturated resource's own fair share, within relTol of roundLevel, indexed
	// by resource.
	exactLevel []float64
	saturated  []int32 // the saturated resources, in order of exactLevel

	// State of an update.
	active []activeResource // the active resources, in the order of activation
	// activeIndex is the index in active plus 1, indexed by resource; 0 if the resource is
	// inactive.
	activeIndex []int32
	members     []memberLevel // storage of activeResource.from to end
	// saturationQueue holds the active resources, keyed by the level at which they would
	// saturate.
	saturationQueue *engine.Queue
	// levelQueue holds the active resources, keyed by the previous level of their next
	// transfer.
	levelQueue *engine.Queue
	// fixedIn is the number of the update in which the rate was last fixed, indexed by task.
	fixedIn []int32

	recheckLevel   float64 // highest level at which a resource was saturated that may no longer be
	newlySaturated []int32 // active resources that saturated in this update
	fixedTasks     []int32 // transfers fixed in the current round
	staleActive    []int32 // indices in active of resources used by fixedTasks
	scratch        []int32 // scratch of mergeSaturated
}

// noLevel is the level of a transfer that has no rate yet. It sorts before all levels.
const noLevel = -1

// activeResource is a resource that takes part in the rounds of an update.
type activeResource struct {
	resource int32
	// members[from:end] are its transfers in order of previous level. The transfers from next on
	// have not reached that level.
	from, next, end int32
	unfixed         int32   // number of its transfers without a rate
	free, load      float64 // capacity and weight left for these transfers
	isStale         bool    // its entry in saturationQueue is outdated
}

// memberLevel is a transfer of an active resource with its level before the update.
type memberLevel struct {
	level float64 // level before the update, or noLevel
	use   int32   // the transfer's use of the resource
}

// init allocates the arrays.
func (inc *incrementalShares) init(m *model) {
	inc.taskClasses.init(m)
	inc.initRecomputation(m)
	inc.fixedIn = make([]int32, m.tasks)
	inc.roundLevel, inc.exactLevel, inc.activeIndex =
		make([]float64, m.resources), make([]float64, m.resources), make([]int32, m.resources)
	inc.saturationQueue, inc.levelQueue = engine.NewQueue(m.resources), engine.NewQueue(m.resources)
	inc.exactSums = true
	for u, w := range m.useWeight {
		w *= m.weight[m.useTask[u]]
		inc.exactSums = inc.exactSums && w == math.Trunc(w)
	}
}

// reset marks all levels as unknown and all resources as not saturated.
func (inc *incrementalShares) reset(m *model) {
	if inc.fixedIn == nil {
		inc.init(m)
	}
	inc.taskClasses.reset()
	inc.resetRecomputation()
	clear(inc.fixedIn)
	inc.propagate, inc.localUpdates = false, 0
	for r := range inc.roundLevel {
		inc.roundLevel[r] = math.Inf(1)
	}
	inc.saturated, inc.recheckLevel, inc.valid = inc.saturated[:0], 0, true
}

// updateShares updates the shares of large components in which the dirty resources changed,
// and sets the rates of all transfers whose level changed.
func (z *sim) updateShares(dirty []int32) {
	inc := &z.incremental
	if !inc.valid {
		inc.reset(z.model)
	}
	if inc.propagate {
		z.propagateShares(dirty)
	} else {
		z.recomputeShares(dirty)
	}
	if !z.cancelled {
		z.finishUpdate()
	}
}

// propagateShares updates the shares that depend on the dirty resources.
func (z *sim) propagateShares(dirty []int32) {
	inc := &z.incremental
	inc.active, inc.members, inc.newlySaturated = inc.active[:0], inc.members[:0], inc.newlySaturated[:0]
	inc.numValid = 0 // propagation does not maintain the checkpoints

	// A transfer without a level affects all resources that it uses.
	for _, r := range dirty {
		z.activate(r, 0)
	}

	for i := 0; i < len(inc.active); i++ {
		for e := inc.active[i].from; e < inc.active[i].next; e++ { // the members without a level
			z.activateUsed(z.useTask[inc.members[e].use], 0)
		}
	}

	z.runRounds()
	if z.cancelled { // the computed levels are incomplete
		inc.valid = false
		inc.saturationQueue.Reset()
		inc.levelQueue.Reset()
		clear(inc.activeIndex)
		return
	}
	inc.mergeSaturated()
	if len(inc.members) > inc.numUses/maxAffected {
		inc.propagate, inc.localUpdates = false, 0
	}
}

// Limits on the share of transfers that an event affects. Propagation costs about a hundred times as
// much per affected use as recomputation per use.
const (
	maxAffected     = 32  // propagateShares continues while it visits at most 1/maxAffected of all uses
	maxChanged      = 512 // recomputeShares counts as local if at most 1/maxChanged of all rates change
	minLocalUpdates = 16  // number of consecutive local updates after which propagateShares begins
)

// chooseMethod decides how the next update computes shares, after a recomputation that changed
// the rates of the given number of transfers.
func (inc *incrementalShares) chooseMethod(changed int32) {
	if inc.localUpdates++; int(changed) > inc.numUses/maxChanged {
		inc.localUpdates = 0
	}
	inc.propagate = inc.localUpdates >= minLocalUpdates
}

// runRounds computes rounds of rising levels until all transfers of active resources have a
// rate.
func (z *sim) runRounds() {
	const beforeRound, inRound = false, true // values of isRound of reachPreviousLevel
	inc := &z.incremental
	next, lastShare := 0, 0.0 // next is an index in saturated
	for !z.interrupted(1) {
		// The next round is at the lowest level of an inactive saturated resource or of an active
		// one.
		for next < len(inc.saturated) && !inc.staysSaturated(inc.saturated[next]) {
			next++
		}
		saturatedLevel := math.Inf(1)
		if next < len(inc.saturated) {
			saturatedLevel = inc.exactLevel[inc.saturated[next]]
		}
		nextSaturation, nextLevel := minLevel(inc.saturationQueue), minLevel(inc.levelQueue)
		if inc.saturationQueue.Len() == 0 && saturatedLevel > inc.recheckLevel*(1+relTol) {
			break
		}
		// A transfer of an active resource whose previous level is below both has no bottleneck at
		// that level any more.
		if nextLevel < min(saturatedLevel, nextSaturation) {
			z.reachPreviousLevel(nextLevel, beforeRound)
			continue
		}

		// Inactive resources within relTol of the round's level that saturated in another round
		// have to take part in this one.
		share := max(min(saturatedLevel, nextSaturation), lastShare)
		edge := share * (1 + relTol)
		activeBefore := len(inc.active)
		for i := next; i < len(inc.saturated) && inc.exactLevel[inc.saturated[i]] <= edge; i++ {
			if r := inc.saturated[i]; inc.staysSaturated(r) && inc.roundLevel[r] != share {
				z.activate(r, min(share, inc.roundLevel[r]))
			}
		}
		if len(inc.active) > activeBefore {
			continue
		}

		for next < len(inc.saturated) && inc.exactLevel[inc.saturated[next]] <= edge {
			next++
		}
		lastShare = share

		inc.fixedTasks = inc.fixedTasks[:0]
		for minLevel(inc.saturationQueue) <= edge || minLevel(inc.levelQueue) == share {
			if minLevel(inc.saturationQueue) <= edge {
				z.saturateFirst(share)
			} else {
				z.reachPreviousLevel(share, inRound)
			}
		}
		z.chargeRound(share)
	}
	inc.levelQueue.Reset()
	inc.recheckLevel = 0
}

// activate lets resource r take part in the rounds from a level on. Transfers with a lower
// level keep their rates.
func (z *sim) activate(r int32, level float64) {
	inc := &z.incremental
	if inc.activeIndex[r] > 0 {
		return
	}

	a := activeResource{resource: r, from: int32(len(inc.members)), free: z.capacity[r]}
	// The load is summed in order of uses, unless the order does not matter.
	for u := z.firstUse[r]; u >= 0; u = z.nextUse[u] {
		inc.members = append(inc.members, memberLevel{inc.levelOf(z.useTask[u]), u})
	}
	members := inc.members[a.from:]
	z.workSincePoll += len(members)
	if !inc.exactSums {
		slices.SortFunc(members, func(a, b memberLevel) int { return int(a.use - b.use) })
	}

	for _, e := range members {
		a.load += z.weight[z.useTask[e.use]] * z.useWeight[e.use]
	}

	// Charge the transfers with a lower level, in order of level. They keep it.
	slices.SortFunc(members, func(a, b memberLevel) int {
		if a.level != b.level {
			return cmp.Compare(a.level, b.level)
		}
		return int(a.use - b.use)
	})
	a.unfixed, a.next, a.end = int32(len(members)), a.from, a.from+int32(len(members))
	for ; a.next < a.end && inc.members[a.next].level < level; a.next++ {
		if e := inc.members[a.next]; e.level != noLevel {
			z.charge(&a, e.use, e.level)
			inc.fixedIn[z.useTask[e.use]] = inc.update
		}
	}

	inc.include(r) // for recomputeShares
	inc.clearSaturation(r)
	inc.reschedule(&a)
	inc.active = append(inc.active, a)
	inc.activeIndex[r] = int32(len(inc.active))
	if a.next < a.end {
		inc.levelQueue.Set(r, levelKey(inc.members[a.next].level))
	}
}

// activateUsed activates all resources that a transfer uses.
func (z *sim) activateUsed(id int32, level float64) {
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		z.activate(z.useRes[u], level)
	}
}

// saturateFirst saturates the active resource with the lowest level and fixes the rates of
// its transfers.
func (z *sim) saturateFirst(share float64) {
	inc := &z.incremental
	r, level := inc.saturationQueue.Pop()
	inc.roundLevel[r], inc.exactLevel[r] = share, math.Float64frombits(uint64(level))
	inc.newlySaturated = append(inc.newlySaturated, r)
	a := inc.active[inc.activeIndex[r]-1]

	previous := inc.classes[r].level // of the members of the class, whose level setLevel changes
	z.setLevel(r, share)
	for _, e := range inc.members[a.from:a.end] {
		id := z.useTask[e.use]
		if inc.fixedIn[id] == inc.update {
			continue
		}
		inc.fix(id)
		level := previous
		if inc.bottleneck[id] != r {
			level = inc.levelOf(id)
			z.joinClass(id, r)
		}
		if level != share {
			z.activateUsed(id, share)
		}
	}
}

// reachPreviousLevel handles the transfers of an active resource whose previous level is
// reached. In a round at that level (isRound), an inactive saturated resource may still be
// their bottleneck; their rates are then fixed. Otherwise all their resources become active.
func (z *sim) reachPreviousLevel(level float64, isRound bool) {
	inc := &z.incremental
	r, _ := inc.levelQueue.Pop()
	s := inc.activeIndex[r] - 1
	for ; inc.active[s].next < inc.active[s].end && inc.members[inc.active[s].next].level == level; inc.active[s].next++ {
		id := z.useTask[inc.members[inc.active[s].next].use]
		switch {
		case inc.fixedIn[id] == inc.update:
		case isRound && z.heldByInactive(id, level):
			inc.fix(id)
		default:
			z.activateUsed(id, level)
		}
	}
	if a := &inc.active[s]; a.next < a.end {
		inc.levelQueue.Set(r, levelKey(inc.members[a.next].level))
	}
}

// heldByInactive reports whether a transfer uses an inactive resource that saturated in the
// round of the given level. It then joins the class of such a resource.
func (z *sim) heldByInactive(id int32, level float64) bool {
	inc := &z.incremental
	isHolder := func(r int32) bool { return inc.activeIndex[r] == 0 && inc.roundLevel[r] == level }
	if isHolder(inc.bottleneck[id]) {
		return true
	}
	for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
		if isHolder(r) {
			z.joinClass(id, r)
			return true
		}
	}
	return false
}

// fix marks the rate of a transfer as fixed in the current round.
func (inc *incrementalShares) fix(id int32) {
	inc.fixedIn[id] = inc.update
	inc.fixedTasks = append(inc.fixedTasks, id)
}

// chargeRound subtracts the rates fixed in a round from the active resources, in order of
// task numbers.
func (z *sim) chargeRound(share float64) {
	inc := &z.incremental
	slices.Sort(inc.fixedTasks)
	inc.staleActive = inc.staleActive[:0]
	for _, id := range inc.fixedTasks {
		for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
			s := inc.activeIndex[z.useRes[u]]
			if s == 0 {
				continue
			}
			a := &inc.active[s-1]
			z.charge(a, u, share)
			if !a.isStale {
				a.isStale = true
				inc.staleActive = append(inc.staleActive, s-1)
			}
		}
	}

	for _, s := range inc.staleActive {
		inc.reschedule(&inc.active[s])
	}
}

// charge subtracts the rate that a transfer has at a level from an active resource.
func (z *sim) charge(a *activeResource, use int32, level float64) {
	w := z.weight[z.useTask[use]]
	if a.free -= level * w * z.useWeight[use]; a.free < relTol*z.capacity[a.resource] {
		a.free = 0 // remove rounding errors
	}
	a.load -= w * z.useWeight[use]
	a.unfixed--
}

// reschedule updates the level at which an active resource saturates if no other resource
// fixes one of its transfers before.
func (inc *incrementalShares) reschedule(a *activeResource) {
	a.isStale = false
	if a.unfixed == 0 {
		inc.saturationQueue.Remove(a.resource)
		inc.levelQueue.Remove(a.resource)
		return
	}
	inc.saturationQueue.Set(a.resource, levelKey(max(0, a.free/a.load)))
}

// mergeSaturated merges the newly saturated resources into saturated and makes all resources
// inactive.
func (inc *incrementalShares) mergeSaturated() {
	slices.SortFunc(inc.newlySaturated, func(a, b int32) int {
		return cmp.Compare(inc.exactLevel[a], inc.exactLevel[b])
	})
	// Merge two lists that are in order of exactLevel.
	inc.scratch = inc.scratch[:0]
	for _, r := range inc.saturated {
		if !inc.staysSaturated(r) {
			continue
		}
		for len(inc.newlySaturated) > 0 && inc.exactLevel[inc.newlySaturated[0]] < inc.exactLevel[r] {
			inc.scratch, inc.newlySaturated = append(inc.scratch, inc.newlySaturated[0]), inc.newlySaturated[1:]
		}
		inc.scratch = append(inc.scratch, r)
	}
	inc.saturated, inc.scratch = append(inc.scratch, inc.newlySaturated...), inc.saturated
	for i := range inc.active {
		inc.activeIndex[inc.active[i].resource] = 0
	}
}

// clearSaturation marks resource r as not saturated, because it changed or left the large
// components. The next update then checks all levels up to its previous one (recheckLevel).
func (inc *incrementalShares) clearSaturation(r int32) {
	inc.load[r] = -1 // unknown
	if !math.IsInf(inc.roundLevel[r], 1) {
		inc.recheckLevel, inc.roundLevel[r] = max(inc.recheckLevel, inc.roundLevel[r]), math.Inf(1)
	}
}

// leaveLarge marks resource r as part of a small component.
func (inc *incrementalShares) leaveLarge(r int32) {
	inc.clearSaturation(r)
	inc.isIncluded[r], inc.numValid = false, 0
}

// staysSaturated reports whether resource r is inactive and saturated.
func (inc *incrementalShares) staysSaturated(r int32) bool {
	return inc.activeIndex[r] == 0 && !math.IsInf(inc.roundLevel[r], 1)
}

// levelKey converts a level to the key type of a queue. The bit patterns of non-negative
// floating-point numbers have the order of the numbers.
func levelKey(level float64) engine.Time { return engine.Time(math.Float64bits(level)) }

// minLevel returns the lowest level in a queue, +Inf if it is empty.
func minLevel(q *engine.Queue) float64 {
	if q.Len() == 0 {
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(q.Top()))
}
