package flow

import (
	"slices"

	"sim/engine"
)

// controlledRun is what a run in stages keeps beside its state: how many transfers of each class have ended, and which count
// it waits for.
type controlledRun struct {
	class        []int32 // by task; -1 is none
	total        []int32 // by class: its transfers
	ended        []int32 // by class: those that have ended
	awaitedClass int32   // class whose count is awaited; anyClass for the last of any
	awaitedCount int32
	awaitedTask  int32 // whose end is awaited; -1 if none is
	isReached    bool

	laterChanges []engine.Change // changes made in the run
	peak         []float64       // by resource: the highest capacity that it ever has, bits a tick
}

// Stage has the runs that follow, from Begin to Finish, count the transfers that end by class, so that links can change
// when so many of one have. class is by task, -1 for tasks of none, and must not change while it is in use.
func (e *Evaluator) Stage(class []int32, classes int) {
	s := &controlledRun{awaitedTask: noTask, class: class, total: make([]int32, classes), ended: make([]int32, classes), peak: make([]float64, e.sim.resources)}
	for _, c := range class {
		if c >= 0 {
			s.total[c]++
		}
	}
	e.sim.control = s
}

// Of s.wait, beside classes.
const (
	noClass  = -1
	anyClass = -2
)

// noTask is stages.task while no task is awaited.
const noTask = -1

// SetPeak says how high a resource's capacity may ever be in runs in stages, in bits per second: cut-offs and
// priorities go by it, as they go by all changes where these are known in advance.
func (e *Evaluator) SetPeak(resource int32, bitsPerSecond float64) {
	e.sim.control.peak[resource] = bitsPerSecond * perTick
}

// Begin begins a run in stages at the current capacities. Finish ends it with what Makespan would return.
func (e *Evaluator) Begin(cutoff engine.Time) bool {
	z := e.sim
	clear(z.control.ended)
	z.control.laterChanges = z.control.laterChanges[:0]
	z.isControlled = true
	z.isControlled = z.startRun(cutoff)
	return z.isControlled
}

// Await goes on until so many transfers of a class have ended and returns the time. It returns false where the run ends
// early, as Makespan does.
func (e *Evaluator) Await(class, count int32) (engine.Time, bool) {
	z, s := e.sim, e.sim.control
	if s.ended[class] >= count {
		return z.now, true
	}
	z.isControlled = e.await(class, count) && s.isReached // else the run has ended early
	return z.now, z.isControlled
}

// AwaitTask goes on until a transfer has ended and returns the time. It returns false where the run ends before, as
// Makespan does.
func (e *Evaluator) AwaitTask(id int32) (engine.Time, bool) {
	z := e.sim
	if z.phase[id] == phaseDone {
		return z.now, true
	}
	z.control.awaitedTask = id
	z.isControlled = e.await(noClass, 0) && z.control.isReached
	z.control.awaitedTask = noTask
	return z.now, z.isControlled
}

// Record makes the runs that follow keep what Trace returns.
func (e *Evaluator) Record() { e.sim.record(true) }

// Trace returns the trace of the last run, which must have ended since Record was called.
func (e *Evaluator) Trace() *engine.Trace {
	t := e.sim.trace()
	t.Start, t.End = slices.Clone(t.Start), slices.Clone(t.End)
	return t
}

// AwaitLast goes on until the last transfer of some class has ended, and returns the time. It returns false where the run
// ends before.
func (e *Evaluator) AwaitLast() (engine.Time, bool) {
	z := e.sim
	z.isControlled = e.await(anyClass, 0) && z.control.isReached
	return z.now, z.isControlled
}

// AwaitTime goes on until a time, unless that has passed, and returns the time. It returns false where nothing is left to be simulated before, and where the run ends
// early, as Makespan does, which Finish then tells.
func (e *Evaluator) AwaitTime(t engine.Time) (engine.Time, bool) {
	z := e.sim
	if t <= z.now || z.numEnded == z.tasks {
		return z.now, z.numEnded < z.tasks
	}
	e.ChangeLater(t, noLink, 0)
	z.isControlled = e.await(noClass, 0)
	return z.now, z.isControlled && z.control.isReached
}

// noLink is that of changes at which a run in stages stops.
const noLink = -1

// await goes on until what is waited for is reached, or the run ends; false where it ends early.
func (e *Evaluator) await(class, count int32) bool {
	z, s := e.sim, e.sim.control
	s.awaitedClass, s.awaitedCount, s.isReached = class, count, false
	if len(z.dirty) > 0 {
		z.shareCapacity()
	}
	return z.runEvents()
}

// Ended returns how many transfers of a class have ended, and how many it has.
func (e *Evaluator) Ended(class int32) (ended, total int32) {
	return e.sim.control.ended[class], e.sim.control.total[class]
}

// Left adds to bytes, by link, what is left to be carried over each.
func (e *Evaluator) Left(bytes []float64) {
	z := e.sim
	for id := range z.tasks {
		if z.phase[id] == phaseDone {
			continue
		}
		rem := z.bits[id]
		if z.phase[id] == phaseRunning {
			rem = max(0, z.remaining[id]-z.rate[id]*float64(z.now-z.updatedAt[id]))
		}
		for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
			if r := int(z.useRes[u]); r < len(bytes) {
				bytes[r] += rem / 8 * z.useWeight[u]
			}
		}
	}
}

// Finish goes on to the end of the run.
func (e *Evaluator) Finish() (engine.Time, bool) {
	z := e.sim
	ok := z.isControlled && (z.numEnded == z.tasks || e.await(noClass, 0))
	z.isControlled = false
	return z.makespan, ok
}

// ChangeNow sets a link's capacity from here on, in bits per second.
func (e *Evaluator) ChangeNow(link int32, bitsPerSecond float64) {
	e.sim.capacity[link] = bitsPerSecond * perTick
	e.sim.markDirty(link)
}

// ChangeLater sets it from a time on, and returns a number by which Drop knows the change.
func (e *Evaluator) ChangeLater(t engine.Time, link int32, bitsPerSecond float64) int {
	z, s := e.sim, e.sim.control
	k := len(s.laterChanges)
	s.laterChanges = append(s.laterChanges, engine.Change{At: t, Link: link, Rate: bitsPerSecond})
	id := 2*z.tasks + len(z.net.Changes) + k
	z.queue.Grow(id + 1)
	z.queue.Set(int32(id), t)
	return k
}

// change returns the change that an event of the queue stands for.
func (z *sim) change(id int32) engine.Change {
	k := int(id) - 2*z.tasks
	if n := len(z.net.Changes); k >= n {
		return z.control.laterChanges[k-n]
	}
	return z.net.Changes[k]
}

// countEnd counts the end of a transfer.
func (s *controlledRun) countEnd(id int32) {
	if id == s.awaitedTask {
		s.isReached = true
	}
	c := s.class[id]
	if c < 0 {
		return
	}
	s.ended[c]++
	if c == s.awaitedClass && s.ended[c] >= s.awaitedCount || s.awaitedClass == anyClass && s.ended[c] == s.total[c] {
		s.isReached = true
	}
}

// Drop takes back a change that is yet to come.
func (e *Evaluator) Drop(change int) {
	e.sim.queue.Remove(int32(2*e.sim.tasks + len(e.sim.net.Changes) + change))
}
