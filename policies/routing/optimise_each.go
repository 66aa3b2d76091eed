package routing

import (
	"context"
)

// each finds paths where few pairs are identical: those that cost least to search first, until what is found cannot be
// improved on. Bounds that cost nothing are tried before the linear program of ways to spread over is solved, from the
// best choice so far on; none where one was met.
func (r *optimiser) each(ctx context.Context, met bool) error {
	b := r.dual
	b.least, b.sums = r.in.floor(), r.in.newSums()
	if !met {
		b.simple(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var kinds []func(context.Context) error
	if r.y != nil {
		for _, rule := range r.wildRules() {
			kinds = append(kinds, func(ctx context.Context) error { return r.wildFirst(ctx, rule, r.improve, r.resume) })
		}
	}
	for _, kind := range append(kinds, r.anywhereEach, r.freeEach) {
		if err := kind(ctx); err != nil {
			return err
		}
		if r.met() || !r.in.whole && r.found != nil && r.found.s.excess == 0 && r.found.s.value <= b.bound()*(1+enough) {
			break
		}
	}
	return nil
}

// enough is the relative gap at which no other kind of paths is tried where demands are not whole: the best that there
// is would hardly be less.
const enough = 5e-4

// improve has a search meet the bound if it can, for what is left of its budget and an eighth of the whole.
func (r *optimiser) improve(ctx context.Context, s *search) error {
	if err := s.run(ctx, r.goal(), nil); err != nil {
		return err
	}
	if s.value <= r.goal() && s.excess == 0 {
		return nil
	}
	if err := r.spread(ctx, s); err != nil {
		return err
	}
	s.budget = r.Budget / 8
	if s.excess > 0 {
		return s.run(ctx, r.goal(), nil)
	}
	return s.relieve(ctx, r.goal())
}

// resume is improve with an eighth of the budget to begin with.
func (r *optimiser) resume(ctx context.Context, s *search) error {
	s.budget = r.Budget / 8
	return r.improve(ctx, s)
}

// goal is what a search need not go below.
func (r *optimiser) goal() float64 { return r.dual.bound() * (1 + near) }

// spread solves the linear program of ways to spread over, from a search's best choice on, unless that was done.
func (r *optimiser) spread(ctx context.Context, s *search) error {
	if r.over != nil && r.over.value >= top(r.over.load)*(1-solved) {
		return nil
	}
	if r.over == nil {
		r.over = newSpreading(r.in, r.in.free(), s)
		r.over.value = r.dual.value
	}
	left, err := r.over.run(ctx, r.Rounds)
	r.Rounds = left
	r.dual.told(ctx, r.over)
	return err
}

// anywhereEach seeks among paths that cannot deadlock on any network.
func (r *optimiser) anywhereEach(ctx context.Context) error {
	s, w, err := r.safely(ctx, r.in, r.goal(), r.Budget/16)
	if err != nil || s == nil {
		return err
	}
	if s.value > r.goal() && s.excess == 0 {
		if err := r.spread(ctx, s); err != nil {
			return err
		}
		x := newSpreading(r.in, w, s)
		x.value = r.dual.value
		if _, err := x.run(ctx, min(layeredRounds, 4*mostArcs/r.in.arcs(w))); err != nil {
			return err
		}
		x.into(s.c)
		s.budget = r.Budget / 8
		if err := s.relieve(ctx, r.goal()); err != nil {
			return err
		}
	}
	r.offer(&found{r.in, s, nil})
	return nil
}

// freeEach seeks what any paths at all reach, among those of the linear program.
func (r *optimiser) freeEach(ctx context.Context) error {
	if r.free <= r.goal() || r.over == nil {
		return nil
	}
	x := r.over
	s := newSearch(r.in, x.c, r.seed, max(0, r.NeighbourCap), r.Budget/8)
	s.keep()
	if s.excess > 0 {
		if err := s.run(ctx, r.goal(), nil); err != nil {
			return err
		}
	}
	if s.excess == 0 {
		if err := s.relieve(ctx, r.goal()); err != nil {
			return err
		}
	}
	r.note(r.in, s)
	return nil
}

// layeredRounds is those that are spent on paths that cannot deadlock, of which good ones matter and not what they
// prove.
const layeredRounds = 20
