package flow

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// many is the number of transfers from which on the fair shares of a component are kept from one event to the next.
const many = 64

// kept is the max-min fair shares of large components, which change as far as an event reaches and no further.
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
type kept struct {
	valid bool
	exact bool      // sums of weights are whole numbers, in whatever order
	level []float64 // by task: rate over weight; unknown of transfers in components that are not kept

	full   []float64 // by resource: level of the round in which it is full; infinite where there is none
	at     []float64 // by resource that is full: the level at which it would be by itself
	rounds []int32   // the resources that are full, by at

	awake   []awake
	slot    []int32 // by resource: its place in awake, counted from 1; 0 of those asleep
	arena   []expected
	fills   *engine.Queue // awake resources by the level at which they would be full
	meets   *engine.Queue // and by that at which the next of their transfers was bound
	bound   []int32       // by task: the update in which it was last bound
	updates int32

	until   float64 // highest level at which a resource was full that now may not be
	tight   []int32 // awake resources that are full again
	now     []int32 // transfers bound in a round
	stale   []int32 // places in awake of what they use
	changed []int32 // and those whose level has changed
	spare   []int32
}

// unknown is the level of a transfer that has none yet.
const unknown = -1

// awake is a resource that takes part in the rounds.
type awake struct {
	resource       int32
	from, pos, end int32 // its transfers in arena, by former level; those from pos on are yet to meet theirs
	count          int32 // of transfers that are not bound
	free, load     float64
	stale          bool // not where it belongs in fills
}

// expected is a transfer of an awake resource with the level at which it was bound.
type expected struct {
	level float64
	use   int32
}

func (k *kept) init(m *model) {
	k.level, k.bound = make([]float64, m.tasks), make([]int32, m.tasks)
	k.full, k.at, k.slot = make([]float64, m.resources), make([]float64, m.resources), make([]int32, m.resources)
	k.fills, k.meets = engine.NewQueue(m.resources), engine.NewQueue(m.resources)
	k.exact = true
	for u, w := range m.useW {
		w *= m.weight[m.useTask[u]]
		k.exact = k.exact && w == math.Trunc(w)
	}
}

// begin makes all levels unknown.
func (k *kept) begin(m *model) {
	if k.level == nil {
		k.init(m)
	}
	for i := range k.level {
		k.level[i] = unknown
	}
	for r := range k.full {
		k.full[r] = math.Inf(1)
	}
	k.rounds, k.until, k.valid = k.rounds[:0], 0, true
}

// update gives new rates to the transfers whose shares have changed with some resources.
func (z *sim) update(dirty []int32) {
	k := &z.kept
	if !k.valid {
		k.begin(z.model)
	}
	k.updates++
	k.awake, k.arena, k.tight, k.changed = k.awake[:0], k.arena[:0], k.tight[:0], k.changed[:0]
	for _, r := range dirty {
		z.wake(r, 0)
	}
	for i := 0; i < len(k.awake); i++ {
		for e := k.awake[i].from; e < k.awake[i].pos; e++ { // their levels are unknown
			z.wakeAll(z.useTask[k.arena[e].use], 0)
		}
	}
	z.rounds()
	if z.stopped { // these are no rates
		k.valid = false
		k.fills.Reset()
		k.meets.Reset()
		clear(k.slot)
		return
	}
	k.order()
	for _, id := range k.changed {
		z.setRate(id, k.level[id]*z.weight[id])
	}
}

// rounds goes through the rounds until all transfers of awake resources are bound.
func (z *sim) rounds() {
	k := &z.kept
	next, last := 0, 0.0 // next of rounds
	for !z.interrupted(1) {
		for next < len(k.rounds) && !k.asleep(k.rounds[next]) {
			next++
		}
		sleeper := math.Inf(1)
		if next < len(k.rounds) {
			sleeper = k.at[k.rounds[next]]
		}
		fills, meets := top(k.fills), top(k.meets)
		if k.fills.Len() == 0 && sleeper > k.until*(1+together) {
			break
		}
		if meets < min(sleeper, fills) { // nothing binds transfers there any more
			z.meet(meets, false)
			continue
		}
		share := max(min(sleeper, fills), last)
		edge := share * (1 + together)
		woken := len(k.awake)
		for i := next; i < len(k.rounds) && k.at[k.rounds[i]] <= edge; i++ {
			if r := k.rounds[i]; k.asleep(r) && k.full[r] != share { // another is full first in its round
				z.wake(r, min(share, k.full[r]))
			}
		}
		if len(k.awake) > woken {
			continue
		}
		for next < len(k.rounds) && k.at[k.rounds[next]] <= edge {
			next++
		}
		last = share
		k.now = k.now[:0]
		for top(k.fills) <= edge || top(k.meets) == share {
			if top(k.fills) <= edge {
				z.fillFirst(share)
			} else {
				z.meet(share, true)
			}
		}
		z.takeAll(share)
	}
	k.meets.Reset()
	k.until = 0
}

