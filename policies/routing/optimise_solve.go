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
	wild    WildRule // the routes of tori to choose from
	options Options  // of other routers
	p       *Problem
	given   *Problem  // before its nodes were translated (Problem.canonical)
	y       *Symmetry // nil where the problem is not of a torus
	seed    uint64

	in       *instance
	part     *progress // of the kind of paths that is searched
	dual     *dual
	work     int            // arcs that searches for the bound may look at
	rules    *Candidates    // that set the channels of wild-first routes
	shortest *pathGenerator // paths of the fewest hops
	split    *equilibration // of all paths
	free     float64        // load of the best choice, whether it can deadlock or not
	found    *found         // the best that cannot deadlock
	risky    bool           // but it may, as no such paths were found
	met      bool           // a router meets the bound, so that nothing more is searched

	least, leastSplit engine.Time // bounds on when the problem's graph ends

	solved map[string]float64 // by a MILP solver
	solver string
	result *kept
}

// found is a choice of paths.
type found struct {
	in    *instance
	s     *search     // its best choice
	rules *Candidates // nil where paths have their own channels
}

// solve finds paths for each class, or has them from the cache.
func (r *optimiser) solve(ctx context.Context) error {
	if r.Cache == "" {
		return r.search(ctx)
	}
	key, err := r.key()
	if err != nil {
		return err
	}
	if r.result = r.load(key); r.result == nil {
		if err := r.search(ctx); err != nil {
			return err
		}
		return r.store(key, r.result)
	}
	y := r.y
	if r.result.Each {
		y = nil
	}
	in, err := newInstance(r.p, y)
	if err != nil {
		return err
	}
	r.found = &found{in: in}
	if r.result.Rule != nil {
		r.found.rules, err = NewCandidates(r.p, *r.result.Rule)
	}
	return err
}

