package flow

import (
	"context"
	"math"
	"slices"

	"sim/engine"
)

// runState is the part of a simulation that changes during a run and that a fork
// saves. Arrays are indexed by task unless a comment says otherwise. The uses of a
// resource by running transfers (its active uses) form a doubly linked list.
type runState struct {
	// queue holds the events. Their ids are: task (start or end of a task), tasks+task (level
	// crossing), 2*tasks+k (change k).
	queue *engine.Queue
	now   engine.Time

	ready        []engine.Time // start time; before the start, the latest end of a predecessor plus lag
	pendingPreds []int32       // number of predecessors that have not ended
	phase        []uint8       // one of the phase constants
	remaining    []float64     // bits not sent yet at updatedAt
	rate         []float64     // bits per tick; -1 before it is computed
	updatedAt    []engine.Time // time for which remaining is valid

	nextUse, prevUse []int32 // list links, indexed by use; -1 at the ends
	firstUse         []int32 // head of the list, indexed by resource; -1 if it is empty
	numActive        []int32 // length of the list, indexed by resource

	dirty    []int32     // resources whose active uses or capacity changed since the last sharing
	isDirty  []bool      // whether a resource is in dirty, indexed by resource
	numEnded int         // number of ended tasks
	events   int64       // number of starts and ends of transfers
	makespan engine.Time // latest end so far

	contention *engine.ContentionState // nil if the graph has no contention
}

// newRunState allocates the state of a run of m. sim.reset initialises it.
func newRunState(m *model) runState {
	n, r := m.tasks, m.resources
	return runState{
		queue: engine.NewQueue(2*n + len(m.net.Changes)),
		ready: make([]engine.Time, n), pendingPreds: make([]int32, n), phase: make([]uint8, n),
		remaining: make([]float64, n), rate: make([]float64, n), updatedAt: make([]engine.Time, n),
		nextUse: make([]int32, len(m.useRes)), prevUse: make([]int32, len(m.useRes)),
		firstUse: make([]int32, r), numActive: make([]int32, r), isDirty: make([]bool, r),
		contention: m.graph.NewContentionState(),
	}
}

// copyFrom makes s equal to t. Both must belong to the same model.
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
	if s.contention != nil {
		s.contention.CopyFrom(t.contention)
	}
}

// sim simulates a model. It can be reused for many runs and allocates nothing once its
// slices have grown. Rates and capacities are in bits per tick.
type sim struct {
	*model          // tasks, edges, and uses of resources
	runState        // times, rates and phases of the tasks in a run
	service         Service
	capacity        []float64 // current capacity, indexed by resource
	initialCapacity []float64 // capacity at the start of a run, indexed by resource

	stack  []int32     // enabled tasks of fixed duration, to be ended by endFixedTasks
	cutoff engine.Time // the run stops once the makespan provably reaches this time

	// paths holds full rates, heads and tails. Tails are computed only for priorities and
	// cut-offs.
	paths criticalPaths
	// givenTails are the tails that replace paths.tail in priorities, indexed by task; nil
	// unless SetTails was called.
	givenTails  []float64
	component   component         // scratch of shareCapacity
	incremental incrementalShares // shares of large components
	coarse      coarseRun         // bundles events in runs with a tolerance
	// tolerance is the tolerance of the following runs under MaxMin.
	tolerance engine.Time
	workers   int        // maximum number of goroutines that simulate parts; 0 if the model is not divided
	partition *partition // division of the model; nil before the first run with workers
	// stopBefore marks the transfers before whose start the run stops, indexed by task; nil
	// except in Fork.
	stopBefore  []bool
	reachedStop bool          // the run stopped at such a transfer
	log         *rateLog      // nil if no trace is recorded
	ends        []engine.Time // end times, indexed by task; nil if they are not recorded

	peak         []float64      // Link.Peak, indexed by resource; nil if no link has one
	control      *controlledRun // nil unless PrepareControl was called
	isControlled bool           // the current run is a controlled run

	ctx           context.Context // cancels runs and bounds
	workSincePoll int             // work since the context was last checked
	polledWork    int64           // work before that check
	cancelled     bool            // ctx was cancelled, or the run exceeded maxWork
	progress      *progress       // nil if no progress is reported
	numReported   int             // ended tasks that were reported
	maxWork       int64           // limit on the work of a run; 0 for no limit
	workBeforeRun int64           // polledWork at the start of the run
	exceededWork  bool            // the run exceeded maxWork
}

// Phases of a task.
const (
	phaseWaiting uint8 = iota
	phaseRunning
	phaseDone
	phaseCompeting // ready, and waits for a grant of the contention
)

