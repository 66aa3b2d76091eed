package topology

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"sim/engine"
	"sim/engine/flow"
)

// FastOptions are the parameters of delta-fast (DELTA, Alg. 3). Where Population is 0, all but TimeLimit are those of
// FastDefaults.
type FastOptions struct {
	Population int     // topologies in a generation, at least 2
	Elites     int     // best topologies that the next generation keeps
	Tournament int     // contestants for each parent, at least 1
	Crossover  float64 // probability that a child mixes two parents
	Mutation   float64 // probability that a child changes
	// StallGenerations is the number of generations without improvement of the makespan after which the search ends;
	// MaxGenerations ends it in any case.
	StallGenerations, MaxGenerations int
	// TimeLimit, where positive, ends the search at a time, which makes its result depend on the machine; the decision
	// says so.
	TimeLimit time.Duration

	deadline    time.Time // set by started
	evaluations int64     // where positive, as SearchOptions.MaxEvaluations, and no bound is sought
}

// started returns the options with the time limit running.
func (o FastOptions) started() FastOptions {
	if o.TimeLimit > 0 && o.deadline.IsZero() {
		o.deadline = time.Now().Add(o.TimeLimit)
	}
	return o
}

// FastDefaults returns the parameters that delta-fast uses unless told otherwise: 64 topologies, 4 elites, tournaments
// of 3, crossover 0.9, mutation 0.3, ending after 200 generations without improvement as in the paper's Sec. V-E, or
// after 100,000.
func FastDefaults() FastOptions {
	return FastOptions{
		Population: 64, Elites: 4, Tournament: 3, Crossover: 0.9, Mutation: 0.3,
		StallGenerations: 200, MaxGenerations: 100000,
	}
}

// checked returns o with the defaults filled in, or what is wrong with it.
func (o FastOptions) checked() (FastOptions, error) {
	if o.Population == 0 {
		d := FastDefaults()
		d.TimeLimit, d.deadline, d.evaluations = o.TimeLimit, o.deadline, o.evaluations
		return d, nil
	}
	switch {
	case o.Population < 2 || o.Elites < 0 || o.Tournament < 1:
		return o, fmt.Errorf("topology: delta-fast with population %d, %d elites and tournaments of %d", o.Population, o.Elites, o.Tournament)
	case !(o.Crossover >= 0 && o.Crossover <= 1) || !(o.Mutation >= 0 && o.Mutation <= 1):
		return o, fmt.Errorf("topology: delta-fast with crossover %g and mutation %g, want probabilities", o.Crossover, o.Mutation)
	case o.StallGenerations < 1 || o.MaxGenerations < 1:
		return o, fmt.Errorf("topology: delta-fast ending after %d and %d generations, want at least 1", o.StallGenerations, o.MaxGenerations)
	}
	o.Elites = min(o.Elites, o.Population-1)
	return o, nil
}

// fast searches for the topology with the shortest makespan by a genetic algorithm whose individuals are simulated in
// simulation (DELTA-Fast, Sec. IV-B).
type fast struct{}

