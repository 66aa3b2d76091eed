package topology

import (
	"slices"

	"sim/engine"
	"sim/fabric"
)

// Switching says how circuits change.
type Switching struct {
	Delay engine.Time // for which a circuit that moves carries nothing, from its release at both ends
	Whole bool        // the switch holds all of its circuits while it changes some
}

// Step is a change of circuits in an iteration.
type Step struct {
	// Bundle and Count say when: as soon as so many of the transfers of that bundle have ended and the step before has
	// been made. AtEnd is the end of the iteration; AtTime is Time after its beginning; where all has been carried
	// before, the step is not made, nor are those between it and the end.
	Bundle, Count int
	Time          engine.Time
	// Carried are bundles that must have carried all their transfers, too.
	Carried  []int
	Circuits []int // by bundle, from then on
}

// Of Step.Bundle, beside bundles.
const (
	AtEnd  = -1
	AtTime = -2
)

// Sequence is circuits that change in an iteration, in the same way in every one. Its last topology is its first; one
// with steps at times ends with a step at the end.
type Sequence struct {
	First []int // by bundle, when an iteration begins; none are needed where nothing is carried yet
	Steps []Step
}

// Topologies returns the topologies in their order: that of the beginning, and those after each step.
func (q *Sequence) Topologies() [][]int {
	all := [][]int{q.First}
	for _, s := range q.Steps {
		all = append(all, s.Circuits)
	}
	return all
}

// clone returns a copy that shares nothing.
func (q *Sequence) clone() *Sequence {
	c := &Sequence{First: slices.Clone(q.First), Steps: slices.Clone(q.Steps)}
	for i := range c.Steps {
		c.Steps[i].Circuits = slices.Clone(c.Steps[i].Circuits)
	}
	return c
}

// removeUnchanged drops the steps that change nothing.
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
	Fired    []engine.Time // by step, from the iteration's beginning; engine.Never of those that were not made
}

// circuitSetup is circuits of a bundle that are being set up.
type circuitSetup struct {
	at engine.Time // from which they carry
	n  int
}

// sequenceSimulator simulates sequences; one a goroutine.
type sequenceSimulator struct {
	evaluator *circuitEvaluator
	Switching
	target       []int            // circuits by bundle, those being set up included
	setups       [][]circuitSetup // by bundle, in order of time
	scheduled    [][][]int        // and their changes, by link of the bundle
	stoppedUntil engine.Time      // all circuits are held until then
	current      Run
	// Called for each step that is made before the end of the iteration, if not nil: observe just before the step is
	// made, and drain first, which may go on with the run and returns the time that it has come to.
	drain   func(step int, now engine.Time) (engine.Time, bool)
	observe func(step int)
}

// newSequenceSimulator returns what simulates sequences with w, until done is called on it.
func (w *circuitEvaluator) newSequenceSimulator() *sequenceSimulator {
	p := w.problem
	w.Stage(p.bundleOfTask(), len(p.Fabric.Bundles))
	r := &sequenceSimulator{evaluator: w, Switching: p.Switching, target: make([]int, len(p.Fabric.Bundles)), setups: make([][]circuitSetup, len(p.Fabric.Bundles)), scheduled: make([][][]int, len(p.Fabric.Bundles))}
	for e, b := range p.Fabric.Bundles {
		r.scheduled[e] = make([][]int, len(b.Links))
	}
	return r
}

// bundleOfLink returns the bundle of each link.
func (p *Problem) bundleOfLink() []int32 {
	of := make([]int32, len(p.Fabric.Network.Links))
	for e, b := range p.Fabric.Bundles {
		for _, l := range b.Links {
			of[l] = int32(e)
		}
	}
	return of
}

// bundleOfTask returns by task the bundle over which it goes, -1 of none.
func (p *Problem) bundleOfTask() []int32 {
	class, of := slices.Repeat([]int32{-1}, len(p.Graph.Tasks)), p.bundleOfLink()
	for _, id := range p.networkTransfers() {
		for _, u := range p.Fabric.Routes.Of(id) {
			if int(u.Resource) < len(of) {
				class[id] = of[u.Resource]
			}
		}
	}
	return class
}

// pendingSetup is what circuits still do when an iteration begins: what is being set up by bundle, and until when all are
// held.
type pendingSetup struct {
	setups     [][]circuitSetup
	stoppedFor engine.Time
}

// run simulates an iteration that begins in a state, and returns that of its end. It returns false where the makespan
// reaches cutoff, or the iteration cannot end.
func (r *sequenceSimulator) run(q *Sequence, from *pendingSetup, cutoff engine.Time) (to pendingSetup, ok bool) {
	if !r.startIteration(q.First, q.Most(), from, cutoff) {
		return to, false
	}
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
		r.applyStep(now, s.Circuits, true)
	}
	if r.current.Makespan, ok = r.evaluator.Finish(); !ok {
		return to, false
	}
	for ; last < len(q.Steps); last++ {
		switch s := &q.Steps[last]; {
		case s.Bundle == AtEnd:
			r.applyStep(r.current.Makespan, s.Circuits, false)
		default:
			r.current.Fired = append(r.current.Fired, engine.Never)
		}
	}
	return r.endState(), true
}

