package routing

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// graphFinish is the value of an assignment in makespanSearch. Assignments are compared by the
// makespan first, and then by the ends of all tasks.
//
// If transfers depend on each other, the maximum load over all of them has little meaning. It
// matters which transfers share a link while others wait for them. The search therefore simulates
// Problem.Graph in the fluid model, and moves pairs that share links with the critical path.
type graphFinish struct {
	makespan engine.Time
	lateness float64 // sum of (end/scale)^latenessPower over all tasks
}

// latenessPower weights late ends: an end that is 1 % later counts nearly twice.
const latenessPower = 64

// isBetter reports whether e is earlier than f.
func (e graphFinish) isBetter(f graphFinish) bool {
	return e.makespan < f.makespan || e.makespan == f.makespan && e.lateness < f.lateness*(1-roundingTol)
}

// makespanSearch is a local search for an assignment with a small makespan of Problem.Graph.
type makespanSearch struct {
	r          *optimiser
	choice     *routeChoice          // improved by the search
	assignment *pathAssignmentSearch // choice.s, which holds the present assignment
	// pair is the pair whose path a task takes, indexed by task; -1 if it takes none.
	pair    []int32
	link    []int32       // indexed by orbit; every orbit is one link
	uses    engine.Routes // links of each task under the present assignment
	best    graphFinish   // of the best assignment
	current graphFinish   // of the present assignment
	trace   *engine.Trace // simulation that gave current

	scale float64 // scale of the ends in graphFinish.lateness
}

// evaluationsPerTask is the budget that the simulation of a task uses, in path evaluations.
const evaluationsPerTask = 8

// shortenMakespan searches for the assignment with the smallest makespan, starting from the best
// choice, from wild-first routing, and from the paths of other routers.
func (r *optimiser) shortenMakespan(ctx context.Context) error {
	if err := r.setMakespanBounds(ctx); err != nil {
		return err
	}
	wild, err := r.wildFirstChoice()
	if err != nil {
		return err
	}
	safe, unsafe, err := r.routerChoices(ctx)
	if err != nil {
		return err
	}

	// Choices that may deadlock are accepted only if no other choice is known.
	starts := append([]*routeChoice{r.best, wild}, safe...)
	switch {
	case r.mayDeadlock && len(safe) > 0:
		starts, r.mayDeadlock = starts[1:], false
	case r.mayDeadlock:
		starts = append(starts, unsafe...)
	}

	// Search from each start; all starts are compared on one scale. The neighbours' cap has
	// precedence over the makespan.
	var best *makespanSearch
	for _, f := range starts {
		if f == nil || best != nil && f.s.bestExcess > best.assignment.bestExcess {
			continue
		}
		x := newMakespanSearch(r, f, best)
		budget := r.Budget / 2
		if !f.s.candidates.hasAlternatives() {
			budget = 0 // one simulation
		}
		if err := x.search(ctx, budget); err != nil {
			return err
		}
		if best == nil || f.s.bestExcess < best.assignment.bestExcess || x.best.isBetter(best.best) {
			best = x
		}
	}

	r.best = best.choice
	return nil
}

// search is an iterated local search (Lourenco, Martin and Stuetzle, Handbook of Metaheuristics,
// 2003). It moves pairs one by one until no move helps. It restarts from random assignments of
// paths with the minimum number of hops, and then from the best assignment with one pair moved.
// It ends when the bound is met or the budget is spent.
func (x *makespanSearch) search(ctx context.Context, budget int64) error {
	r, s := x.r, x.assignment
	s.budget = budget
	s.restoreBest()
	var bestTrace *engine.Trace
	excess := s.overload()
	for k := 0; ; k++ { // k counts the starts
		// Descend from the present assignment, and keep the best result.
		if s.overload() <= excess && r.isSafe(x.choice) {
			var err error
			if x.current, x.trace, err = x.simulate(ctx); err != nil {
				return err
			}
			if err := x.descend(ctx); err != nil {
				return err
			}
			if bestTrace == nil || x.current.isBetter(x.best) {
				x.best, bestTrace = x.current, x.trace
				s.best = append(s.best[:0], s.path...)
			}
		}

		if s.budget <= 0 || x.meetsBound(x.best) {
			break
		}

		// Next start: random shortest paths at first, then the best assignment with one pair
		// moved.
		if k < randomStarts {
			for i := range s.path {
				s.path[i] = x.drawMinHopPath(int32(i))
			}
			s.recount()
			continue
		}

		x.current, x.trace = x.best, bestTrace
		s.restoreBest()
		if !x.perturb() {
			break
		}
	}

	s.restoreBest()
	s.bestLoad, s.bestExcess = math.Inf(1), math.Inf(1)
	s.saveBest()
	return nil
}

