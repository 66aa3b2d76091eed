package topology

import (
	"slices"

	"sim/engine"
)

// SwitchTiming describes how circuits change.
type SwitchTiming struct {
	// Delay is the reconfiguration delay: an added circuit carries nothing for this time
	// after its ports are free.
	Delay    engine.Time
	StopsAll bool // all circuits of the switch stop while some change
}

// Step is a change of circuits during an iteration.
type Step struct {
	// Bundle and Count define when the step is made: when Count transfers of Bundle have
	// ended and the previous step has been made. Bundle AtEnd means at the end of the
	// iteration, and AtTime means at Time after its start. If everything was carried
	// before, the step is not made, nor are later ones except those at the end.
	Bundle, Count int
	Time          engine.Time
	// Carried lists further bundles whose transfers must all have ended.
	Carried  []int
	Circuits []int // new topology, indexed by bundle
}

// Special values of Step.Bundle: the end of the iteration, and Step.Time.
const (
	AtEnd  = -1
	AtTime = -2
)

// Sequence is a sequence of topologies that is used in every iteration. Its last topology
// equals its first. A sequence with steps at fixed times ends with a step at the end.
type Sequence struct {
	// First is the topology at the start of an iteration, indexed by bundle. Bundles that
	// carry nothing yet may have no circuit.
	First []int
	Steps []Step
}

// Topologies returns the first topology and the topology after each step.
func (q *Sequence) Topologies() [][]int {
	all := [][]int{q.First}
	for _, s := range q.Steps {
		all = append(all, s.Circuits)
	}
	return all
}

// clone returns an independent copy.
func (q *Sequence) clone() *Sequence {
	c := &Sequence{First: slices.Clone(q.First), Steps: slices.Clone(q.Steps)}
	for i := range c.Steps {
		c.Steps[i].Circuits = slices.Clone(c.Steps[i].Circuits)
	}
	return c
}

// removeUnchanged removes the steps that change nothing.
func (q *Sequence) removeUnchanged() {
	before := q.First
	q.Steps = slices.DeleteFunc(q.Steps, func(s Step) bool {
		same := slices.Equal(s.Circuits, before)
		before = s.Circuits
		return same
	})
}

// Run is one iteration of a sequence.
type Run struct {
	Makespan engine.Time
	// Fired is the time of each step from the start of the iteration; engine.Never if the
	// step was not made.
	Fired []engine.Time
}

// circuitSetup is a number of circuits of a bundle that are being set up.
type circuitSetup struct {
	at engine.Time // time from which they carry data
	n  int
}

// sequenceSimulator simulates sequences. It must be used by one goroutine at a time.
type sequenceSimulator struct {
	evaluator *circuitEvaluator
	SwitchTiming
	target       []int            // assigned circuits, including those being set up, indexed by bundle
	setups       [][]circuitSetup // circuits being set up, indexed by bundle, in order of time
	scheduled    [][][]int        // scheduled rate changes, indexed by bundle and link of the bundle
	stoppedUntil engine.Time      // time until which all circuits are stopped
	current      Run              // iteration being simulated
	// If not nil, these are called for each step that is made before the end of the
	// iteration. drain is called first; it may advance the simulation and returns the
	// time reached. observe is called just before the step is made.
	drain   func(step int, now engine.Time) (engine.Time, bool)
	observe func(step int)
}

// newSequenceSimulator returns a simulator of sequences that uses w. It is valid until w
// is released.
func (w *circuitEvaluator) newSequenceSimulator() *sequenceSimulator {
	p := w.problem
	w.PrepareControl(p.bundleOfTask(), len(p.Fabric.Bundles))
	r := &sequenceSimulator{evaluator: w, SwitchTiming: p.Switching,
		target:    make([]int, len(p.Fabric.Bundles)),
		setups:    make([][]circuitSetup, len(p.Fabric.Bundles)),
		scheduled: make([][][]int, len(p.Fabric.Bundles))}
	for e, b := range p.Fabric.Bundles {
		r.scheduled[e] = make([][]int, len(b.Links))
	}
	return r
}

// bundleOfLink returns the bundle of each link.
func (p *Problem) bundleOfLink() []int32 {
	bundles := make([]int32, len(p.Fabric.Network.Links))
	for e, b := range p.Fabric.Bundles {
		for _, l := range b.Links {
			bundles[l] = int32(e)
		}
	}
	return bundles
}

