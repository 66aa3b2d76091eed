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

// fastAllocator searches for the topology with the shortest makespan by a genetic algorithm whose individuals are simulated
// (DELTA-Fast, Sec. IV-B). In place of Alg. 2 the NICs and ports bound the circuits of a bundle.
type fastAllocator struct{}

func (fastAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	search := o.newBudget(SearchOptions{TimeLimit: o.Fast.TimeLimit})
	if d, _ := p.solveOneHop(ctx, o.serviceOr(flow.MaxMin)); d != nil {
		return p.minimisePorts(ctx, d, makespanLimit{limit: withTolerance(d.Makespan, o.PortTolerance), fixedService: true}, &o, search)
	}
	s, err := newFastSearch(ctx, p, o, search, o.serviceOr(flow.MaxMin))
	if err != nil {
		return nil, err
	}
	defer s.close()
	shared, err := p.sharedResultWithin(ctx, &search)
	if err != nil {
		return nil, err
	}
	s.run()
	k := makespanLimit{limit: withTolerance(s.best.makespan, o.PortTolerance), fixedService: true}
	if !o.KeepPorts {
		s.minimisePorts(k.limit)
	}
	d := s.decision()
	d.Bound, d.BoundModel, d.Stopped = shared.bound, AnyService, cmp.Or(d.Stopped, shared.stopped)
	return p.minimisePorts(ctx, d, k, &o, search)
}

// geneticFallback is the genetic search under a service, with at most so many evaluations, in place of a search that had to
// stop; nil when no time is left for it.
func (p *Problem) geneticFallback(ctx context.Context, o Options, stopped *searchBudget, service flow.Service, evaluations int64) (*Decision, error) {
	if stopped.expired() {
		return nil, nil
	}
	search := o.newBudget(SearchOptions{max(1, evaluations), o.Fast.TimeLimit})
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
	budgetMeter
	p          *Problem
	options    FastOptions
	service    flow.Service
	isInner    []bool  // by bundle, whether transfers wait for its
	outerLinks []int32 // links of the bundles of the other kind
	random     *rand.Rand

	evaluators []*circuitEvaluator // one a worker
	memo       map[string]memoEntry
	stopped    string

	population  []individual // ranked
	generations int
	simulated   []individual // all that was simulated to its end, in order
	best        individual   // the paper's X*
}

// individual is a topology with its fitness: the makespan and, among equals, the ports of one replica.
type individual struct {
	circuits []int
	makespan engine.Time // never where it was cut off
	ports    int
}

// compareFitness orders individuals by fitness. Makespans within rounding of each other count as one, in classes, so
// that the order is transitive.
func compareFitness(a, b individual) int {
	return cmp.Or(cmp.Compare(makespanClass(a.makespan), makespanClass(b.makespan)), a.ports-b.ports)
}

// classTicks is the width of a class of makespans: a nanosecond, above what rounding leaves over many tasks, far below
// what matters.
const classTicks = 1000

// makespanClass numbers makespans so that those of one class count as equal.
func makespanClass(c engine.Time) engine.Time { return c / classTicks }

func newFastSearch(ctx context.Context, p *Problem, o Options, search searchBudget, service flow.Service) (*fastSearch, error) {
	_, x, upper := p.bestBaseline(ctx, service)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, errNoEnd
	}
	s := &fastSearch{
		budgetMeter: budgetMeter{searchBudget: search, ctx: ctx}, p: p, options: o.Fast, service: service, isInner: p.innerBundles(),
		random: random.Stream(o.Seed, "delta-fast"), memo: map[string]memoEntry{},
	}
	s.options.Elites = min(s.options.Elites, s.options.Population-1)
	s.charge(p, 3) // the baselines
	s.outerLinks = p.linksOf(func(e int) bool { return !s.isInner[e] })
	// more would only take memory
	for range min(o.workers(), s.options.Population, runtime.GOMAXPROCS(0)) {
		s.evaluators = append(s.evaluators, p.acquire(ctx, service))
	}
	s.best = s.individual(x)
	s.best.makespan = upper
	return s, nil
}

// errNoEnd says that nothing can be done for a problem.
var errNoEnd = errors.New("topology: no topology can be simulated to its end")

func (s *fastSearch) close() {
	for _, w := range s.evaluators {
		s.p.release(w)
	}
}

// run searches until nothing helps.
func (s *fastSearch) run() {
	for again := true; again; again = s.steepestDescent() {
		s.evolve()
	}
}

func (s *fastSearch) decision() *Decision {
	return &Decision{
		Circuits: s.best.circuits, Service: s.service, Makespan: s.best.makespan, Evaluations: s.evaluations, Searched: true, Stopped: s.stopped,
	}
}

// mustStop reports whether the search for a shorter makespan must end, and says why.
func (s *fastSearch) mustStop() bool {
	if s.stopped == "" {
		s.stopped = s.budgetMeter.stopReason()
	}
	if s.stopped == "" && s.generations >= s.options.MaxGenerations {
		s.stopped = fmt.Sprintf("after %d generations", s.generations)
	}
	return s.stopped != ""
}

// individual returns x, not simulated yet.
func (s *fastSearch) individual(x []int) individual {
	return individual{circuits: x, makespan: never, ports: s.p.portsOf(x)}
}

// evolve is Alg. 3 (SimBasedDomainAdaptedGA). Called again it goes on from the population it has, with what has been
// found since in place of the worst.
func (s *fastSearch) evolve() {
	if s.population == nil {
		s.population = s.firstGeneration()
	} else {
		s.population[len(s.population)-1] = s.best
	}
	s.evaluateGeneration(s.population)
	for stall := 0; stall < s.options.StallGenerations && !s.mustStop(); stall++ {
		s.generations++
		s.population = s.nextGeneration()
		before := makespanClass(s.best.makespan)
		if s.evaluateGeneration(s.population); makespanClass(s.best.makespan) < before {
			stall = -1
		}
	}
}

// evaluateGeneration simulates a generation, ranks it, and keeps its best.
func (s *fastSearch) evaluateGeneration(population []individual) {
	s.evaluate(population, never)
	slices.SortStableFunc(population, compareFitness)
	s.updateBest(population[0])
}

// updateBest takes t as the best if it is fitter.
func (s *fastSearch) updateBest(t individual) {
	if t.makespan != never && compareFitness(t, s.best) < 0 {
		s.best = t
	}
}

// nextGeneration is Alg. 3, Lines 5 to 12. A child that the generation holds already is changed, a few times if need
// be: that widens the search where the population has converged.
func (s *fastSearch) nextGeneration() []individual {
	const tries = 3
	next := append(make([]individual, 0, s.options.Population), s.population[:s.options.Elites]...)
	present := make(map[string]bool, s.options.Population)
	for i := range next {
		present[topologyKey(next[i].circuits)] = true
	}
	for len(next) < s.options.Population {
		mother, father := s.tournament(), s.tournament()
		child := s.crossover(mother.circuits, father.circuits)
		if s.random.Float64() < s.options.Mutation {
			s.mutate(child)
		}
		child = s.repairOrRandom(child)
		for try := 0; try < tries && present[topologyKey(child)]; try++ {
			s.mutate(child)
			child = s.repairOrRandom(child)
		}
		present[topologyKey(child)] = true
		next = append(next, s.individual(child))
	}
	return next
}

// repairOrRandom is Alg. 3, Lines 9 and 10.
func (s *fastSearch) repairOrRandom(child []int) []int {
	if !s.repair(child) {
		return s.randomTopology()
	}
	return child
}