// wake has r take part in the rounds from a level on. What is bound below keeps its level.
func (z *sim) wake(r int32, level float64) {
	k := &z.kept
	if k.slot[r] > 0 {
		return
	}
	a := awake{resource: r, from: int32(len(k.arena)), free: z.rates[r]}
	for u := z.head[r]; u >= 0; u = z.next[u] {
		k.arena = append(k.arena, expected{k.level[z.useTask[u]], u})
	}
	all := k.arena[a.from:]
	z.work += len(all)
	if !k.exact {
		slices.SortFunc(all, func(a, b expected) int { return int(a.use - b.use) })
	}
	for _, e := range all {
		a.load += z.weight[z.useTask[e.use]] * z.useW[e.use]
	}
	slices.SortFunc(all, func(a, b expected) int {
		if a.level != b.level {
			return cmp.Compare(a.level, b.level)
		}
		return int(a.use - b.use)
	})
	a.count, a.pos, a.end = int32(len(all)), a.from, a.from+int32(len(all))
	for ; a.pos < a.end && k.arena[a.pos].level < level; a.pos++ {
		if e := k.arena[a.pos]; e.level != unknown {
			z.take(&a, e.use, e.level)
			k.bound[z.useTask[e.use]] = k.updates
		}
	}
	k.forget(r)
	k.place(&a)
	k.awake = append(k.awake, a)
	k.slot[r] = int32(len(k.awake))
	if a.pos < a.end {
		k.meets.Set(r, key(k.arena[a.pos].level))
	}
}

// wakeAll wakes what a transfer uses.
func (z *sim) wakeAll(id int32, level float64) {
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		z.wake(z.useRes[u], level)
	}
}

// fillFirst binds the transfers of the awake resource that is full first.
func (z *sim) fillFirst(share float64) {
	k := &z.kept
	r, at := k.fills.Pop()
	k.full[r], k.at[r] = share, math.Float64frombits(uint64(at))
	k.tight = append(k.tight, r)
	a := k.awake[k.slot[r]-1]
	for _, e := range k.arena[a.from:a.end] {
		if id := z.useTask[e.use]; k.bound[id] != k.updates {
			k.bind(id)
			if k.level[id] != share {
				k.level[id] = share
				k.changed = append(k.changed, id)
				z.wakeAll(id, share)
			}
		}
	}
}

// meet has the transfers of an awake resource come to the level at which they were bound. Where that is the share of
// a round, what sleeps may still bind them.
func (z *sim) meet(level float64, round bool) {
	k := &z.kept
	r, _ := k.meets.Pop()
	s := k.slot[r] - 1
	for ; k.awake[s].pos < k.awake[s].end && k.arena[k.awake[s].pos].level == level; k.awake[s].pos++ {
		id := z.useTask[k.arena[k.awake[s].pos].use]
		switch {
		case k.bound[id] == k.updates:
		case round && z.boundAsleep(id, level):
			k.bind(id)
		default:
			z.wakeAll(id, level)
		}
	}
	if a := &k.awake[s]; a.pos < a.end {
		k.meets.Set(r, key(k.arena[a.pos].level))
	}
}

// boundAsleep reports whether a transfer uses a resource that is asleep and full in the round of a level.
func (z *sim) boundAsleep(id int32, level float64) bool {
	for _, r := range z.useRes[z.useStart[id]:z.useStart[id+1]] {
		if z.kept.slot[r] == 0 && z.kept.full[r] == level {
			return true
		}
	}
	return false
}

func (k *kept) bind(id int32) {
	k.bound[id] = k.updates
	k.now = append(k.now, id)
}

// takeAll takes from awake resources what the transfers bound in a round get.
func (z *sim) takeAll(share float64) {
	k := &z.kept
	slices.Sort(k.now)
	k.stale = k.stale[:0]
	for _, id := range k.now {
		for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
			s := k.slot[z.useRes[u]]
			if s == 0 {
				continue
			}
			a := &k.awake[s-1]
			z.take(a, u, share)
			if !a.stale {
				a.stale = true
				k.stale = append(k.stale, s-1)
			}
		}
	}
	for _, s := range k.stale {
		k.place(&k.awake[s])
	}
}

// take takes from an awake resource what a transfer gets at a level.
func (z *sim) take(a *awake, use int32, level float64) {
	w := z.weight[z.useTask[use]]
	if a.free -= level * w * z.useW[use]; a.free < together*z.rates[a.resource] {
		a.free = 0 // no crumbs of rounding
	}
	a.load -= w * z.useW[use]
	a.count--
}

// place puts an awake resource where it is full if none of its transfers is bound before.
func (k *kept) place(a *awake) {
	a.stale = false
	if a.count == 0 {
		k.fills.Remove(a.resource)
		k.meets.Remove(a.resource)
		return
	}
	k.fills.Set(a.resource, key(max(0, a.free/a.load)))
}

// order puts the resources that are full now in order and all to sleep.
func (k *kept) order() {
	slices.SortFunc(k.tight, func(a, b int32) int { return cmp.Compare(k.at[a], k.at[b]) })
	k.spare = k.spare[:0]
	for _, r := range k.rounds {
		if !k.asleep(r) {
			continue
		}
		for len(k.tight) > 0 && k.at[k.tight[0]] < k.at[r] {
			k.spare, k.tight = append(k.spare, k.tight[0]), k.tight[1:]
		}
		k.spare = append(k.spare, r)
	}
	k.rounds, k.spare = append(k.spare, k.tight...), k.rounds
	for i := range k.awake {
		k.slot[k.awake[i].resource] = 0
	}
}

// forget drops a resource, and leave a transfer, that is not in a component that is kept, once any are.
func (k *kept) forget(r int32) {
	if !math.IsInf(k.full[r], 1) {
		k.until, k.full[r] = max(k.until, k.full[r]), math.Inf(1)
	}
}

func (k *kept) leave(id int32) { k.level[id] = unknown }

// asleep reports whether r is full where it was.
func (k *kept) asleep(r int32) bool { return k.slot[r] == 0 && !math.IsInf(k.full[r], 1) }

// key orders a queue by levels: the bits of numbers that are not negative are in the order of these.
func key(level float64) engine.Time { return engine.Time(math.Float64bits(level)) }

// top returns the least level in a queue.
func top(q *engine.Queue) float64 {
	if q.Len() == 0 {
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(q.Top()))
}