// wildFirstChoice returns the assignment of WildRule.Route; nil if it does not serve the fabric
// or may deadlock.
func (r *optimiser) wildFirstChoice() (*routeChoice, error) {
	if r.symmetry == nil {
		return nil, nil
	}

	// rules lists the candidates of the search. picks selects a path as WildRule.Route does, so it
	// has the defaults of WildRule.Route.
	rules, err := NewCandidates(r.problem, r.wild)
	if err != nil {
		return nil, err
	}
	rule := r.wild
	if rule.Use == "" {
		rule.Use = UseAnyDead
	}
	picks, err := NewCandidates(r.problem, rule)
	if err != nil {
		return nil, err
	}
	c, err := r.listPaths(rules)
	if err != nil {
		return nil, nil // some pair has no such path
	}

	// Replace the path of each pair by the selected one.
	in := r.in
	s := newPathAssignmentSearch(in, c, r.seed, r.searchCap(), noBudget)
	clear(s.load)
	clear(s.neighbourLoad)
	for i, f := range in.pairs {
		node, steps := f.Src, picks.pick(f, r.seed)
		rules.SetChannels(f.Src, steps)
		for _, step := range steps {
			k := int(node)*in.degree + step.Port()
			c.orbits = append(c.orbits, in.orbit[k])
			node = rules.geometry.neighbour[k]
		}
		c.steps = append(c.steps, steps...)
		s.path[i] = c.add(int32(i))
		s.addLoad(int32(i), s.path[i], 1)
	}

	s.saveBest()
	choice := &routeChoice{in: in, s: s, rules: rules}
	if !r.isSafe(choice) {
		return nil, nil
	}
	return choice, nil
}

// randomStarts is the number of random assignments to start from.
const randomStarts = 8

// isSafe reports whether the present assignment of a choice is free of deadlock, or was allowed
// to deadlock.
func (r *optimiser) isSafe(f *routeChoice) bool {
	if f.rules == nil || f.rules.isDeadlockFree() {
		return true
	}
	r.rules = f.rules
	a := newCycleBreaker(r)
	a.countUses(f.s)
	return a.topologicalOrder() != nil
}

// newMakespanSearch returns a search that starts from a choice. If other is not nil, both have
// the same scale.
func newMakespanSearch(r *optimiser, f *routeChoice, other *makespanSearch) *makespanSearch {
	g, in := r.problem.Graph, f.in
	x := &makespanSearch{r: r, choice: f, assignment: f.s, pair: make([]int32, len(g.Tasks)), link: make([]int32, in.numOrbits)}
	if other != nil {
		x.scale = other.scale
	}

	// Each orbit is one link, since problems with a graph have no symmetry.
	for k, o := range in.orbit {
		if o >= 0 {
			x.link[o] = in.link[k]
		}
	}

	pairOf := make(map[engine.Flow]int32, len(in.pairs))
	for i, f := range in.pairs {
		if _, ok := pairOf[f]; !ok {
			pairOf[f] = int32(i)
		}
	}

	for i, t := range g.Tasks {
		x.pair[i] = -1
		if k, ok := pairOf[engine.Flow{Src: t.Src, Dst: t.Dst}]; ok && t.Kind == engine.Transfer && r.problem.pinned(i) < 0 {
			x.pair[i] = k
		}
	}

	x.uses.Start = make([]int32, len(g.Tasks)+1)
	return x
}

