package flow

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// incrementalThreshold is the number of transfers from which on the fair shares of a component are kept from one event to the next.
const incrementalThreshold = 64

// incrementalShares is the max-min fair shares of large components, which change as far as an event reaches and no further.
//
// Shares are found in rounds of rising levels, as fill finds them: what is full at the lowest level, or within together
// of it, binds its transfers there. After an event the rounds are gone through again with only those resources awake
// whose transfers are not all bound at the levels that they had: first those that the event changes. The others sleep,
// full where they were. A transfer that is bound at another level wakes all that it uses, at the lower of the two: below
// that nothing has changed of them. This is the propagation along the bottleneck structure of Ros-Giralt et al., "On
// the Bottleneck Structure of Congestion-Controlled Networks" (SIGMETRICS 2020).
//
// Levels are those of going through all rounds anew, to the last bit: a resource adds up its transfers by number, and
// takes off what is bound by level and then by number, whatever happened before.
type incrementalShares struct {
	valid     bool
	exactSums bool      // sums of weights are whole numbers, in whatever order
	level     []float64 // by task: rate over weight; unknown of transfers in components that are not kept

	roundLevel []float64 // by resource: level of the round in which it is full; infinite where there is none
	exactLevel []float64 // by resource that is full: the level at which it would be by itself
	saturated  []int32   // the resources that are full, by at

	active          []activeResource
	activeIndex     []int32 // by resource: its place in awake, counted from 1; 0 of those asleep
	members         []memberLevel
	saturationQueue *engine.Queue // awake resources by the level at which they would be full
	levelQueue      *engine.Queue // and by that at which the next of their transfers was bound
	fixedIn         []int32       // by task: the update in which it was last bound
	update          int32

	recheckLevel   float64 // highest level at which a resource was full that now may not be
	newlySaturated []int32 // awake resources that are full again
	fixedTasks     []int32 // transfers bound in a round
	staleActive    []int32 // places in awake of what they use
	changed        []int32 // and those whose level has changed
	scratch        []int32
}

// noLevel is the level of a transfer that has none yet.
const noLevel = -1

// activeResource is a resource that takes part in the rounds.
type activeResource struct {
	resource        int32
	from, next, end int32 // its transfers in arena, by former level; those from pos on are yet to meet theirs
	unfixed         int32 // of transfers that are not bound
	free, load      float64
	isStale         bool // not where it belongs in fills
}

// memberLevel is a transfer of an awake resource with the level at which it was bound.
type memberLevel struct {
	level float64
	use   int32
}

func (inc *incrementalShares) init(m *model) {
	inc.level, inc.fixedIn = make([]float64, m.tasks), make([]int32, m.tasks)
	inc.roundLevel, inc.exactLevel, inc.activeIndex = make([]float64, m.resources), make([]float64, m.resources), make([]int32, m.resources)
	inc.saturationQueue, inc.levelQueue = engine.NewQueue(m.resources), engine.NewQueue(m.resources)
	inc.exactSums = true
	for u, w := range m.useWeight {
		w *= m.weight[m.useTask[u]]
		inc.exactSums = inc.exactSums && w == math.Trunc(w)
	}
}

// reset makes all levels unknown.
func (inc *incrementalShares) reset(m *model) {
	if inc.level == nil {
		inc.init(m)
	}
	for i := range inc.level {
		inc.level[i] = noLevel
	}
	for r := range inc.roundLevel {
		inc.roundLevel[r] = math.Inf(1)
	}
	inc.saturated, inc.recheckLevel, inc.valid = inc.saturated[:0], 0, true
}

// updateShares gives new rates to the transfers whose shares have changed with some resources.
func (z *sim) updateShares(dirty []int32) {
	inc := &z.incremental
	if !inc.valid {
		inc.reset(z.model)
	}
	inc.update++
	inc.active, inc.members, inc.newlySaturated, inc.changed = inc.active[:0], inc.members[:0], inc.newlySaturated[:0], inc.changed[:0]
	for _, r := range dirty {
		z.activate(r, 0)
	}
	for i := 0; i < len(inc.active); i++ {
		for e := inc.active[i].from; e < inc.active[i].next; e++ { // their levels are unknown
			z.activateUsed(z.useTask[inc.members[e].use], 0)
		}
	}
	z.runRounds()
	if z.cancelled { // these are no rates
		inc.valid = false
		inc.saturationQueue.Reset()
		inc.levelQueue.Reset()
		clear(inc.activeIndex)
		return
	}
	inc.mergeSaturated()
	for _, id := range inc.changed {
		z.setRate(id, inc.level[id]*z.weight[id])
	}
}

// runRounds goes through the rounds until all transfers of awake resources are bound.
func (z *sim) runRounds() {
	inc := &z.incremental
	next, lastShare := 0, 0.0 // next of rounds
	for !z.interrupted(1) {
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
		if nextLevel < min(saturatedLevel, nextSaturation) { // nothing binds transfers there any more
			z.reachPreviousLevel(nextLevel, false)
			continue
		}
		share := max(min(saturatedLevel, nextSaturation), lastShare)
		edge := share * (1 + relTol)
		activeBefore := len(inc.active)
		for i := next; i < len(inc.saturated) && inc.exactLevel[inc.saturated[i]] <= edge; i++ {
			if r := inc.saturated[i]; inc.staysSaturated(r) && inc.roundLevel[r] != share { // another is full first in its round
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
				z.reachPreviousLevel(share, true)
			}
		}
		z.chargeRound(share)
	}
	inc.levelQueue.Reset()
	inc.recheckLevel = 0
}