// search finds paths for each class, among those that cost least to search first, until what is found cannot be
// improved on. Bounds that cost nothing are tried before the linear program of paths to spread over is solved.
func (r *optimiser) search(ctx context.Context) error {
	var err error
	if r.in, err = newInstance(r.p, r.y); err != nil {
		return err
	}
	if r.shortest, err = r.in.begin(ctx, r.in.free(), nil, notJoined); err != nil {
		return err
	}
	r.Optimised = r.withDefaults(r.p, r.in)
	r.free, r.dual = math.Inf(1), newDual(r.in)
	if r.y != nil || !r.narrow(ctx) {
		r.dual.simple(ctx, r.shortest.c)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.work = math.MaxInt
	if r.Rounds == 0 {
		r.Rounds = 4000
		if !r.in.uniform && r.in.arcs(r.dual.t.w) > fewArcs {
			r.work = mostArcs
		}
	}
	var kinds []func(context.Context) error
	if r.y != nil && (r.in.uniform || len(r.in.pair) <= mostPairs) {
		for _, rule := range r.wildRules() {
			kinds = append(kinds, func(ctx context.Context) error { return r.wildFirst(ctx, rule) })
		}
	}
	kinds = append(kinds, r.anywhere, r.unbound)
	whole := newProgress(r.options.Progress)
	for i, kind := range kinds {
		r.part = whole.part(float64(i)/float64(len(kinds)), float64(i+1)/float64(len(kinds)))
		if err := kind(ctx); err != nil {
			return err
		}
		if r.met && r.found != nil || r.found != nil && r.found.s.excess == 0 && (r.found.s.value <= r.goal() || !r.in.whole && r.found.s.value <= r.dual.bound()*(1+enough)) {
			break
		}
	}
	return r.finish(ctx)
}

// A kind of paths is searched, spread over and searched again: the shares of its time after which the first and the
// second end, about.
const (
	searched  = 0.2
	spreadOut = 0.7
)

// enough is the relative gap at which no other kind of paths is tried where demands are not whole: the best that there
// is would hardly be less.
const enough = 5e-4

// goal is what a search need not go below.
func (r *optimiser) goal() float64 { return r.dual.bound() * (1 + near) }

// improve has a search meet the bound if it can, for what is left of its budget and a quarter of the whole.
func (r *optimiser) improve(ctx context.Context, s *search) error {
	s.progress = r.part.part(0, searched)
	if err := s.run(ctx, r.goal(), nil); err != nil || s.value <= r.goal() && s.excess == 0 {
		return err
	}
	if met, err := r.routerMeets(ctx); err != nil || met {
		return err
	}
	if s.excess > 0 || len(s.path) <= manyPairs || !(s.value <= r.dual.bound()*(1+enough)) {
		if err := r.spread(ctx, s); err != nil {
			return err
		}
	}
	s.budget = r.Budget / 4
	return r.refine(ctx, s)
}

// refine has a search go on from its best choice.
func (r *optimiser) refine(ctx context.Context, s *search) error {
	if r.met {
		return nil
	}
	s.progress = r.part.part(spreadOut, 1)
	return s.run(ctx, r.goal(), nil)
}

// spread solves the linear program of paths to spread over, from a search's best choice on, unless that was done.
func (r *optimiser) spread(ctx context.Context, s *search) error {
	if r.split == nil {
		r.split = newEquilibration(r.in, r.in.free(), s)
		r.split.value = r.dual.value
		if r.split.between != nil {
			r.split.proof = r.dual
		}
	}
	r.split.progress = r.part.part(searched, spreadOut)
	left, err := r.split.run(ctx, r.Rounds, r.work)
	r.Rounds = left
	r.dual.adopt(ctx, r.split)
	return err
}

// anywhere seeks among paths that cannot deadlock on any network, pair by pair, those of a linear program over them.
// Where they do not join all pairs, which on directed links they need not, it seeks among all if nothing else was
// found, which may deadlock.
func (r *optimiser) anywhere(ctx context.Context) error {
	in := r.in
	if in.uniform {
		if r.found != nil && len(r.p.Flows) > mostPairs {
			return nil
		}
		var err error
		if in, err = newInstance(r.p, nil); err != nil {
			return err
		}
	}
	w := in.safest(r.p)
	var others *choices
	if in == r.in {
		others = r.shortest.c
	}
	x, err := in.begin(ctx, w, others, mayCycle)
	if errors.Is(err, ErrUnserved) && r.found != nil {
		return nil
	}
	if errors.Is(err, ErrUnserved) {
		r.risky, w = true, in.free()
		x, err = in.begin(ctx, w, others, notJoined)
	}
	if err != nil {
		return err
	}
	s := newSearch(in, x.c, r.seed, max(0, r.NeighbourCap), r.Budget/16)
	s.progress = r.part.part(0, searched)
	if err := s.run(ctx, r.goal(), func() error { return x.more(ctx, s) }); err != nil {
		return err
	}
	met := s.value <= r.goal() && s.excess == 0
	if !met {
		if met, err = r.routerMeets(ctx); err != nil {
			return err
		}
	}
	if !met {
		from := s
		if in != r.in {
			from = newSearch(r.in, r.shortest.c, r.seed, 0, 0).kept()
		}
		if err := r.spread(ctx, from); err != nil {
			return err
		}
		x := newEquilibration(in, w, s)
		x.value, x.progress = r.dual.value, r.part.part(searched, spreadOut)
		if others != nil && x.between != nil {
			x.takeUp(r.split)
		}
		if _, err := x.run(ctx, layeredRounds, 4*mostArcs); err != nil {
			return err
		}
		x.spread(s.c)
		if x.between != nil {
			x.round(s)
		}
		s.budget = r.Budget / 8
		if err := r.refine(ctx, s); err != nil {
			return err
		}
	}
	r.offer(&found{in, s, nil})
	return nil
}

// layeredRounds is those that are spent on paths that cannot deadlock, of which good ones matter and not what they
// prove.
const layeredRounds = 20

// unbound seeks what any paths at all reach, among those of the linear program.
func (r *optimiser) unbound(ctx context.Context) error {
	if r.free <= r.goal() || r.split == nil {
		return nil
	}
	s := newSearch(r.in, r.split.c, r.seed, max(0, r.NeighbourCap), r.Budget/8).kept()
	if r.split.between != nil {
		r.split.round(s)
	}
	if err := r.refine(ctx, s); err != nil {
		return err
	}
	r.note(s)
	return nil
}

// finish has a solver go on, if one is asked for, and takes the best choice.
func (r *optimiser) finish(ctx context.Context) error {
	if r.MILP {
		if err := r.exact(ctx); err != nil {
			return err
		}
	}
	if r.p.Graph != nil {
		if err := r.shortenMakespan(ctx); err != nil {
			return err
		}
	}
	r.take()
	return nil
}

// offer keeps a choice that cannot deadlock if it is the best.
func (r *optimiser) offer(f *found) {
	r.note(f.s)
	if r.found == nil || f.s.excess < r.found.s.excess || f.s.excess == r.found.s.excess && f.s.value < r.found.s.value {
		r.found = f
	}
}

// note keeps the loads of a search's best choice if they are the smallest, that it can deadlock or not.
func (r *optimiser) note(s *search) {
	if s.excess == 0 {
		r.free = min(r.free, s.value)
	}
}

// narrow tries the bound that the link alone proves which is the most loaded when all take paths of the fewest hops,
// and reports whether they meet it: on trees, and where a node has one link, they do.
func (r *optimiser) narrow(ctx context.Context) bool {
	load := newSearch(r.in, r.shortest.c, 0, 0, 0).load
	length, most := make([]float64, len(load)), top(load)
	if k := slices.Index(load, most); k >= 0 {
		length[k] = 1
	}
	r.dual.try(ctx, length, false)
	return most <= r.goal()
}

// mostPairs is how many pairs are led one by one, where symmetry does not help.
const mostPairs = 1 << 20

// take makes the best choice the result.
func (r *optimiser) take() {
	in, s, z := r.found.in, r.found.s, new(kept)
	r.result = z
	z.Routes = make([][]engine.Step, in.classes(r.p))
	s.again()
	s.value = top(s.load) // without what rounding has added up
	for i, w := range s.path {
		z.Routes[in.class[i]] = slices.Clone(s.c.steps(w))
	}
	z.Each = in.symmetry == nil
	if z.Bound = r.dual.bound(); s.excess == 0 && z.Bound > s.value && z.Bound <= s.value*(1+near) {
		z.Bound = s.value // they differ by rounding
	}
	z.Split = min(z.Bound, max(r.dual.value, r.in.nodeCutBound()))
	z.Least, z.LeastSplit = r.least, r.leastSplit
	z.Metrics = map[string]float64{
		"max_link_load":              s.value,
		"bound_max_link_load":        z.Bound,
		"gap":                        0,
		"nearest_neighbour_max_load": top(s.near),
		"canonical_sources":          float64(len(r.in.sources)),
	}
	if free := min(r.free, s.value); s.excess == 0 {
		z.Metrics["unconstrained_max_link_load"] = free
	}
	if z.Bound > 0 {
		z.Metrics["gap"] = (s.value - z.Bound) / z.Bound
	}
	if in.slow != nil {
		for _, name := range []string{"max_link_load", "bound_max_link_load", "unconstrained_max_link_load"} {
			if v, ok := z.Metrics[name]; ok {
				z.Metrics[strings.Replace(name, "link_load", "load_over_rate", 1)] = v
				delete(z.Metrics, name)
			}
		}
	}
	maps.Copy(z.Metrics, r.solved)
	z.Labels = map[string]string{"ways": "any, towards the root of an order of the nodes and then away from it, on each channel"}
	if r.risky {
		z.Labels["ways"] = "any, which may deadlock: " + mayCycle
	}
	if rules := r.found.rules; rules != nil {
		rule := rules.rule
		z.Rule = &rule
		z.Labels = rules.labels()
		z.Labels["ways"] = "wild-first"
	}
	if r.solver != "" {
		z.Labels["solver"] = r.solver
	}
	r.found.s = nil // and the choices with it, which may be large
}

// top returns the greatest of numbers that are not negative.
func top(of []float64) (most float64) {
	for _, x := range of {
		most = max(most, x)
	}
	return most
}