// bundleOfTask returns the bundle of each task; -1 if the task uses none.
func (p *Problem) bundleOfTask() []int32 {
	bundles, bundleOfLink := slices.Repeat([]int32{-1}, len(p.Graph.Tasks)), p.bundleOfLink()
	for _, id := range p.networkTransfers() {
		for _, u := range p.Fabric.Routes.Of(id) {
			if int(u.Resource) < len(bundleOfLink) {
				bundles[id] = bundleOfLink[u.Resource]
			}
		}
	}
	return bundles
}

// pendingSetup is the state of the circuits at the start of an iteration: changes of the
// previous iteration that are not complete.
type pendingSetup struct {
	setups     [][]circuitSetup // indexed by bundle; nil means no circuit is being set up
	stoppedFor engine.Time      // time for which all circuits are still stopped
}

// run simulates an iteration that starts in state from and returns the state at its end.
// It returns false if the makespan reaches cutoff or the iteration cannot end.
func (r *sequenceSimulator) run(q *Sequence, from *pendingSetup, cutoff engine.Time) (to pendingSetup, ok bool) {
	if !r.startIteration(q.First, q.MaxCircuits(), from, cutoff) {
		return to, false
	}

	// Make the steps before the end of the iteration.
	last := 0
	for ; last < len(q.Steps) && q.Steps[last].Bundle != AtEnd; last++ {
		s := &q.Steps[last]
		var now engine.Time
		if s.Bundle == AtTime {
			if now, ok = r.evaluator.AwaitTime(s.Time); !ok {
				break
			}
		} else if now, ok = r.evaluator.Await(int32(s.Bundle), int32(s.Count)); !ok {
			return to, false
		}
		for _, e := range s.Carried {
			_, all := r.evaluator.Ended(int32(e))
			if now, ok = r.evaluator.Await(int32(e), all); !ok {
				return to, false
			}
		}
		if r.drain != nil {
			if now, ok = r.drain(last, now); !ok {
				return to, false
			}
		}
		if r.observe != nil {
			r.observe(last)
		}
		r.applyStep(now, s.Circuits, duringIteration)
	}

	// Complete the iteration, then make the steps at its end.
	if r.current.Makespan, ok = r.evaluator.Finish(); !ok {
		return to, false
	}
	for ; last < len(q.Steps); last++ {
		switch s := &q.Steps[last]; {
		case s.Bundle == AtEnd:
			r.applyStep(r.current.Makespan, s.Circuits, atIterationEnd)
		default:
			r.current.Fired = append(r.current.Fired, engine.Never)
		}
	}

	return r.endState(), true
}

// startIteration starts an iteration in state from with topology first. maxCircuits is
// the maximum number of circuits of each bundle during the iteration.
func (r *sequenceSimulator) startIteration(first, maxCircuits []int, from *pendingSetup, cutoff engine.Time) bool {
	copy(r.target, first)
	r.stoppedUntil = from.stoppedFor
	for e, b := range r.evaluator.problem.Fabric.Bundles {
		r.setups[e] = append(r.setups[e][:0], from.setupsOf(e)...)
		for _, l := range b.Links {
			r.evaluator.SetRate(l, r.rate(e, r.activeCircuits(e, 0)))
			r.evaluator.SetPeak(l, r.rate(e, maxCircuits[e]))
		}
	}

	if !r.evaluator.Begin(cutoff) {
		return false
	}
	for e := range r.setups {
		for i := range r.scheduled[e] {
			r.scheduled[e][i] = r.scheduled[e][i][:0]
		}
		r.scheduleSetups(e, 0)
	}

	r.current.Fired = r.current.Fired[:0]
	return true
}

// endState returns the state at the end of the iteration.
func (r *sequenceSimulator) endState() pendingSetup {
	end := r.current.Makespan
	to := pendingSetup{setups: make([][]circuitSetup, len(r.setups)), stoppedFor: max(0, r.stoppedUntil-end)}
	for e, list := range r.setups {
		for _, a := range list {
			if a.at > end {
				to.setups[e] = append(to.setups[e], circuitSetup{at: a.at - end, n: a.n})
			}
		}
	}
	return to
}

// setupsOf returns the circuits of bundle e that are being set up.
func (h *pendingSetup) setupsOf(e int) []circuitSetup {
	if h.setups == nil {
		return nil
	}
	return h.setups[e]
}

// equal reports whether two states are identical.
func (h *pendingSetup) equal(g *pendingSetup) bool {
	for e := range max(len(h.setups), len(g.setups)) {
		if !slices.Equal(h.setupsOf(e), g.setupsOf(e)) {
			return false
		}
	}
	return h.stoppedFor == g.stoppedFor
}

