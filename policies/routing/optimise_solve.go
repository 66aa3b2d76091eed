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

// optimiser is one run.
type optimiser struct {
	Optimised
	wild     WildRule // the routes of tori to choose from
	options  Options  // of other routers
	problem  *Problem
	given    *Problem  // before its nodes were translated (Problem.canonical)
	symmetry *Symmetry // nil where the problem is not of a torus
	seed     uint64

	in              *routeInstance
	progress        *progress // of the kind of paths that is searched
	dual            *dualBound
	maxBoundWork    int            // arcs that searches for the bound may look at
	rules           *Candidates    // that set the channels of wild-first routes
	shortest        *pathGenerator // paths of the fewest hops
	spread          *equilibration // of all paths
	freeLoad        float64        // load of the best choice, whether it can deadlock or not
	best            *routeChoice   // the best that cannot deadlock
	mayDeadlock     bool           // but it may, as no such paths were found
	isRouterOptimal bool           // a router meets the bound, so that nothing more is searched

	makespanBound, makespanBoundSplit engine.Time // bounds on when the problem's graph ends

	solved map[string]float64 // by a MILP solver
	solver string
	result *cachedRoutes
}

// routeChoice is a choice of paths.
type routeChoice struct {
	in    *routeInstance
	s     *pathAssignmentSearch // its best choice
	rules *Candidates           // nil where paths have their own channels
}

