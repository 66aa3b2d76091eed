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

// tidy drops the steps that change nothing.
func (q *Sequence) tidy() {
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

// arrival is circuits of a bundle that are being set up.
type arrival struct {
	at engine.Time // from which they carry
	n  int
}

// rehearsal simulates sequences; one a goroutine.
type rehearsal struct {
	w *evaluator
	Switching
	target []int       // circuits by bundle, those being set up included
	coming [][]arrival // by bundle, in order of time
	change [][][]int   // and their changes, by link of the bundle
	down   engine.Time // all circuits are held until then
	made   Run
	// Called for each step that is made before the end of the iteration, if not nil: observe just before the step is
	// made, and drain first, which may go on with the run and returns the time that it has come to.
	drain   func(step int, now engine.Time) (engine.Time, bool)
	observe func(step int)
}

// rehearse returns what simulates sequences with w, until done is called on it.
func (w *evaluator) rehearse() *rehearsal {
	p := w.p
	w.PrepareControl(p.classes(), len(p.Fabric.Bundles))
	r := &rehearsal{w: w, Switching: p.Switching, target: make([]int, len(p.Fabric.Bundles)), coming: make([][]arrival, len(p.Fabric.Bundles)), change: make([][][]int, len(p.Fabric.Bundles))}
	for e, b := range p.Fabric.Bundles {
		r.change[e] = make([][]int, len(b.Links))
	}
	return r
}

// bundleOf returns the bundle of each link.
func (p *Problem) bundleOf() []int32 {
	of := make([]int32, len(p.Fabric.Network.Links))
	for e, b := range p.Fabric.Bundles {
		for _, l := range b.Links {
			of[l] = int32(e)
		}
	}
	return of
}

// classes returns by task the bundle over which it goes, -1 of none.
func (p *Problem) classes() []int32 {
	class, of := slices.Repeat([]int32{-1}, len(p.Graph.Tasks)), p.bundleOf()
	for _, id := range p.transfers() {
		for _, u := range p.Fabric.Routes.Of(id) {
			if int(u.Resource) < len(of) {
				class[id] = of[u.Resource]
			}
		}
	}
	return class
}

// history is what circuits still do when an iteration begins: what is being set up by bundle, and until when all are
// held.
type history struct {
	coming [][]arrival
	down   engine.Time
}

// run simulates an iteration that begins in a state, and returns that of its end. It returns false where the makespan
// reaches cutoff, or the iteration cannot end.
func (r *rehearsal) run(q *Sequence, from *history, cutoff engine.Time) (to history, ok bool) {
	if !r.begin(q.First, q.Most(), from, cutoff) {
		return to, false
	}
	last := 0
	for ; last < len(q.Steps) && q.Steps[last].Bundle != AtEnd; last++ {
		s := &q.Steps[last]
		var now engine.Time
		if s.Bundle == AtTime {
			if now, ok = r.w.AwaitTime(s.Time); !ok {
				break
			}
		} else if now, ok = r.w.Await(int32(s.Bundle), int32(s.Count)); !ok {
			return to, false
		}
		for _, e := range s.Carried {
			_, all := r.w.Ended(int32(e))
			if now, ok = r.w.Await(int32(e), all); !ok {
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
		r.fire(now, s.Circuits, true)
	}
	if r.made.Makespan, ok = r.w.Finish(); !ok {
		return to, false
	}
	for ; last < len(q.Steps); last++ {
		switch s := &q.Steps[last]; {
		case s.Bundle == AtEnd:
			r.fire(r.made.Makespan, s.Circuits, false)
		default:
			r.made.Fired = append(r.made.Fired, engine.Never)
		}
	}
	return r.state(), true
}

// begin begins an iteration in a state with circuits by bundle, and most that it will ever have.
func (r *rehearsal) begin(first, most []int, from *history, cutoff engine.Time) bool {
	copy(r.target, first)
	r.down = from.down
	for e, b := range r.w.p.Fabric.Bundles {
		r.coming[e] = append(r.coming[e][:0], from.of(e)...)
		for _, l := range b.Links {
			r.w.SetRate(l, r.rate(e, r.carried(e, 0)))
			r.w.SetPeak(l, r.rate(e, most[e]))
		}
	}
	if !r.w.Begin(cutoff) {
		return false
	}
	for e := range r.coming {
		for i := range r.change[e] {
			r.change[e][i] = r.change[e][i][:0]
		}
		r.expect(e, 0)
	}
	r.made.Fired = r.made.Fired[:0]
	return true
}

// state returns what circuits still do at the end of the iteration.
func (r *rehearsal) state() history {
	end := r.made.Makespan
	to := history{coming: make([][]arrival, len(r.coming)), down: max(0, r.down-end)}
	for e, list := range r.coming {
		for _, a := range list {
			if a.at > end {
				to.coming[e] = append(to.coming[e], arrival{a.at - end, a.n})
			}
		}
	}
	return to
}

// of returns what is being set up of bundle e.
func (h *history) of(e int) []arrival {
	if h.coming == nil {
		return nil
	}
	return h.coming[e]
}

func (h *history) equal(g *history) bool {
	for e := range max(len(h.coming), len(g.coming)) {
		if !slices.Equal(h.of(e), g.of(e)) {
			return false
		}
	}
	return h.down == g.down
}

// rate returns that of n circuits of bundle e.
func (r *rehearsal) rate(e, n int) float64 { return float64(n) * r.w.p.Fabric.Rate(e) }

// carried returns the circuits of bundle e that carry at a time: those that are not being set up, none while all are
// held.
func (r *rehearsal) carried(e int, now engine.Time) int {
	if now < r.down {
		return 0
	}
	n := r.target[e]
	for _, a := range r.coming[e] {
		if a.at > now {
			n -= a.n
		}
	}
	return n
}

// expect schedules what is coming of bundle e.
func (r *rehearsal) expect(e int, now engine.Time) {
	for i, l := range r.w.p.Fabric.Bundles[e].Links {
		for _, k := range r.change[e][i] {
			r.w.CancelChange(k)
		}
		r.change[e][i] = r.change[e][i][:0]
		at := func(t engine.Time) {
			r.change[e][i] = append(r.change[e][i], r.w.ChangeLater(t, l, r.rate(e, r.carried(e, t))))
		}
		if r.down > now {
			at(r.down)
		}
		for _, a := range r.coming[e] {
			if a.at > now && a.at >= r.down {
				at(a.at)
			}
		}
	}
}

// fire makes a step at a time: circuits of bundles that lose some stop at once, of those first that do not carry yet,
// and those of bundles that gain some carry after the delay. Live is while the iteration is simulated.
func (r *rehearsal) fire(now engine.Time, to []int, live bool) {
	r.made.Fired = append(r.made.Fired, now)
	same := slices.Equal(to, r.target)
	p := r.w.p
	up := now + r.Delay
	if r.Whole && !same && r.Delay > 0 {
		r.down = up
	}
	for e, n := range to {
		d := n - r.target[e]
		if d == 0 && (same || !r.Whole) {
			continue
		}
		r.target[e] = n
		list := slices.DeleteFunc(r.coming[e], func(a arrival) bool { return a.at <= now })
		if d > 0 && up > now {
			list = append(list, arrival{up, d})
		}
		for ; d < 0 && len(list) > 0; d++ {
			if list[len(list)-1].n--; list[len(list)-1].n == 0 {
				list = list[:len(list)-1]
			}
		}
		r.coming[e] = list
		if live {
			for _, l := range p.Fabric.Bundles[e].Links {
				r.w.ChangeNow(l, r.rate(e, r.carried(e, now)))
			}
			r.expect(e, now)
		}
	}
}

// mostRuns is the number of iterations after which a sequence that has not come to repeat itself is given up.
const mostRuns = 32

// orbit is iterations one after the other, the first with the topology of its beginning in place; those from a place on
// repeat.
type orbit struct {
	all    []Run
	starts []history // in which they begin
	from   int
}

// mean returns the mean makespan of those that repeat.
func (o *orbit) mean() engine.Time {
	sum := engine.Time(0)
	for _, m := range o.all[o.from:] {
		sum += m.Makespan
	}
	return sum / engine.Time(len(o.all)-o.from)
}

// steady simulates iteration after iteration until one begins as an earlier one did: from there on all repeat, as each
// follows from how it begins.
func (r *rehearsal) steady(q *Sequence) (o orbit, ok bool) {
	at := history{}
	for len(o.all) < mostRuns {
		if o.from = slices.IndexFunc(o.starts, func(h history) bool { return h.equal(&at) }); o.from >= 0 {
			return o, true
		}
		next, ok := r.run(q, &at, never)
		if !ok {
			return o, false
		}
		o.all = append(o.all, Run{r.made.Makespan, slices.Clone(r.made.Fired)})
		o.starts, at = append(o.starts, at), next
	}
	return o, false
}

// Network returns circuits of o, on the bundles of p, in the n-th of iterations of a sequence, of which one comes after
// the other and the first finds the topology of its beginning in place: those at its start, and how they change. A
// bundle has the circuits that have been its own for the delay, so the fewest that it was meant to have in that time.
// It fails where a topology overruns the ports, which circuits that are being set up hold, too.
func (p *Problem) Network(o *fabric.Optical, q *Sequence, runs []Run, n int) (*engine.Network, error) {
	most := slices.Clone(q.First)
	known := map[*int]bool{} // rotations have the same ones again and again
	for _, x := range q.Topologies() {
		if known[&x[0]] {
			continue
		}
		known[&x[0]] = true
		if _, err := o.Provision(x); err != nil {
			return nil, err
		}
		for e := range most {
			most[e] = max(most[e], x[e])
		}
	}
	initial, changes := p.carrying(moments(q, runs, n), 0)
	net, err := o.Provision(initial)
	if err != nil {
		return nil, err
	}
	net.Changes = changes
	for e, b := range o.Bundles {
		for _, l := range b.Links {
			net.Links[l].Peak = float64(most[e]) * o.Rate(e)
		}
	}
	return net, nil
}

// moment is a time from which on bundles are meant to have other circuits. Those that they gain carry after the delay.
type moment struct {
	at       engine.Time
	circuits []int // by bundle
}

// moments returns the moments of iterations up to the n-th of a sequence, with times from the beginning of that. The
// first of them is long before, as the first iteration finds its topology in place.
func moments(q *Sequence, runs []Run, n int) []moment {
	all := []moment{{-engine.Never / 4, q.First}}
	at := engine.Time(0)
	for _, run := range runs[:n] {
		at -= run.Makespan
	}
	for _, run := range runs[:n+1] {
		for i, t := range run.Fired {
			if t < engine.Never && !slices.Equal(q.Steps[i].Circuits, all[len(all)-1].circuits) {
				all = append(all, moment{at + t, q.Steps[i].Circuits})
			}
		}
		at += run.Makespan
	}
	return all
}

// carrying returns the circuits that carry from a time on, where moments, the first of which is a delay before that
// or earlier, follow each other: those at that time, by bundle, and how links change after it.
func (p *Problem) carrying(all []moment, start engine.Time) (initial []int, changes []engine.Change) {
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
		changes = append(changes, p.differences(t, was, least)...)
		was = least
	}
	return initial, changes
}

// differences returns the changes of links at a time at which bundles go from some circuits to others.
func (p *Problem) differences(at engine.Time, from, to []int) (changes []engine.Change) {
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
	for _, e := range p.classes() {
		if e >= 0 {
			n[e]++
		}
	}
	return n
}