func (fast) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	s, err := newFastSearch(ctx, p, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	shared, err := s.shared()
	if err != nil {
		return nil, err
	}
	for again := true; again; again = s.polish() {
		s.evolve()
	}
	limit := grown(s.best.makespan, o.PortTolerance)
	if !o.KeepPorts {
		s.savePorts(limit)
	}
	d := &Decision{
		Circuits: s.best.x, Service: s.service, Makespan: s.best.makespan,
		Bound: shared.bound, BoundModel: AnyService,
		Evaluations: s.evaluations, Searched: true, Stopped: cmp.Or(s.stopped, shared.stopped),
	}
	if !o.KeepPorts {
		p.newSaver(ctx, keeping{limit: limit, exact: true}, s.service, &o, s.left()).save(d)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// shared returns what all allocators share, without a bound where the time limit is too short for it, and nothing to
// those who fall back on the search: they have it.
func (s *fastSearch) shared() (jointOptimum, error) {
	if s.o.evaluations > 0 {
		return jointOptimum{}, s.ctx.Err()
	}
	left := s.left()
	return s.p.sharedWithin(s.ctx, &left)
}

// left returns the time limit that is left, if there is one, as that of another search.
func (s *fastSearch) left() SearchOptions {
	if s.o.TimeLimit <= 0 {
		return SearchOptions{}
	}
	return SearchOptions{TimeLimit: s.o.TimeLimit, deadline: s.o.deadline}
}

// fastSearch is one search.
type fastSearch struct {
	p       *Problem
	o       FastOptions
	ctx     context.Context
	service flow.Service
	inner   []bool  // by bundle, whether transfers wait for its
	outer   []int32 // links of the bundles of the other kind
	most    []int   // by bundle, the largest number of circuits worth trying (Alg. 2)
	random  *rand.Rand

	players     []*player // one a worker
	memo        map[string]outcome
	evaluations int64
	stopped     string

	population  []individual // ranked
	generations int
	played      []individual // all that was simulated to its end, in order
	best        individual   // the paper's X*
}

// individual is a topology with its fitness: the makespan and, among equals, the ports of one replica.
type individual struct {
	x        []int
	makespan engine.Time // never where it was cut off
	ports    int
}

// compare orders individuals by fitness. Makespans within rounding of each other count as one, in classes, so that the
// order is transitive.
func (s *fastSearch) compare(a, b *individual) int {
	if ca, cb := class(a.makespan), class(b.makespan); ca != cb {
		if ca < cb {
			return -1
		}
		return 1
	}
	return a.ports - b.ports
}

// classTicks is the width of a class of makespans: a nanosecond, above what rounding leaves over many tasks, far below
// what matters.
const classTicks = 1000

// class numbers makespans so that those of one class count as equal.
func class(c engine.Time) engine.Time { return c / classTicks }

func newFastSearch(ctx context.Context, p *Problem, o Options) (*fastSearch, error) {
	fo, err := o.Fast.started().checked()
	if err != nil {
		return nil, err
	}
	s := &fastSearch{
		p: p, o: fo, ctx: ctx, service: o.service(flow.MaxMin),
		random: stream(o.Seed, "delta-fast"), memo: map[string]outcome{},
	}
	x, upper := p.incumbent(ctx, s.service)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, fmt.Errorf("topology: no topology can be simulated to its end")
	}
	s.evaluations += 3
	s.inner = p.inner()
	for e := range s.inner {
		if !s.inner[e] {
			s.outer = append(s.outer, p.Fabric.Bundles[e].Links...)
		}
	}
	s.most = p.mostUseful(ctx, upper)
	// more would only take memory
	for range min(o.workers(), fo.Population, runtime.GOMAXPROCS(0)) {
		s.players = append(s.players, p.player(ctx, s.service))
	}
	s.best = s.individual(x)
	s.best.makespan = upper
	return s, nil
}

func (s *fastSearch) close() {
	for _, w := range s.players {
		s.p.done(w)
	}
}

// individual returns x, not simulated yet.
func (s *fastSearch) individual(x []int) individual {
	return individual{x: x, makespan: never, ports: s.p.PortsUsed(x) / s.p.Fabric.Copies}
}

// evolve is Alg. 3 (SimBasedDomainAdaptedGA). Called again it goes on from the population it has, with what has been
// found since in place of the worst.
func (s *fastSearch) evolve() {
	if s.population == nil {
		s.population = s.firstGeneration()
	} else {
		s.population[len(s.population)-1] = s.best
	}
	s.value(s.population, never)
	s.rank(s.population)
	s.keep(&s.population[0])
	for stall := 0; stall < s.o.StallGenerations && !s.over(); stall++ {
		s.generations++
		s.population = s.nextGeneration()
		s.value(s.population, never)
		s.rank(s.population)
		if class(s.population[0].makespan) < class(s.best.makespan) {
			stall = -1
		}
		s.keep(&s.population[0])
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
