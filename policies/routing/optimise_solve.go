package routing

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"sim/engine"
)

// optimiser is one run of OptimisedRouter. search lists the steps.
type optimiser struct {
	OptimisedRouter           // the options: Budget, Rounds, NeighbourCap, ...
	wild            WildRule  // wild-first paths of tori
	options         Options   // of other routers
	problem         *Problem  // after translation to the canonical fault (Problem.canonical)
	given           *Problem  // before the translation
	symmetry        *Symmetry // nil if the problem has no torus
	seed            uint64

	in           *routeInstance // problem by classes of flows and orbits of links
	progress     *progress      // of the kind of paths being searched
	dual         *dualBound     // lower bound on the maximum load
	maxBoundWork int            // limit of the arcs scanned by the search for the bound
	rules        *Candidates    // channel rule of the wild-first paths being searched
	shortest     *pathGenerator // one path of the minimum number of hops per pair
	spread       *equilibration // linear program over all paths; nil until it is needed
	freeLoad     float64        // minimum load found, including paths that may deadlock
	best         *routeChoice   // best choice free of deadlock
	// mayDeadlock means that no paths free of deadlock join all pairs, so best may deadlock.
	mayDeadlock     bool
	isRouterOptimal bool // another router reaches the goal, so the search can stop

	makespanBound, makespanBoundSplit engine.Time // lower bounds on the end of Problem.Graph

	solved map[string]float64 // metrics of the MILP solver
	solver string             // label of the MILP solver
	result *cachedRoutes
}

// routeChoice is an assignment of paths to pairs.
type routeChoice struct {
	in    *routeInstance
	s     *pathAssignmentSearch // s.best is the assignment
	rules *Candidates           // sets channels; nil if paths have channels
}

// solve sets the result from the cache or by a search.
func (r *optimiser) solve(ctx context.Context) error {
	if r.Cache == "" {
		return r.search(ctx)
	}

	// Load the result, or search and store it.
	key, err := r.cacheKey()
	if err != nil {
		return err
	}
	if r.result = r.loadCached(key); r.result == nil {
		if err := r.search(ctx); err != nil {
			return err
		}
		return r.storeCached(key, r.result)
	}

	// Restore the state that translatedPaths needs besides the result.
	y := r.symmetry
	if r.result.Each {
		y = nil
	}
	in, err := newRouteInstance(r.problem, y)
	if err != nil {
		return err
	}
	r.best = &routeChoice{in: in}
	if r.result.Rule != nil {
		r.best.rules, err = NewCandidates(r.problem, *r.result.Rule)
	}
	return err
}

