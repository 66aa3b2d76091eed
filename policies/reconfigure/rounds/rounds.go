package rounds

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// How the chunks of flows run, for Options.Schedule.
const (
	// ByRound: chunk by chunk through the rounds of each topology; a round without flows that have so many chunks left
	// takes no time. Nothing waits on its way.
	ByRound = "rounds"
	// ByIndex: all flows of a topology start together; every link sends the chunk of the smallest index first, ties by
	// flow number, stored and forwarded, and the next topology waits until all have arrived (Sec. 5.1). Rounds say only
	// which topology and path a flow takes.
	ByIndex = "simulated"
)

// Bases, for Options.Base.
const (
	// Circulant is the base of offsets BaseOffsets; at degree 1 the ring.
	Circulant = "circulant"
	// GenKautz is scaleup.GeneralizedKautz. Degree 1 has no such base: u -> -u-1 joins pairs only.
	GenKautz = "genkautz"
)

// Options vary the construction. The zero value is the strongest.
type Options struct {
	// Schedule is ByRound or ByIndex; "" takes the better at every d, ByRound if equal.
	Schedule string
	// Base is Circulant or GenKautz; "" takes the better at every d, Circulant if equal.
	Base string
	// NoRelabelling leaves out Sec. 4.4, which otherwise relabels the GPUs where flows are unequal and that is better.
	NoRelabelling bool
	// Below are the slots, by number of topologies and the last of more, of which a schedule must take fewer; what does
	// not is left out. nil takes any.
	Below []int64
	// Stop is asked now and then; planning ends with halt.ErrHalted when it says so.
	Stop halt.When
}

// ErrOptions says that Options name what is not there.
var ErrOptions = errors.New("rounds: no such option")

func (o *Options) check(k int) error {
	switch {
	case o.Schedule != "" && o.Schedule != ByRound && o.Schedule != ByIndex:
		return fmt.Errorf("%w: schedule %q; there are %q and %q", ErrOptions, o.Schedule, ByRound, ByIndex)
	case o.Base != "" && o.Base != Circulant && o.Base != GenKautz:
		return fmt.Errorf("%w: base %q; there are %q and %q", ErrOptions, o.Base, Circulant, GenKautz)
	case o.Base == GenKautz && k == 1:
		return fmt.Errorf("%w: base %q at degree 1, where it is not connected; %q is", ErrOptions, GenKautz, Circulant)
	}
	return nil
}

// Limits on simulating the chunks of a scheme ByIndex, in crossings of links, 50 ns each: of one scheme, and of all of
// a base. Beyond them a scheme runs ByRound, unless Options.Schedule is ByIndex.
const (
	playWork = 24 << 20
	playAll  = 128 << 20
)

// Candidates returns the paper's construction for every number d of topologies from 1 until all flows have one hop, one
// plan each, the best of the given options, in the order of d. Slots are exact and never grow with d: a d of more slots
// than a smaller one is left out, which happens only to unequal flows or ByIndex. Candidates made ByRound never wait. p
// must not change while they are in use. Errors: those of p.Check, ErrOptions.
func Candidates(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	list, err := all(p, o)
	if err != nil {
		return nil, err
	}
	out := make([]plan.Candidate, len(list))
	for i, m := range list {
		out[i] = m.candidate(p)
	}
	return out, nil
}

// candidate offers the schedule.
func (m made) candidate(p *plan.Problem) plan.Candidate {
	return plan.Candidate{Origin: m.origin, Reconfigurations: m.d, Slots: m.slots, Waits: m.indexed,
		Build: func(_ int64, stop halt.When) (out *plan.Plan, err error) {
			defer halt.Caught(&err)
			return m.build(p, stop)
		}}
}

// all lists the best schedule of chunks for every d.
func all(p *plan.Problem, o Options) (_ []made, err error) {
	defer halt.Caught(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := o.check(p.Degree); err != nil {
		return nil, err
	}
	n, k := p.GPUs, p.Degree
	e := evaluator{p: p, o: o, none: numbers.Below(int32(n))}
	e.each, _ = p.Uniform()
	e.player.Stop = o.Stop
	if k == 1 {
		return thin(e.shifts()), nil
	}
	var list []made
	for i, base := range bases(o) {
		list = append(list, e.chain(base, list, i > 0)...)
	}
	return thin(list), nil
}

// bases are those to begin with.
func bases(o Options) []string {
	if o.Base != "" {
		return []string{o.Base}
	}
	return []string{Circulant, GenKautz}
}

// below is what a schedule of d topologies must take fewer slots than.
func (o *Options) below(d int) int64 {
	if len(o.Below) == 0 {
		return math.MaxInt64
	}
	return o.Below[min(d, len(o.Below)-1)]
}

// thin keeps for every d the schedule of the fewest slots, of equals the first, unless a smaller d has fewer.
func thin(list []made) []made {
	slices.SortStableFunc(list, func(a, b made) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.slots, b.slots)) })
	kept := list[:0]
	for _, m := range list {
		if len(kept) == 0 || m.d > kept[len(kept)-1].d && m.slots <= kept[len(kept)-1].slots {
			kept = append(kept, m)
		}
	}
	return kept
}

// evaluator finds the best schedule of the chunks on the schemes of one base.
type evaluator struct {
	p    *plan.Problem
	o    Options
	each int32 // chunks of every flow, 0 if they differ
	none []int32

	relabeller *relabeller
	player     pack.Scheduler
	walks      pack.Paths
	played     int64
}

