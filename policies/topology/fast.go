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

// fastAllocator is delta-fast: a genetic algorithm whose individuals are topologies and
// whose fitness is the simulated makespan (DELTA-Fast, Sec. IV-B). Circuits per bundle
// are limited by NICs and ports rather than by Alg. 2.
type fastAllocator struct{}

func (fastAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	search := o.newBudget(SearchOptions{TimeLimit: o.Fast.TimeLimit})
	if d, _ := p.solveOneHop(ctx, o.serviceOr(flow.MaxMin)); d != nil {
		return p.minimisePorts(ctx, d, makespanLimit{limit: withTolerance(d.Makespan, o.PortTolerance),
			fixedService: true}, &o, search)
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

// geneticFallback runs the genetic search under a service with at most the given number
// of evaluations, after another search had to stop. It returns nil if the deadline of
// that search has passed.
func (p *Problem) geneticFallback(ctx context.Context, o Options, stopped *searchBudget, service flow.Service, evaluations int64) (*Decision, error) {
	if stopped.expired() {
		return nil, nil
	}
	search := o.newBudget(SearchOptions{MaxEvaluations: max(1, evaluations), TimeLimit: o.Fast.TimeLimit})
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

// fastSearch is one run of the genetic search. fast_operators.go has the genetic operators,
// fast_evaluate.go the parallel simulation of a generation, fast_descent.go the local search.
type fastSearch struct {
	budgetMeter // counts evaluations; its evaluator is not used
	p           *Problem
	options     FastOptions
	service     flow.Service
	isInner     []bool  // see Problem.innerBundles
	outerLinks  []int32 // links of the bundles that are not inner
	random      *rand.Rand

	evaluators []*circuitEvaluator  // one per worker
	memo       map[string]memoEntry // results by topologyKey
	stopped    string

	population  []individual // sorted by fitness
	generations int
	simulated   []individual // individuals with a known makespan, in the order of their simulation
	best        individual   // the paper's X*
}

// individual is a topology and its fitness: the makespan, and the ports of one replica
// among equal makespans.
type individual struct {
	circuits []int
	makespan engine.Time // never if not simulated or cut off
	ports    int
}

// compareFitness orders individuals by fitness. Makespans of the same class count as
// equal. Classes make the order transitive, which a tolerance would not.
func compareFitness(a, b individual) int {
	return cmp.Or(cmp.Compare(makespanClass(a.makespan), makespanClass(b.makespan)), a.ports-b.ports)
}

// classTicks is the width of a class of makespans: a nanosecond. This is more than
// rounding adds over many tasks and much less than a relevant difference.
const classTicks = 1000

// makespanClass returns the class of a makespan.
func makespanClass(c engine.Time) engine.Time { return c / classTicks }

// newFastSearch returns a search whose best individual is the best baseline.
func newFastSearch(ctx context.Context, p *Problem, o Options, search searchBudget, service flow.Service) (*fastSearch, error) {
	_, x, upper := p.bestBaseline(ctx, service)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, errNoEnd
	}
	s := &fastSearch{
		budgetMeter: budgetMeter{searchBudget: search, ctx: ctx}, p: p, options: o.Fast,
		service: service, isInner: p.innerBundles(),
		random: random.Stream(o.Seed, "delta-fast"), memo: map[string]memoEntry{},
	}

	s.options.Elites = min(s.options.Elites, s.options.Population-1)
	s.charge(p, int64(len(matrixRules))) // the baselines
	s.outerLinks = p.linksOf(func(e int) bool { return !s.isInner[e] })

	// More evaluators than workers or individuals would only use memory.
	for range min(o.workers(), s.options.Population, runtime.GOMAXPROCS(0)) {
		s.evaluators = append(s.evaluators, p.acquire(ctx, service))
	}
	s.best = s.individual(x)
	s.best.makespan = upper
	return s, nil
}

// errNoEnd means that no topology of the problem can be simulated to its end.
var errNoEnd = errors.New("topology: no topology can be simulated to its end")

// close releases the evaluators.
func (s *fastSearch) close() {
	for _, w := range s.evaluators {
		s.p.release(w)
	}
}

// run alternates genetic search and steepest descent until neither shortens the makespan
// or the budget is used.
func (s *fastSearch) run() {
	for again := true; again; again = s.steepestDescent() {
		s.evolve()
	}
}

// decision returns the best individual as a decision without a bound.
func (s *fastSearch) decision() *Decision {
	return &Decision{
		Circuits: s.best.circuits, Service: s.service, Makespan: s.best.makespan,
		Evaluations: s.evaluations, Searched: true, Stopped: s.stopped,
	}
}

// mustStop reports whether the search must stop, and records the reason.
func (s *fastSearch) mustStop() bool {
	if s.stopped == "" {
		s.stopped = s.budgetMeter.stopReason()
	}
	if s.stopped == "" && s.generations >= s.options.MaxGenerations {
		s.stopped = fmt.Sprintf("after %d generations", s.generations)
	}
	return s.stopped != ""
}

// individual returns topology x as an individual that is not simulated yet.
func (s *fastSearch) individual(x []int) individual {
	return individual{circuits: x, makespan: never, ports: s.p.portsOf(x)}
}

// evolve is Alg. 3 (SimBasedDomainAdaptedGA). If it is called again, it continues with
// its population, in which the best individual replaces the worst.
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

// evaluateGeneration simulates a generation, sorts it by fitness and updates the best
// individual.
func (s *fastSearch) evaluateGeneration(population []individual) {
	s.evaluate(population, never)
	slices.SortStableFunc(population, compareFitness)
	s.updateBest(population[0])
}

// updateBest makes t the best individual if it is fitter.
func (s *fastSearch) updateBest(t individual) {
	if t.makespan != never && compareFitness(t, s.best) < 0 {
		s.best = t
	}
}

// nextGeneration is Alg. 3, Lines 5 to 12. A child that already exists in the generation
// is mutated again, a few times if necessary. This diversifies a population that has
// converged.
func (s *fastSearch) nextGeneration() []individual {
	const tries = 3

	// Elites survive unchanged.
	next := append(make([]individual, 0, s.options.Population), s.population[:s.options.Elites]...)
	present := make(map[string]bool, s.options.Population)
	for i := range next {
		present[topologyKey(next[i].circuits)] = true
	}

	// Children replace the others.
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

// repairOrRandom is Alg. 3, Lines 9 and 10: it returns child, repaired, or a random
// topology if repair fails.
func (s *fastSearch) repairOrRandom(child []int) []int {
	if !s.repair(child) {
		return s.randomTopology()
	}
	return child
}
