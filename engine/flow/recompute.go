package flow

import (
	"cmp"
	"math"
	"slices"
)

// fillWindow is the number of resources, in the order of the last pass, among which recomputeShares
// looks for the next one to saturate. The order in which resources saturate hardly changes from one
// event to the next. If one moves by more than the window, the pass is repeated with a queue. A
// larger window avoids repetitions, but each round examines all resources in it.
const fillWindow = 8

// maxUnordered is the maximum number of resources without a place in the previous order for which
// recomputeShares searches linearly. Each round examines all of them. With more, a queue is used
// at once.
const maxUnordered = 32

// fill is the capacity and the weight of a resource that are left for the transfers without a rate.
type fill struct{ free, load float64 }

// saturation is a resource that saturated in a pass.
type saturation struct {
	resource     int32
	level, exact float64 // level of its round, and its own level; see recomputation
}

// recomputation computes the shares of all large components by progressive filling. Its terms:
//
//   - The level of a resource is the rate per unit of weight at which its capacity is used up: the
//     resource saturates. Resources saturate in rounds, at rising levels.
//   - The class of a resource is the set of transfers whose rates are fixed when it saturates. It
//     is their bottleneck.
//   - The transfers of a class also use other resources. Each use is charged to its resource: their
//     rate is subtracted from its free capacity, and their weight from its load (fill).
//   - Resources whose levels are equal within relTol saturate in one round. The lowest of these
//     levels is the level of the round (roundLevel). It determines the rates. The level of each
//     resource itself is its exactLevel. It determines the order within the round.
//
// Transfers change their class only if the order of two of their resources changes. A class is
// therefore charged as a whole, and the cost is one subtraction per use.
//
// One computation is a pass. It first tries the order in which resources saturated in the last pass
// (nextInOrder). If that order changed too much, it finds the next resources with a queue
// (nextByQueue).
//
// For 4,032 transfers through one switch that start one after the other it takes 0.12 s, where
// propagateShares takes 9 s.
type recomputation struct {
	resources   []int32   // resources of large components
	isIncluded  []bool    // whether a resource is in resources, indexed by resource
	fills       []fill    // indexed by resource
	unfixed     []int32   // number of uses by transfers without a rate, indexed by resource; see numUnfixed
	saturatedIn []int32   // number of the last pass in which a resource saturated, indexed by resource
	load        []float64 // weight of the transfers of a resource, indexed by resource; negative if unknown
	pass        int32     // number of the current pass
	numUses     int       // number of uses of the resources at the last pass
	order       []int32   // resources in the order in which they saturated before, from next on
	next        int
	unordered   []int32      // further resources that may saturate
	round       []int32      // resources that saturate in the current round
	saturations []saturation // resources that saturated in this pass
	uses        []int32      // scratch
	unitWeights bool         // each use takes one unit of capacity per unit of level
	// checkpoints holds states of the last pass, at which this pass can start, and records which
	// resources changed since: saved, numValid, charges, firstChanged, position, numUsed and
	// capacityUsed (checkpoint.go).
	checkpoints
}

// initRecomputation allocates the arrays.
func (p *recomputation) initRecomputation(m *model) {
	p.isIncluded, p.fills, p.load = make([]bool, m.resources), make([]fill, m.resources), make([]float64, m.resources)
	p.unfixed, p.saturatedIn = make([]int32, m.resources), make([]int32, m.resources)
	p.initCheckpoints(m)
	p.unitWeights = true
	for u, w := range m.useWeight {
		p.unitWeights = p.unitWeights && w == 1 && m.weight[m.useTask[u]] == 1
	}
}

// resetRecomputation forgets all resources.
func (p *recomputation) resetRecomputation() {
	for _, r := range p.resources {
		p.isIncluded[r] = false
	}
	p.resources = p.resources[:0]
	for r := range p.load {
		p.load[r], p.numUsed[r], p.position[r] = -1, -1, -1
	}
	p.numValid = 0
}

// candidate returns the level at which resource r saturates if no other resource fixes one of its
// transfers before.
func (z *sim) candidate(r int32) float64 {
	f := &z.incremental.fills[r]
	if f.free < relTol*z.capacity[r] { // rounding errors
		return 0
	}
	return f.free / f.load
}

