package flow

import (
	"slices"

	"sim/engine"
)

// This file lets policies that reconfigure a network control a run while it takes place. The
// run is a run of sim, the simulator of an Evaluator (sim.go): startRun begins it, and
// runEvents continues it until it ends or until controlledRun.isReached is set.

// controlledRun is the additional state of a controlled run. A controller starts the run with
// Begin, continues it to chosen events with the Await methods, changes capacities in between,
// and ends it with Finish. Transfers are counted by class as they end. The controller chooses
// the classes, such as one per bundle of circuits.
//
// A run ends early, without a makespan, in the cases of Evaluator.Makespan: it reaches the
// cut-off, nothing can proceed, or the context is cancelled.
type controlledRun struct {
	class []int32 // indexed by task; noClass for tasks that are not counted
	total []int32 // number of transfers, indexed by class
	ended []int32 // number of ended transfers, indexed by class
	// awaitedClass is the class whose count is awaited, noClass, or anyClass for the last
	// transfer of any class.
	awaitedClass int32
	awaitedCount int32 // the number of ended transfers of awaitedClass that is awaited
	awaitedTask  int32 // the transfer whose end is awaited, or noTask
	isReached    bool  // the awaited event has occurred

	laterChanges []engine.Change // changes added by ChangeLater in this run
	peak         []float64       // highest capacity ever, in bits per tick, indexed by resource
}

// PrepareControl enables controlled runs, in which transfers are counted by class as they end.
// class is indexed by task. It is a number below classes, or -1 for tasks that are not counted.
// It must not change while the evaluator is in use.
func (e *Evaluator) PrepareControl(class []int32, classes int) {
	s := &controlledRun{
		awaitedTask: noTask, class: class,
		total: make([]int32, classes), ended: make([]int32, classes),
		peak: make([]float64, e.sim.resources)}
	for _, c := range class {
		if c >= 0 {
			s.total[c]++
		}
	}
	e.sim.control = s
}

// Special values of controlledRun.awaitedClass. For these, awaitedCount is noCount.
const (
	noClass  = -1
	anyClass = -2

	noCount = 0
)

// noTask means that the end of no task is awaited.
const noTask = -1

// SetPeak sets the highest capacity that a resource can have in controlled runs, in bits per
// second. Cut-offs and priorities use it, as they use Network.Changes in other runs.
func (e *Evaluator) SetPeak(resource int32, bitsPerSecond float64) {
	e.sim.control.peak[resource] = bitsPerSecond * perTick
}

// Begin starts a controlled run at the current capacities. It returns false if the run has
// ended early.
func (e *Evaluator) Begin(cutoff engine.Time) bool {
	z := e.sim
	clear(z.control.ended)
	z.control.laterChanges = z.control.laterChanges[:0]
	z.isControlled = true
	z.isControlled = z.startRun(cutoff)
	return z.isControlled
}

// Await continues until the given number of transfers of a class have ended, and returns the
// time. It returns false if the run ends early.
func (e *Evaluator) Await(class, count int32) (engine.Time, bool) {
	z, s := e.sim, e.sim.control
	if s.ended[class] >= count {
		return z.now, true
	}
	z.isControlled = e.await(class, count) && s.isReached // otherwise the run has ended
	return z.now, z.isControlled
}

// AwaitTask continues until a transfer has ended, and returns the time. It returns false if the
// run ends before.
func (e *Evaluator) AwaitTask(id int32) (engine.Time, bool) {
	z := e.sim
	if z.phase[id] == phaseDone {
		return z.now, true
	}
	z.control.awaitedTask = id
	z.isControlled = e.await(noClass, noCount) && z.control.isReached
	z.control.awaitedTask = noTask
	return z.now, z.isControlled
}

// Record makes the following runs record the trace that Trace returns. If rates is set, the
// trace includes the rates of transfers.
func (e *Evaluator) Record(rates bool) { e.sim.record(rates) }

// Trace returns the trace of the last run. The run must have been started after Record and
// have ended.
func (e *Evaluator) Trace() *engine.Trace {
	t := e.sim.trace()
	t.Start, t.End = slices.Clone(t.Start), slices.Clone(t.End)
	return t
}

