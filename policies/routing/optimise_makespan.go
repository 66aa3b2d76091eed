package routing

import (
	"cmp"
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Where transfers wait for each other the load of the most loaded link, summed up over all of them, says little: what
// counts is which transfers meet on a link while others wait for them. What follows simulates Problem.Graph as fluid,
// and moves the pairs that its critical path has to share links with.

// graphFinish is what choices are compared by: when the graph ends, and of equal ones when its tasks do.
type graphFinish struct {
	makespan engine.Time
	lateness float64 // of all tasks' ends a power that makes late ones count
}

// latenessPower is that power: of ends that are 1 % apart the later one counts nearly twice.
const latenessPower = 64

func (e graphFinish) isBetter(f graphFinish) bool {
	return e.makespan < f.makespan || e.makespan == f.makespan && e.lateness < f.lateness*(1-roundingTol)
}

// makespanSearch is a search for a choice under which the graph ends early.
type makespanSearch struct {
	r          *optimiser
	choice     *routeChoice
	assignment *pathAssignmentSearch
	pair       []int32 // by task: the pair whose path it takes; -1 where it takes none
	link       []int32 // by orbit
	uses       engine.Routes
	best       graphFinish
	current    graphFinish
	trace      *engine.Trace // what it is of

	scale float64 // of the powers of ends
}

// evaluationsPerTask is what simulating a task takes off the budget, in paths that are weighed.
const evaluationsPerTask = 8

// shortenMakespan goes on from the choice found, and from what wild-first routing takes, to one under which the graph
// ends early. It takes what another router chooses if the graph ends first under that.
func (r *optimiser) shortenMakespan(ctx context.Context) error {
	if err := r.setMakespanBounds(ctx); err != nil {
		return err
	}
	wild, err := r.wildFirstChoice()
	if err != nil {
		return err
	}
	others, err := r.routerChoices(ctx)
	if err != nil {
		return err
	}
	var best *makespanSearch
	for _, f := range append([]*routeChoice{r.best, wild}, others...) {
		if f == nil || f.s.bestExcess > r.best.s.bestExcess {
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
		if best == nil || x.best.isBetter(best.best) {
			best = x
		}
	}
	r.best = best.choice
	return nil
}

// search moves pairs one by one until no move helps, and does so again from choices in which each pair takes one of its
// paths of the fewest hops at random, and then from the best choice with some pair elsewhere, until a bound is met or
// the budget is spent (iterated local search: Lourenco, Martin and Stuetzle, Handbook of Metaheuristics, 2003).
func (x *makespanSearch) search(ctx context.Context, budget int64) error {
	r, s := x.r, x.assignment
	s.budget = budget
	s.restoreBest()
	var bestTrace *engine.Trace
	excess := s.overload()
	for k := 0; ; k++ {
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

// wildFirstChoice returns what wild-first routing takes by itself; nil where it does not serve the fabric, or may deadlock.
func (r *optimiser) wildFirstChoice() (*routeChoice, error) {
	if r.symmetry == nil {
		return nil, nil
	}
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
	in := r.in
	s := newPathAssignmentSearch(in, c, r.seed, max(0, r.NeighbourCap), 0)
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
	choice := &routeChoice{in, s, rules}
	if !r.isSafe(choice) {
		return nil, nil
	}
	return choice, nil
}

// randomStarts is how many choices of paths of the fewest hops are drawn to begin from.
const randomStarts = 8

// isSafe reports whether the present choice of a search cannot deadlock, or was not to.
func (r *optimiser) isSafe(f *routeChoice) bool {
	if f.rules == nil || f.rules.isDeadlockFree() {
		return true
	}
	r.rules = f.rules
	a := newCycleBreaker(r)
	a.countUses(f.s)
	return a.topologicalOrder() != nil
}

// newMakespanSearch is to go on from a choice; its endings compare with those of other, if not nil.
func newMakespanSearch(r *optimiser, f *routeChoice, other *makespanSearch) *makespanSearch {
	g, in := r.problem.Graph, f.in
	x := &makespanSearch{r: r, choice: f, assignment: f.s, pair: make([]int32, len(g.Tasks)), link: make([]int32, in.numOrbits)}
	if other != nil {
		x.scale = other.scale
	}
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

// drawMinHopPath draws one of a pair's routes of the fewest hops.
func (x *makespanSearch) drawMinHopPath(pair int32) int32 {
	c := x.assignment.candidates
	path, hops, n := c.first[pair], math.MaxInt, 0
	for k := c.first[pair]; k >= 0; k = c.next[k] {
		switch h := len(c.pathOrbits(k)); {
		case h < hops:
			path, hops, n = k, h, 1
		case h == hops:
			if n++; x.assignment.rng.IntN(n) == 0 {
				path = k
			}
		}
	}
	return path
}

// simulate simulates the graph under the present choice.
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

// meetsBound reports whether no choice ends earlier.
func (x *makespanSearch) meetsBound(e graphFinish) bool {
	return float64(e.makespan) <= float64(x.r.makespanBound)*(1+roundingTol)
}

// descend moves pairs one by one, those first that the critical path waits for, until no move helps.
func (x *makespanSearch) descend(ctx context.Context) error {
	for better := true; better && x.assignment.budget > 0 && !x.meetsBound(x.current); {
		var err error
		if better, err = x.improve(ctx); err != nil {
			return err
		}
	}
	return nil
}

// perturb leads one of the pairs that the critical path waits for by any other path; false where none has one.
func (x *makespanSearch) perturb() bool {
	all := x.criticalPairs()
	x.assignment.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, i := range all {
		if others := x.alternatives(i, math.MaxInt); len(others) > 0 {
			old := x.assignment.path[i]
			if x.setPath(i, others[x.assignment.rng.IntN(len(others))]); x.r.isSafe(x.choice) {
				return true
			}
			x.setPath(i, old)
		}
	}
	return false
}

// maxAlternatives is how many other routes of a pair are tried.
const maxAlternatives = 6

// improve makes the first move that helps; false where there is none.
func (x *makespanSearch) improve(ctx context.Context) (bool, error) {
	s := x.assignment
	for _, i := range x.criticalPairs() {
		for _, k := range x.alternatives(i, maxAlternatives) {
			if err := ctx.Err(); err != nil || s.budget <= 0 {
				return false, err
			}
			old := s.path[i]
			x.setPath(i, k)
			result, trace, err := x.simulate(ctx)
			if err != nil {
				return false, err
			}
			if result.isBetter(x.current) && x.r.isSafe(x.choice) {
				x.current, x.trace = result, trace
				return true, nil
			}
			x.setPath(i, old)
		}
	}
	return false, nil
}

// setPath leads a pair by another path.
func (x *makespanSearch) setPath(pair, path int32) {
	s := x.assignment
	s.addLoad(pair, s.path[pair], -1)
	s.path[pair] = path
	s.addLoad(pair, path, 1)
}

// criticalPairs returns the pairs whose transfers on the critical path are slowed down, those first that lose most, each
// followed by the pairs that share links with it.
func (x *makespanSearch) criticalPairs() []int32 {
	s, g, n := x.assignment, x.r.problem.Graph, x.r.problem.Network
	delay := make([]float64, len(s.path))
	var slow []int32
	for _, id := range x.trace.CriticalPath(g) {
		k := x.pair[id]
		if k < 0 {
			continue
		}
		rate := math.Inf(1)
		for _, o := range s.candidates.pathOrbits(s.path[k]) {
			rate = min(rate, n.Links[x.link[o]].Rate)
		}
		excess := float64(x.trace.End[id]-x.trace.Start[id]) - float64(g.Tasks[id].Bytes)*8/rate*float64(engine.Second)
		if excess > 1 {
			if delay[k] == 0 {
				slow = append(slow, k)
			}
			delay[k] += excess
		}
	}
	slices.SortStableFunc(slow, func(a, b int32) int { return cmp.Compare(delay[b], delay[a]) })
	pairsOn := make([][]int32, len(s.load))
	for i, k := range s.path {
		for _, o := range s.candidates.pathOrbits(k) {
			pairsOn[o] = append(pairsOn[o], int32(i))
		}
	}
	var all []int32
	listed := make([]bool, len(s.path))
	list := func(k int32) {
		if !listed[k] {
			listed[k] = true
			all = append(all, k)
		}
	}
	for _, k := range slow {
		list(k)
		for _, o := range s.candidates.pathOrbits(s.path[k]) {
			for _, i := range pairsOn[o] {
				list(i)
			}
		}
	}
	return all
}

// alternatives returns up to so many paths that a pair could take in place of its own, those over the least loaded links
// first.
func (x *makespanSearch) alternatives(pair int32, limit int) []int32 {
	s := x.assignment
	old := s.path[pair]
	s.addLoad(pair, old, -1)
	type other struct {
		path int32
		cost float64
	}
	var all []other
	for k := s.candidates.first[pair]; k >= 0; k = s.candidates.next[k] {
		if k == old {
			continue
		}
		o := other{path: k}
		exceedsCap := false
		for _, l := range s.candidates.pathOrbits(k) {
			o.cost += s.in.demand[pair] + s.load[l]
			exceedsCap = exceedsCap || s.in.isNeighbour[pair] && s.neighbourCap > 0 && s.neighbourLoad[l] >= float64(s.neighbourCap)
		}
		if !exceedsCap {
			all = append(all, o)
		}
	}
	s.addLoad(pair, old, 1)
	slices.SortStableFunc(all, func(a, b other) int { return cmp.Compare(a.cost, b.cost) })
	var out []int32
	for _, o := range all[:min(limit, len(all))] {
		out = append(out, o.path)
	}
	return out
}

// setMakespanBounds finds what no paths undercut: what Problem.Least finds, also by the lengths that proved most of the loads, and
// what the most loaded link takes to carry all.
func (r *optimiser) setMakespanBounds(ctx context.Context) error {
	lengths := [][]float64{r.dual.length}
	if r.spread != nil {
		lengths = append(lengths, r.spread.bestLength)
	}
	lengths = slices.DeleteFunc(lengths, func(l []float64) bool { return maxOf(l) == 0 })
	in := r.in
	bound, err := in.makespanBound(ctx, r.problem, false, lengths...)
	if err != nil {
		return err
	}
	if r.makespanBoundSplit, err = in.makespanBound(ctx, r.problem, true, lengths...); err != nil {
		return err
	}
	bytes := make(map[engine.Flow]int64, len(in.pairs))
	for i, t := range r.problem.Graph.Tasks {
		if r.problem.pinned(i) < 0 {
			bytes[engine.Flow{Src: t.Src, Dst: t.Dst}] += t.Bytes
		}
	}
	unit := math.Inf(1) // bytes of a unit of demand, at least
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
