package topology

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/numbers"
	"sim/internal/random"
)

// DuringOptions holds the options of delta-during.
type DuringOptions struct {
	Changes        int    `key:"changes" doc:"maximum number of changes of circuits per iteration, including the change back to the first topology, so 1 means no change; 0 means no limit" default:"0" max:"1000"`
	Service        string `key:"service" doc:"sharing of circuits: by level-priority, as under delta-joint, or max-min fair, as under delta-topo" default:"level-priority" choices:"level-priority|max-min"`
	MaxEvaluations int64  `key:"max_evaluations" doc:"maximum number of sequences that the search simulates; sequences of two topologies are enumerated in addition if there are few" default:"1500" min:"1" max:"1000000000000000"`
	BreakEven      bool   `key:"break_even" doc:"compute the longest reconfiguration delay at which moving circuits is faster" default:"true"`
}

// duringAllocator is delta-during. It changes circuits within an iteration, for example
// from pipeline transfers to gradient synchronisation when the last pipeline transfer of
// a pod pair has ended, and back. The search starts from the best topology without
// changes, so the result is never slower than that one. See docs/model.md and
// docs/reconfiguring.md.
type duringAllocator struct{}

func (duringAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	service := o.serviceOr(o.duringService())

	// The best decision without changes is the reference, and the result if nothing is
	// faster.
	static, err := p.staticDecision(ctx, o, service)
	if err != nil {
		return nil, err
	}
	s, err := newDuringSearch(ctx, p, o, static)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var even *breakEvenResult
	if o.Moving.BreakEven {
		even = s.findBreakEven()
	}
	s.search(even)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := s.decision()
	if even != nil {
		d.Moves.BreakEvenComputed, d.Moves.BreakEven = true, even.delay
	}
	return d, ctx.Err()
}

// duringService returns the service of the key policy.delta-during.service.
func (o *Options) duringService() flow.Service {
	s, err := flow.ParseService(o.Moving.Service)
	if err != nil {
		return flow.LevelPriority
	}
	return s
}

// staticDecision returns the best decision without changes. It comes from delta-topo
// under fair sharing and from delta-joint under other services.
func (p *Problem) staticDecision(ctx context.Context, o Options, service flow.Service) (*Decision, error) {
	if service == flow.MaxMin {
		return topoAllocator{}.Choose(ctx, p, o)
	}
	return jointAllocator{}.Choose(ctx, p, o)
}

// Moves describes the changes of circuits of a decision.
type Moves struct {
	*Sequence
	// Runs are consecutive iterations; the first starts with its topology in place. The
	// iterations from index Repeated on repeat in a cycle.
	Runs     []Run
	Repeated int
	Static   *Decision // the decision without changes
	// BreakEven is the longest reconfiguration delay at which a sequence was found that
	// is faster than Static. It does not depend on the delay of the problem. It is 0 if
	// no sequence was found or if BreakEvenComputed is false.
	BreakEven         engine.Time
	BreakEvenComputed bool
	Reason            string // reason if no circuit moves; "" otherwise
}

// Moving reports whether circuits move.
func (m *Moves) Moving() bool { return m != nil && m.Sequence != nil }

// Last returns the index of the last iteration in Runs, or 0 if no circuit moves.
func (m *Moves) Last() int {
	if !m.Moving() {
		return 0
	}
	return len(m.Runs) - 1
}

