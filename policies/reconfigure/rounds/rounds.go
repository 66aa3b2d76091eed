package rounds

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// Orders of chunks, for Options.Schedule.
const (
	// ByRound sends chunk after chunk through the rounds of each topology. A round without
	// flows that have this many chunks takes no time. A chunk never waits between its
	// source and its destination.
	ByRound = "rounds"
	// ByIndex starts all flows of a topology together. Each link sends the chunk of the
	// smallest index first, then of the smallest flow number (store and forward). The next
	// topology waits until all chunks have arrived (Sec. 5.1). Rounds only determine the
	// topology and the path of each flow.
	ByIndex = "simulated"
)

// Base topologies, for Options.Base.
const (
	// Circulant is the base with offsets BaseOffsets; at degree 1 it is the ring.
	Circulant = "circulant"
	// GenKautz is scaleup.GeneralizedKautz. It is not available at degree 1, where u ->
	// -u-1 only connects pairs.
	GenKautz = "genkautz"
)

// Options vary the construction. The zero value is the strongest.
type Options struct {
	// Schedule is ByRound or ByIndex. "" selects the better one for each number of
	// topologies, ByRound if both are equal.
	Schedule string
	// Base is Circulant or GenKautz. "" selects the better one for each number of
	// topologies, Circulant if both are equal.
	Base string
	// NoRelabelling disables Sec. 4.4, which otherwise relabels the GPUs if flows are
	// unequal and this saves slots.
	NoRelabelling bool
	// Below has exclusive upper limits of the slots, indexed by number of topologies; the
	// last one applies to all larger numbers. Schedules that do not meet them are left out.
	// nil sets no limits.
	Below []int64
	// Stop is polled. When it reports true, planning ends with cancellation.ErrCancelled.
	Stop cancellation.Condition
}

// ErrOptions is returned for invalid Options.
var ErrOptions = errors.New("rounds: invalid option")

// check returns ErrOptions for options that are invalid at degree k.
func (o *Options) check(k int) error {
	switch {
	case o.Schedule != "" && o.Schedule != ByRound && o.Schedule != ByIndex:
		return fmt.Errorf("%w: schedule %q; want %q or %q", ErrOptions, o.Schedule, ByRound, ByIndex)
	case o.Base != "" && o.Base != Circulant && o.Base != GenKautz:
		return fmt.Errorf("%w: base %q; want %q or %q", ErrOptions, o.Base, Circulant, GenKautz)
	case o.Base == GenKautz && k == 1:
		return fmt.Errorf("%w: base %q at degree 1, where it is not connected; want %q", ErrOptions,
			GenKautz, Circulant)
	}

	return nil
}

// maxSimulationWork and maxTotalSimulationWork limit the simulation of chunks ByIndex, for
// one schedule and for all schedules of a base. The unit is one link crossing, about 50 ns.
// Beyond the limits, schedules run ByRound only, unless Options.Schedule is ByIndex.
const (
	maxSimulationWork      = 24 << 20
	maxTotalSimulationWork = 128 << 20
)

// Candidates returns the paper's construction for each number d of topologies, from 1 until
// all flows take one hop. It returns one plan per number, the best for the options, in the
// order of d. Slots are exact. They never increase with d: if a number takes more slots
// than a smaller one, it is left out. This happens only for unequal flows or ByIndex.
// Chunks of candidates made ByRound never wait. p must not change while candidates are in
// use. The error is ErrOptions or an error of p.Check.
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

// candidate returns the schedule as a candidate, which writes the plan when it is built.
func (m candidateSchedule) candidate(p *plan.Problem) plan.Candidate {
	return plan.Candidate{
		Origin:           m.origin,
		Reconfigurations: m.topologies,
		Slots:            m.slots,
		Waits:            m.isByIndex,
		Build: func(_ int64, stop cancellation.Condition) (out *plan.Plan, err error) {
			defer cancellation.Recover(&err)
			return m.buildPlan(p, stop)
		},
	}
}

// allSchedules returns the best schedule of the chunks for each number of topologies.
func allSchedules(p *plan.Problem, o Options) (_ []candidateSchedule, err error) {
	defer cancellation.Recover(&err)
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
		isSecond := i > 0
		list = append(list, e.evaluateChain(base, list, isSecond)...)
	}
	return frontier(list), nil
}

// baseNames returns the bases that the options select.
func baseNames(o Options) []string {
	if o.Base != "" {
		return []string{o.Base}
	}
	return []string{Circulant, GenKautz}
}

// slotLimit returns the exclusive upper limit of the slots with d topologies.
func (o *Options) slotLimit(d int) int64 {
	if len(o.Below) == 0 {
		return math.MaxInt64
	}
	return o.Below[min(d, len(o.Below)-1)]
}

// frontier returns for each number of topologies the schedule with the lowest slots, the
// first of equals. It leaves out numbers that take more slots than a smaller number.
func frontier(list []candidateSchedule) []candidateSchedule {
	slices.SortStableFunc(list, func(a, b candidateSchedule) int {
		return cmp.Or(cmp.Compare(a.topologies, b.topologies), cmp.Compare(a.slots, b.slots))
	})
	result := list[:0]
	for _, m := range list {
		if len(result) == 0 || m.topologies > result[len(result)-1].topologies &&
			m.slots <= result[len(result)-1].slots {
			result = append(result, m)
		}
	}

	return result
}