// solve finds paths for each class, or has them from the cache.
func (r *optimiser) solve(ctx context.Context) error {
	if r.Cache == "" {
		return r.search(ctx)
	}
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

// search finds paths for each class, among those that cost least to search first, until what is found cannot be
// improved on. Bounds that cost nothing are tried before the linear program of paths to spread over is solved.
func (r *optimiser) search(ctx context.Context) error {
	var err error
	if r.in, err = newRouteInstance(r.problem, r.symmetry); err != nil {
		return err
	}
	if r.shortest, err = r.in.startPaths(ctx, r.in.unrestricted(), nil, reasonDisconnected); err != nil {
		return err
	}
	r.Optimised = r.withDefaults(r.problem, r.in)
	r.freeLoad, r.dual = math.Inf(1), newDualBound(r.in)
	if r.symmetry != nil || !r.meetsBottleneckBound(ctx) {
		r.dual.trySimpleLengths(ctx, r.shortest.candidates)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.maxBoundWork = math.MaxInt
	if r.Rounds == 0 {
		r.Rounds = 4000
		if !r.in.isUniform && r.in.searchArcs(r.dual.tree.w) > largeGraphArcs {
			r.maxBoundWork = maxBoundArcs
		}
	}
	var kinds []func(context.Context) error
	if r.symmetry != nil && (r.in.isUniform || len(r.in.pairs) <= maxPairs) {
		for _, rule := range r.wildRules() {
			kinds = append(kinds, func(ctx context.Context) error { return r.searchWildFirst(ctx, rule) })
		}
	}
	kinds = append(kinds, r.searchUpDown, r.searchUnrestricted)
	total := newProgress(r.options.Progress)
	for i, kind := range kinds {
		r.progress = total.part(float64(i)/float64(len(kinds)), float64(i+1)/float64(len(kinds)))
		if err := kind(ctx); err != nil {
			return err
		}
		if r.isRouterOptimal && r.best != nil || r.best != nil && r.best.s.bestExcess == 0 && (r.best.s.bestLoad <= r.goal() || !r.in.hasWholeDemands && r.best.s.bestLoad <= r.dual.lowerBound()*(1+closeGap)) {
			break
		}
	}
	return r.finish(ctx)
}

// A kind of paths is searched, spread over and searched again: the shares of its time after which the first and the
// second end, about.
const (
	searchShare = 0.2
	spreadShare = 0.7
)

// closeGap is the relative gap at which no other kind of paths is tried where demands are not whole: the best that there
// is would hardly be less.
const closeGap = 5e-4

// goal is what a search need not go below.
func (r *optimiser) goal() float64 { return r.dual.lowerBound() * (1 + roundingTol) }

// improve has a search meet the bound if it can, for what is left of its budget and a quarter of the whole.
func (r *optimiser) improve(ctx context.Context, s *pathAssignmentSearch) error {
	s.progress = r.progress.part(0, searchShare)
	if err := s.run(ctx, r.goal(), nil); err != nil || s.bestLoad <= r.goal() && s.bestExcess == 0 {
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

// refine has a search go on from its best choice.
func (r *optimiser) refine(ctx context.Context, s *pathAssignmentSearch) error {
	if r.isRouterOptimal {
		return nil
	}
	s.progress = r.progress.part(spreadShare, 1)
	return s.run(ctx, r.goal(), nil)
}

// solveSpread solves the linear program of paths to spread over, from a search's best choice on, unless that was done.
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

// searchUpDown seeks among paths that cannot deadlock on any network, pair by pair, those of a linear program over them.
// Where they do not join all pairs, which on directed links they need not, it seeks among all if nothing else was
// found, which may deadlock.
func (r *optimiser) searchUpDown(ctx context.Context) error {
	in := r.in
	if in.isUniform {
		if r.best != nil && len(r.problem.Flows) > maxPairs {
			return nil
		}
		var err error
		if in, err = newRouteInstance(r.problem, nil); err != nil {
			return err
		}
	}
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
	s := newPathAssignmentSearch(in, generator.candidates, r.seed, max(0, r.NeighbourCap), r.Budget/16)
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
		from := s
		if in != r.in {
			from = newPathAssignmentSearch(r.in, r.shortest.candidates, r.seed, 0, 0).withBest()
		}
		if err := r.solveSpread(ctx, from); err != nil {
			return err
		}
		generator := newEquilibration(in, w, s)
		generator.bound, generator.progress = r.dual.value, r.progress.part(searchShare, spreadShare)
		if preferred != nil && generator.between != nil {
			generator.copyFrom(r.spread)
		}
		if _, err := generator.run(ctx, upDownRounds, 4*maxBoundArcs); err != nil {
			return err
		}
		generator.addUsedPaths(s.candidates)
		if generator.between != nil {
			generator.roundToPaths(s)
		}
		s.budget = r.Budget / 8
		if err := r.refine(ctx, s); err != nil {
			return err
		}
	}
	r.offerChoice(&routeChoice{in, s, nil})
	return nil
}

// upDownRounds is those that are spent on paths that cannot deadlock, of which good ones matter and not what they
// prove.
const upDownRounds = 20

// searchUnrestricted seeks what any paths at all reach, among those of the linear program.
func (r *optimiser) searchUnrestricted(ctx context.Context) error {
	if r.freeLoad <= r.goal() || r.spread == nil {
		return nil
	}
	s := newPathAssignmentSearch(r.in, r.spread.candidates, r.seed, max(0, r.NeighbourCap), r.Budget/8).withBest()
	if r.spread.between != nil {
		r.spread.roundToPaths(s)
	}
	if err := r.refine(ctx, s); err != nil {
		return err
	}
	r.noteLoad(s)
	return nil
}

// finish has a solver go on, if one is asked for, and takes the best choice.
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

// offerChoice keeps a choice that cannot deadlock if it is the best.
func (r *optimiser) offerChoice(f *routeChoice) {
	r.noteLoad(f.s)
	if r.best == nil || f.s.bestExcess < r.best.s.bestExcess || f.s.bestExcess == r.best.s.bestExcess && f.s.bestLoad < r.best.s.bestLoad {
		r.best = f
	}
}

// noteLoad keeps the loads of a search's best choice if they are the smallest, that it can deadlock or not.
func (r *optimiser) noteLoad(s *pathAssignmentSearch) {
	if s.bestExcess == 0 {
		r.freeLoad = min(r.freeLoad, s.bestLoad)
	}
}

// meetsBottleneckBound tries the bound that the link alone proves which is the most loaded when all take paths of the fewest hops,
// and reports whether they meet it: on trees, and where a node has one link, they do.
func (r *optimiser) meetsBottleneckBound(ctx context.Context) bool {
	load := newPathAssignmentSearch(r.in, r.shortest.candidates, 0, 0, 0).load
	length, maxLoad := make([]float64, len(load)), maxOf(load)
	if k := slices.Index(load, maxLoad); k >= 0 {
		length[k] = 1
	}
	r.dual.tryLengths(ctx, length, false)
	return maxLoad <= r.goal()
}

// maxPairs is how many pairs are led one by one, where symmetry does not help.
const maxPairs = 1 << 20

// setResult makes the best choice the result.
func (r *optimiser) setResult() {
	in, s, z := r.best.in, r.best.s, new(cachedRoutes)
	r.result = z
	z.Routes = make([][]engine.Step, in.classes(r.problem))
	s.restoreBest()
	s.bestLoad = maxOf(s.load) // without what rounding has added up
	for i, w := range s.path {
		z.Routes[in.class[i]] = slices.Clone(s.candidates.pathSteps(w))
	}
	z.Each = in.symmetry == nil
	if z.Bound = r.dual.lowerBound(); s.bestExcess == 0 && z.Bound > s.bestLoad && z.Bound <= s.bestLoad*(1+roundingTol) {
		z.Bound = s.bestLoad // they differ by rounding
	}
	z.Split = min(z.Bound, max(r.dual.value, r.in.nodeCutBound()))
	z.Least, z.LeastSplit = r.makespanBound, r.makespanBoundSplit
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
	r.best.s = nil // and the choices with it, which may be large
}

// maxOf returns the greatest of numbers that are not negative.
func maxOf(values []float64) (largest float64) {
	for _, x := range values {
		largest = max(largest, x)
	}
	return largest
}
