package routing

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"sim/engine"
)

// optimiser is one run.
type optimiser struct {
	Optimised
	p       *Problem
	y       *Symmetry // nil where the problem is not of a torus
	seed    uint64
	workers int

	in    *instance
	dual  *dual
	rules *Candidates // that set the channels of wild-first ways
	free  float64     // load of the best choice, whether it can deadlock or not
	best  []float64   // and its loads, by node and port
	found *found      // the best that cannot deadlock

	told   map[string]float64 // by a MILP solver
	solver string
	result *kept
}

// found is a choice of walks.
type found struct {
	in    *instance
	s     *search     // its best choice
	rules *Candidates // nil where walks have their own channels
}

// solve finds ways for each class, or has them from the cache.
func (r *optimiser) solve(ctx context.Context) error {
	if r.Cache == "" {
		return r.search(ctx)
	}
	key := r.key()
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

// search finds ways for each class, among those that cost least to search first.
func (r *optimiser) search(ctx context.Context) error {
	var err error
	if r.in, err = newInstance(r.p, r.y); err != nil {
		return err
	}
	if err := r.in.joined(); err != nil {
		return err
	}
	r.Optimised = r.withDefaults(r.in)
	r.free = math.Inf(1)
	r.dual = newDual(r.in)
	if r.Rounds == 0 {
		r.Rounds = min(4000, max(100, 40_000_000/max(1, len(r.dual.e.sources)*len(r.in.link))))
	}
	if err := r.dual.seek(ctx, min(100, max(1, r.Rounds/2)), math.Inf(1), r.workers); err != nil {
		return err
	}
	kinds := []func(context.Context) error{r.proof, r.unbound, r.anywhere, r.proof}
	if r.y != nil {
		var first []func(context.Context) error
		for _, rule := range r.wildRules() {
			first = append(first, func(ctx context.Context) error { return r.wildFirst(ctx, rule) })
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
	if r.MILP {
		if err := r.exact(ctx); err != nil {
			return err
		}
	}
	r.take()
	return nil
}

// met reports whether the best choice cannot be improved on.
func (r *optimiser) met() bool {
	return r.found != nil && r.found.s.value <= r.dual.bound() && r.found.s.excess == 0
}

// proof seeks the bound for good.
func (r *optimiser) proof(ctx context.Context) error {
	if r.free <= r.dual.bound() {
		return nil
	}
	target := r.free
	if r.best != nil {
		r.dual.from(r.best)
	}
	return r.dual.seek(ctx, r.Rounds, target, r.workers)
}

// wildRules returns the rules of wild-first ways to try in turn. Where links are down
// and none are shifted, dimensions with such links come first in the order: of whole
// sets of ways those have the smallest loads. On twisted tori ways outside their
// rules come last, as they can deadlock.
func (r *optimiser) wildRules() (all []WildFirst) {
	t, rule := r.p.Torus, r.WildFirst
	if rule.Order == nil && t.Shift == nil {
		var down, up []int
		for _, d := range longestFirst(t) {
			dead := false
			for k, l := range r.in.link {
				dead = dead || k%r.in.degree/2 == d && l >= 0 && r.in.orbit[k] < 0
			}
			if dead {
				down = append(down, d)
			} else {
				up = append(up, d)
			}
		}
		if len(down) > 0 && len(up) > 0 {
			rule.Order = append(down, up...)
			all = append(all, rule)
		}
	}
	all = append(all, r.WildFirst)
	if rule = r.WildFirst; !rule.Free && t.Shift != nil {
		rule.Free = true
		all = append(all, rule)
	}
	return all
}

// wildFirst seeks among wild-first ways.
func (r *optimiser) wildFirst(ctx context.Context, rule WildFirst) error {
	rules, err := NewCandidates(r.p, rule)
	if err != nil {
		return err
	}
	r.rules = rules
	c, err := r.choices(rules)
	if errors.Is(err, ErrUnserved) {
		return nil // some pair has no such way: any ways will do
	}
	if err != nil {
		return err
	}
	s := newSearch(r.in, c, r.seed, max(0, r.NeighbourCap), max(r.Budget/16, min(r.Budget/2, 12*int64(len(c.next)))))
	if err := s.run(ctx, r.dual.bound(), nil); err != nil {
		return err
	}
	if s.value > r.dual.bound() {
		if err := r.dual.seek(ctx, max(1, r.Rounds/4), s.value, r.workers); err != nil {
			return err
		}
		s.budget = r.Budget / 4
		if err := s.run(ctx, r.dual.bound(), nil); err != nil {
			return err
		}
	}
	r.note(r.in, s)
	s.walk = append(s.walk[:0], s.best...)
	if rules.safe() {
		r.offer(&found{r.in, s, rules})
		return nil
	}
	a := newAcyclic(r)
	if a.count(s); a.order() == nil {
		left, err := a.free(ctx, s, c)
		if err != nil || left == nil {
			return err
		}
		s.reset(left)
		s.budget = r.Budget / 4
		if err := s.run(ctx, r.dual.bound(), nil); err != nil {
			return err
		}
	}
	r.offer(&found{r.in, s, rules})
	return nil
}

// safe reports whether the rules are those of which all ways together are known to be
// free of deadlock: on tori that are not twisted, wild hops in the reverse of the
// dimension order and channels by segments.
func (c *Candidates) safe() bool {
	wild := slices.Clone(c.w.Order[1:])
	slices.Reverse(wild)
	return c.segments && c.z.two && !slices.Contains(c.z.twist, true) && slices.Equal(c.w.Wild, wild)
}

// offer keeps a choice that cannot deadlock if it is the best.
func (r *optimiser) offer(f *found) {
	r.note(f.in, f.s)
	if r.found == nil || f.s.excess < r.found.s.excess || f.s.excess == r.found.s.excess && f.s.value < r.found.s.value {
		r.found = f
	}
}

// unbound seeks what any ways at all reach.
func (r *optimiser) unbound(ctx context.Context) error {
	if r.free <= r.dual.bound() {
		return nil
	}
	s, err := r.any(ctx, r.in, r.in.free(), r.dual.bound(), r.Budget/2)
	if err == nil {
		r.note(r.in, s)
	}
	return err
}

// note keeps the loads of a search's best choice if they are the smallest, that it
// can deadlock or not.
func (r *optimiser) note(in *instance, s *search) {
	if s.excess > 0 || s.value >= r.free {
		return
	}
	r.free = s.value
	s.walk = append(s.walk[:0], s.best...)
	s.recount()
	r.best = make([]float64, len(in.orbit))
	for k, o := range in.orbit {
		if o >= 0 {
			r.best[k] = s.load[o]
		}
	}
}

// mostPairs is how many pairs are led one by one, where symmetry does not help.
const mostPairs = 1 << 20

// anywhere seeks among ways that cannot deadlock on any network, pair by pair.
func (r *optimiser) anywhere(ctx context.Context) error {
	if r.found != nil && len(r.p.Flows) > mostPairs {
		return nil
	}
	in, err := newInstance(r.p, nil)
	if err != nil {
		return err
	}
	channels := math.MaxInt32
	for _, l := range r.p.Network.Links {
		if l.Rate > 0 {
			channels = min(channels, int(max(1, l.Channels)))
		}
	}
	w, err := in.safest(ctx, channels)
	if err != nil {
		return err
	}
	s, err := r.any(ctx, in, w, r.dual.bound(), r.Budget/2)
	if err != nil {
		return err
	}
	r.offer(&found{in, s, nil})
	return nil
}

// joined fails where live links do not join pairs, and names them.
func (in *instance) joined() error {
	_, err := in.begin(in.free())
	return err
}

// take makes the best choice the result.
func (r *optimiser) take() {
	in, s, z := r.found.in, r.found.s, new(kept)
	r.result = z
	z.Ways = make([][]engine.Step, in.classes(r.p))
	s.walk = append(s.walk[:0], s.best...)
	s.recount()
	for i, w := range s.walk {
		z.Ways[in.class[i]] = slices.Clone(s.c.steps(w))
	}
	z.Each = in.symmetry == nil
	z.Bound = r.dual.bound()
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
	maps.Copy(z.Metrics, r.told)
	z.Labels = map[string]string{"ways": "any, towards the root of an order of the nodes and then away from it, on each channel"}
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

// manyPairs is the number of pairs beyond which only wild-first ways of at most two
// hops more than the shortest are listed.
const manyPairs = 100_000

// choices lists the wild-first ways of all pairs.
func (r *optimiser) choices(rules *Candidates) (*choices, error) {
	in := r.in
	c := newChoices(len(in.pair))
	var apart unjoined
	for i, f := range in.pair {
		if i == int(in.first[1]) { // other sources will have about as many
			c.reserve(len(in.sources))
		}
		ways := rules.Of(f)
		for _, way := range ways {
			if len(in.pair) > manyPairs && len(way) > len(ways[0])+2 {
				break // they would take much memory for little
			}
			at := f.Src
			for _, s := range way {
				k := int(at)*in.degree + s.Port()
				c.orbit = append(c.orbit, in.orbit[k])
				at = rules.z.next[k]
			}
			c.step = append(c.step, way...)
			c.add(int32(i))
		}
		if c.first[i] < 0 {
			apart.add(f)
		}
	}
	return c, apart.err(noCandidate)
}

// walks leads all flows by the ways of their classes. Flows of p are those of r.p,
// translated by a node.
func (r *optimiser) walks(p *Problem, by int32) (*engine.Walks, error) {
	in, rules := r.found.in, r.found.rules
	set := newWalkSet(in.degree, in.link, len(p.Flows))
	seen := newSeen(in.classes(r.p))
	from := slices.Repeat([]int32{-1}, in.nodes) // the translation of the flows of a source to their class
	var walk []engine.Step
	for i, f := range p.Flows {
		if f.Src == f.Dst {
			if err := set.add(i, nil); err != nil {
				return nil, err
			}
			continue
		}
		class, src := int32(i), f.Src
		if in.all && in.symmetry != nil {
			if by != 0 {
				src = p.Torus.Subtract(src, by)
			}
			if from[f.Src] < 0 {
				from[f.Src] = p.Torus.Plus(in.symmetry.Shift[src], by)
			}
			dst := f.Dst
			if h := from[f.Src]; h != 0 {
				dst = p.Torus.Subtract(dst, h)
			}
			class = in.symmetry.Orbit[src]*int32(in.nodes) + dst
		} else if in.all {
			if by != 0 {
				f = engine.Flow{Src: p.Torus.Subtract(f.Src, by), Dst: p.Torus.Subtract(f.Dst, by)}
			}
			class, src = in.classOf(class, f), f.Src
		}
		walk = append(walk[:0], r.result.Ways[class]...)
		if rules != nil {
			rules.Channels(src, walk)
		}
		w, err := seen.number(set, class, walk)
		if err != nil {
			return nil, err
		}
		set.walks.Class[i] = w
	}
	return set.walks, nil
}

// seen remembers the walks of a class by their channels.
type seen struct {
	first []int32 // by class; -1
	known []known
}

type known struct {
	channels   uint64 // of its steps, a bit each
	walk, next int32
}

func newSeen(classes int) *seen { return &seen{first: slices.Repeat([]int32{-1}, classes)} }

// number returns the number of a walk of a class, all of which have the same ports.
func (z *seen) number(set *walkSet, class int32, walk []engine.Step) (int32, error) {
	if len(walk) > 64 {
		return set.number(walk)
	}
	channels := uint64(0)
	for i, s := range walk {
		if s.Channel() > 1 {
			return set.number(walk)
		}
		channels |= uint64(s.Channel()) << i
	}
	for k := z.first[class]; k >= 0; k = z.known[k].next {
		if z.known[k].channels == channels {
			return z.known[k].walk, nil
		}
	}
	w, err := set.number(walk)
	z.known = append(z.known, known{channels, w, z.first[class]})
	z.first[class] = int32(len(z.known) - 1)
	return w, err
}