// numUnfixed returns the number of uses of resource r by transfers without a rate. Under unit weights
// it is the load.
func (p *recomputation) numUnfixed(r int32) int32 {
	if p.unitWeights {
		return int32(p.fills[r].load)
	}
	return p.unfixed[r]
}

// include adds a resource of a large component.
func (p *recomputation) include(r int32) {
	if !p.isIncluded[r] {
		p.isIncluded[r] = true
		p.resources = append(p.resources, r)
	}
}

// recomputeShares computes the shares of all large components again after a change of the dirty
// resources.
func (z *sim) recomputeShares(dirty []int32) {
	inc := &z.incremental
	p := &inc.recomputation
	z.includeNew(dirty)
	z.reviseCheckpoints()
	const inPreviousOrder, byQueue = true, false
	if !z.fillByClass(inPreviousOrder) && !z.cancelled {
		z.fillByClass(byQueue)
	}
	if z.cancelled {
		inc.valid = false
		inc.saturationQueue.Reset()
		return
	}

	// Take over the levels of the pass, and count the transfers whose rates changed.
	changed := int32(0)
	for _, r := range p.resources {
		inc.roundLevel[r], p.position[r] = math.Inf(1), -1
	}
	inc.saturated = inc.saturated[:0]
	for k, s := range p.saturations {
		p.position[s.resource] = int32(k)
		inc.roundLevel[s.resource], inc.exactLevel[s.resource] = s.level, s.exact
		inc.saturated = append(inc.saturated, s.resource)
		if c := &inc.classes[s.resource]; c.level != s.level {
			changed += c.members
			z.setLevel(s.resource, s.level)
		}
	}
	inc.recheckLevel = 0
	inc.chooseMethod(changed)
}

// includeNew includes the dirty resources and all resources of transfers without a level.
func (z *sim) includeNew(dirty []int32) {
	inc := &z.incremental
	p := &inc.recomputation
	p.firstChanged = math.MaxInt
	p.resources = slices.DeleteFunc(p.resources, func(r int32) bool {
		if p.isIncluded[r] && z.numActive[r] > 0 {
			return false
		}
		p.changePosition(r)
		p.isIncluded[r], p.numUsed[r] = false, -1
		return true
	})
	p.unordered = append(p.unordered[:0], dirty...)
	for _, r := range dirty {
		p.include(r)
	}
	for k := 0; k < len(p.unordered); k++ {
		r := p.unordered[k]
		for u := z.firstUse[r]; u >= 0; u = z.nextUse[u] {
			id := z.useTask[u]
			if inc.bottleneck[id] >= 0 {
				continue
			}
			for _, o := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
				if !p.isIncluded[o] {
					p.include(o)
					p.unordered = append(p.unordered, o)
				}
			}
		}
	}
}

// fillByClass computes the order and the levels at which the resources of large components saturate,
// and moves transfers between classes accordingly. With inOrder it relies on the previous order and
// returns false if the order has changed too much.
func (z *sim) fillByClass(inOrder bool) bool {
	p := &z.incremental.recomputation
	if inOrder && len(p.unordered) > maxUnordered {
		return false
	}
	resumed := z.startFill(inOrder)

	last := -1.0
	if n := len(p.saturations); n > 0 {
		last = p.saturations[n-1].level
	}
	for !z.interrupted(1) {
		var share float64
		if inOrder {
			share = z.nextInOrder()
		} else {
			share = z.nextByQueue()
		}
		if len(p.round) == 0 {
			break
		}
		// If the level does not rise (or is outdatedOrder), an earlier round has missed a resource.
		if inOrder && share <= last+relTol*max(last, 0) {
			p.numValid = resumed
			return false
		}
		share = max(share, last)
		last = share
		z.saturateRound(share)
		p.saveCheckpoint()
	}
	if z.cancelled || inOrder && !z.isComplete() {
		p.numValid = resumed
		return false
	}
	return true
}