// shifts evaluates the construction of degree 1.
func (e *evaluator) shifts() []made {
	n := e.p.GPUs
	var list []made
	slots := ShiftSlots(n)
	for i, s := range slots {
		e.o.Stop.Check()
		d := i + 1
		remake := func() *scheme {
			s := newShifts(n)
			for s.d < d {
				s.add()
			}
			return s.scheme()
		}
		if e.each > 0 && e.o.Schedule != ByIndex {
			// The links are never idle, so nothing is faster on these paths.
			if s *= int64(e.each); s < e.o.below(d) {
				list = append(list, made{d: d, slots: s, remake: remake, label: e.none, origin: "paper, shifts, rounds"})
			}
			continue
		}
		s := remake()
		if m := e.best(s, e.renamed(s, n-1), e.o.below(d)); m.slots < e.o.below(d) {
			m.d, m.remake = d, remake
			list = append(list, m)
		}
	}
	return list
}

// chain evaluates the schemes that contraction makes of a base. The second one, given the list of the other's, returns
// only what takes fewer slots, and gives up after losing patience times in a row: GenKautz serves small d, as large ones
// leave its rounds ever emptier (Sec. 4.2), and its schemes are the costly ones.
func (e *evaluator) chain(base string, other []made, second bool) []made {
	const patience = 8
	n, k := e.p.GPUs, e.p.Degree
	c := e.begin(base)
	e.played, e.relabeller = 0, nil
	var list []made
	for d, lost := 1, 0; lost < patience; d++ {
		e.o.Stop.Check()
		s := c.cur
		limit := e.o.below(d)
		if i, ok := slices.BinarySearchFunc(other, d, func(m made, d int) int { return m.d - d }); ok || i > 0 && i == len(other) {
			limit = min(limit, other[min(i, len(other)-1)].slots)
		}
		if m := e.best(s, e.renamed(s, (n-2)/k+1), limit); m.slots < limit {
			m.d, m.remake = d, func() *scheme { return s }
			list = append(list, m)
			lost = 0
		} else if second {
			lost++
		}
		if !c.next() {
			break
		}
	}
	return list
}

// begin begins with one topology, a base.
func (e *evaluator) begin(base string) *chain {
	n, k := e.p.GPUs, e.p.Degree
	if base == GenKautz {
		return newChain(kautzBase(n, k, e.p.Seed, e.o.Stop), e.o.Stop)
	}
	var offsets []int32
	for _, o := range BaseOffsets(n, k) {
		offsets = append(offsets, int32(o))
	}
	s := units(n, k, offsets, nil)
	s.origin = "circulant"
	return newChain(s, e.o.Stop)
}

// renamed returns the labels of GPUs that suit a scheme of a base, one of about so many, beside those of the schemes of
// that base before it; nil where GPUs keep their names.
func (e *evaluator) renamed(s *scheme, schemes int) []int32 {
	if e.each > 0 || e.o.NoRelabelling {
		return nil
	}
	if e.relabeller == nil {
		e.relabeller = newRelabeller(s.n, e.p.Chunks)
		e.relabeller.stop = e.o.Stop
	}
	return e.relabeller.improve(s.groups(), swapWork/(4*s.n*schemes))
}

// best schedules the chunks on a scheme, by round and by index, with and without labels, if there are any and if that
// takes fewer slots than limit.
func (e *evaluator) best(s *scheme, label []int32, limit int64) made {
	m := made{slots: limit}
	if e.each > 0 {
		e.try(&m, s, e.none, s.slots()*int64(e.each), "")
		return m
	}
	g := s.groups()
	e.try(&m, s, e.none, g.slots(s.n, e.p.Chunks, e.none), "")
	if label != nil {
		e.try(&m, s, label, g.slots(s.n, e.p.Chunks, label), ", relabelled")
	}
	return m
}

// try puts the labelled scheme's schedules into m where they take fewer slots.
func (e *evaluator) try(m *made, s *scheme, label []int32, byRound int64, how string) {
	if e.o.Schedule != ByIndex && byRound < m.slots {
		*m = made{slots: byRound, label: label, origin: "paper, " + s.origin + how + ", rounds"}
	}
	if e.o.Schedule == ByRound {
		return
	}
	if slots, ok := e.play(s, label, m.slots); ok {
		*m = made{slots: slots, label: label, origin: "paper, " + s.origin + how + ", simulated", indexed: true}
	}
}

// play returns the slots of the chunks run by index if they are below limit.
func (e *evaluator) play(s *scheme, label []int32, limit int64) (int64, bool) {
	work, bound := s.loads(e.p.Chunks, label, e.each)
	if bound >= limit {
		return 0, false
	}
	if e.o.Schedule != ByIndex {
		if work > playWork || e.played+work > playAll {
			return 0, false
		}
		e.played += work
	}
	list := s.byPhase(e.p.Chunks, label)
	var sum int64
	for phase, flows := range list {
		s.walks(&e.walks, flows, nil)
		slots, ok := e.player.Slots(s.links(phase), &e.walks, pack.ByRank, int(min(limit-1-sum, math.MaxInt32)))
		sum += int64(slots)
		if !ok || sum >= limit {
			return 0, false
		}
	}
	return sum, true
}