// duringSearch is one search for a sequence of topologies. trySeeds, hillClimb and mutate are
// in during_search.go, and refine, anneal and eachPair in during_refine.go.
type duringSearch struct {
	budgetMeter  // counts evaluations and work; has evaluator, which simulates topologies
	p            *Problem
	o            Options
	static       *Decision // best decision without changes
	service      flow.Service
	simulator    *sequenceSimulator
	bounds       *windowBound // lower bounds on all sequences
	numTransfers []int        // indexed by bundle
	maxCircuits  []int        // maximum useful circuits if no other bundle has any, indexed by bundle
	isInner      []bool       // see Problem.innerBundles
	// transferEnds holds the sorted end times of the transfers on the static topology,
	// indexed by bundle.
	transferEnds [][]engine.Time
	endOrder     []int // bundles in the order of their last transfer's end

	// iterationWork is the work of simulating one iteration on the static topology, as
	// counted by flow.Evaluator.Work.
	iterationWork int64

	best     *Sequence   // fastest sequence found; nil if none
	bestTime engine.Time // its makespan
	bound    engine.Time // lower bound on the makespans of all sequences
	// isEnough ends the search early if it is not nil and returns true.
	isEnough func() bool
}

// newDuringSearch returns a search. The caller releases it with close.
func newDuringSearch(ctx context.Context, p *Problem, o Options, static *Decision) (*duringSearch, error) {
	s := &duringSearch{p: p, o: o, static: static, service: static.Service, numTransfers: p.Transfers(),
		maxCircuits: p.maxCircuitsAlone(), isInner: p.innerBundles()}
	w := p.acquire(ctx, s.service)
	s.budgetMeter = newBudgetMeter(ctx, searchBudget{
		SearchOptions: SearchOptions{MaxEvaluations: o.Moving.MaxEvaluations},
		maxWork:       min(o.Moving.MaxEvaluations, math.MaxInt64/workPerEvaluation) * workPerEvaluation,
	}, w)

	s.simulator = w.newSequenceSimulator()
	var err error
	if s.bounds, err = newWindowBound(ctx, p, s.maxCircuits); err != nil {
		return nil, err
	}
	if s.transferEnds, err = p.transferEnds(ctx, static); err != nil {
		return nil, err
	}
	if s.iterationWork, err = s.measureIterationWork(); err != nil {
		return nil, err
	}
	s.endOrder = numbers.Below(len(s.transferEnds))
	slices.SortStableFunc(s.endOrder, func(a, b int) int { return cmp.Compare(s.lastEnd(a), s.lastEnd(b)) })
	return s, nil
}

// workPerEvaluation limits the work of a search per permitted evaluation. Iterations of
// training jobs need less. Jobs with many simultaneous transfers need more, so they get
// fewer evaluations.
const workPerEvaluation = 60_000

// measureIterationWork simulates an iteration on the static topology and returns its
// work.
func (s *duringSearch) measureIterationWork() (int64, error) {
	before := s.evaluator.Work()
	if _, ok := s.simulator.run(&Sequence{First: s.static.Circuits}, &pendingSetup{}, never); !ok {
		return 0, cmp.Or(s.ctx.Err(), errNoEnd)
	}
	return s.evaluator.Work() - before, nil
}

// close releases the evaluator.
func (s *duringSearch) close() { s.p.release(s.evaluator) }

// transferEnds returns the sorted end times of the transfers of each bundle under a
// decision without changes.
func (p *Problem) transferEnds(ctx context.Context, d *Decision) ([][]engine.Time, error) {
	n, err := p.Fabric.Provision(d.Circuits)
	if err != nil {
		return nil, err
	}
	t, err := flow.Run(ctx, p.Graph, n, p.Fabric.Routes, flow.Options{Service: d.Service, Tails: d.Tails})
	if err != nil {
		return nil, err
	}
	ends := make([][]engine.Time, len(p.Fabric.Bundles))
	for id, e := range p.bundleOfTask() {
		if e >= 0 {
			ends[e] = append(ends[e], t.End[id])
		}
	}

	for _, list := range ends {
		slices.Sort(list)
	}
	return ends, nil
}

// lastEnd returns the end time of the last transfer of bundle e on the static topology; 0
// if e has none.
func (s *duringSearch) lastEnd(e int) engine.Time {
	if n := len(s.transferEnds[e]); n > 0 {
		return s.transferEnds[e][n-1]
	}
	return 0
}

