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
	maxSimulationWork      = 24 << 20
	maxTotalSimulationWork = 128 << 20
)

// Candidates returns the paper's construction for every number d of topologies from 1 until all flows have one hop, one
// plan each, the best of the given options, in the order of d. Slots are exact and never grow with d: a d of more slots
// than a smaller one is left out, which happens only to unequal flows or ByIndex. Candidates made ByRound never wait. p
// must not change while they are in use. Errors: those of p.Check, ErrOptions.
func Candidates(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	list, err := allSchedules(p, o)
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
func (m candidateSchedule) candidate(p *plan.Problem) plan.Candidate {
	return plan.Candidate{Origin: m.origin, Reconfigurations: m.topologies, Slots: m.slots, Waits: m.isByIndex,
		Build: func(_ int64, stop halt.When) (out *plan.Plan, err error) {
			defer halt.Caught(&err)
			return m.buildPlan(p, stop)
		}}
}

// allSchedules lists the best schedule of chunks for every d.
func allSchedules(p *plan.Problem, o Options) (_ []candidateSchedule, err error) {
	defer halt.Caught(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := o.check(p.Degree); err != nil {
		return nil, err
	}
	n, k := p.GPUs, p.Degree
	e := scheduleEvaluator{problem: p, options: o, identity: numbers.Below(int32(n))}
	e.chunksPerFlow, _ = p.Uniform()
	e.scheduler.Stop = o.Stop
	if k == 1 {
		return frontier(e.evaluateShifts()), nil
	}
	var list []candidateSchedule
	for i, base := range baseNames(o) {
		list = append(list, e.evaluateChain(base, list, i > 0)...)
	}
	return frontier(list), nil
}

// baseNames are those to begin with.
func baseNames(o Options) []string {
	if o.Base != "" {
		return []string{o.Base}
	}
	return []string{Circulant, GenKautz}
}

// slotLimit is what a schedule of d topologies must take fewer slots than.
func (o *Options) slotLimit(d int) int64 {
	if len(o.Below) == 0 {
		return math.MaxInt64
	}
	return o.Below[min(d, len(o.Below)-1)]
}

// frontier keeps for every d the schedule of the fewest slots, of equals the first, unless a smaller d has fewer.
func frontier(list []candidateSchedule) []candidateSchedule {
	slices.SortStableFunc(list, func(a, b candidateSchedule) int {
		return cmp.Or(cmp.Compare(a.topologies, b.topologies), cmp.Compare(a.slots, b.slots))
	})
	result := list[:0]
	for _, m := range list {
		if len(result) == 0 || m.topologies > result[len(result)-1].topologies && m.slots <= result[len(result)-1].slots {
			result = append(result, m)
		}
	}
	return result
}

// scheduleEvaluator finds the best schedule of the chunks on the schemes of one base.
type scheduleEvaluator struct {
	problem       *plan.Problem
	options       Options
	chunksPerFlow int32 // chunks of every flow, 0 if they differ
	identity      []int32

	relabeller    *relabeller
	scheduler     pack.Scheduler
	paths         pack.Paths
	simulatedWork int64
}

// evaluateShifts evaluates the construction of degree 1.
func (e *scheduleEvaluator) evaluateShifts() []candidateSchedule {
	n := e.problem.GPUs
	var list []candidateSchedule
	slots := ShiftSlots(n)
	for i, s := range slots {
		e.options.Stop.Check()
		d := i + 1
		rebuild := func() *roundSchedule {
			s := newShiftSequence(n)
			for s.d < d {
				s.addShift()
			}
			return s.schedule()
		}
		if e.chunksPerFlow > 0 && e.options.Schedule != ByIndex {
			// The links are never idle, so nothing is faster on these paths.
			if s *= int64(e.chunksPerFlow); s < e.options.slotLimit(d) {
				list = append(list, candidateSchedule{topologies: d, slots: s, rebuild: rebuild, label: e.identity, origin: "paper, shifts, rounds"})
			}
			continue
		}
		s := rebuild()
		if m := e.best(s, e.labels(s, n-1), e.options.slotLimit(d)); m.slots < e.options.slotLimit(d) {
			m.topologies, m.rebuild = d, rebuild
			list = append(list, m)
		}
	}
	return list
}

// evaluateChain evaluates the schemes that contraction makes of a base. The second one, given the list of the other's, returns
// only what takes fewer slots, and gives up after losing patience times in a row: GenKautz serves small d, as large ones
// leave its rounds ever emptier (Sec. 4.2), and its schemes are the costly ones.
func (e *scheduleEvaluator) evaluateChain(base string, other []candidateSchedule, second bool) []candidateSchedule {
	const maxFailures = 8
	n, k := e.problem.GPUs, e.problem.Degree
	c := e.newChain(base)
	e.simulatedWork, e.relabeller = 0, nil
	var list []candidateSchedule
	for d, failures := 1, 0; failures < maxFailures; d++ {
		e.options.Stop.Check()
		s := c.current
		limit := e.options.slotLimit(d)
		if i, ok := slices.BinarySearchFunc(other, d, func(m candidateSchedule, d int) int { return m.topologies - d }); ok || i > 0 && i == len(other) {
			limit = min(limit, other[min(i, len(other)-1)].slots)
		}
		if m := e.best(s, e.labels(s, (n-2)/k+1), limit); m.slots < limit {
			m.topologies, m.rebuild = d, func() *roundSchedule { return s }
			list = append(list, m)
			failures = 0
		} else if second {
			failures++
		}
		if !c.addTopology() {
			break
		}
	}
	return list
}

// newChain begins with one topology, a base.
func (e *scheduleEvaluator) newChain(base string) *contractionChain {
	n, k := e.problem.GPUs, e.problem.Degree
	if base == GenKautz {
		return newContractionChain(kautzBase(n, k, e.problem.Seed, e.options.Stop), e.options.Stop)
	}
	var offsets []int32
	for _, o := range BaseOffsets(n, k) {
		offsets = append(offsets, int32(o))
	}
	s := newRoundSchedule(n, k, offsets, nil)
	s.origin = "circulant"
	return newContractionChain(s, e.options.Stop)
}

// labels returns the labels of GPUs that suit a scheme of a base, one of about so many, beside those of the schemes of
// that base before it; nil where GPUs keep their names.
func (e *scheduleEvaluator) labels(s *roundSchedule, schemes int) []int32 {
	if e.chunksPerFlow > 0 || e.options.NoRelabelling {
		return nil
	}
	if e.relabeller == nil {
		e.relabeller = newRelabeller(s.n, e.problem.Chunks)
		e.relabeller.stop = e.options.Stop
	}
	return e.relabeller.improve(s.flowGroups(), maxSwapWork/(4*s.n*schemes))
}

// best schedules the chunks on a scheme, by round and by index, with and without labels, if there are any and if that
// takes fewer slots than limit.
func (e *scheduleEvaluator) best(s *roundSchedule, label []int32, limit int64) candidateSchedule {
	m := candidateSchedule{slots: limit}
	if e.chunksPerFlow > 0 {
		e.tryLabel(&m, s, e.identity, s.slots()*int64(e.chunksPerFlow), "")
		return m
	}
	g := s.flowGroups()
	e.tryLabel(&m, s, e.identity, g.slots(s.n, e.problem.Chunks, e.identity), "")
	if label != nil {
		e.tryLabel(&m, s, label, g.slots(s.n, e.problem.Chunks, label), ", relabelled")
	}
	return m
}

// tryLabel puts the labelled scheme's schedules into m where they take fewer slots.
func (e *scheduleEvaluator) tryLabel(m *candidateSchedule, s *roundSchedule, label []int32, byRound int64, suffix string) {
	if e.options.Schedule != ByIndex && byRound < m.slots {
		*m = candidateSchedule{slots: byRound, label: label, origin: "paper, " + s.origin + suffix + ", rounds"}
	}
	if e.options.Schedule == ByRound {
		return
	}
	if slots, ok := e.simulate(s, label, m.slots); ok {
		*m = candidateSchedule{slots: slots, label: label, origin: "paper, " + s.origin + suffix + ", simulated", isByIndex: true}
	}
}

// simulate returns the slots of the chunks run by index if they are below limit.
func (e *scheduleEvaluator) simulate(s *roundSchedule, label []int32, limit int64) (int64, bool) {
	work, bound := s.loads(e.problem.Chunks, label, e.chunksPerFlow)
	if bound >= limit {
		return 0, false
	}
	if e.options.Schedule != ByIndex {
		if work > maxSimulationWork || e.simulatedWork+work > maxTotalSimulationWork {
			return 0, false
		}
		e.simulatedWork += work
	}
	list := s.flowsByPhase(e.problem.Chunks, label)
	var sum int64
	for phase, flows := range list {
		s.listPaths(&e.paths, flows, nil)
		slots, ok := e.scheduler.Slots(s.links(phase), &e.paths, pack.ByRank, int(min(limit-1-sum, math.MaxInt32)))
		sum += int64(slots)
		if !ok || sum >= limit {
			return 0, false
		}
	}
	return sum, true
}
