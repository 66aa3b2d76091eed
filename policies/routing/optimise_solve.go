package routing

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"sim/engine"
)

// optimiser is one run.
type optimiser struct {
	Optimised
	p    *Problem
	y    *Symmetry // nil where the problem is not of a torus
	seed uint64

	in       *instance
	dual     *dual
	rules    *Candidates // that set the channels of wild-first routes
	straight *widening   // ways of the fewest hops
	over     *spreading  // of all ways
	free     float64     // load of the best choice, whether it can deadlock or not
	found    *found      // the best that cannot deadlock
	risky    bool        // but it may, as no such paths were found

	least, leastSplit engine.Time // bounds on when the problem's graph ends

	told   map[string]float64 // by a MILP solver
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

// search finds paths for each class, among those that cost least to search first.
func (r *optimiser) search(ctx context.Context) error {
	var err error
	if r.in, err = newInstance(r.p, r.y); err != nil {
		return err
	}
	if r.straight, err = r.in.begin(ctx, r.in.free(), notJoined); err != nil {
		return err
	}
	r.Optimised = r.withDefaults(r.in)
	r.free = math.Inf(1)
	r.dual = newDual(r.in)
	met := r.y == nil && r.narrow(ctx, r.straight)
	if r.Rounds == 0 {
		r.Rounds = 4000
		if n := r.in.arcs(r.dual.t.w); !r.in.uniform && n > fewArcs {
			r.Rounds = max(1, mostArcs/n)
		}
	}
	if !r.in.uniform && len(r.in.pair) <= mostPairs {
		if err := r.each(ctx, met); err != nil {
			return err
		}
		return r.finish(ctx)
	}
	if !met {
		r.dual.simple(ctx)
	}
	kinds := []func(context.Context) error{r.proof, r.unbound, r.anywhere}
	if met {
		kinds = kinds[1:]
	}
	if r.y != nil {
		var first []func(context.Context) error
		for _, rule := range r.wildRules() {
			first = append(first, func(ctx context.Context) error { return r.wildFirst(ctx, rule, r.bracket, r.descend) })
		}
		kinds = append(first, kinds...)
	}
	for _, kind := range kinds {
		if err := kind(ctx); err != nil {
			return err
		}
		if r.met() {
			break
		}
	}
	return r.finish(ctx)
}

// finish has a solver go on, if one is asked for, and takes the best choice.
func (r *optimiser) finish(ctx context.Context) error {
	if r.MILP {
		if err := r.exact(ctx); err != nil {
			return err
		}
	}
	if r.p.Graph != nil {
		if err := r.hasten(ctx); err != nil {
			return err
		}
	}
	r.take()
	return nil
}

// met reports whether the best choice cannot be improved on.
func (r *optimiser) met() bool {
	return r.found != nil && r.found.s.value <= r.goal() && r.found.s.excess == 0
}

// proof solves the linear program of ways to spread over, where that may raise the bound.
func (r *optimiser) proof(ctx context.Context) error {
	if r.free <= r.goal() {
		return nil
	}
	s := newSearch(r.in, r.straight.c, 0, 0, 0)
	s.keep()
	return r.spread(ctx, s)
}

// offer keeps a choice that cannot deadlock if it is the best.
func (r *optimiser) offer(f *found) {
	r.note(f.in, f.s)
	if r.found == nil || f.s.excess < r.found.s.excess || f.s.excess == r.found.s.excess && f.s.value < r.found.s.value {
		r.found = f
	}
}

// unbound seeks what any paths at all reach.
func (r *optimiser) unbound(ctx context.Context) error {
	if r.free <= r.goal() {
		return nil
	}
	s, err := r.any(ctx, r.in, r.in.free(), r.goal(), r.Budget/2)
	if err == nil {
		r.note(r.in, s)
	}
	return err
}

// note keeps the loads of a search's best choice if they are the smallest, that it can deadlock or not.
func (r *optimiser) note(in *instance, s *search) {
	if s.excess > 0 || s.value >= r.free {
		return
	}
	r.free = s.value
}

// mostPairs is how many pairs are led one by one, where symmetry does not help.
const mostPairs = 1 << 20

// anywhere seeks among paths that cannot deadlock on any network, pair by pair.
func (r *optimiser) anywhere(ctx context.Context) error {
	if r.found != nil && len(r.p.Flows) > mostPairs {
		return nil
	}
	in, err := newInstance(r.p, nil)
	if err != nil {
		return err
	}
	s, _, err := r.safely(ctx, in, r.goal(), r.Budget/2)
	if err != nil || s == nil {
		return err
	}
	r.offer(&found{in, s, nil})
	return nil
}

// narrow tries the bound that the link alone proves which is the most loaded when all take paths of the fewest hops,
// and reports whether they meet it: on trees, and where a node has one link, they do.
func (r *optimiser) narrow(ctx context.Context, x *widening) bool {
	b := r.dual
	if len(r.in.pair) > mostPairs {
		b.least = r.in.floor()
	}
	load := newSearch(r.in, x.c, 0, 0, 0).load
	if len(load) == 0 {
		return true
	}
	length, most := make([]float64, r.in.orbits), 0
	for o, y := range load {
		if y > load[most] {
			most = o
		}
	}
	length[most] = 1
	b.try(ctx, length)
	return load[most] <= r.goal()
}

// take makes the best choice the result.
func (r *optimiser) take() {
	in, s, z := r.found.in, r.found.s, new(kept)
	r.result = z
	z.Ways = make([][]engine.Step, in.classes(r.p))
	s.again()
	for i, w := range s.walk {
		z.Ways[in.class[i]] = slices.Clone(s.c.steps(w))
	}
	z.Each = in.symmetry == nil
	if z.Bound = r.dual.bound(); s.excess == 0 && z.Bound > s.value && z.Bound <= s.value*(1+near) {
		z.Bound = s.value // they differ by rounding
	}
	z.Split = min(z.Bound, max(r.dual.value, r.in.ends()))
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
	maps.Copy(z.Metrics, r.told)
	z.Labels = map[string]string{"ways": "any, towards the root of an order of the nodes and then away from it, on each channel"}
	if r.risky {
		z.Labels["ways"] = "any, which may deadlock: " + mayCycle
	}
	if rules := r.found.rules; rules != nil {
		rule := rules.w
		z.Rule = &rule
		z.Labels = map[string]string{"ways": "wild-first", "order": dimNames(rule.Order), "wild": dimNames(rule.Wild)}
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
