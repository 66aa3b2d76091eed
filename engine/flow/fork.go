package flow

import "sim/engine"

// fork is the state of a run at the time when what is to vary first matters.
type fork struct {
	state
	whole, dead bool // simulated to its end; cut off
	hold        []bool
}

// Fork simulates the graph at the current capacities up to the first start of a transfer that uses one of the given
// resources, and keeps the state. Resume then simulates from there for other capacities of these resources, as often as
// wanted, for the cost of the remainder alone. The capacities at the time of Fork must be the largest that Resume will
// see, so that what cut-offs conclude from them holds for all. Only for the fair services: priorities look ahead to
// what is still open.
func (e *Evaluator) Fork(resources []int32, cutoff engine.Time) {
	z := e.z
	if e.f == nil {
		e.f = &fork{state: newState(z.model), hold: make([]bool, z.tasks)}
	}
	f := e.f
	clear(f.hold)
	for _, r := range resources {
		for _, u := range z.resUse[z.resStart[r]:z.resStart[r+1]] {
			f.hold[z.useTask[u]] = true
		}
	}
	z.hold, z.held = f.hold, false
	ok := z.simulate(cutoff)
	z.hold = nil
	f.dead, f.whole = !ok, ok && !z.held
	f.copyFrom(&z.state)
}

// Resume is Makespan from the state that Fork kept.
func (e *Evaluator) Resume(cutoff engine.Time) (engine.Time, bool) {
	z, f := e.z, e.f
	if z.stopped = z.ctx.Err() != nil; f.dead || z.stopped {
		return 0, false
	}
	if f.whole {
		return f.makespan, f.makespan < cutoff
	}
	z.copyFrom(&f.state)
	z.stack, z.cutoff, z.kept.valid = z.stack[:0], cutoff, false
	copy(z.rates, z.initial)
	for i, c := range z.net.Changes {
		if !z.queue.Has(int32(2*z.tasks + i)) { // it has been made
			z.rates[c.Link] = c.Rate * perTick
		}
	}
	if z.makespan >= cutoff {
		return 0, false
	}
	ok := z.proceed()
	return z.makespan, ok
}