// scheduleEvaluator finds the best order of chunks and labels for the round schedules of
// one base.
type scheduleEvaluator struct {
	problem       *plan.Problem
	options       Options
	chunksPerFlow int32   // 0 if flows are unequal
	identity      []int32 // labels without relabelling

	relabeller    *relabeller    // of the current base; nil if not needed yet
	scheduler     pack.Scheduler // for simulation ByIndex
	paths         pack.Paths     // scratch of simulate
	simulatedWork int64          // link crossings simulated so far, see maxTotalSimulationWork
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
			// No link is ever idle, so no schedule is faster on these paths.
			if s *= int64(e.chunksPerFlow); s < e.options.slotLimit(d) {
				list = append(list, candidateSchedule{topologies: d, slots: s, rebuild: rebuild,
					label: e.identity, origin: "paper, shifts, rounds"})
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

// evaluateChain evaluates the schedules of the contraction chain of a base (contractionChain:
// each schedule has one topology more). For the second base, other has the results of the first
// one. Then only schedules with fewer slots are returned, and the search ends after maxFailures
// consecutive numbers of topologies without one. GenKautz suits small numbers of topologies,
// because its rounds become emptier with each contraction (Sec. 4.2), and its schedules take
// longest to compute.
func (e *scheduleEvaluator) evaluateChain(base string, other []candidateSchedule, isSecond bool) []candidateSchedule {
	const maxFailures = 8
	n, k := e.problem.GPUs, e.problem.Degree
	c := e.newChain(base)
	e.simulatedWork, e.relabeller = 0, nil
	var list []candidateSchedule
	for d, failures := 1, 0; failures < maxFailures; d++ {
		e.options.Stop.Check()

		// The limit is the slots of the other base with d topologies, or with its maximum number.
		s := c.current
		limit := e.options.slotLimit(d)
		if i, ok := slices.BinarySearchFunc(other, d, func(m candidateSchedule, d int) int {
			return m.topologies - d
		}); ok || i > 0 && i == len(other) {
			limit = min(limit, other[min(i, len(other)-1)].slots)
		}

		maxTopologies := (n-2)/k + 1 // with this number, all flows may take one hop
		if m := e.best(s, e.labels(s, maxTopologies), limit); m.slots < limit {
			m.topologies = d
			m.rebuild = func() *roundSchedule { return s }
			list = append(list, m)
			failures = 0
		} else if isSecond {
			failures++
		}

		if !c.addTopology() {
			break
		}
	}

	return list
}

// newChain returns the contraction chain of a base, with one topology.
func (e *scheduleEvaluator) newChain(base string) *contractionChain {
	n, k := e.problem.GPUs, e.problem.Degree
	if base == GenKautz {
		return newContractionChain(kautzBase(n, k, e.problem.Seed, e.options.Stop), e.options.Stop)
	}
	var offsets []int32
	for _, o := range BaseOffsets(n, k) {
		offsets = append(offsets, int32(o))
	}
	var noEdges scaleup.Topology // the offsets describe all links
	s := newRoundSchedule(n, k, offsets, noEdges)
	s.origin = "circulant"
	return newContractionChain(s, e.options.Stop)
}

// labels returns the labels of GPUs for a schedule, starting from the labels of earlier
// schedules of the base. schedules is the approximate number of schedules that share the
// work of maxSwapWork. The result is nil if GPUs are not relabelled.
func (e *scheduleEvaluator) labels(s *roundSchedule, schedules int) []int32 {
	if e.chunksPerFlow > 0 || e.options.NoRelabelling {
		return nil
	}
	if e.relabeller == nil {
		e.relabeller = newRelabeller(s.n, e.problem.Chunks)
		e.relabeller.stop = e.options.Stop
	}
	workPerSwap := 4 * s.n // a swap moves the flows into and out of two GPUs
	return e.relabeller.improve(s.groupFlows(), maxSwapWork/(workPerSwap*schedules))
}

// best returns the best order of chunks and labels for a schedule. Its slots equal limit if
// none takes fewer slots than limit.
func (e *scheduleEvaluator) best(s *roundSchedule, label []int32, limit int64) candidateSchedule {
	m := candidateSchedule{slots: limit}
	if e.chunksPerFlow > 0 {
		e.tryLabel(&m, s, e.identity, s.slots()*int64(e.chunksPerFlow), notRelabelled)
		return m
	}
	g := s.groupFlows()
	e.tryLabel(&m, s, e.identity, g.slots(s.n, e.problem.Chunks, e.identity), notRelabelled)
	if label != nil {
		e.tryLabel(&m, s, label, g.slots(s.n, e.problem.Chunks, label), ", relabelled")
	}
	return m
}

// notRelabelled is the suffix of the origin of schedules without relabelling.
const notRelabelled = ""

// tryLabel replaces m by the labelled schedule, by round or by index, if that takes fewer
// slots. byRound is the slots by round. suffix is a part of the origin.
func (e *scheduleEvaluator) tryLabel(m *candidateSchedule, s *roundSchedule, label []int32, byRound int64, suffix string) {
	if e.options.Schedule != ByIndex && byRound < m.slots {
		*m = candidateSchedule{
			slots:  byRound,
			label:  label,
			origin: "paper, " + s.origin + suffix + ", rounds",
		}
	}

	if e.options.Schedule == ByRound {
		return
	}
	if slots, ok := e.simulate(s, label, m.slots); ok {
		*m = candidateSchedule{slots: slots, label: label,
			origin: "paper, " + s.origin + suffix + ", simulated", isByIndex: true}
	}
}

// simulate returns the slots of the chunks if they are sent by index. It returns false if they
// take limit slots or more, or if the limits of simulation work are reached.
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
		var noFlowNumbers *[]int32
		s.listPaths(&e.paths, flows, noFlowNumbers)
		slots, ok := e.scheduler.Slots(s.links(phase), &e.paths, pack.ByRank,
			int(min(limit-1-sum, math.MaxInt32)))
		sum += int64(slots)
		if !ok || sum >= limit {
			return 0, false
		}
	}

	return sum, true
}