// startFill begins a pass, at the last checkpoint if there is one. It returns the number of checkpoints
// that remain valid if the pass fails.
func (z *sim) startFill(inOrder bool) (resumed int) {
	inc := &z.incremental
	p := &inc.recomputation
	p.pass++
	p.round, p.charges = p.round[:0], 0

	start := 0 // number of saturations before the checkpoint
	if p.numValid > 0 {
		c := &p.saved[p.numValid-1]
		start = c.saturations
		copy(p.fills, c.fills)
	}
	p.saturations = p.saturations[:start]
	for _, s := range p.saturations {
		p.saturatedIn[s.resource] = p.pass
	}

	p.numUses = 0
	for _, r := range p.resources {
		p.numUses += int(z.numActive[r])
		if start == 0 {
			if p.load[r] < 0 {
				p.load[r] = z.sumLoad(r)
			}
			p.fills[r], p.unfixed[r] = fill{free: z.capacity[r], load: p.load[r]}, z.numActive[r]
			p.numUsed[r], p.capacityUsed[r] = z.numActive[r], z.capacity[r]
		}
		if !inOrder && p.saturatedIn[r] != p.pass && p.numUnfixed(r) > 0 {
			inc.saturationQueue.Set(r, levelKey(z.candidate(r)))
		}
	}
	z.workSincePoll += len(p.resources)

	if inOrder {
		p.order, p.next = p.order[:0], 0
		for _, r := range inc.saturated[start:] {
			if !math.IsInf(inc.roundLevel[r], 1) && p.isIncluded[r] {
				p.order = append(p.order, r)
			}
		}
	}
	return p.numValid
}

// sumLoad returns the weight of the transfers of a resource. It is summed in order of uses.
func (z *sim) sumLoad(r int32) float64 {
	p := &z.incremental.recomputation
	if p.unitWeights {
		return float64(z.numActive[r])
	}
	p.uses = p.uses[:0]
	for u := z.firstUse[r]; u >= 0; u = z.nextUse[u] {
		p.uses = append(p.uses, u)
	}
	slices.Sort(p.uses)
	load := 0.0
	for _, u := range p.uses {
		load += z.weight[z.useTask[u]] * z.useWeight[u]
	}
	return load
}

// outdatedOrder is the result of nextInOrder if the order of resources has changed too much. It is
// lower than all levels.
const outdatedOrder = -1

// nextInOrder finds the resources that saturate next in round, and returns their level. It
// looks only at the first resources of the previous order and at those without a place in it. It
// returns outdatedOrder if a resource that it did not examine at first has a lower level.
func (z *sim) nextInOrder() float64 {
	p := &z.incremental.recomputation
	p.round = p.round[:0]
	share := math.Inf(1)
	for k := p.next; k < min(p.next+fillWindow, len(p.order)); k++ {
		r := p.order[k]
		if p.numUnfixed(r) == 0 { // it no longer saturates
			copy(p.order[p.next+1:k+1], p.order[p.next:k])
			p.next++
			continue
		}
		share = min(share, z.candidate(r))
	}
	for k := 0; k < len(p.unordered); {
		r := p.unordered[k]
		if p.numUnfixed(r) == 0 || p.saturatedIn[r] == p.pass {
			p.unordered[k] = p.unordered[len(p.unordered)-1]
			p.unordered = p.unordered[:len(p.unordered)-1]
			continue
		}
		share = min(share, z.candidate(r))
		k++
	}

	edge := share * (1 + relTol)
	for k := p.next; k < min(p.next+fillWindow, len(p.order)); k++ {
		r := p.order[k]
		if level := z.candidate(r); p.numUnfixed(r) > 0 && level <= edge {
			if level < share { // it came into the window when p.next rose
				return outdatedOrder
			}
			copy(p.order[p.next+1:k+1], p.order[p.next:k])
			p.next++
			p.round = append(p.round, r)
		}
	}
	for _, r := range p.unordered {
		if z.candidate(r) <= edge {
			p.round = append(p.round, r)
		}
	}
	return share
}

