package flow

import (
	"math"
	"slices"

	"sim/engine"
)

// A component is a set of transfers that are connected through the resources they use. Components of
// at least incrementalThreshold transfers are large. A use is one resource used by one transfer.

// bottleneckClass is the set of transfers in large components whose rates are determined by one
// saturated resource, their bottleneck. All members have the same rate per weight, the level. One
// progress counter therefore describes all of them, and a new level costs the same for one member
// as for thousands. Only the end of the next member is in the event queue.
type bottleneckClass struct {
	level     float64     // rate per weight, in bits per tick
	progress  exactBits   // bits per weight sent by updatedAt since the class was last empty
	updatedAt engine.Time // time for which progress is valid
	members   int32       // number of members
	next      int32       // the member whose end is in the event queue, or noTask

	// others holds the uses of the members, without the uses of the bottleneck itself.
	others         []int32
	otherResources []int32    // the resources of others
	inOrder        bool       // others is sorted
	ends           []classEnd // binary heap of the members by their end; see isStale
	touchedIn      int32      // number of the update in which the class last changed
}

// classEnd is the end of a member: the progress of the class at which the member is complete.
// Entries of transfers that left the class remain in the heap until they reach its top.
type classEnd struct {
	finish exactBits
	task   int32
}

// exactBits is a number of bits as the unevaluated sum of two floating-point numbers (double-double).
// The progress of a class grows over a whole run, while differences of progress must be exact to a
// fraction of a bit.
type exactBits struct{ high, low float64 }

// plus returns a + x. The sum of the high parts is exact (Knuth, The Art of Computer Programming,
// vol. 2, Sec. 4.2.2, Theorem B).
func (a exactBits) plus(x float64) exactBits {
	sum := a.high + x
	part := sum - a.high
	return exactBits{sum, a.low + ((a.high - (sum - part)) + (x - part))}
}

// plusProduct returns a + x*y. The product is exact.
func (a exactBits) plusProduct(x, y float64) exactBits {
	product := x * y
	sum := a.plus(product)
	sum.low += math.FMA(x, y, -product)
	return sum
}

// add returns a + b.
func (a exactBits) add(b exactBits) exactBits {
	sum := a.plus(b.high)
	sum.low += b.low
	return sum
}

// minus returns a - b.
func (a exactBits) minus(b exactBits) exactBits { return a.add(exactBits{-b.high, -b.low}) }

// value returns a as one number.
func (a exactBits) value() float64 { return a.high + a.low }

// before reports whether e is earlier than f. Equal ends are in order of tasks.
func (e *classEnd) before(f *classEnd) bool {
	if d := e.finish.minus(f.finish).value(); d != 0 {
		return d < 0
	}
	return e.task < f.task
}

// noBottleneck is the class of a transfer that has none.
const noBottleneck = -1

// taskClasses assigns transfers to bottleneck classes.
type taskClasses struct {
	classes    []bottleneckClass // indexed by resource
	bottleneck []int32           // bottleneck, indexed by task; noBottleneck outside large components
	finish     []exactBits       // progress of the class at which a member is complete, indexed by task
	position   []int32           // index in bottleneckClass.others, indexed by use; undefined if it is not there
	touched    []int32           // classes that changed in the current update
	update     int32             // number of the current update
}

// init allocates the arrays.
func (s *taskClasses) init(m *model) {
	s.classes = make([]bottleneckClass, m.resources)
	s.bottleneck, s.finish = make([]int32, m.tasks), make([]exactBits, m.tasks)
	s.position = make([]int32, len(m.useRes))
}

// reset makes all classes empty.
func (s *taskClasses) reset() {
	for i := range s.bottleneck {
		s.bottleneck[i] = noBottleneck
	}
	for r := range s.classes {
		c := &s.classes[r]
		*c = bottleneckClass{next: noTask, others: c.others[:0], otherResources: c.otherResources[:0], ends: c.ends[:0]}
	}
	s.touched, s.update = s.touched[:0], 1
}

// levelOf returns the rate per weight of a transfer, or noLevel outside large components.
func (s *taskClasses) levelOf(id int32) float64 {
	if r := s.bottleneck[id]; r >= 0 {
		return s.classes[r].level
	}
	return noLevel
}

// sortedOthers returns others of the class of resource r in order.
func (z *sim) sortedOthers(r int32) []int32 {
	s := &z.incremental.taskClasses
	c := &s.classes[r]
	if !c.inOrder {
		slices.Sort(c.others)
		for k, u := range c.others {
			s.position[u], c.otherResources[k] = int32(k), z.useRes[u]
		}
		c.inOrder = true
	}
	return c.others
}

// touch returns the class of resource r and marks it as changed, so that finishUpdate schedules its next
// end again.
func (s *taskClasses) touch(r int32) *bottleneckClass {
	c := &s.classes[r]
	if c.touchedIn != s.update {
		c.touchedIn = s.update
		s.touched = append(s.touched, r)
	}
	return c
}

