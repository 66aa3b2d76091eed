package flow

import (
	"context"
	"math"
	"slices"

	"sim/engine"
)

// runState is what a run changes and a fork keeps.
type runState struct {
	queue *engine.Queue // ids: task, then task+tasks (levels cross), then changes
	now   engine.Time

	ready        []engine.Time // latest end of a predecessor plus lag; the start once started
	pendingPreds []int32       // predecessors that have not ended
	phase        []uint8
	remaining    []float64     // bits left at since
	rate         []float64     // bits a tick
	updatedAt    []engine.Time // when rem was brought up to date

	nextUse, prevUse []int32 // active uses of a resource as linked lists
	firstUse         []int32
	numActive        []int32 // their number

	dirty    []int32 // resources whose active set or capacity changed
	isDirty  []bool
	numEnded int
	events   int64
	makespan engine.Time

	contest *engine.Contest // nil if the graph has no contention
}

func newRunState(m *model) runState {
	n, r := m.tasks, m.resources
	return runState{
		queue: engine.NewQueue(2*n + len(m.net.Changes)),
		ready: make([]engine.Time, n), pendingPreds: make([]int32, n), phase: make([]uint8, n),
		remaining: make([]float64, n), rate: make([]float64, n), updatedAt: make([]engine.Time, n),
		nextUse: make([]int32, len(m.useRes)), prevUse: make([]int32, len(m.useRes)),
		firstUse: make([]int32, r), numActive: make([]int32, r), isDirty: make([]bool, r),
		contest: m.graph.NewContest(),
	}
}

// copyFrom makes s equal to t, which must be of the same model.
func (s *runState) copyFrom(t *runState) {
	s.queue.CopyFrom(t.queue)
	s.now, s.numEnded, s.events, s.makespan = t.now, t.numEnded, t.events, t.makespan
	copy(s.ready, t.ready)
	copy(s.pendingPreds, t.pendingPreds)
	copy(s.phase, t.phase)
	copy(s.remaining, t.remaining)
	copy(s.rate, t.rate)
	copy(s.updatedAt, t.updatedAt)
	copy(s.nextUse, t.nextUse)
	copy(s.prevUse, t.prevUse)
	copy(s.firstUse, t.firstUse)
	copy(s.numActive, t.numActive)
	copy(s.isDirty, t.isDirty)
	s.dirty = append(s.dirty[:0], t.dirty...)
	if s.contest != nil {
		s.contest.CopyFrom(t.contest)
	}
}

// sim simulates a graph. It is reused: nothing is allocated once its arrays have grown.
type sim struct {
	*model
	runState
	service         Service
	capacity        []float64 // capacity of each resource now, bits a tick
	initialCapacity []float64 // and at the start of a run

	stack  []int32
	cutoff engine.Time

	paths       criticalPaths // full rates, heads, tails; tails are needed by priorities and cut-offs
	givenTails  []float64     // tails that priorities go by instead; nil but for SetTails
	component   component
	incremental incrementalShares
	stopBefore  []bool // by task: stop before it starts; nil but while forking
	reachedStop bool
	log         *rateLog // nil unless a trace is wanted
	ends        []engine.Time

	peak         []float64      // by link: its Peak, bits a tick; nil of none
	control      *controlledRun // nil but for Stage
	isControlled bool           // in a run in stages

	ctx           context.Context
	workSincePoll int   // since ctx was last asked
	polledWork    int64 // before that
	cancelled     bool
}

const (
	phaseWaiting uint8 = iota
	phaseRunning
	phaseDone
	phaseCompeting // ready, and waits for the contention
)

func newSim(m *model, s Service) *sim {
	z := &sim{
		model: m, runState: newRunState(m), service: s, ctx: context.Background(),
		capacity: make([]float64, m.resources), initialCapacity: make([]float64, m.resources),
	}
	for i := range int32(m.resources) {
		z.initialCapacity[i] = m.net.Rate(i) * perTick
	}
	for l := range m.net.Links {
		if peak := m.net.Links[l].Peak; peak > 0 {
			if z.peak == nil {
				z.peak = make([]float64, m.resources)
			}
			z.peak[l] = peak * perTick
		}
	}
	z.paths.init(m)
	z.component.init(m)
	return z
}

// run runs the graph to its end. It returns false when the makespan provably reaches cutoff, or when nothing can
// proceed (then ended < tasks and now < cutoff), or the context has ended.
func (z *sim) run(cutoff engine.Time) bool {
	return z.startRun(cutoff) && z.runEvents()
}