// newSim returns a simulator of m with the capacities of its network.
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

// run simulates the graph to its end. It returns false in three cases: the makespan
// provably reaches cutoff; nothing can proceed (then numEnded < tasks and now <
// cutoff); or the context was cancelled.
func (z *sim) run(cutoff engine.Time) bool {
	if z.simulatesParts() {
		if isStalled := !z.runParts(cutoff) && cutoff == engine.Never && !z.cancelled; !isStalled {
			return z.numEnded == z.tasks
		}
		// The run without parts has the state at the stall, which stallError describes.
	}
	return z.startRun(cutoff) && z.runEvents()
}

// startRun resets z and enables all tasks without predecessors. It returns false if the
// run is over already, as run does.
func (z *sim) startRun(cutoff engine.Time) bool {
	z.reset(cutoff)
	z.workBeforeRun, z.exceededWork = z.polledWork, false
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

// runEvents continues from the current state to the end of the graph and returns true
// if it gets there. It returns false as run does.
//
// It also returns true if it stops early: before the first start of a transfer in
// stopBefore (reachedStop is then set), or in a controlled run when the awaited event
// has occurred (control.isReached is then set).
func (z *sim) runEvents() bool {
	for z.queue.Len() > 0 || z.nextSharing() < engine.Never {
		t := z.queue.Top()
		if next := z.nextSharing(); next < t {
			z.now = next
			z.shareCoarsely()
			continue
		}
		if t >= z.cutoff && z.numEnded < z.tasks {
			return false
		}
		z.now = t

		// Process all events at time t before sharing capacity again.
		for z.queue.Top() == t || z.grantRequests() {
			if z.interrupted(1) {
				return false
			}
			id, _ := z.queue.Pop()
			switch {
			case int(id) >= 2*z.tasks: // changeEvent
				c := z.change(id)
				if c.Link == noLink {
					z.control.isReached = true
					continue
				}
				z.capacity[c.Link] = c.Rate * perTick
				z.markDirty(c.Link)
				z.coarse.isForced = true
			case int(id) >= z.tasks: // crossingEvent
				z.markTaskDirty(id - int32(z.tasks))
			case z.fixedDuration[id] >= 0: // only tasks of the contention have such events
				if !z.handleContender(id) {
					return false
				}
			case z.phase[id] == phaseWaiting: // the start of a transfer
				if z.stopBefore != nil && z.stopBefore[id] {
					z.queue.Set(id, t)
					z.reachedStop = true
					return true
				}
				z.startTransfer(id)
			case !z.endTransfer(id): // the end of a transfer
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
		switch {
		case len(z.dirty) == 0: // the transfers that ended were alone
			z.coarse.holds = z.coarse.holds[:0]
		case z.coarse.tolerance == 0:
			z.shareCapacity()
		case z.nextSharing() == t:
			z.shareCoarsely()
		}
	}
	z.endHolds()
	return z.numEnded == z.tasks
}

// changeEvent returns the event id of change k of the network.
func (z *sim) changeEvent(k int) int32 { return int32(2*z.tasks + k) }

// crossingEvent returns the event id of the level crossing that is kept with a task.
func (z *sim) crossingEvent(task int32) int32 { return task + int32(z.tasks) }

// reset puts z at the start of a run.
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
	tolerance := z.tolerance
	if z.service != MaxMin {
		tolerance = 0
	}
	z.coarse.reset(z.model, tolerance)
	if z.contention != nil {
		z.contention.Reset()
	}
	if z.log != nil {
		z.log.reset()
	}

	// Changes are events from the start. Tails are computed if priorities or cut-offs need them.
	for i, c := range z.net.Changes {
		z.queue.Set(z.changeEvent(i), c.At)
	}

	z.workSincePoll += z.tasks
	z.paths.computeFullRates(z)
	if z.service == LevelPriority || z.service == TailPriority || cutoff != engine.Never || z.stopBefore != nil {
		z.paths.computeTails(z.model)
		z.workSincePoll += len(z.outTo)
	}
}

// enable schedules a task when its last predecessor has ended. Tasks of fixed duration
// without contention need no event: they go to the stack.
func (z *sim) enable(id int32) {
	if z.fixedDuration[id] >= 0 && (z.contention == nil || !z.contention.Involves(id)) {
		z.stack = append(z.stack, id)
		return
	}
	z.queue.Set(id, z.ready[id])
}

// handleContender handles an event of a task with a part in the contention: it becomes
// ready, or it ends. It returns false as endTask does.
func (z *sim) handleContender(id int32) bool {
	switch {
	case z.phase[id] == phaseRunning:
		return z.endContender(id)
	case z.contention.Decides(id):
		z.phase[id] = phaseCompeting
		z.contention.Arrive(id)
	default:
		z.startContender(id)
	}
	return true
}

// startContender starts a task with a part in the contention now.
func (z *sim) startContender(id int32) {
	z.phase[id], z.ready[id] = phaseRunning, z.now
	z.queue.Set(id, z.now+z.fixedDuration[id])
}

// endContender ends a task with a part in the contention, and the requests that end with
// it. It returns false as endTask does.
func (z *sim) endContender(id int32) bool {
	ok := z.endTask(id, z.now)
	z.contention.Ended(id, func(request int32) {
		z.ready[request] = z.now
		ok = ok && z.endContender(request)
	})
	return ok
}

// grantRequests starts the tasks that the contention grants now. It reports whether
// events at the current time remain.
func (z *sim) grantRequests() bool {
	if z.contention == nil || !z.contention.Pending() {
		return false
	}
	granted := z.contention.Resolve()
	for _, id := range granted {
		z.startContender(id)
	}
	return z.queue.Top() == z.now
}

// endFixedTasks ends the tasks on the stack and their successors of fixed duration. Their
// ends may lie in the future, because nothing can change these times. It returns false as
// endTask does.
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

// endTask records the end of a task and enables its successors. It returns false if the
// end, or the longest path from a successor's start, proves that the makespan reaches the
// cut-off.
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
				// Spans are floating-point numbers, so they are lowered by half a tick.
				return false
			}
			z.enable(to)
		}
	}
	return true
}