// progressAt returns the progress at a time.
func (c *bottleneckClass) progressAt(t engine.Time) exactBits {
	return c.progress.plusProduct(c.level, float64(t-c.updatedAt))
}

// endOf returns the time at which the progress reaches finish. The level must not be 0.
func (c *bottleneckClass) endOf(finish exactBits) engine.Time {
	return endAfter(c.updatedAt, max(0, finish.minus(c.progress).value())/c.level)
}

// endAfter returns the end of a transfer that needs t more ticks, rounded up to a tick. Rates are
// rounded to 53 bits, so that t can exceed the exact time by a rounding error of the time since the
// start, at most 2^-51 of now. Without this tolerance, ends that are whole ticks would be one tick late.
func endAfter(now engine.Time, t float64) engine.Time {
	return now + ceilTicks(max(0, t-float64(now)*0x1p-51))
}

// joinClass moves a transfer to the class of resource r.
func (z *sim) joinClass(id, r int32) {
	s := &z.incremental.taskClasses
	var left exactBits
	if s.bottleneck[id] >= 0 {
		left = z.leaveClass(id)
	} else {
		left = exactBits{high: z.remaining[id]}.plusProduct(-z.rate[id], float64(z.now-z.updatedAt[id]))
		z.queue.Remove(id)
	}
	c := s.touch(r)
	if c.members == 0 {
		c.progress, c.updatedAt, c.ends, c.inOrder = exactBits{}, z.now, c.ends[:0], true
	}
	c.members++
	if w := z.weight[id]; w != 1 {
		left = exactBits{high: left.value() / w}
	}
	s.bottleneck[id], s.finish[id] = r, c.progressAt(z.now).add(left)

	own := z.bottleneckUse(id, r)
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		if u != own {
			c.inOrder = c.inOrder && (len(c.others) == 0 || c.others[len(c.others)-1] < u)
			s.position[u] = int32(len(c.others))
			c.others, c.otherResources = append(c.others, u), append(c.otherResources, z.useRes[u])
		}
	}
	s.pushEnd(c, classEnd{finish: s.finish[id], task: id})
}

// bottleneckUse returns the first use of resource r by a transfer.
func (z *sim) bottleneckUse(id, r int32) int32 {
	return z.useStart[id] + int32(slices.Index(z.useRes[z.useStart[id]:z.useStart[id+1]], r))
}

// leaveClass removes a transfer from its class and returns its remaining bits.
func (z *sim) leaveClass(id int32) exactBits {
	s := &z.incremental.taskClasses
	r := s.bottleneck[id]
	c := s.touch(r)
	left := s.finish[id].minus(c.progressAt(z.now))
	if w := z.weight[id]; w != 1 {
		left = exactBits{high: left.value() * w}
	}
	s.bottleneck[id] = noBottleneck
	c.members--

	own := z.bottleneckUse(id, r)
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		if u == own {
			continue
		}
		// The last use takes the place of the removed one.
		last, k := len(c.others)-1, s.position[u]
		c.inOrder = c.inOrder && int(k) == last
		c.others[k], c.otherResources[k] = c.others[last], c.otherResources[last]
		s.position[c.others[k]] = k
		c.others, c.otherResources = c.others[:last], c.otherResources[:last]
	}
	if c.next == id {
		z.queue.Remove(id)
		c.next = noTask
	}
	return left
}

// leaveAtEnd removes a transfer that ends from its class, if it has one.
func (z *sim) leaveAtEnd(id int32) {
	if r := z.incremental.bottleneck[id]; r >= 0 {
		z.leaveClass(id)
		z.scheduleNext(r)
	}
}

// releaseTask makes a transfer that is no longer in a large component independent of its class. Its
// rate does not change.
func (z *sim) releaseTask(id int32) {
	s := &z.incremental.taskClasses
	if s.bottleneck[id] < 0 {
		return
	}
	c := &s.classes[s.bottleneck[id]]
	// The remaining bits are stated as of the time at which the level last changed, because they were
	// exact then. This sets updatedAt back.
	left, end := s.finish[id].minus(c.progress).value(), engine.Never
	if c.level > 0 {
		end = c.endOf(s.finish[id])
	}
	z.leaveClass(id)
	z.remaining[id], z.updatedAt[id], z.rate[id] = max(0, left)*z.weight[id], c.updatedAt, c.level*z.weight[id]
	if end < engine.Never {
		z.queue.Set(id, end)
	}
}

// releaseTasks releases all transfers.
func (z *sim) releaseTasks() {
	if !z.incremental.valid {
		return
	}
	for id := range int32(z.tasks) {
		z.releaseTask(id)
	}
	z.incremental.valid = false
}

