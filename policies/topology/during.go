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

// during changes circuits in an iteration: at first those of pipelines are provisioned, say, and as soon as the last
// transfer of a pair of pods has ended theirs go to synchronisation, and back. It starts from the best topology without
// a change, of delta-joint or delta-topo, so that it is never slower (docs/reconfiguring.md).
type during struct{}

func (during) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	service := o.service(o.duringService())
	static, err := p.unchanged(ctx, o, service)
	if err != nil {
		return nil, err
	}
	s, err := newDuringSearch(ctx, p, o, static)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var even *breakEven
	if o.Moving.BreakEven {
		even = s.breakEven()
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

// unchanged returns the best decision without a change.
func (p *Problem) unchanged(ctx context.Context, o Options, service flow.Service) (*Decision, error) {
	if service == flow.MaxMin {
		return topo{}.Choose(ctx, p, o)
	}
	return joint{}.Choose(ctx, p, o)
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
	meter
	p       *Problem
	o       Options
	static  *Decision
	service flow.Service
	play    *rehearsal
	held    *held // bounds of every sequence
	total   []int // by bundle: its transfers
	high    []int // by bundle: circuits beyond which none is of use
	inner   []bool
	ends    [][]engine.Time // by bundle: of its transfers, on the topology that stays
	order   []int           // bundles in the order in which they end

	// iteration is the work of simulating one iteration on the topology that stays, as flow.Evaluator.Work counts it.
	iteration int64

	best  *Sequence // nil is none
	value engine.Time
	bound engine.Time
	// enough ends the search early where it is set.
	enough func() bool
}

func newDuringSearch(ctx context.Context, p *Problem, o Options, static *Decision) (*duringSearch, error) {
	s := &duringSearch{p: p, o: o, static: static, service: static.Service, total: p.Transfers(), high: p.alone(), inner: p.inner()}
	w := p.evaluator(ctx, s.service)
	s.meter = newMeter(ctx, allowance{
		SearchOptions: SearchOptions{MaxEvaluations: o.Moving.MaxEvaluations},
		work:          min(o.Moving.MaxEvaluations, math.MaxInt64/workPerEvaluation) * workPerEvaluation,
	}, w)
	s.play = w.rehearse()
	var err error
	if s.held, err = newHeld(ctx, p, s.high); err != nil {
		return nil, err
	}
	if s.ends, err = p.endings(ctx, static); err != nil {
		return nil, err
	}
	if s.iteration, err = s.workOfIteration(); err != nil {
		return nil, err
	}
	s.order = numbers.Below(len(s.ends))
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.last(a), s.last(b)) })
	return s, nil
}

// workPerEvaluation limits the work of a search per evaluation that it may spend. The iterations of training jobs take
// less. Those of jobs whose transfers are all under way together take more, so such jobs get fewer evaluations.
const workPerEvaluation = 60_000

// workOfIteration simulates an iteration on the topology that stays and returns the work of that.
func (s *duringSearch) workOfIteration() (int64, error) {
	before := s.w.Work()
	if _, ok := s.play.run(&Sequence{First: s.static.Circuits}, &history{}, never); !ok {
		return 0, cmp.Or(s.ctx.Err(), errNoEnd)
	}
	return s.w.Work() - before, nil
}

func (s *duringSearch) close() { s.p.done(s.w) }

// endings returns when the transfers of each bundle end on a topology that stays, in order of time.
func (p *Problem) endings(ctx context.Context, d *Decision) ([][]engine.Time, error) {
	n, err := p.Fabric.Provision(d.Circuits)
	if err != nil {
		return nil, err
	}
	t, err := flow.Run(ctx, p.Graph, n, p.Fabric.Routes, flow.Options{Service: d.Service, Tails: d.Tails})
	if err != nil {
		return nil, err
	}
	ends := make([][]engine.Time, len(p.Fabric.Bundles))
	for id, e := range p.classes() {
		if e >= 0 {
			ends[e] = append(ends[e], t.End[id])
		}
	}
	for _, list := range ends {
		slices.Sort(list)
	}
	return ends, nil
}

// last returns when the last transfer of a bundle ends there.
func (s *duringSearch) last(e int) engine.Time {
	if n := len(s.ends[e]); n > 0 {
		return s.ends[e][n-1]
	}
	return 0
}

// search looks for the best sequence: the best of the seeds, improved by local search; if that is slower than no change,
// one change and the change back, improved likewise; and the best sequence of two topologies, if these can be enumerated.
// Even is the break-even, nil if that was not sought: at longer delays nothing that pays is known, at shorter ones the
// sequences that were found with it are candidates, too.
func (s *duringSearch) search(even *breakEven) {
	s.best, s.value, s.bound = nil, never, s.held.quick(s.static, s.play.Delay)
	if s.stays() || s.o.Moving.Changes == 1 || even != nil && !even.covers(s.play.Delay) {
		return
	}
	s.seed()
	s.climb(random.Stream(s.o.Seed, "during"), s.share(seededShare))
	if s.value > s.static.Makespan {
		s.best, s.value = s.unmoved()
	}
	s.climb(random.Stream(s.o.Seed, "during"), s.share(1))
	before := s.value
	if even != nil {
		for _, q := range even.known {
			s.keep(q, 0)
		}
	}
	s.refine()
	if s.value < before { // a better beginning
		s.restart()
		s.climb(random.Stream(s.o.Seed, "pairs"), s.share(1))
	}
}