// search looks for the best sequence in these steps:
//
//   - a local search from the best initial sequence (trySeeds);
//   - if the result is slower than the static topology, a local search from one change
//     and the change back;
//   - for small jobs, annealing and an enumeration of sequences of two topologies
//     (refine), followed by another local search if this helped.
//
// even is the result of the break-even search, or nil if that was not run. At delays
// above the break-even, no sequence that helps is known, and the search is skipped. At
// shorter delays, the sequences of the break-even search are candidates also.
func (s *duringSearch) search(even *breakEvenResult) {
	s.best, s.bestTime, s.bound = nil, never, s.bounds.quickBound(s.static, s.simulator.Delay)
	if s.staticIsOptimal() || s.o.Moving.Changes == 1 || even != nil && !even.covers(s.simulator.Delay) {
		return
	}

	// Search from the initial sequences, then with the rest of the budget.
	s.trySeeds()
	s.hillClimb(random.Stream(s.o.Seed, "during"), s.budgetUsed(seedBudgetShare))
	if s.bestTime > s.static.Makespan {
		s.best, s.bestTime = s.staticSequence()
	}
	s.hillClimb(random.Stream(s.o.Seed, "during"), s.budgetUsed(wholeBudget))

	// Try the sequences of the break-even, and refine.
	before := s.bestTime
	if even != nil {
		for _, q := range even.sequences {
			s.updateBest(q, unknownMakespan)
		}
	}

	s.refine()
	if s.bestTime < before { // continue from a better start
		s.reset()
		s.hillClimb(random.Stream(s.o.Seed, "pairs"), s.budgetUsed(wholeBudget))
	}
}

// staticSequence returns the sequence without changes and the makespan of its iteration.
func (s *duringSearch) staticSequence() (*Sequence, engine.Time) {
	return &Sequence{First: slices.Clone(s.static.Circuits)}, s.static.Makespan
}

// seedBudgetShare is the fraction of the budget for the local search from the initial
// sequences. If its result is still slower than no change, the rest goes to the search
// from the static topology. wholeBudget is the fraction 1.
const (
	seedBudgetShare = 0.6
	wholeBudget     = 1
)

// staticIsOptimal reports whether the bound proves that no change can help.
func (s *duringSearch) staticIsOptimal() bool { return meetsBound(s.static.Makespan, s.bound) }

// beatsStatic reports whether the best sequence is faster than no change.
func (s *duringSearch) beatsStatic() bool {
	return s.best != nil && len(s.best.Steps) > 0 && isFaster(s.bestTime, s.static.Makespan)
}

// meetsBound reports whether a makespan equals its bound up to rounding.
func meetsBound(c, bound engine.Time) bool {
	return float64(c) <= float64(bound)*(1+relTol) || c-bound <= tickTolerance
}

// mustStop reports whether the search must end.
func (s *duringSearch) mustStop() bool { return s.goalReached() || s.stopReason() != "" }

// goalReached reports whether the best sequence is optimal or good enough for the caller.
func (s *duringSearch) goalReached() bool {
	return meetsBound(s.bestTime, s.bound) || s.isEnough != nil && s.isEnough()
}

// withinChangeLimit reports whether q has at most the permitted number of changes.
func (s *duringSearch) withinChangeLimit(q *Sequence) bool {
	return s.o.Moving.Changes == 0 || len(q.Steps) <= s.o.Moving.Changes
}

// tryCharged simulates q and makes it the best sequence if it is faster. It reports
// whether it did, and charges the evaluation to the budget.
func (s *duringSearch) tryCharged(q *Sequence) bool {
	q.removeUnchanged()
	if len(q.Steps) == 0 || !s.withinChangeLimit(q) || s.stopReason() != "" {
		return false
	}
	s.charge(s.p, 1)
	c, ok := s.repeatedMakespan(q, s.bestTime)
	return ok && s.updateBest(q, c)
}