// AwaitLast continues until the last transfer of some class has ended, and returns the time. It
// returns false if the run ends before.
func (e *Evaluator) AwaitLast() (engine.Time, bool) {
	z := e.sim
	z.isControlled = e.await(anyClass, noCount) && z.control.isReached
	return z.now, z.isControlled
}

// AwaitTime continues until a time and returns it; if the time has passed, it returns the
// current time. It returns false if all tasks end before, or if the run ends early; Finish
// distinguishes these.
func (e *Evaluator) AwaitTime(t engine.Time) (engine.Time, bool) {
	z := e.sim
	if t <= z.now || z.numEnded == z.tasks {
		return z.now, z.numEnded < z.tasks
	}
	const noRate = 0 // the change only stops the run
	e.ChangeLater(t, noLink, noRate)
	z.isControlled = e.await(noClass, noCount)
	return z.now, z.isControlled && z.control.isReached
}

// noLink is the link of a change that only stops a controlled run.
const noLink = -1

// await continues until the awaited event occurs or the run ends. class and count are
// awaitedClass and awaitedCount. It returns false if the run ends early.
func (e *Evaluator) await(class, count int32) bool {
	z, s := e.sim, e.sim.control
	s.awaitedClass, s.awaitedCount, s.isReached = class, count, false
	if len(z.dirty) > 0 {
		z.shareCapacity()
	}
	return z.runEvents()
}

// Ended returns the number of ended transfers of a class and their total number.
func (e *Evaluator) Ended(class int32) (ended, total int32) {
	return e.sim.control.ended[class], e.sim.control.total[class]
}

// AddRemaining adds to bytes, which is indexed by link, the bytes that each link still has to
// carry: of transfers that run or have not started.
func (e *Evaluator) AddRemaining(bytes []float64) {
	z := e.sim
	for id := range z.tasks {
		if z.phase[id] == phaseDone {
			continue
		}
		rem := z.bits[id]
		if z.phase[id] == phaseRunning {
			rem = z.remainingBits(int32(id))
		}
		for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
			if r := int(z.useRes[u]); r < len(bytes) {
				bytes[r] += rem / 8 * z.useWeight[u]
			}
		}
	}
}

// Finish continues a controlled run to its end. It returns what Makespan would return.
func (e *Evaluator) Finish() (engine.Time, bool) {
	z := e.sim
	ok := z.isControlled && (z.numEnded == z.tasks || e.await(noClass, noCount))
	z.isControlled = false
	return z.makespan, ok
}

// ChangeNow sets the capacity of a link from the current time on, in bits per second.
func (e *Evaluator) ChangeNow(link int32, bitsPerSecond float64) {
	e.sim.capacity[link] = bitsPerSecond * perTick
	e.sim.markDirty(link)
}

// ChangeLater sets the capacity of a link from time t on, in bits per second. It returns a
// number for CancelChange.
func (e *Evaluator) ChangeLater(t engine.Time, link int32, bitsPerSecond float64) int {
	z, s := e.sim, e.sim.control
	k := len(s.laterChanges)
	s.laterChanges = append(s.laterChanges, engine.Change{At: t, Link: link, Rate: bitsPerSecond})
	id := z.changeEvent(len(z.net.Changes) + k)
	z.queue.Grow(int(id) + 1)
	z.queue.Set(id, t)
	return k
}

// change returns the change of a change event. The changes of the network come first, and then
// laterChanges; see sim.changeEvent.
func (z *sim) change(id int32) engine.Change {
	k := int(id) - 2*z.tasks
	if n := len(z.net.Changes); k >= n {
		return z.control.laterChanges[k-n]
	}
	return z.net.Changes[k]
}

// countEnd counts the end of a transfer and checks whether it is the awaited event.
func (s *controlledRun) countEnd(id int32) {
	if id == s.awaitedTask {
		s.isReached = true
	}
	c := s.class[id]
	if c < 0 {
		return
	}
	s.ended[c]++
	if c == s.awaitedClass && s.ended[c] >= s.awaitedCount ||
		s.awaitedClass == anyClass && s.ended[c] == s.total[c] {
		s.isReached = true
	}
}

// CancelChange removes a change that has not happened yet.
func (e *Evaluator) CancelChange(change int) {
	e.sim.queue.Remove(e.sim.changeEvent(len(e.sim.net.Changes) + change))
}