// startIteration begins an iteration in a state with circuits by bundle, and most that it will ever have.
func (r *sequenceSimulator) startIteration(first, most []int, from *pendingSetup, cutoff engine.Time) bool {
	copy(r.target, first)
	r.stoppedUntil = from.stoppedFor
	for e, b := range r.evaluator.problem.Fabric.Bundles {
		r.setups[e] = append(r.setups[e][:0], from.setupsOf(e)...)
		for _, l := range b.Links {
			r.evaluator.SetRate(l, r.rate(e, r.activeCircuits(e, 0)))
			r.evaluator.SetPeak(l, r.rate(e, most[e]))
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

// endState returns what circuits still do at the end of the iteration.
func (r *sequenceSimulator) endState() pendingSetup {
	end := r.current.Makespan
	to := pendingSetup{setups: make([][]circuitSetup, len(r.setups)), stoppedFor: max(0, r.stoppedUntil-end)}
	for e, list := range r.setups {
		for _, a := range list {
			if a.at > end {
				to.setups[e] = append(to.setups[e], circuitSetup{a.at - end, a.n})
			}
		}
	}
	return to
}

// setupsOf returns what is being set up of bundle e.
func (h *pendingSetup) setupsOf(e int) []circuitSetup {
	if h.setups == nil {
		return nil
	}
	return h.setups[e]
}

func (h *pendingSetup) equal(g *pendingSetup) bool {
	for e := range max(len(h.setups), len(g.setups)) {
		if !slices.Equal(h.setupsOf(e), g.setupsOf(e)) {
			return false
		}
	}
	return h.stoppedFor == g.stoppedFor
}

// rate returns that of n circuits of bundle e.
func (r *sequenceSimulator) rate(e, n int) float64 {
	return float64(n) * r.evaluator.problem.Fabric.Rate(e)
}

// activeCircuits returns the circuits of bundle e that carry at a time: those that are not being set up, none while all are
// held.
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

// scheduleSetups schedules what is coming of bundle e.
func (r *sequenceSimulator) scheduleSetups(e int, now engine.Time) {
	for i, l := range r.evaluator.problem.Fabric.Bundles[e].Links {
		for _, k := range r.scheduled[e][i] {
			r.evaluator.Drop(k)
		}
		r.scheduled[e][i] = r.scheduled[e][i][:0]
		at := func(t engine.Time) {
			r.scheduled[e][i] = append(r.scheduled[e][i], r.evaluator.ChangeLater(t, l, r.rate(e, r.activeCircuits(e, t))))
		}
		if r.stoppedUntil > now {
			at(r.stoppedUntil)
		}
		for _, a := range r.setups[e] {
			if a.at > now && a.at >= r.stoppedUntil {
				at(a.at)
			}
		}
	}
}

// applyStep makes a step at a time: circuits of bundles that lose some stop at once, of those first that do not carry yet,
// and those of bundles that gain some carry after the delay. Live is while the iteration is simulated.
func (r *sequenceSimulator) applyStep(now engine.Time, to []int, live bool) {
	r.current.Fired = append(r.current.Fired, now)
	same := slices.Equal(to, r.target)
	p := r.evaluator.problem
	up := now + r.Delay
	if r.Whole && !same && r.Delay > 0 {
		r.stoppedUntil = up
	}
	for e, n := range to {
		d := n - r.target[e]
		if d == 0 && (same || !r.Whole) {
			continue
		}
		r.target[e] = n
		list := slices.DeleteFunc(r.setups[e], func(a circuitSetup) bool { return a.at <= now })
		if d > 0 && up > now {
			list = append(list, circuitSetup{up, d})
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

// maxIterations is the number of iterations after which a sequence that has not come to repeat itself is given up.
const maxIterations = 32

// iterationCycle is iterations one after the other, the first with the topology of its beginning in place; those from a place on
// repeat.
type iterationCycle struct {
	runs        []Run
	startStates []pendingSetup // in which they begin
	start       int
}

// meanMakespan returns the mean makespan of those that repeat.
func (o *iterationCycle) meanMakespan() engine.Time {
	sum := engine.Time(0)
	for _, m := range o.runs[o.start:] {
		sum += m.Makespan
	}
	return sum / engine.Time(len(o.runs)-o.start)
}

// simulateCycle simulates iteration after iteration until one begins as an earlier one did: from there on all repeat, as each
// follows from how it begins.
func (r *sequenceSimulator) simulateCycle(q *Sequence) (o iterationCycle, ok bool) {
	at := pendingSetup{}
	for len(o.runs) < maxIterations {
		if o.start = slices.IndexFunc(o.startStates, func(h pendingSetup) bool { return h.equal(&at) }); o.start >= 0 {
			return o, true
		}
		next, ok := r.run(q, &at, never)
		if !ok {
			return o, false
		}
		o.runs = append(o.runs, Run{r.current.Makespan, slices.Clone(r.current.Fired)})
		o.startStates, at = append(o.startStates, at), next
	}
	return o, false
}

// Network returns circuits of o, on the bundles of p, in the n-th of iterations of a sequence, of which one comes after
// the other and the first finds the topology of its beginning in place: those at its start, and how they change. A
// bundle has the circuits that have been its own for the delay, so the fewest that it was meant to have in that time.
// It fails where a topology overruns the ports, which circuits that are being set up hold, too.
func (p *Problem) Network(o *fabric.Optical, q *Sequence, runs []Run, n int) (*engine.Network, error) {
	maxCircuits := slices.Clone(q.First)
	checked := map[*int]bool{} // rotations have the same ones again and again
	for _, x := range q.Topologies() {
		if checked[&x[0]] {
			continue
		}
		checked[&x[0]] = true
		if _, err := o.Provision(x); err != nil {
			return nil, err
		}
		for e := range maxCircuits {
			maxCircuits[e] = max(maxCircuits[e], x[e])
		}
	}
	initial, changes := p.activeTimeline(topologyTimeline(q, runs, n), 0)
	net, err := o.Provision(initial)
	if err != nil {
		return nil, err
	}
	net.Changes = changes
	for e, b := range o.Bundles {
		for _, l := range b.Links {
			net.Links[l].Peak = float64(maxCircuits[e]) * o.Rate(e)
		}
	}
	return net, nil
}

// topologyChange is a time from which on bundles are meant to have other circuits. Those that they gain carry after the delay.
type topologyChange struct {
	at       engine.Time
	circuits []int // by bundle
}

// topologyTimeline returns the moments of iterations up to the n-th of a sequence, with times from the beginning of that. The
// first of them is long before, as the first iteration finds its topology in place.
func topologyTimeline(q *Sequence, runs []Run, n int) []topologyChange {
	all := []topologyChange{{-engine.Never / 4, q.First}}
	at := engine.Time(0)
	for _, run := range runs[:n] {
		at -= run.Makespan
	}
	for _, run := range runs[:n+1] {
		for i, t := range run.Fired {
			if t < engine.Never && !slices.Equal(q.Steps[i].Circuits, all[len(all)-1].circuits) {
				all = append(all, topologyChange{at + t, q.Steps[i].Circuits})
			}
		}
		at += run.Makespan
	}
	return all
}

// activeTimeline returns the circuits that carry from a time on, where moments, the first of which is a delay before that
// or earlier, follow each other: those at that time, by bundle, and how links change after it.
func (p *Problem) activeTimeline(all []topologyChange, start engine.Time) (initial []int, changes []engine.Change) {
	delay := p.Switching.Delay
	times := []engine.Time{start}
	for _, m := range all[1:] {
		for _, t := range []engine.Time{m.at, m.at + delay} {
			if t > start {
				times = append(times, t)
			}
		}
	}
	slices.Sort(times)
	from := 0 // the first topology that was not left a delay ago
	var was []int
	for k, t := range slices.Compact(times) {
		for from+1 < len(all) && all[from+1].at <= t-delay {
			from++
		}
		var least []int
		for i := from; i < len(all) && all[i].at <= t; i++ {
			if i > 0 && p.Switching.Whole && all[i].at > t-delay {
				least = make([]int, len(all[i].circuits))
			} else if least == nil {
				least = slices.Clone(all[i].circuits)
			}
			for e, n := range all[i].circuits {
				least[e] = min(least[e], n)
			}
		}
		if k == 0 {
			initial, was = least, least
			continue
		}
		changes = append(changes, p.linkChanges(t, was, least)...)
		was = least
	}
	return initial, changes
}

// linkChanges returns the changes of links at a time at which bundles go from some circuits to others.
func (p *Problem) linkChanges(at engine.Time, from, to []int) (changes []engine.Change) {
	for e, b := range p.Fabric.Bundles {
		if to[e] == from[e] {
			continue
		}
		for _, l := range b.Links {
			changes = append(changes, engine.Change{At: at, Link: l, Rate: float64(to[e]) * p.Fabric.Rate(e), Planned: true})
		}
	}
	return changes
}

// Transfers returns how many transfers each bundle carries.
func (p *Problem) Transfers() []int {
	n := make([]int, len(p.Fabric.Bundles))
	for _, e := range p.bundleOfTask() {
		if e >= 0 {
			n[e]++
		}
	}
	return n
}
