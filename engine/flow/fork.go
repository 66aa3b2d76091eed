package flow

import "sim/engine"

// fork is the state of a play at the time when what is to vary first matters.
type fork struct {
	queue       *engine.Queue
	now         engine.Time
	ready       []engine.Time
	left        []int32
	state       []uint8
	rem, rate   []float64
	since       []engine.Time
	next, prev  []int32
	head        []int32
	active      []int32
	dirty       []int32
	ended       int
	events      int64
	makespan    engine.Time
	whole, dead bool // played to its end; cut off
	hold        []bool
}

// Fork plays the graph at the current capacities up to the first start of a
// transfer that uses one of the given resources, and keeps the state. Resume
// then plays from there for other capacities of these resources, as often as
// wanted, for the cost of the remainder alone. The capacities at the time of
// Fork must be the largest that Resume will see, so that what cut-offs conclude
// from them holds for all. Only for the fair services: priorities look ahead to
// what is still open.
func (e *Evaluator) Fork(resources []int32, cutoff engine.Time) {
	z := e.z
	if e.f == nil {
		e.f = &fork{queue: engine.NewQueue(2*z.tasks + len(z.net.Changes)), hold: make([]bool, z.tasks)}
	}
	f := e.f
	clear(f.hold)
	for _, r := range resources {
		for _, u := range z.resUse[z.resStart[r]:z.resStart[r+1]] {
			f.hold[z.useTask[u]] = true
		}
	}
	z.hold, z.held = f.hold, false
	ok := z.play(cutoff)
	z.hold = nil
	f.dead, f.whole = !ok, ok && !z.held
	f.save(z)
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
	f.restore(z)
	z.cutoff = cutoff
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

func (f *fork) save(z *sim) {
	f.queue.CopyFrom(z.queue)
	f.now, f.ended, f.events, f.makespan = z.now, z.ended, z.events, z.makespan
	f.ready = append(f.ready[:0], z.ready...)
	f.left = append(f.left[:0], z.left...)
	f.state = append(f.state[:0], z.state...)
	f.rem = append(f.rem[:0], z.rem...)
	f.rate = append(f.rate[:0], z.rate...)
	f.since = append(f.since[:0], z.since...)
	f.next = append(f.next[:0], z.next...)
	f.prev = append(f.prev[:0], z.prev...)
	f.head = append(f.head[:0], z.head...)
	f.active = append(f.active[:0], z.active...)
	f.dirty = append(f.dirty[:0], z.dirty...)
}

func (f *fork) restore(z *sim) {
	z.queue.CopyFrom(f.queue)
	z.now, z.ended, z.events, z.makespan = f.now, f.ended, f.events, f.makespan
	copy(z.ready, f.ready)
	copy(z.left, f.left)
	copy(z.state, f.state)
	copy(z.rem, f.rem)
	copy(z.rate, f.rate)
	copy(z.since, f.since)
	copy(z.next, f.next)
	copy(z.prev, f.prev)
	copy(z.head, f.head)
	copy(z.active, f.active)
	for _, r := range z.dirty {
		z.dirtyMark[r] = false
	}
	z.dirty = append(z.dirty[:0], f.dirty...)
	for _, r := range z.dirty {
		z.dirtyMark[r] = true
	}
	z.stack = z.stack[:0]
}
