package flow

import "sim/engine"

// fork is a saved state of a run, taken before the first event that depends on the resources
// that vary.
type fork struct {
	runState
	isComplete bool   // the run ended without such an event
	isCutOff   bool   // the run was cut off
	stopBefore []bool // transfers that use a varying resource, indexed by task
}

// Fork simulates the graph at the current capacities up to the first start of a transfer that
// uses one of the given resources, and saves the state. Resume then simulates the remainder for
// other capacities of these resources, any number of times.
//
// The capacities during Fork must be the largest that Resume will see, so that its cut-offs are
// valid for all of them. Fork must not be used with LevelPriority and TailPriority, because the
// longest path from a transfer to the end of the graph depends on the capacities of transfers that
// have not started.
func (e *Evaluator) Fork(resources []int32, cutoff engine.Time) {
	z := e.sim
	if e.fork == nil {
		e.fork = &fork{runState: newRunState(z.model), stopBefore: make([]bool, z.tasks)}
	}

	f := e.fork
	clear(f.stopBefore)
	for _, r := range resources {
		for _, u := range z.resUse[z.resStart[r]:z.resStart[r+1]] {
			f.stopBefore[z.useTask[u]] = true
		}
	}
	z.stopBefore, z.reachedStop = f.stopBefore, false
	ok := z.run(cutoff)
	z.stopBefore = nil
	f.isCutOff, f.isComplete = !ok, ok && !z.reachedStop
	z.releaseTasks()
	f.copyFrom(&z.runState)
}

// Resume continues from the state that Fork saved. It returns the makespan, or false in the cases in
// which Makespan does.
func (e *Evaluator) Resume(cutoff engine.Time) (engine.Time, bool) {
	z, f := e.sim, e.fork
	if z.cancelled = z.ctx.Err() != nil; f.isCutOff || z.cancelled {
		return 0, false
	}
	if f.isComplete {
		return f.makespan, f.makespan < cutoff
	}
	z.copyFrom(&f.runState)
	// Fork stops between events, when the stack is empty and all shares can be computed again.
	z.stack, z.cutoff, z.incremental.valid = z.stack[:0], cutoff, false

	copy(z.capacity, z.initialCapacity)
	for i, c := range z.net.Changes {
		if !z.queue.Has(z.changeEvent(i)) { // the change has been applied
			z.capacity[c.Link] = c.Rate * perTick
		}
	}

	if z.makespan >= cutoff {
		return 0, false
	}
	ok := z.runEvents()
	return z.makespan, ok
}