// startRun makes what waits for nothing ready.
func (z *sim) startRun(cutoff engine.Time) bool {
	z.reset(cutoff)
	if z.cancelled = z.ctx.Err() != nil; z.cancelled {
		return false
	}
	for i := range z.tasks {
		if z.numPreds[i] == 0 {
			z.enable(int32(i))
		}
	}
	return z.endFixedTasks()
}

// runEvents runs from the state that z is in. Where hold names transfers it stops before the first of them starts, with
// held set.
func (z *sim) runEvents() bool {
	for z.queue.Len() > 0 {
		t := z.queue.Top()
		if t >= z.cutoff && z.numEnded < z.tasks {
			return false
		}
		z.now = t
		for z.queue.Top() == t || z.grantRequests() {
			if z.interrupted(1) {
				return false
			}
			id, _ := z.queue.Pop()
			switch {
			case int(id) >= 2*z.tasks:
				c := z.change(id)
				if c.Link == noLink {
					z.control.isReached = true
					continue
				}
				z.capacity[c.Link] = c.Rate * perTick
				z.markDirty(c.Link)
			case int(id) >= z.tasks:
				z.markTaskDirty(id - int32(z.tasks))
			case z.fixedDuration[id] >= 0:
				if !z.handleContender(id) {
					return false
				}
			case z.phase[id] == phaseWaiting:
				if z.stopBefore != nil && z.stopBefore[id] {
					z.queue.Set(id, t)
					z.reachedStop = true
					return true
				}
				z.startTransfer(id)
			case !z.endTransfer(id):
				return false
			}
			if len(z.stack) > 0 && !z.endFixedTasks() {
				return false
			}
		}
		if z.numEnded == z.tasks {
			break
		}
		if z.isControlled && z.control.isReached {
			return true
		}
		if len(z.dirty) > 0 {
			z.shareCapacity()
		}
	}
	return z.numEnded == z.tasks
}

func (z *sim) reset(cutoff engine.Time) {
	z.queue.Reset()
	copy(z.capacity, z.initialCapacity)
	copy(z.pendingPreds, z.numPreds)
	clear(z.ready)
	clear(z.phase)
	for r := range z.firstUse {
		z.firstUse[r] = -1
		z.numActive[r] = 0
	}
	for _, r := range z.dirty {
		z.isDirty[r] = false
	}
	z.dirty, z.stack = z.dirty[:0], z.stack[:0]
	z.incremental.valid = false
	z.now, z.numEnded, z.events, z.makespan, z.cutoff = 0, 0, 0, 0, cutoff
	if z.contest != nil {
		z.contest.Reset()
	}
	if z.log != nil {
		z.log.reset()
	}
	for i, c := range z.net.Changes {
		z.queue.Set(int32(2*z.tasks+i), c.At)
	}
	z.workSincePoll += z.tasks
	z.paths.computeFullRates(z)
	if z.service == LevelPriority || z.service == TailPriority || cutoff != engine.Never || z.stopBefore != nil {
		z.paths.computeTails(z.model)
		z.workSincePoll += len(z.outTo)
	}
}

// enable is called when the last predecessor of id has ended.
func (z *sim) enable(id int32) {
	if z.fixedDuration[id] >= 0 && (z.contest == nil || !z.contest.Involves(id)) {
		z.stack = append(z.stack, id)
		return
	}
	z.queue.Set(id, z.ready[id])
}

// handleContender handles an event of a task of the contention: it becomes ready or ends. It returns false as release does.
func (z *sim) handleContender(id int32) bool {
	switch {
	case z.phase[id] == phaseRunning:
		return z.endContender(id)
	case z.contest.Decides(id):
		z.phase[id] = phaseCompeting
		z.contest.Arrive(id)
	default:
		z.startContender(id)
	}
	return true
}

// startContender starts a task of the contention.
func (z *sim) startContender(id int32) {
	z.phase[id], z.ready[id] = phaseRunning, z.now
	z.queue.Set(id, z.now+z.fixedDuration[id])
}

// endContender ends a task of the contention, and the requests that end with it. It returns false as release does.
func (z *sim) endContender(id int32) bool {
	ok := z.endTask(id, z.now)
	z.contest.Ended(id, func(request int32) {
		z.ready[request] = z.now
		ok = ok && z.endContender(request)
	})
	return ok
}

// grantRequests starts what the contention grants now, and reports whether it has granted anything.
func (z *sim) grantRequests() bool {
	if z.contest == nil || !z.contest.Pending() {
		return false
	}
	granted := z.contest.Resolve()
	for _, id := range granted {
		z.startContender(id)
	}
	return z.queue.Top() == z.now
}