// search searches several kinds of paths, the cheapest kind first, until the result meets the
// bound: wild-first paths, up*/down* paths, and paths that may deadlock. Bounds that are known in
// advance are tried before the linear program is solved.
func (r *optimiser) search(ctx context.Context) error {
	// The instance, the start paths and defaults that depend on them.
	var err error
	if r.in, err = newRouteInstance(r.problem, r.symmetry); err != nil {
		return err
	}
	var noPreferred *candidatePaths
	r.shortest, err = r.in.startPaths(ctx, r.in.unrestricted(), noPreferred, reasonDisconnected)
	if err != nil {
		return err
	}
	r.OptimisedRouter = r.withDefaults(r.problem, r.in)

	// Simple bounds.
	r.freeLoad, r.dual = math.Inf(1), newDualBound(r.in)
	if r.symmetry != nil || !r.meetsBottleneckBound(ctx) {
		r.dual.trySimpleLengths(ctx, r.shortest.candidates)
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	// Limits of the search for a bound.
	r.maxBoundWork = math.MaxInt
	if r.Rounds == 0 {
		r.Rounds = 4000
		if !r.in.isUniform && r.in.searchArcs(r.dual.tree.w) > largeGraphArcs {
			r.maxBoundWork = maxBoundArcs
		}
	}

	// The kinds of paths.
	var kinds []func(context.Context) error
	if r.symmetry != nil && (r.in.isUniform || len(r.in.pairs) <= maxPairs) {
		for _, rule := range r.wildRules() {
			kinds = append(kinds, func(ctx context.Context) error { return r.searchWildFirst(ctx, rule) })
		}
	}

	kinds = append(kinds, r.searchUpDown, r.searchUnrestricted)

	// Search one kind after the other until the result is close enough to the bound.
	total := newProgress(r.options.Progress)
	for i, kind := range kinds {
		r.progress = total.part(float64(i)/float64(len(kinds)), float64(i+1)/float64(len(kinds)))
		if err := kind(ctx); err != nil {
			return err
		}
		if r.isRouterOptimal && r.best != nil || r.best != nil && r.best.s.bestExcess == 0 &&
			(r.best.s.bestLoad <= r.goal() || !r.in.hasWholeDemands &&
				r.best.s.bestLoad <= r.dual.lowerBound()*(1+closeGap)) {
			break
		}
	}

	return r.finish(ctx)
}

// Shares of the time of one kind of paths after which the first search and the linear program
// end, approximately. A second search takes the rest.
const (
	searchShare = 0.2
	spreadShare = 0.7
)

// closeGap is the relative gap at which no further kind of paths is searched if demands are not
// whole numbers. The optimum is then hardly smaller.
const closeGap = 5e-4

// searchCap returns the neighbours' cap for newPathAssignmentSearch, in which 0 means no cap.
func (r *optimiser) searchCap() int { return max(noCap, r.NeighbourCap) }

// goal is the maximum load at which a search can stop.
func (r *optimiser) goal() float64 {
	return r.dual.lowerBound() * (1 + r.tolerance())
}

// tolerance is the relative distance from a bound at which a search can stop.
func (r *optimiser) tolerance() float64 { return max(roundingTol, r.MaxGap) }

// improve runs a search, and if it does not meet the bound, solves the linear program and
// continues with a quarter of the budget.
func (r *optimiser) improve(ctx context.Context, s *pathAssignmentSearch) error {
	s.progress = r.progress.part(0, searchShare)
	var addNothing func() error // the candidates do not change
	err := s.run(ctx, r.goal(), addNothing)
	if err != nil || s.bestLoad <= r.goal() && s.bestExcess == 0 {
		return err
	}
	if isMet, err := r.routerMeetsBound(ctx); err != nil || isMet {
		return err
	}

	if s.bestExcess > 0 || len(s.path) <= largePairs || !(s.bestLoad <= r.dual.lowerBound()*(1+closeGap)) {
		if err := r.solveSpread(ctx, s); err != nil {
			return err
		}
	}

	s.budget = r.Budget / 4
	return r.refine(ctx, s)
}

// refine continues a search from its best assignment.
func (r *optimiser) refine(ctx context.Context, s *pathAssignmentSearch) error {
	if r.isRouterOptimal {
		return nil
	}
	s.progress = r.progress.part(spreadShare, 1)
	return s.run(ctx, r.goal(), nil)
}

// solveSpread solves the linear program of split pairs, or continues it. It starts from a
// search's best assignment.
func (r *optimiser) solveSpread(ctx context.Context, s *pathAssignmentSearch) error {
	if r.spread == nil {
		r.spread = newEquilibration(r.in, r.in.unrestricted(), s)
		r.spread.bound = r.dual.value
		if r.spread.between != nil {
			r.spread.dual = r.dual
		}
	}

	r.spread.progress = r.progress.part(searchShare, spreadShare)
	remaining, err := r.spread.run(ctx, r.Rounds, r.maxBoundWork)
	r.Rounds = remaining
	r.dual.useBound(ctx, r.spread)
	return err
}

// searchUpDown searches paths that cannot deadlock on any network, over individual pairs, with
// candidates from a linear program over such paths. On directed links they may not join all
// pairs. If nothing else was found, it then searches all paths, which may deadlock.
func (r *optimiser) searchUpDown(ctx context.Context) error {
	in := r.in

	// Without symmetry: with it, paths of a class would be restricted to translations of each
	// other.
	if in.isUniform {
		if r.best != nil && len(r.problem.Flows) > maxPairs {
			return nil
		}
		var err error
		if in, err = newRouteInstance(r.problem, withoutSymmetry); err != nil {
			return err
		}
	}

	// Candidates: up*/down* paths or, if these do not join all pairs, any paths.
	w := in.deadlockFree(r.problem)
	var preferred *candidatePaths
	if in == r.in {
		preferred = r.shortest.candidates
	}
	generator, err := in.startPaths(ctx, w, preferred, reasonNoUpDownPath)
	if errors.Is(err, ErrUnserved) && r.best != nil {
		return nil
	}
	if errors.Is(err, ErrUnserved) {
		r.mayDeadlock, w = true, in.unrestricted()
		generator, err = in.startPaths(ctx, w, preferred, reasonDisconnected)
	}
	if err != nil {
		return err
	}

	// First search, which generates candidates as it proceeds.
	s := newPathAssignmentSearch(in, generator.candidates, r.seed, r.searchCap(), r.Budget/16)
	s.progress = r.progress.part(0, searchShare)
	if err := s.run(ctx, r.goal(), func() error { return generator.addCheaper(ctx, s) }); err != nil {
		return err
	}
	isMet := s.bestLoad <= r.goal() && s.bestExcess == 0
	if !isMet {
		if isMet, err = r.routerMeetsBound(ctx); err != nil {
			return err
		}
	}

	if !isMet {
		// The linear program over all paths gives the bound; the one over w gives good
		// candidates.
		from := s
		if in != r.in {
			from = newPathAssignmentSearch(r.in, r.shortest.candidates, r.seed, noCap, noBudget).withBest()
		}
		if err := r.solveSpread(ctx, from); err != nil {
			return err
		}
		restricted := newEquilibration(in, w, s)
		restricted.bound, restricted.progress = r.dual.value, r.progress.part(searchShare, spreadShare)
		if preferred != nil && restricted.between != nil {
			restricted.copyFrom(r.spread)
		}
		if _, err := restricted.run(ctx, upDownRounds, 4*maxBoundArcs); err != nil {
			return err
		}
		restricted.addUsedPaths(s.candidates)
		if restricted.between != nil {
			restricted.roundToPaths(s)
		}

		// Second search, over these candidates.
		s.budget = r.Budget / 8
		if err := r.refine(ctx, s); err != nil {
			return err
		}
	}

	r.offerChoice(&routeChoice{in: in, s: s, rules: nil})
	return nil
}

// upDownRounds is the number of rounds of the linear program over up*/down* paths. It only
// supplies good paths; its bound is not used.
const upDownRounds = 20

// searchUnrestricted determines the load that arbitrary paths reach, among the paths of the
// linear program.
func (r *optimiser) searchUnrestricted(ctx context.Context) error {
	if r.freeLoad <= r.goal() || r.spread == nil {
		return nil
	}
	s := newPathAssignmentSearch(r.in, r.spread.candidates, r.seed, r.searchCap(),
		r.Budget/8).withBest()
	if r.spread.between != nil {
		r.spread.roundToPaths(s)
	}
	if err := r.refine(ctx, s); err != nil {
		return err
	}
	r.noteLoad(s)
	return nil
}

// finish runs the MILP solver if requested, optimises the makespan if the problem has a graph,
// and sets the result.
func (r *optimiser) finish(ctx context.Context) error {
	if r.MILP {
		if err := r.solveMILP(ctx); err != nil {
			return err
		}
	}
	if r.problem.Graph != nil {
		if err := r.shortenMakespan(ctx); err != nil {
			return err
		}
	}
	r.setResult()
	return nil
}

// offerChoice saves a choice free of deadlock if it is the best.
func (r *optimiser) offerChoice(f *routeChoice) {
	r.noteLoad(f.s)
	if r.best == nil || f.s.bestExcess < r.best.s.bestExcess ||
		f.s.bestExcess == r.best.s.bestExcess && f.s.bestLoad < r.best.s.bestLoad {
		r.best = f
	}
}

// noteLoad updates freeLoad by a search's best assignment, whether it can deadlock or not.
func (r *optimiser) noteLoad(s *pathAssignmentSearch) {
	if s.bestExcess == 0 {
		r.freeLoad = min(r.freeLoad, s.bestLoad)
	}
}

// meetsBottleneckBound tries the bound of a single link: the bottleneck of the paths with the
// minimum number of hops. It reports whether these paths meet it, as they do on trees and if a
// node has one link.
func (r *optimiser) meetsBottleneckBound(ctx context.Context) bool {
	load := newPathAssignmentSearch(r.in, r.shortest.candidates, anySeed, noCap, noBudget).load
	length := make([]float64, len(load))
	maxLoad := maxOf(load)
	if k := slices.Index(load, maxLoad); k >= 0 {
		length[k] = 1
	}
	r.dual.tryLengths(ctx, length, anyLengths)
	return maxLoad <= r.goal()
}

// maxPairs is the number of pairs up to which pairs are routed individually if symmetry does not
// help. Each pair takes memory for its candidates and time in each sweep.
const maxPairs = 1 << 20

// setResult makes the best choice the result.
func (r *optimiser) setResult() {
	// The paths by class.
	in := r.best.in
	s := r.best.s
	z := new(cachedRoutes)
	r.result = z
	z.Routes = make([][]engine.Step, in.classes(r.problem))
	s.restoreBest()
	s.bestLoad = maxOf(s.load) // free of accumulated rounding errors
	for i, w := range s.path {
		z.Routes[in.class[i]] = slices.Clone(s.candidates.pathSteps(w))
	}

	// Bounds.
	z.Each = in.symmetry == nil
	if z.Bound = r.dual.lowerBound(); s.bestExcess == 0 && z.Bound > s.bestLoad &&
		z.Bound <= s.bestLoad*(1+roundingTol) {
		z.Bound = s.bestLoad // a rounding error
	}
	z.Split = min(z.Bound, max(r.dual.value, r.in.nodeCutBound()))
	z.Least = r.makespanBound
	z.LeastSplit = r.makespanBoundSplit

	// Metrics; if rates differ, they are named after load over rate.
	z.Metrics = map[string]float64{
		"max_link_load":              s.bestLoad,
		"bound_max_link_load":        z.Bound,
		"gap":                        0,
		"nearest_neighbour_max_load": maxOf(s.neighbourLoad),
		"canonical_sources":          float64(len(r.in.sources)),
	}

	if free := min(r.freeLoad, s.bestLoad); s.bestExcess == 0 {
		z.Metrics["unconstrained_max_link_load"] = free
	}
	if z.Bound > 0 {
		z.Metrics["gap"] = (s.bestLoad - z.Bound) / z.Bound
	}
	if in.loadPerUnit != nil {
		for _, name := range []string{"max_link_load", "bound_max_link_load", "unconstrained_max_link_load"} {
			if v, ok := z.Metrics[name]; ok {
				z.Metrics[strings.Replace(name, "link_load", "load_over_rate", 1)] = v
				delete(z.Metrics, name)
			}
		}
	}

	maps.Copy(z.Metrics, r.solved)

	// Labels, and the rule of channels.
	z.Labels = map[string]string{"ways": "any, towards the root of an order of the nodes and then away from it, on each channel"}
	if r.mayDeadlock {
		z.Labels["ways"] = "any, which may deadlock: " + reasonNoUpDownPath
	}
	if rules := r.best.rules; rules != nil {
		rule := rules.rule
		z.Rule = &rule
		z.Labels = rules.labels()
		z.Labels["ways"] = "wild-first"
	}

	if r.solver != "" {
		z.Labels["solver"] = r.solver
	}
	r.best.s = nil // frees the candidates, which may be large
}

// maxOf returns the maximum of non-negative values; 0 for an empty list.
func maxOf(values []float64) (largest float64) {
	for _, x := range values {
		largest = max(largest, x)
	}
	return largest
}
