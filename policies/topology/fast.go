package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/random"
)

// fast searches for the topology with the shortest makespan by a genetic algorithm whose individuals are simulated
// (DELTA-Fast, Sec. IV-B). In place of Alg. 2 the NICs and ports bound the circuits of a bundle.
type fast struct{}

func (fast) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	search := o.allow(SearchOptions{TimeLimit: o.Fast.TimeLimit})
	if d, _ := p.solveOneHop(ctx, o.service(flow.MaxMin)); d != nil {
		return p.saved(ctx, d, keeping{limit: grown(d.Makespan, o.PortTolerance), exact: true}, &o, search)
	}
	s, err := newFastSearch(ctx, p, o, search, o.service(flow.MaxMin))
	if err != nil {
		return nil, err
	}
	defer s.close()
	shared, err := p.sharedWithin(ctx, &search)
	if err != nil {
		return nil, err
	}
	s.run()
	k := keeping{limit: grown(s.best.makespan, o.PortTolerance), exact: true}
	if !o.KeepPorts {
		s.savePorts(k.limit)
	}
	d := s.decision()
	d.Bound, d.BoundModel, d.Stopped = shared.bound, AnyService, cmp.Or(d.Stopped, shared.stopped)
	return p.saved(ctx, d, k, &o, search)
}

// fallback is the genetic search under a service, with at most so many evaluations, in place of a search that had to
// stop; nil when no time is left for it.
func (p *Problem) fallback(ctx context.Context, o Options, stopped *allowance, service flow.Service, evaluations int64) (*Decision, error) {
	if stopped.late() {
		return nil, nil
	}
	search := o.allow(SearchOptions{max(1, evaluations), o.Fast.TimeLimit})
	if search.deadline.IsZero() || !stopped.deadline.IsZero() && stopped.deadline.Before(search.deadline) {
		search.deadline = stopped.deadline
	}
	s, err := newFastSearch(ctx, p, o, search, service)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.run()
	return s.decision(), ctx.Err()
}

// fastSearch is one search.
type fastSearch struct {
	meter
	p       *Problem
	o       FastOptions
	service flow.Service
	inner   []bool  // by bundle, whether transfers wait for its
	outer   []int32 // links of the bundles of the other kind
	random  *rand.Rand

	evaluators []*evaluator // one a worker
	memo       map[string]outcome
	stopped    string

	population  []individual // ranked
	generations int
	simulated   []individual // all that was simulated to its end, in order
	best        individual   // the paper's X*
}

// individual is a topology with its fitness: the makespan and, among equals, the ports of one replica.
type individual struct {
	x        []int
	makespan engine.Time // never where it was cut off
	ports    int
}

// compareFitness orders individuals by fitness. Makespans within rounding of each other count as one, in classes, so
// that the order is transitive.
func compareFitness(a, b individual) int {
	return cmp.Or(cmp.Compare(class(a.makespan), class(b.makespan)), a.ports-b.ports)
}

// classTicks is the width of a class of makespans: a nanosecond, above what rounding leaves over many tasks, far below
// what matters.
const classTicks = 1000

// class numbers makespans so that those of one class count as equal.
func class(c engine.Time) engine.Time { return c / classTicks }

func newFastSearch(ctx context.Context, p *Problem, o Options, search allowance, service flow.Service) (*fastSearch, error) {
	_, x, upper := p.bestBaseline(ctx, service)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, errNoEnd
	}
	s := &fastSearch{
		meter: meter{allowance: search, ctx: ctx}, p: p, o: o.Fast, service: service, inner: p.inner(),
		random: random.Stream(o.Seed, "delta-fast"), memo: map[string]outcome{},
	}
	s.o.Elites = min(s.o.Elites, s.o.Population-1)
	s.spend(p, 3) // the baselines
	s.outer = p.links(func(e int) bool { return !s.inner[e] })
	// more would only take memory
	for range min(o.workers(), s.o.Population, runtime.GOMAXPROCS(0)) {
		s.evaluators = append(s.evaluators, p.evaluator(ctx, service))
	}
	s.best = s.individual(x)
	s.best.makespan = upper
	return s, nil
}

// errNoEnd says that nothing can be done for a problem.
var errNoEnd = errors.New("topology: no topology can be simulated to its end")

func (s *fastSearch) close() {
	for _, w := range s.evaluators {
		s.p.done(w)
	}
}

// run searches until nothing helps.
func (s *fastSearch) run() {
	for again := true; again; again = s.polish() {
		s.evolve()
	}
}

func (s *fastSearch) decision() *Decision {
	return &Decision{
		Circuits: s.best.x, Service: s.service, Makespan: s.best.makespan, Evaluations: s.evaluations, Searched: true, Stopped: s.stopped,
	}
}

// over reports whether the search for a shorter makespan must end, and says why.
func (s *fastSearch) over() bool {
	if s.stopped == "" {
		s.stopped = s.meter.over()
	}
	if s.stopped == "" && s.generations >= s.o.MaxGenerations {
		s.stopped = fmt.Sprintf("after %d generations", s.generations)
	}
	return s.stopped != ""
}

// individual returns x, not simulated yet.
func (s *fastSearch) individual(x []int) individual {
	return individual{x: x, makespan: never, ports: s.p.used(x)}
}

// evolve is Alg. 3 (SimBasedDomainAdaptedGA). Called again it goes on from the population it has, with what has been
// found since in place of the worst.
func (s *fastSearch) evolve() {
	if s.population == nil {
		s.population = s.firstGeneration()
	} else {
		s.population[len(s.population)-1] = s.best
	}
	s.valued(s.population)
	for stall := 0; stall < s.o.StallGenerations && !s.over(); stall++ {
		s.generations++
		s.population = s.nextGeneration()
		before := class(s.best.makespan)
		if s.valued(s.population); class(s.best.makespan) < before {
			stall = -1
		}
	}
}

// valued simulates a generation, ranks it, and keeps its best.
func (s *fastSearch) valued(population []individual) {
	s.value(population, never)
	slices.SortStableFunc(population, compareFitness)
	s.keep(population[0])
}

// keep takes t as the best if it is fitter.
func (s *fastSearch) keep(t individual) {
	if t.makespan != never && compareFitness(t, s.best) < 0 {
		s.best = t
	}
}

// nextGeneration is Alg. 3, Lines 5 to 12. A child that the generation holds already is changed, a few times if need
// be: that widens the search where the population has converged.
func (s *fastSearch) nextGeneration() []individual {
	const tries = 3
	next := append(make([]individual, 0, s.o.Population), s.population[:s.o.Elites]...)
	present := make(map[string]bool, s.o.Population)
	for i := range next {
		present[key(next[i].x)] = true
	}
	for len(next) < s.o.Population {
		mother, father := s.tournament(), s.tournament()
		child := s.crossover(mother.x, father.x)
		if s.random.Float64() < s.o.Mutation {
			s.mutate(child)
		}
		child = s.repaired(child)
		for try := 0; try < tries && present[key(child)]; try++ {
			s.mutate(child)
			child = s.repaired(child)
		}
		present[key(child)] = true
		next = append(next, s.individual(child))
	}
	return next
}

// repaired is Alg. 3, Lines 9 and 10.
func (s *fastSearch) repaired(child []int) []int {
	if !s.repair(child) {
		return s.randomTopology()
	}
	return child
}
