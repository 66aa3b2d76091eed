package topology

import (
	"context"
	"errors"

	"sim/engine"
	"sim/engine/flow"
)

// ByRules returns the best makespan of x under servicesToTry, and the bound for any
// service.
func (p *Problem) ByRules(x []int) (makespan, bound engine.Time, err error) {
	d, err := p.evaluateBest(context.Background(), x, servicesToTry)
	if err != nil {
		return 0, 0, err
	}
	w := p.acquire(context.Background(), servicesToTry[0])
	defer p.release(w)
	return d.Makespan, w.bound(x), nil
}

// Scores returns all elements of the objective at makespans indexed by job.
func (s *SharedPods) Scores(makespans []engine.Time) []float64 { return s.score(makespans) }

// Resolution exports SharedPods.resolution.
func (s *SharedPods) Resolution() float64 { return s.resolution() }

// Compare exports compareScores.
func Compare(a, b []float64, eps float64) int { return compareScores(a, b, eps) }

// Apportion, FillUp and Aggregated export the division rules of the multi-job allocators.
func Apportion(number int, claims, minimums []int) []int { return apportion(number, claims, minimums) }
func FillUp(amount float64, demands, weights []float64) []float64 {
	return waterFill(amount, demands, weights)
}
func (s *SharedPods) Aggregated(wanted [][]int) [][]int { return s.scaleToFit(wanted) }

// SearchAlone is Optimise without the decisions of the other multi-job allocators and
// without local search. It starts from one circuit per bundle.
func SearchAlone(s *SharedPods, evaluations int64) *JobsOptimum {
	z := newJobsSearch(context.Background(), s,
		searchBudget{SearchOptions: SearchOptions{MaxEvaluations: evaluations}})
	z.updateBest(s.ones())
	out := &JobsOptimum{}
	out.Bound, out.Stopped = z.search()
	out.Circuits, out.Value = s.split(z.best), z.value[0]
	return out
}

// UnseededBound returns the bound of delta-topo's search after the given number of
// evaluations, without initial topologies.
func UnseededBound(p *Problem, evaluations int64) engine.Time {
	s := newTopoSearch(context.Background(), p,
		searchBudget{SearchOptions: SearchOptions{MaxEvaluations: evaluations}}, flow.MaxMin)
	defer s.close()
	s.search(0)
	return s.bound
}

// FastDefaults returns the default parameters of delta-fast in scenarios.
func FastDefaults() FastOptions {
	return FastOptions{
		Population: 64, Elites: 4, Tournament: 3, Crossover: 0.9, Mutation: 0.3, StallGenerations: 200,
		MaxGenerations: 100000,
	}
}

// HotStart returns the makespan of the reference decision in the model of the allocator
// with a hot start, or an error if its schedule does not satisfy the model.
func HotStart(ctx context.Context, p *Problem, o Options, isFair bool) (makespan engine.Time, err error) {
	m := milpAllocator{isFair: isFair, hotStart: true}
	r := &milpRun{milpAllocator: m, p: p, o: o, report: &SolverReport{}}
	if r.reference, err = m.reference(ctx, p, o); err != nil {
		return 0, err
	}
	if err := r.build(ctx); err != nil {
		return 0, err
	}
	if r.start == nil {
		return 0, errors.New("the schedule of the reference does not satisfy the model")
	}
	return engine.FromSeconds(r.delta.Seconds(r.model.Value(r.start)))
}

// ByName returns the allocator with the given name.
func ByName(name string) (Policy, error) {
	row, err := Find(name)
	if err != nil {
		return nil, err
	}
	return row.Policy, nil
}

// JobsByName returns the multi-job allocator with the given name.
func JobsByName(name string) (JobsPolicy, error) {
	row, err := FindJobs(name)
	if err != nil {
		return nil, err
	}
	return row.Policy, nil
}

// Steady simulates iterations of a sequence until they repeat.
func (p *Problem) Steady(q *Sequence, s flow.Service) (runs []Run, from int, mean engine.Time, ok bool) {
	w := p.acquire(context.Background(), s)
	defer p.release(w)
	o, ok := w.newSequenceSimulator().simulateCycle(q)
	if !ok {
		return nil, 0, 0, false
	}
	return o.runs, o.start, o.meanMakespan(), true
}

// Refuted reports whether a window that starts at from proves that no iteration ends by
// time by.
func (p *Problem) Refuted(ctx context.Context, by, from engine.Time) (bool, error) {
	h, err := newWindowBound(ctx, p, p.maxCircuitsAlone())
	return err == nil && h.refutesWindow(by, from, p.Switching.Delay), err
}

// FairBound returns the bound of topology x, and of all topologies with fewer circuits,
// under fair sharing.
func (p *Problem) FairBound(x []int) engine.Time {
	w := p.acquire(context.Background(), flow.MaxMin)
	defer p.release(w)
	w.PrepareFairBound(p.linksOf(func(int) bool { return true }))
	w.provision(x)
	return w.FairBound()
}

// MeanBound returns the bound that a mean of the given number of paths sets for the
// topologies of a box.
func (p *Problem) MeanBound(lo, hi []int, paths int) engine.Time {
	s := newJointSearch(context.Background(), p, searchBudget{}, flow.LevelPriority)
	defer p.release(s.evaluator)
	s.rankReplicas()
	s.prepareMeans()
	return s.fictitiousPlay(s.meanBounder.newMean(), lo, hi, paths)
}

// ProveFairly runs the proof of delta-topo by boxes of all bundles, starting from one
// circuit per bundle.
func (p *Problem) ProveFairly(evaluations int64) (bound, makespan engine.Time, stopped bool) {
	s := newTopoSearch(context.Background(), p,
		searchBudget{SearchOptions: SearchOptions{MaxEvaluations: evaluations}}, flow.MaxMin)
	defer s.close()
	s.simulate(p.ones())
	stopped = !s.proveByBoxes(0)
	return s.bound, s.best, stopped
}

// MeanCost returns the cost in ticks of the mean of the given paths, all with equal
// weight, under topology x.
func MeanCost(p *Problem, x []int, paths ...[]int32) float64 {
	z := newPathCosts(p)
	m := z.newMean()
	for k, path := range paths {
		z.mix(m, path, 1/float64(k+1))
	}
	sum := m.fixed
	for e, n := range x {
		sum += m.cost[e][min(n, len(m.cost[e]))-1] // further circuits change nothing
	}
	return sum
}
