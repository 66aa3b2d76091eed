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

// DuringOptions are the options of delta-during.
type DuringOptions struct {
	Changes        int    `key:"changes" doc:"maximum number of changes of circuits per iteration, including the change back to the first topology, so 1 means no change; 0 means no limit" default:"0" max:"1000"`
	Service        string `key:"service" doc:"sharing of circuits: by level-priority, as under delta-joint, or max-min fair, as under delta-topo" default:"level-priority" choices:"level-priority|max-min"`
	MaxEvaluations int64  `key:"max_evaluations" doc:"maximum number of sequences that the search simulates; sequences of two topologies are enumerated in addition if there are few" default:"1500" min:"1" max:"1000000000000000"`
	BreakEven      bool   `key:"break_even" doc:"compute the longest reconfiguration delay at which moving circuits is faster" default:"true"`
}

// duringAllocator changes circuits in an iteration: at first those of pipelines are provisioned, say, and as soon as the last
// transfer of a pair of pods has ended theirs go to synchronisation, and back. It starts from the best topology without
// a change, of delta-joint or delta-topo, so that it is never slower (docs/reconfiguring.md).
type duringAllocator struct{}

func (duringAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	service := o.serviceOr(o.duringService())
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
		d.Moves.Sought, d.Moves.BreakEven = true, even.delay
	}
	return d, ctx.Err()
}

func (o *Options) duringService() flow.Service {
	s, err := flow.ParseService(o.Moving.Service)
	if err != nil {
		return flow.LevelPriority
	}
	return s
}

// staticDecision returns the best decision without a change.
func (p *Problem) staticDecision(ctx context.Context, o Options, service flow.Service) (*Decision, error) {
	if service == flow.MaxMin {
		return topoAllocator{}.Choose(ctx, p, o)
	}
	return jointAllocator{}.Choose(ctx, p, o)
}

// Moves is what a decision whose circuits change comes with.
type Moves struct {
	*Sequence
	// Runs are iterations from the first on, which finds its topology in place, and Repeated is the first of those that
	// come again and again.
	Runs     []Run
	Repeated int
	Static   *Decision // without changes
	// BreakEven is the longest delay that was found at which changes still pay, whatever the delay of the decision; 0 if
	// none was found or it was not sought.
	BreakEven engine.Time
	Sought    bool
	Why       string // that no circuit moves, and why; "" if some do
}

// Moving reports whether circuits move.
func (m *Moves) Moving() bool { return m != nil && m.Sequence != nil }

// Last returns the last of the iterations that are known, 0 where circuits stay.
func (m *Moves) Last() int {
	if !m.Moving() {
		return 0
	}
	return len(m.Runs) - 1
}

// duringSearch is one search.
type duringSearch struct {
	budgetMeter
	p            *Problem
	o            Options
	static       *Decision
	service      flow.Service
	simulator    *sequenceSimulator
	bounds       *windowBound // bounds of every sequence
	numTransfers []int        // by bundle: its transfers
	maxCircuits  []int        // by bundle: circuits beyond which none is of use
	isInner      []bool
	transferEnds [][]engine.Time // by bundle: of its transfers, on the topology that stays
	endOrder     []int           // bundles in the order in which they end

	// iterationWork is the work of simulating one iteration on the topology that stays, as flow.Evaluator.Work counts it.
	iterationWork int64

	best     *Sequence // nil is none
	bestTime engine.Time
	bound    engine.Time
	// isEnough ends the search early where it is set.
	isEnough func() bool
}