// endFixedTasks ends the tasks on the stack that use no resource, and whatever they release. Their ends may lie in the future:
// nothing can change them.
func (z *sim) endFixedTasks() bool {
	for len(z.stack) > 0 {
		if z.interrupted(1) {
			return false
		}
		id := z.stack[len(z.stack)-1]
		z.stack = z.stack[:len(z.stack)-1]
		if !z.endTask(id, z.ready[id]+z.fixedDuration[id]) {
			return false
		}
	}
	return true
}

// endTask records the end of id and enables its successors. It returns false when a successor proves that the makespan
// reaches the cut-off.
func (z *sim) endTask(id int32, end engine.Time) bool {
	z.phase[id] = phaseDone
	z.numEnded++
	if z.ends != nil {
		z.ends[id] = end
	}
	z.makespan = max(z.makespan, end)
	if end >= z.cutoff {
		return false
	}
	first, last := z.outStart[id], z.outStart[id+1]
	lags := z.outLag[first:last]
	for k, to := range z.outTo[first:last] {
		if ready := end + lags[k]; ready > z.ready[to] {
			z.ready[to] = ready
		}
		if z.pendingPreds[to]--; z.pendingPreds[to] == 0 {
			if z.cutoff != engine.Never && z.ready[to]+engine.Time(z.paths.span[to]-0.5) >= z.cutoff {
				return false
			}
			z.enable(to)
		}
	}
	return true
}

func (z *sim) startTransfer(id int32) {
	z.events++
	z.phase[id] = phaseRunning
	z.remaining[id] = z.bits[id]
	z.rate[id] = 0
	z.updatedAt[id] = z.now
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		z.prevUse[u], z.nextUse[u] = -1, z.firstUse[r]
		if z.firstUse[r] >= 0 {
			z.prevUse[z.firstUse[r]] = u
		}
		z.firstUse[r] = u
		z.numActive[r]++
		z.markDirty(r)
	}
}

// endTransfer ends a transfer; false as for release.
func (z *sim) endTransfer(id int32) bool {
	z.events++
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		if p := z.prevUse[u]; p >= 0 {
			z.nextUse[p] = z.nextUse[u]
		} else {
			z.firstUse[r] = z.nextUse[u]
		}
		if n := z.nextUse[u]; n >= 0 {
			z.prevUse[n] = z.prevUse[u]
		}
		if z.numActive[r]--; z.numActive[r] > 0 {
			z.markDirty(r)
		} else if z.incremental.valid {
			z.incremental.clearSaturation(r)
		}
	}
	if z.log != nil {
		z.log.add(id, z.now, 0)
	}
	if z.isControlled {
		z.control.countEnd(id)
	}
	z.queue.Remove(id + int32(z.tasks))
	return z.endTask(id, z.now)
}

func (z *sim) markDirty(r int32) {
	if !z.isDirty[r] {
		z.isDirty[r] = true
		z.dirty = append(z.dirty, r)
	}
}

func (z *sim) markTaskDirty(id int32) {
	if z.phase[id] == phaseRunning {
		z.markDirty(z.useRes[z.useStart[id]])
	}
}

// setRate moves id to a new rate and its completion to where that leads.
func (z *sim) setRate(id int32, rate float64) {
	if rate == z.rate[id] && z.queue.Has(id) {
		return
	}
	z.updateRemaining(id)
	z.rate[id] = rate
	if z.log != nil {
		z.log.add(id, z.now, rate/perTick)
	}
	if rate <= 0 {
		if z.remaining[id] < z.paths.fullRate[id] && z.isDown(id) {
			z.queue.Set(id, z.now)
			return
		}
		z.queue.Remove(id)
		return
	}
	z.queue.Set(id, z.now+ceilTicks(z.remaining[id]/rate))
}

// isDown reports whether a resource of id has no capacity now. What rounding to ticks has left of a transfer when it goes
// down does not wait until it is back.
func (z *sim) isDown(id int32) bool {
	return slices.ContainsFunc(z.useRes[z.useStart[id]:z.useStart[id+1]], func(r int32) bool { return z.capacity[r] == 0 })
}

// updateRemaining brings the bits left of id up to now.
func (z *sim) updateRemaining(id int32) {
	if z.updatedAt[id] != z.now {
		z.remaining[id] = max(0, z.remaining[id]-z.rate[id]*float64(z.now-z.updatedAt[id]))
		z.updatedAt[id] = z.now
	}
}

// tickTolerance absorbs the rounding of a division that would be whole in exact arithmetic, so that it is not rounded up by a
// tick.
const tickTolerance = 1e-6

// ceilTicks rounds a span up to whole ticks.
func ceilTicks(t float64) engine.Time {
	if t >= math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return engine.Time(math.Ceil(t - tickTolerance))
}
