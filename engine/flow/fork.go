package flow

import "sim/engine"

// fork is the state of a run at the time when what is to vary first matters.
type fork struct {
	runState
	isComplete, isCutOff bool // simulated to its end; cut off
	stopBefore           []bool
}

// Fork simulates the graph at the current capacities up to the first start of a transfer that uses one of the given
// resources, and keeps the state. Resume then simulates from there for other capacities of these resources, as often as
// wanted, for the cost of the remainder alone. The capacities at the time of Fork must be the largest that Resume will
// see, so that what cut-offs conclude from them holds for all. Only for the fair services: priorities look ahead to
// what is still open.
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
	f.copyFrom(&z.runState)
}

// Resume is Makespan from the state that Fork kept.
func (e *Evaluator) Resume(cutoff engine.Time) (engine.Time, bool) {
	z, f := e.sim, e.fork
	if z.cancelled = z.ctx.Err() != nil; f.isCutOff || z.cancelled {
		return 0, false
	}
	if f.isComplete {
		return f.makespan, f.makespan < cutoff
	}
	z.copyFrom(&f.runState)
	z.stack, z.cutoff, z.incremental.valid = z.stack[:0], cutoff, false
	copy(z.capacity, z.initialCapacity)
	for i, c := range z.net.Changes {
		if !z.queue.Has(int32(2*z.tasks + i)) { // it has been made
			z.capacity[c.Link] = c.Rate * perTick
		}
	}
	if z.makespan >= cutoff {
		return 0, false
	}
	ok := z.runEvents()
	return z.makespan, ok
}