func newDuringSearch(ctx context.Context, p *Problem, o Options, static *Decision) (*duringSearch, error) {
	s := &duringSearch{p: p, o: o, static: static, service: static.Service, numTransfers: p.Transfers(), maxCircuits: p.maxCircuitsAlone(), isInner: p.innerBundles()}
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

// workPerEvaluation limits the work of a search per evaluation that it may spend. The iterations of training jobs take
// less. Those of jobs whose transfers are all under way together take more, so such jobs get fewer evaluations.
const workPerEvaluation = 60_000

// measureIterationWork simulates an iteration on the topology that stays and returns the work of that.
func (s *duringSearch) measureIterationWork() (int64, error) {
	before := s.evaluator.Work()
	if _, ok := s.simulator.run(&Sequence{First: s.static.Circuits}, &pendingSetup{}, never); !ok {
		return 0, cmp.Or(s.ctx.Err(), errNoEnd)
	}
	return s.evaluator.Work() - before, nil
}

func (s *duringSearch) close() { s.p.release(s.evaluator) }

// transferEnds returns when the transfers of each bundle end on a topology that stays, in order of time.
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

// lastEnd returns when the last transfer of a bundle ends there.
func (s *duringSearch) lastEnd(e int) engine.Time {
	if n := len(s.transferEnds[e]); n > 0 {
		return s.transferEnds[e][n-1]
	}
	return 0
}

// search looks for the best sequence: the best of the seeds, improved by local search; if that is slower than no change,
// one change and the change back, improved likewise; and the best sequence of two topologies, if these can be enumerated.
// Even is the break-even, nil if that was not sought: at longer delays nothing that pays is known, at shorter ones the
// sequences that were found with it are candidates, too.
func (s *duringSearch) search(even *breakEvenResult) {
	s.best, s.bestTime, s.bound = nil, never, s.bounds.quickBound(s.static, s.simulator.Delay)
	if s.staticIsOptimal() || s.o.Moving.Changes == 1 || even != nil && !even.covers(s.simulator.Delay) {
		return
	}
	s.trySeeds()
	s.hillClimb(random.Stream(s.o.Seed, "during"), s.budgetUsed(seedBudgetShare))
	if s.bestTime > s.static.Makespan {
		s.best, s.bestTime = s.staticSequence()
	}
	s.hillClimb(random.Stream(s.o.Seed, "during"), s.budgetUsed(1))
	before := s.bestTime
	if even != nil {
		for _, q := range even.sequences {
			s.updateBest(q, 0)
		}
	}
	s.refine()
	if s.bestTime < before { // a better beginning
		s.reset()
		s.hillClimb(random.Stream(s.o.Seed, "pairs"), s.budgetUsed(1))
	}
}

// staticSequence returns the sequence without a change, and the time of its iteration.
func (s *duringSearch) staticSequence() (*Sequence, engine.Time) {
	return &Sequence{First: slices.Clone(s.static.Circuits)}, s.static.Makespan
}

// seedBudgetShare is the part of the evaluations after which a sequence that is still slower than no change is given up.
const seedBudgetShare = 0.6

// staticIsOptimal reports whether no change can help, by the bound.
func (s *duringSearch) staticIsOptimal() bool { return meetsBound(s.static.Makespan, s.bound) }

// beatsStatic reports whether the best sequence is faster than none.
func (s *duringSearch) beatsStatic() bool {
	return s.best != nil && len(s.best.Steps) > 0 && isFaster(s.bestTime, s.static.Makespan)
}

// meetsBound reports whether a makespan is its bound but for rounding.
func meetsBound(c, bound engine.Time) bool {
	return float64(c) <= float64(bound)*(1+relTol) || c-bound <= tickTolerance
}

// mustStop reports whether the search may end.
func (s *duringSearch) mustStop() bool { return s.goalReached() || s.stopReason() != "" }

// goalReached reports whether nothing better than the best sequence is sought.
func (s *duringSearch) goalReached() bool {
	return meetsBound(s.bestTime, s.bound) || s.isEnough != nil && s.isEnough()
}

// withinChangeLimit reports whether q has no more changes than it may.
func (s *duringSearch) withinChangeLimit(q *Sequence) bool {
	return s.o.Moving.Changes == 0 || len(q.Steps) <= s.o.Moving.Changes
}

// tryCharged simulates q and keeps it if it is better.
func (s *duringSearch) tryCharged(q *Sequence) bool {
	q.removeUnchanged()
	if len(q.Steps) == 0 || !s.withinChangeLimit(q) || s.stopReason() != "" {
		return false
	}
	s.charge(s.p, 1)
	c, ok := s.repeatedMakespan(q, s.bestTime)
	return ok && s.updateBest(q, c)
}

// tryUncharged keeps a sequence if it is better than the best. It counts the evaluation, but not against the budget.
func (s *duringSearch) tryUncharged(q *Sequence) bool {
	s.evaluations++
	c, ok := s.repeatedMakespan(q, s.bestTime)
	return ok && s.updateBest(q, c)
}

// updateBest keeps a sequence whose iteration, repeated, takes c if that is less than the best takes, and if the iterations
// that follow each other from the first one on take less, too: they may come to repeat themselves in another way. It
// counts no evaluation. C may be 0 if it is not known.
func (s *duringSearch) updateBest(q *Sequence, c engine.Time) bool {
	better := func(c engine.Time) bool { return float64(c) < float64(s.bestTime)*(1-relTol/10) }
	if !better(c) {
		return false
	}
	o, ok := s.simulator.simulateCycle(q)
	if !ok || !better(o.meanMakespan()) {
		return false
	}
	s.best, s.bestTime = q.clone(), max(c, o.meanMakespan())
	return true
}

// repeatedMakespan returns the makespan of an iteration of q that ends in the state in which it began.
func (s *duringSearch) repeatedMakespan(q *Sequence, cutoff engine.Time) (engine.Time, bool) {
	at := s.simulator.closingState(q)
	for range 4 {
		next, ok := s.simulator.run(q, &at, cutoff)
		if !ok {
			return 0, false
		}
		if next.equal(&at) {
			return s.simulator.current.Makespan, true
		}
		at = next
	}
	return 0, false
}

// closingState returns the state in which an iteration begins when all has been made before the steps at the end of the last
// one.
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
		r.applyStep(0, q.Steps[i].Circuits, false)
	}
	return r.endState()
}

// decision is what was found.
func (s *duringSearch) decision() *Decision {
	d := *s.static
	m := &Moves{Static: s.static}
	d.Moves, d.Searched = m, true
	d.BoundModel = AnySequence
	d.Evaluations += s.evaluations
	if s.beatsStatic() {
		if o, ok := s.simulator.simulateCycle(s.best); ok && o.meanMakespan() < s.static.Makespan {
			m.Sequence, m.Runs, m.Repeated = s.best, o.runs, o.start
			d.Circuits, d.Makespan, d.Tails, d.PortsBound, d.Limit = slices.Clone(s.best.First), o.meanMakespan(), nil, 0, 0
		}
	}
	s.bound = s.bounds.tightBound(s.bound, d.Makespan, s.simulator.Delay)
	d.Bound = min(s.bound, d.Makespan)
	switch {
	case m.Sequence != nil:
	case s.staticIsOptimal():
		m.Why = "none: no reconfiguration can help here"
	case s.o.Moving.Changes == 1:
		m.Why = "none: policy.delta-during.changes = 1 allows none"
	default:
		m.Why = fmt.Sprintf("none found in %d evaluations", s.evaluations)
	}
	return &d
}

// AnySequence names the model of bounds that hold for every sequence of topologies.
const AnySequence = "any way of sharing, all sequences of topologies"