// simulate simulates the graph under the present assignment.
func (x *makespanSearch) simulate(ctx context.Context) (graphFinish, *engine.Trace, error) {
	g, s := x.r.problem.Graph, x.assignment
	x.uses.Uses = x.uses.Uses[:0]
	for i, k := range x.pair {
		if k >= 0 {
			for _, o := range s.candidates.pathOrbits(s.path[k]) {
				x.uses.Uses = append(x.uses.Uses, engine.Use{Resource: x.link[o], Weight: 1})
			}
		} else if l := x.r.problem.pinned(i); l >= 0 {
			x.uses.Uses = append(x.uses.Uses, engine.Use{Resource: l, Weight: 1})
		}
		x.uses.Start[i+1] = int32(len(x.uses.Uses))
	}

	s.budget -= evaluationsPerTask * int64(len(g.Tasks))
	t, err := flow.Run(ctx, g, x.r.problem.Network, &x.uses, flow.Options{})
	if err != nil {
		return graphFinish{}, nil, err
	}
	e := graphFinish{makespan: t.Makespan}
	if x.scale == 0 {
		x.scale = float64(t.Makespan)
	}
	for _, end := range t.End {
		e.lateness += math.Pow(float64(end)/x.scale, latenessPower)
	}
	return e, t, nil
}

// meetsBound reports whether no assignment can end earlier, by more than the tolerated gap.
func (x *makespanSearch) meetsBound(e graphFinish) bool {
	return float64(e.makespan) <= float64(x.r.makespanBound)*(1+x.r.tolerance())
}

// descend moves pairs one by one until no move helps.
func (x *makespanSearch) descend(ctx context.Context) error {
	for better := true; better && x.assignment.budget > 0 && !x.meetsBound(x.current); {
		var err error
		if better, err = x.improve(ctx); err != nil {
			return err
		}
	}
	return nil
}

// setMakespanBounds sets the lower bounds on the end of the graph. One is Problem.MakespanBound
// with the lengths that proved the load bounds. The other is the time that the bottleneck needs
// for all transfers.
func (r *optimiser) setMakespanBounds(ctx context.Context) error {
	lengths := [][]float64{r.dual.length}
	if r.spread != nil {
		lengths = append(lengths, r.spread.bestLength)
	}
	lengths = slices.DeleteFunc(lengths, func(l []float64) bool { return maxOf(l) == 0 })
	in := r.in

	// Bounds by machine scheduling.
	bound, err := in.makespanBound(ctx, r.problem, singlePaths, lengths...)
	if err != nil {
		return err
	}
	if r.makespanBoundSplit, err = in.makespanBound(ctx, r.problem, splitPaths, lengths...); err != nil {
		return err
	}

	// The busy time of the bottleneck: its load bound times the minimum bytes per unit of demand.
	bytes := make(map[engine.Flow]int64, len(in.pairs))
	for i, t := range r.problem.Graph.Tasks {
		if r.problem.pinned(i) < 0 {
			bytes[engine.Flow{Src: t.Src, Dst: t.Dst}] += t.Bytes
		}
	}

	unit := math.Inf(1) // minimum bytes per unit of demand
	for i, f := range in.pairs {
		if d := in.demand[i]; d > 0 {
			unit = min(unit, float64(bytes[f])/d)
		}
	}

	busy, rate := 0.0, r.problem.maxRate()
	if in.loadPerUnit != nil {
		rate = r.problem.referenceRate()
	}
	if !math.IsInf(unit, 1) {
		busy = r.dual.lowerBound() * unit * 8 / rate * float64(engine.Second) * (1 - roundingTol)
	}
	r.makespanBound = max(bound, engine.Time(busy))
	return nil
}