// unmoved returns the sequence without a change, and the time of its iteration.
func (s *duringSearch) unmoved() (*Sequence, engine.Time) {
	return &Sequence{First: slices.Clone(s.static.Circuits)}, s.static.Makespan
}

// seededShare is the part of the evaluations after which a sequence that is still slower than no change is given up.
const seededShare = 0.6

// stays reports whether no change can help, by the bound.
func (s *duringSearch) stays() bool { return optimal(s.static.Makespan, s.bound) }

// pays reports whether the best sequence is faster than none.
func (s *duringSearch) pays() bool {
	return s.best != nil && len(s.best.Steps) > 0 && faster(s.value, s.static.Makespan)
}

// optimal reports whether a makespan is its bound but for rounding.
func optimal(c, bound engine.Time) bool {
	return float64(c) <= float64(bound)*(1+rounding) || c-bound <= fewTicks
}

// done reports whether the search may end.
func (s *duringSearch) done() bool { return s.found() || s.over() != "" }

// found reports whether nothing better than the best sequence is sought.
func (s *duringSearch) found() bool {
	return optimal(s.value, s.bound) || s.enough != nil && s.enough()
}

// allowed reports whether q has no more changes than it may.
func (s *duringSearch) allowed(q *Sequence) bool {
	return s.o.Moving.Changes == 0 || len(q.Steps) <= s.o.Moving.Changes
}

// try simulates q and keeps it if it is better.
func (s *duringSearch) try(q *Sequence) bool {
	q.tidy()
	if len(q.Steps) == 0 || !s.allowed(q) || s.over() != "" {
		return false
	}
	s.spend(s.p, 1)
	c, ok := s.repeating(q, s.value)
	return ok && s.keep(q, c)
}

// consider keeps a sequence if it is better than the best. It counts the evaluation, but not against the budget.
func (s *duringSearch) consider(q *Sequence) bool {
	s.evaluations++
	c, ok := s.repeating(q, s.value)
	return ok && s.keep(q, c)
}

// keep keeps a sequence whose iteration, repeated, takes c if that is less than the best takes, and if the iterations
// that follow each other from the first one on take less, too: they may come to repeat themselves in another way. It
// counts no evaluation. C may be 0 if it is not known.
func (s *duringSearch) keep(q *Sequence, c engine.Time) bool {
	better := func(c engine.Time) bool { return float64(c) < float64(s.value)*(1-rounding/10) }
	if !better(c) {
		return false
	}
	o, ok := s.play.steady(q)
	if !ok || !better(o.mean()) {
		return false
	}
	s.best, s.value = q.clone(), max(c, o.mean())
	return true
}

// repeating returns the makespan of an iteration of q that ends in the state in which it began.
func (s *duringSearch) repeating(q *Sequence, cutoff engine.Time) (engine.Time, bool) {
	at := s.play.closing(q)
	for range 4 {
		next, ok := s.play.run(q, &at, cutoff)
		if !ok {
			return 0, false
		}
		if next.equal(&at) {
			return s.play.made.Makespan, true
		}
		at = next
	}
	return 0, false
}

// closing returns the state in which an iteration begins when all has been made before the steps at the end of the last
// one.
func (r *rehearsal) closing(q *Sequence) history {
	r.made = Run{Fired: r.made.Fired[:0]}
	r.down = 0
	copy(r.target, q.First)
	for e := range r.coming {
		r.coming[e] = r.coming[e][:0]
	}
	for i, s := range q.Steps {
		if s.Bundle != AtEnd {
			copy(r.target, s.Circuits)
			continue
		}
		r.fire(0, q.Steps[i].Circuits, false)
	}
	return r.state()
}

// decision is what was found.
func (s *duringSearch) decision() *Decision {
	d := *s.static
	m := &Moves{Static: s.static}
	d.Moves, d.Searched = m, true
	d.BoundModel = AnySequence
	d.Evaluations += s.evaluations
	if s.pays() {
		if o, ok := s.play.steady(s.best); ok && o.mean() < s.static.Makespan {
			m.Sequence, m.Runs, m.Repeated = s.best, o.all, o.from
			d.Circuits, d.Makespan, d.Tails, d.PortsBound, d.Limit = slices.Clone(s.best.First), o.mean(), nil, 0, 0
		}
	}
	s.bound = s.held.sharp(s.bound, d.Makespan, s.play.Delay)
	d.Bound = min(s.bound, d.Makespan)
	switch {
	case m.Sequence != nil:
	case s.stays():
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