// activate has r take part in the rounds from a level on. What is bound below keeps its level.
func (z *sim) activate(r int32, level float64) {
	inc := &z.incremental
	if inc.activeIndex[r] > 0 {
		return
	}
	a := activeResource{resource: r, from: int32(len(inc.members)), free: z.capacity[r]}
	for u := z.firstUse[r]; u >= 0; u = z.nextUse[u] {
		inc.members = append(inc.members, memberLevel{inc.level[z.useTask[u]], u})
	}
	members := inc.members[a.from:]
	z.workSincePoll += len(members)
	if !inc.exactSums {
		slices.SortFunc(members, func(a, b memberLevel) int { return int(a.use - b.use) })
	}
	for _, e := range members {
		a.load += z.weight[z.useTask[e.use]] * z.useWeight[e.use]
	}
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
	inc.clearSaturation(r)
	inc.reschedule(&a)
	inc.active = append(inc.active, a)
	inc.activeIndex[r] = int32(len(inc.active))
	if a.next < a.end {
		inc.levelQueue.Set(r, levelKey(inc.members[a.next].level))
	}
}

// activateUsed wakes what a transfer uses.
func (z *sim) activateUsed(id int32, level float64) {
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		z.activate(z.useRes[u], level)
	}
}

// saturateFirst binds the transfers of the awake resource that is full first.
func (z *sim) saturateFirst(share float64) {
	inc := &z.incremental
	r, level := inc.saturationQueue.Pop()
	inc.roundLevel[r], inc.exactLevel[r] = share, math.Float64frombits(uint64(level))
	inc.newlySaturated = append(inc.newlySaturated, r)
	a := inc.active[inc.activeIndex[r]-1]
	for _, e := range inc.members[a.from:a.end] {
		if id := z.useTask[e.use]; inc.fixedIn[id] != inc.update {
			inc.fix(id)
			if inc.level[id] != share {
				inc.level[id] = share
				inc.changed = append(inc.changed, id)
				z.activateUsed(id, share)
			}
		}
	}
}

// reachPreviousLevel has the transfers of an awake resource come to the level at which they were bound. Where that is the share of
// a round, what sleeps may still bind them.
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

// heldByInactive reports whether a transfer uses a resource that is asleep and full in the round of a level.
func (z *sim) heldByInactive(id int32, level float64) bool {
	for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
		if z.incremental.activeIndex[r] == 0 && z.incremental.roundLevel[r] == level {
			return true
		}
	}
	return false
}

func (inc *incrementalShares) fix(id int32) {
	inc.fixedIn[id] = inc.update
	inc.fixedTasks = append(inc.fixedTasks, id)
}

// chargeRound takes from awake resources what the transfers bound in a round get.
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

// charge takes from an awake resource what a transfer gets at a level.
func (z *sim) charge(a *activeResource, use int32, level float64) {
	w := z.weight[z.useTask[use]]
	if a.free -= level * w * z.useWeight[use]; a.free < relTol*z.capacity[a.resource] {
		a.free = 0 // no crumbs of rounding
	}
	a.load -= w * z.useWeight[use]
	a.unfixed--
}

// reschedule puts an awake resource where it is full if none of its transfers is bound before.
func (inc *incrementalShares) reschedule(a *activeResource) {
	a.isStale = false
	if a.unfixed == 0 {
		inc.saturationQueue.Remove(a.resource)
		inc.levelQueue.Remove(a.resource)
		return
	}
	inc.saturationQueue.Set(a.resource, levelKey(max(0, a.free/a.load)))
}

// mergeSaturated puts the resources that are full now in order and all to sleep.
func (inc *incrementalShares) mergeSaturated() {
	slices.SortFunc(inc.newlySaturated, func(a, b int32) int { return cmp.Compare(inc.exactLevel[a], inc.exactLevel[b]) })
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

// clearSaturation drops a resource, and leave a transfer, that is not in a component that is kept, once any are.
func (inc *incrementalShares) clearSaturation(r int32) {
	if !math.IsInf(inc.roundLevel[r], 1) {
		inc.recheckLevel, inc.roundLevel[r] = max(inc.recheckLevel, inc.roundLevel[r]), math.Inf(1)
	}
}

func (inc *incrementalShares) clearLevel(id int32) { inc.level[id] = noLevel }

// staysSaturated reports whether r is full where it was.
func (inc *incrementalShares) staysSaturated(r int32) bool {
	return inc.activeIndex[r] == 0 && !math.IsInf(inc.roundLevel[r], 1)
}

// levelKey orders a queue by levels: the bits of numbers that are not negative are in the order of these.
func levelKey(level float64) engine.Time { return engine.Time(math.Float64bits(level)) }

// minLevel returns the least level in a queue.
func minLevel(q *engine.Queue) float64 {
	if q.Len() == 0 {
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(q.Top()))
}