// tryUncharged is tryCharged without a charge to the budget. The evaluation is still
// counted.
func (s *duringSearch) tryUncharged(q *Sequence) bool {
	s.evaluations++
	c, ok := s.repeatedMakespan(q, s.bestTime)
	return ok && s.updateBest(q, c)
}

// unknownMakespan is the argument c of updateBest if the makespan is not known.
const unknownMakespan = 0

// updateBest makes q the best sequence if it is faster. c is the makespan of an iteration
// that ends in the state in which it starts, or unknownMakespan. The mean of consecutive
// iterations, from the first one on, must also be faster: they can converge to another
// cycle. No evaluation is counted.
func (s *duringSearch) updateBest(q *Sequence, c engine.Time) bool {
	if !isFaster(c, s.bestTime) {
		return false
	}
	o, ok := s.simulator.simulateCycle(q)
	if !ok || !isFaster(o.meanMakespan(), s.bestTime) {
		return false
	}
	s.best, s.bestTime = q.clone(), max(c, o.meanMakespan())
	return true
}

// repeatedMakespan returns the makespan of an iteration of q that ends in the state in
// which it starts. It returns false if none is found in maxTries iterations or if a makespan
// reaches cutoff.
func (s *duringSearch) repeatedMakespan(q *Sequence, cutoff engine.Time) (engine.Time, bool) {
	const maxTries = 4
	state := s.simulator.closingState(q)
	for range maxTries {
		next, ok := s.simulator.run(q, &state, cutoff)
		if !ok {
			return 0, false
		}
		if next.equal(&state) {
			return s.simulator.current.Makespan, true
		}
		state = next
	}
	return 0, false
}

// closingState returns the state after an iteration whose steps were all complete, except
// those at its end. It is the first guess for the state that repeats.
func (r *sequenceSimulator) closingState(q *Sequence) pendingSetup {
	r.current = Run{Fired: r.current.Fired[:0]}
	r.stoppedUntil = 0
	copy(r.target, q.First)
	for e := range r.setups {
		r.setups[e] = r.setups[e][:0]
	}
	for i, s := range q.Steps {
		if s.Bundle != AtEnd {
			copy(r.target, s.Circuits)
			continue
		}
		const end = 0 // the time of the end; only times after it matter
		r.applyStep(end, q.Steps[i].Circuits, atIterationEnd)
	}
	return r.endState()
}

// decision returns the decision of the search: its best sequence, or the static decision
// if no sequence is faster.
func (s *duringSearch) decision() *Decision {
	// Start from the static decision.
	d := *s.static
	m := &Moves{Static: s.static}
	d.Moves, d.Searched = m, true
	d.BoundModel = AnySequence
	d.Evaluations += s.evaluations
	if s.beatsStatic() {
		if o, ok := s.simulator.simulateCycle(s.best); ok && o.meanMakespan() < s.static.Makespan {
			m.Sequence, m.Runs, m.Repeated = s.best, o.runs, o.start
			d.Circuits, d.Makespan, d.Tails, d.PortsBound, d.Limit = slices.Clone(s.best.First),
				o.meanMakespan(), nil, 0, 0
		}
	}

	// Raise the bound as far as windows permit.
	s.bound = s.bounds.tightBound(s.bound, d.Makespan, s.simulator.Delay)
	d.Bound = min(s.bound, d.Makespan)
	switch {
	case m.Sequence != nil:
	case s.staticIsOptimal():
		m.Reason = "none: no reconfiguration can help here"
	case s.o.Moving.Changes == 1:
		m.Reason = "none: policy.delta-during.changes = 1 allows none"
	default:
		m.Reason = fmt.Sprintf("none found in %d evaluations", s.evaluations)
	}

	return &d
}

// AnySequence is the BoundModel of bounds that hold for every sequence of topologies.
const AnySequence = "any way of sharing, all sequences of topologies"