// startTransfer starts a transfer. The next shareCapacity, at the same time, sets its rate.
func (z *sim) startTransfer(id int32) {
	z.events++
	z.phase[id] = phaseRunning
	z.remaining[id] = z.bits[id]
	z.rate[id] = -1
	z.updatedAt[id] = z.now
	if z.coarse.tolerance > 0 {
		z.coarse.waiting = append(z.coarse.waiting, id)
	}

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

// endTransfer ends a transfer and removes its uses. It returns false as endTask does.
func (z *sim) endTransfer(id int32) bool {
	z.events++
	if z.coarse.tolerance > 0 {
		z.holdCapacity(id)
	}
	if z.incremental.valid {
		z.leaveAtEnd(id)
	}
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		// Unlink the use.
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
	z.queue.Remove(z.crossingEvent(id))
	return z.endTask(id, z.now)
}

// markDirty makes the next shareCapacity compute the shares of resource r again.
func (z *sim) markDirty(r int32) {
	if !z.isDirty[r] {
		z.isDirty[r] = true
		z.dirty = append(z.dirty, r)
	}
}

// markTaskDirty marks a resource of a running transfer, and thereby its component.
func (z *sim) markTaskDirty(id int32) {
	if z.phase[id] == phaseRunning {
		z.markDirty(z.useRes[z.useStart[id]])
	}
}

// setRate changes the rate of a transfer without a class and reschedules its end. A transfer
// without a rate has no end event.
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
		// A link that went down would block a transfer that is complete except for the
		// rounding to ticks. Such a transfer ends now.
		if z.remaining[id] < z.paths.fullRate[id] && z.isDown(id) {
			z.queue.Set(id, z.now)
			return
		}
		z.queue.Remove(id)
		return
	}
	z.queue.Set(id, z.now+ceilTicks(z.remaining[id]/rate))
}

// isDown reports whether some resource of a transfer has no capacity now.
func (z *sim) isDown(id int32) bool {
	return slices.ContainsFunc(z.useRes[z.useStart[id]:z.useStart[id+1]], func(r int32) bool {
		return z.capacity[r] == 0
	})
}

// updateRemaining brings the remaining bits of a transfer up to the current time.
func (z *sim) updateRemaining(id int32) {
	if z.updatedAt[id] != z.now {
		z.remaining[id] = max(0, z.remaining[id]-z.rate[id]*float64(z.now-z.updatedAt[id]))
		z.updatedAt[id] = z.now
	}
}

// tickTolerance, in ticks, absorbs the rounding errors of a division whose exact result is a
// whole number. Without it, ceilTicks would return one tick more.
const tickTolerance = 1e-6

// ceilTicks rounds a time up to whole ticks. Times beyond math.MaxInt64/4 are limited to
// that, so that adding them to the current time does not overflow.
func ceilTicks(t float64) engine.Time {
	if t >= math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return engine.Time(math.Ceil(t - tickTolerance))
}