// rate returns the rate of n circuits of bundle e.
func (r *sequenceSimulator) rate(e, n int) float64 {
	return float64(n) * r.evaluator.problem.Fabric.Rate(e)
}

// activeCircuits returns the circuits of bundle e that carry data at a time: the assigned
// ones without those being set up; none while all circuits are stopped.
func (r *sequenceSimulator) activeCircuits(e int, now engine.Time) int {
	if now < r.stoppedUntil {
		return 0
	}
	n := r.target[e]
	for _, a := range r.setups[e] {
		if a.at > now {
			n -= a.n
		}
	}
	return n
}

// scheduleSetups recomputes the scheduled rate changes of bundle e from its setups.
func (r *sequenceSimulator) scheduleSetups(e int, now engine.Time) {
	for i, l := range r.evaluator.problem.Fabric.Bundles[e].Links {
		for _, k := range r.scheduled[e][i] {
			r.evaluator.CancelChange(k)
		}
		r.scheduled[e][i] = r.scheduled[e][i][:0]
		schedule := func(t engine.Time) {
			r.scheduled[e][i] = append(r.scheduled[e][i],
				r.evaluator.ChangeLater(t, l, r.rate(e, r.activeCircuits(e, t))))
		}
		if r.stoppedUntil > now {
			schedule(r.stoppedUntil)
		}
		for _, a := range r.setups[e] {
			if a.at > now && a.at >= r.stoppedUntil {
				schedule(a.at)
			}
		}
	}
}

// Values of the parameter live of applyStep.
const (
	duringIteration = true
	atIterationEnd  = false
)

// applyStep makes a step at a given time. Removed circuits stop immediately; circuits that are
// being set up are removed first. Added circuits carry data after the delay. live states whether
// the simulation of the iteration continues.
func (r *sequenceSimulator) applyStep(now engine.Time, to []int, live bool) {
	r.current.Fired = append(r.current.Fired, now)
	same := slices.Equal(to, r.target)
	p := r.evaluator.problem
	up := now + r.Delay
	if r.StopsAll && !same && r.Delay > 0 {
		r.stoppedUntil = up
	}
	for e, n := range to {
		// d is the number of circuits that the bundle gains.
		d := n - r.target[e]
		if d == 0 && (same || !r.StopsAll) {
			continue
		}
		r.target[e] = n
		list := slices.DeleteFunc(r.setups[e], func(a circuitSetup) bool { return a.at <= now })
		if d > 0 && up > now {
			list = append(list, circuitSetup{at: up, n: d})
		}
		for ; d < 0 && len(list) > 0; d++ {
			if list[len(list)-1].n--; list[len(list)-1].n == 0 {
				list = list[:len(list)-1]
			}
		}
		r.setups[e] = list
		if live {
			for _, l := range p.Fabric.Bundles[e].Links {
				r.evaluator.ChangeNow(l, r.rate(e, r.activeCircuits(e, now)))
			}
			r.scheduleSetups(e, now)
		}
	}
}

// maxIterations is the number of iterations after which a sequence that does not repeat
// is given up.
const maxIterations = 32

// iterationCycle is a list of consecutive iterations, the first with its topology in
// place. The iterations from index start on repeat.
type iterationCycle struct {
	runs        []Run
	startStates []pendingSetup // state at the start of each iteration
	start       int
}

// meanMakespan returns the mean makespan of the iterations that repeat.
func (o *iterationCycle) meanMakespan() engine.Time {
	sum := engine.Time(0)
	for _, m := range o.runs[o.start:] {
		sum += m.Makespan
	}
	return sum / engine.Time(len(o.runs)-o.start)
}

// simulateCycle simulates consecutive iterations until one starts in the same state as an
// earlier one. From there on they repeat, because the state at the start determines the
// iteration.
func (r *sequenceSimulator) simulateCycle(q *Sequence) (cycle iterationCycle, ok bool) {
	state := pendingSetup{}
	for len(cycle.runs) < maxIterations {
		if cycle.start = slices.IndexFunc(cycle.startStates, func(h pendingSetup) bool { return h.equal(&state) }); cycle.start >= 0 {
			return cycle, true
		}
		next, ok := r.run(q, &state, never)
		if !ok {
			return cycle, false
		}
		cycle.runs = append(cycle.runs, Run{Makespan: r.current.Makespan, Fired: slices.Clone(r.current.Fired)})
		cycle.startStates, state = append(cycle.startStates, state), next
	}
	return cycle, false
}