// nextByQueue finds the resources that saturate next in round, and returns their level. The
// keys of the queue are lower bounds, because candidates only rise during a pass.
func (z *sim) nextByQueue() float64 {
	p, queue := &z.incremental.recomputation, z.incremental.saturationQueue
	p.round = p.round[:0]
	share := math.Inf(1)
	for queue.Len() > 0 && (len(p.round) == 0 || minLevel(queue) <= share*(1+relTol)) {
		r, _ := queue.Pop()
		if p.numUnfixed(r) == 0 {
			continue
		}
		level := z.candidate(r)
		switch {
		case len(p.round) > 0 && level <= share*(1+relTol), len(p.round) == 0 && level <= minLevel(queue):
			share = min(share, level)
			p.round = append(p.round, r)
		default:
			queue.Set(r, levelKey(level))
		}
	}
	return share
}

// saturateRound saturates the resources of the current round at a level. Their transfers without a
// rate form their classes.
func (z *sim) saturateRound(share float64) {
	inc := &z.incremental
	p := &inc.recomputation
	first := len(p.saturations)
	for _, r := range p.round {
		p.saturatedIn[r] = p.pass
		p.saturations = append(p.saturations, saturation{resource: r, level: share, exact: z.candidate(r)})
	}
	slices.SortFunc(p.saturations[first:], func(a, b saturation) int { return cmp.Compare(a.exact, b.exact) })

	if p.unitWeights {
		for _, r := range p.round {
			z.chargeClass(r, share)
		}
		for _, r := range p.round {
			z.adoptMembers(r, share)
		}
		return
	}
	const noCharge = 0 // chargeInOrder charges the rates
	for _, r := range p.round {
		z.adoptMembers(r, noCharge)
	}
	z.chargeInOrder(share)
}

// chargeClass charges the rates of the members of a class to their other resources.
func (z *sim) chargeClass(r int32, share float64) {
	inc := &z.incremental
	others, fills := inc.classes[r].otherResources, inc.fills
	z.workSincePoll += len(others)
	inc.charges += len(others)
	for _, o := range others {
		f := &fills[o]
		f.free -= share
		f.load--
	}
}

// adoptMembers moves the transfers of resource r without a rate to its class. Under unit weights it
// also charges their rates to their other resources.
func (z *sim) adoptMembers(r int32, share float64) {
	inc := &z.incremental
	p := &inc.recomputation
	missing := p.numUnfixed(r) - inc.classes[r].members
	for u := z.firstUse[r]; u >= 0 && missing > 0; u = z.nextUse[u] {
		z.workSincePoll++
		id := z.useTask[u]
		if b := inc.bottleneck[id]; b >= 0 && p.saturatedIn[b] == p.pass {
			continue
		}
		z.joinClass(id, r)
		missing--
		if !p.unitWeights {
			continue
		}
		own := z.bottleneckUse(id, r)
		for v := z.useStart[id]; v < z.useStart[id+1]; v++ {
			if v != own {
				f := &p.fills[z.useRes[v]]
				f.free -= share
				f.load--
			}
		}
	}
}

// chargeInOrder charges the rates of the classes of the current round to the other resources of
// their members, in order of uses. The order matters for the rounding of different charges.
func (z *sim) chargeInOrder(share float64) {
	p := &z.incremental.recomputation
	p.uses = p.uses[:0]
	for _, r := range p.round {
		p.uses = append(p.uses, z.sortedOthers(r)...)
	}
	if len(p.round) > 1 {
		slices.Sort(p.uses)
	}
	z.workSincePoll += len(p.uses)
	for _, u := range p.uses {
		r, w := z.useRes[u], z.weight[z.useTask[u]]
		p.fills[r].free -= share * w * z.useWeight[u]
		p.fills[r].load -= w * z.useWeight[u]
		p.unfixed[r]--
	}
}

// isComplete reports whether a pass in the previous order has missed no resource. It has missed one
// that did not saturate in either of two cases:
//
//   - Some of its transfers have no rate.
//   - Transfers of other classes have used up its capacity. Without rounding errors it saturates at
//     the latest in the round of the last of these classes. Its own level may be the lowest of that
//     round, by rounding, and is then the level of the round. Without the resource, the level would
//     differ in the last bits.
func (z *sim) isComplete() bool {
	p := &z.incremental.recomputation
	for _, r := range p.resources {
		if p.saturatedIn[r] != p.pass && (p.numUnfixed(r) > 0 || p.fills[r].free < relTol*z.capacity[r]) {
			return false
		}
	}
	return true
}
