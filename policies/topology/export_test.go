package topology

import (
	"context"

	"sim/engine"
	"sim/engine/flow"
)

// ByRules returns the best makespan of x by the rules of delta-joint, and the bound for any service.
func (p *Problem) ByRules(x []int) (makespan, bound engine.Time, err error) {
	d, err := p.evaluateBest(context.Background(), x, servicesToTry)
	if err != nil {
		return 0, 0, err
	}
	w := p.acquire(context.Background(), servicesToTry[0])
	defer p.release(w)
	return d.Makespan, w.bound(x), nil
}

// Scores returns all elements of the objective at makespans by job.
func (s *SharedPods) Scores(makespans []engine.Time) []float64 { return s.score(makespans) }

// Resolution is the difference below which two values of the objective count as one.
func (s *SharedPods) Resolution() float64 { return s.resolution() }

// Compare orders two scores.
func Compare(a, b []float64, eps float64) int { return compareScores(a, b, eps) }

// Apportion, FillUp and Aggregated are the rules of the arbiters.
func Apportion(number int, claims, least []int) []int { return apportion(number, claims, least) }
func FillUp(amount float64, demands, weights []float64) []float64 {
	return waterFill(amount, demands, weights)
}
func (s *SharedPods) Aggregated(wanted [][]int) [][]int { return s.scaleToFit(wanted) }

// SearchAlone is Optimise without what the other arbiters choose and without exchanges: the search starts from one
// circuit a bundle.
func SearchAlone(s *SharedPods, evaluations int64) *JobsOptimum {
	z := newJobsSearch(context.Background(), s, searchBudget{SearchOptions: SearchOptions{MaxEvaluations: evaluations}})
	z.updateBest(s.ones())
	out := &JobsOptimum{}
	out.Bound, out.Stopped = z.search()
	out.Circuits, out.Value = s.split(z.best), z.value[0]
	return out
}

// UnseededBound is the bound of delta-topo's search without the topologies that it starts from, after that many
// evaluations.
func UnseededBound(p *Problem, evaluations int64) engine.Time {
	s := newTopoSearch(context.Background(), p, searchBudget{SearchOptions: SearchOptions{MaxEvaluations: evaluations}}, flow.MaxMin)
	defer s.close()
	s.search(0)
	return s.bound
}

// FastDefaults are the parameters that delta-fast has in a scenario that does not say.
func FastDefaults() FastOptions {
	return FastOptions{
		Population: 64, Elites: 4, Tournament: 3, Crossover: 0.9, Mutation: 0.3, StallGenerations: 200, MaxGenerations: 100000,
	}
}

// ByName and JobsByName return the allocator and the arbiter of a name.
func ByName(name string) (Policy, error) {
	row, err := Find(name)
	if err != nil {
		return nil, err
	}
	return row.Policy, nil
}

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

// Refuted reports whether a window that begins at a time proves that no iteration ends by another.
func (p *Problem) Refuted(ctx context.Context, by, from engine.Time) (bool, error) {
	h, err := newWindowBound(ctx, p, p.maxCircuitsAlone())
	return err == nil && h.refutesWindow(by, from, p.Switching.Delay), err
}

// FairBound is the bound of a topology, and of all with fewer circuits, under fair sharing.
func (p *Problem) FairBound(x []int) engine.Time {
	w := p.acquire(context.Background(), flow.MaxMin)
	defer p.release(w)
	w.PrepareFairBound(p.linksOf(func(int) bool { return true }))
	w.provision(x)
	return w.FairBound()
}

// MeanBound is the bound that a mean of so many paths sets for the topologies of a box.
func (p *Problem) MeanBound(lo, hi []int, paths int) engine.Time {
	s := newJointSearch(context.Background(), p, searchBudget{}, flow.LevelPriority)
	defer p.release(s.evaluator)
	s.rankReplicas()
	s.prepareMeans()
	return s.fictitiousPlay(s.meanBounder.newMean(), lo, hi, paths)
}

// ProveFairly is the proof of delta-topo by boxes of all bundles, from one circuit a bundle.
func (p *Problem) ProveFairly(evaluations int64) (bound, makespan engine.Time, stopped bool) {
	s := newTopoSearch(context.Background(), p, searchBudget{SearchOptions: SearchOptions{MaxEvaluations: evaluations}}, flow.MaxMin)
	defer s.close()
	s.simulate(p.ones())
	stopped = !s.proveByBoxes(0)
	return s.bound, s.best, stopped
}

// MeanCost returns what the mean of some paths, each with the same part, takes under x, in ticks.
func MeanCost(p *Problem, x []int, paths ...[]int32) float64 {
	z := newPathCosts(p)
	m := z.newMean()
	for k, path := range paths {
		z.mix(m, path, 1/float64(k+1))
	}
	sum := m.fixed
	for e, n := range x {
		sum += m.cost[e][min(n, len(m.cost[e]))-1] // circuits that are of no use change nothing
	}
	return sum
}