// setLevel changes the level of the class of resource r.
func (z *sim) setLevel(r int32, level float64) {
	c := z.incremental.touch(r)
	c.progress, c.updatedAt = c.progressAt(z.now), z.now
	c.level = level
}

// finishUpdate schedules the ends of the classes that changed, and begins the next update.
func (z *sim) finishUpdate() {
	s := &z.incremental.taskClasses
	for _, r := range s.touched {
		z.scheduleNext(r)
		if z.log != nil {
			z.logRates(r)
		}
	}
	s.touched = s.touched[:0]
	s.update++
}

// logRates records the rates of the members of a class that changed.
func (z *sim) logRates(r int32) {
	s := &z.incremental.taskClasses
	for u := z.firstUse[r]; u >= 0; u = z.nextUse[u] {
		id := z.useTask[u]
		if rate := s.classes[r].level * z.weight[id]; s.bottleneck[id] == r && rate != z.rate[id] {
			z.rate[id] = rate
			z.log.add(id, z.now, rate/perTick)
		}
	}
}

// remainingBits returns the bits that a running transfer still has to send.
func (z *sim) remainingBits(id int32) float64 {
	if s := &z.incremental.taskClasses; z.incremental.valid && s.bottleneck[id] >= 0 {
		c := &s.classes[s.bottleneck[id]]
		return max(0, s.finish[id].minus(c.progressAt(z.now)).value()*z.weight[id])
	}
	return max(0, z.remaining[id]-z.rate[id]*float64(z.now-z.updatedAt[id]))
}

// scheduleNext puts the end of the next member of a class into the event queue.
func (z *sim) scheduleNext(r int32) {
	s := &z.incremental.taskClasses
	c := &s.classes[r]
	if c.members > 0 && c.level == 0 {
		z.endBlocked(r)
	}
	// Remove the stale entries when there are more of them than members. The addend avoids frequent
	// removals in small heaps.
	if len(c.ends) > 2*int(c.members)+16 {
		s.removeStale(r)
	}
	for len(c.ends) > 0 && s.isStale(r, &c.ends[0]) {
		s.popEnd(c)
	}

	next := int32(noTask)
	if c.members > 0 && c.level > 0 {
		next = c.ends[0].task
	}
	if c.next != next && c.next != noTask {
		z.queue.Remove(c.next)
	}
	if c.next = next; next != noTask {
		z.queue.Set(next, c.endOf(s.finish[next]))
	}
}

// endBlocked ends the members of a class without capacity that would need less than a tick at full
// rate, as setRate does. They are complete except for the rounding to ticks.
func (z *sim) endBlocked(r int32) {
	s := &z.incremental.taskClasses
	for u := z.firstUse[r]; u >= 0; u = z.nextUse[u] {
		id := z.useTask[u]
		if s.bottleneck[id] != r || z.remainingBits(id) >= z.paths.fullRate[id] || !z.isDown(id) {
			continue
		}
		z.remaining[id], z.updatedAt[id], z.rate[id] = max(0, z.leaveClass(id).value()), z.now, 0
		z.queue.Set(id, z.now)
	}
}

// isStale reports whether e belongs to a transfer that has left the class of resource r since.
func (s *taskClasses) isStale(r int32, e *classEnd) bool {
	return s.bottleneck[e.task] != r || s.finish[e.task] != e.finish
}

// removeStale removes the stale entries from the heap of the class of resource r.
func (s *taskClasses) removeStale(r int32) {
	c := &s.classes[r]
	c.ends = slices.DeleteFunc(c.ends, func(e classEnd) bool { return s.isStale(r, &e) })
	for i := len(c.ends)/2 - 1; i >= 0; i-- {
		c.sinkEnd(i)
	}
}

// pushEnd adds an entry to the heap of a class.
func (s *taskClasses) pushEnd(c *bottleneckClass, e classEnd) {
	c.ends = append(c.ends, e)
	i := len(c.ends) - 1
	for i > 0 && e.before(&c.ends[(i-1)/2]) {
		c.ends[i] = c.ends[(i-1)/2]
		i = (i - 1) / 2
	}
	c.ends[i] = e
}

// popEnd removes the first entry from the heap of a class.
func (s *taskClasses) popEnd(c *bottleneckClass) {
	last := len(c.ends) - 1
	c.ends[0] = c.ends[last]
	c.ends = c.ends[:last]
	if last > 0 {
		c.sinkEnd(0)
	}
}

// sinkEnd moves the entry at index i of the heap down to its place.
func (c *bottleneckClass) sinkEnd(i int) {
	e := c.ends[i]
	for {
		k := 2*i + 1
		if k+1 < len(c.ends) && c.ends[k+1].before(&c.ends[k]) {
			k++
		}
		if k >= len(c.ends) || !c.ends[k].before(&e) {
			break
		}
		c.ends[i] = c.ends[k]
		i = k
	}
	c.ends[i] = e
}
