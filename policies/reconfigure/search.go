package reconfigure

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/circulant"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

// This file finds the plan of "reconfigure-during+" with the lowest cost without computing all its
// plans. For each number d of topologies there is a lower bound on the slots. The search computes
// plans with d topologies only if a plan with this bound would be better than the best plan so far
// (the incumbent).

// usesSearch reports whether PlannerSet.Best of "reconfigure-during+" uses plusSearch. It does for
// unequal demand with relaying and for many GPUs, because the plans for each number of topologies
// take long to compute. Small problems are searched exhaustively instead. The search does not
// support limits of buffers, or independent switches for uniform demand.
func (s *PlannerSet) usesSearch() bool {
	_, uniform := s.Problem.Uniform()
	o := &s.Options
	if o.Plus.Buffer > 0 || uniform && o.Independent || s.exhaustible() {
		return false
	}
	return uniform && s.Problem.GPUs > maxGPUsForAllPaperPlans || !uniform && o.Plus.Relay
}

// plusSearch searches for the best plan of "reconfigure-during+" for one cost after another. It keeps
// the plans that earlier requests needed. The plans for a number of topologies do not depend on
// earlier requests.
type plusSearch struct {
	*PlannerSet
	// bounds are lower bounds on slots, indexed by the number of topologies - 1: Forward for
	// plans without relaying, Relay with relaying; Circulant and CirculantRelay are the same for
	// circulant topologies.
	bounds []plan.Bounds
	// minDirectTopologies is the minimum number of topologies with which all chunks take one
	// hop.
	minDirectTopologies int

	unequal       *pack.Search     // nil for uniform demand
	circulants    []plan.Candidate // candidates with up to maxTopologies topologies
	maxTopologies int
	kautz         []plan.Candidate // nil if not computed yet
	paper         *rounds.Search   // nil if paperPlanner computes all its plans
}

// newSearch returns a search without plans.
func newSearch(s *PlannerSet, stop cancellation.Condition) (*plusSearch, error) {
	p := s.Problem
	x := &plusSearch{PlannerSet: s, minDirectTopologies: minDirectTopologies(p)}
	bounder, err := plan.NewBounder(p, stop)
	if err != nil {
		return nil, err
	}
	for d := 1; d < p.GPUs; d++ {
		b, err := bounder.At(d)
		if err != nil {
			return nil, err
		}
		x.bounds = append(x.bounds, b)
	}

	if p.GPUs > maxGPUsForAllPaperPlans {
		if x.paper, err = rounds.NewSearch(p, s.paperOptions()); err != nil {
			return nil, err
		}
	}
	if _, uniform := p.Uniform(); !uniform {
		x.unequal, err = newUnequalSearch(p, bounder, s.Options.Workers)
	}
	return x, err
}

// minDirectTopologies returns the minimum number of topologies with which every GPU has a link to
// each GPU that it sends chunks to. It is at least 1.
func minDirectTopologies(p *plan.Problem) int {
	n, k := p.GPUs, p.Degree
	topologies := 1
	for u := range n {
		destinations := 0
		for v, chunks := range p.Chunks[u*n : (u+1)*n] {
			if chunks > 0 && u != v {
				destinations++
			}
		}
		topologies = max(topologies, (destinations+k-1)/k)
	}
	return topologies
}

// newUnequalSearch returns the search for unequal demand, which starts from sequences of circulants.
// Chunks may rest at GPUs across reconfigurations (relaying). Up to maxGPUsForAllPaperPlans GPUs,
// plans without relaying are searched, too; for more GPUs, relaying was better in all measured cases.
func newUnequalSearch(p *plan.Problem, bounder *plan.Bounder, workers int) (*pack.Search, error) {
	n, k := p.GPUs, p.Degree
	maxTopologies := (n-2)/k + 1 // with this number, every GPU has a link to each other one

	// across are the plans with relaying, within those without. Counts are the numbers of
	// topologies to plan with. Base returns the sequences of topologies to start from.
	across := pack.SearchSpec{Counts: counts(n, maxTopologies)}
	within := pack.SearchSpec{}

	if n > maxGPUsForAllPaperPlans {
		// Sequences take long to compute, so compute only the requested ones.
		across.Base = func(maxCount int, stop cancellation.Condition) []pack.Sequence {
			isWanted := func(d int) bool { return d <= maxCount && slices.Contains(across.Counts, d) }
			return circulants(n, k, circulant.Options{Relay: true, Stop: stop, Wanted: isWanted})
		}
	} else {
		var all []pack.Sequence // computed at the first request
		across.Base = func(_ int, stop cancellation.Condition) []pack.Sequence {
			if all == nil {
				all = circulants(n, k, circulant.Options{Relay: true, Stop: stop})
			}
			return all
		}
		within.Counts = coarseCounts(n, maxTopologies)
		within.Base = func(maxCount int, stop cancellation.Condition) []pack.Sequence {
			return withoutRelaying(across.Base(maxCount, stop))
		}
	}
	return pack.NewSearch(p, bounder, within, across, pack.Options{Relay: true, Workers: workers})
}

// bestOfPlus is PlannerSet.Best for "reconfigure-during+". Concurrent calls run one after another.
func (s *PlannerSet) bestOfPlus(ctx context.Context, cost plan.Cost) (*plan.Candidate, error) {
	select {
	case s.searchLock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.searchLock }()

	best, err := s.bestBySearch(ctx, cost)
	if ended := ctx.Err(); ended != nil {
		err = ended
	}
	if err != nil {
		s.search = nil // the interrupt may have left it in any state
		return nil, err
	}
	if best == nil {
		return nil, plan.ErrNoCandidate
	}
	return best, nil
}

// bestBySearch starts or continues the search.
func (s *PlannerSet) bestBySearch(ctx context.Context, cost plan.Cost) (_ *plan.Candidate, err error) {
	if s.search == nil {
		if s.search, err = newSearch(s, stopWhenDone(ctx)); err != nil {
			return nil, err
		}
	}
	return s.search.bestOfAll(ctx, cost)
}

// bestOfAll returns the plan with the lowest cost among our own plans, the paper's plans and the
// plans of other planners. Of equal plans it returns the first in this order.
func (x *plusSearch) bestOfAll(ctx context.Context, cost plan.Cost) (*plan.Candidate, error) {
	stop := stopWhenDone(ctx)
	bestOwn, err := x.bestOwn(cost, stop)
	if err != nil || !x.Options.Plus.Others {
		return bestOwn, err
	}
	best := bestOwn
	names := x.otherPlanners()
	if x.paper == nil {
		names = slices.Insert(names, 0, paperPlanner)
	}
	for _, name := range names {
		if !x.mayBeBetter(x.planner(name), best, cost) {
			continue
		}
		offered, err := x.plan(ctx, name)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, c := range x.usableCandidates(name, offered.candidates) {
			if plan.Better(&c, best, cost) {
				best = &c
			}
		}
	}

	if x.paper == nil {
		return best, nil
	}

	// Compute the paper's plans for the numbers of topologies for which they may be selected.
	for d := 1; d < x.Problem.GPUs; d++ {
		// isUseless reports whether a plan of the paper with the given slots is not selected. A
		// plan is selected if it is better than best, or equal to best and best is of another
		// planner, before which the paper's plans come.
		isUseless := func(slots int64) bool {
			c := &plan.Candidate{Reconfigurations: d, Slots: slots}
			return !plan.Better(c, best, cost) && (bestOwn == best || !plan.Better(c, bestOwn, cost) ||
				plan.Better(best, c, cost))
		}
		minSlots := x.bounds[d-1].Forward
		limit := firstTrue(minSlots, isUseless)
		if limit == minSlots {
			continue // every plan with d topologies is useless
		}
		c, err := x.paper.At(d, limit, stop)
		if err != nil {
			return nil, err
		}
		if c != nil {
			best = &x.usableCandidates(paperPlanner, []plan.Candidate{*c})[0]
			bestOwn = best // like our own plans, it comes before equal plans of other planners
		}
	}

	return best, nil
}

// firstTrue returns the minimum number x >= from for which f(x) is true; f stays true for larger
// numbers. It returns math.MaxInt64 if x is about 2^31 or more. It doubles the upper limit before it
// bisects, because the costs of very large numbers of slots may overflow.
func firstTrue(from int64, f func(int64) bool) int64 {
	const limit = math.MaxInt32
	low, high := from, max(1, from)
	for ; high < limit && !f(high); high *= 2 {
		low = high
	}
	if high >= limit {
		return math.MaxInt64
	}
	return low + int64(sort.Search(int(high-low), func(i int) bool { return f(low + int64(i)) }))
}

// mayBeBetter reports whether the planner r may have a better plan than best: a plan that takes as
// many slots as the lower bound for its number of topologies would be better.
func (x *plusSearch) mayBeBetter(r *Planner, best *plan.Candidate, cost plan.Cost) bool {
	minTopologies, maxTopologies := 1, len(x.bounds)
	if r.HasOneTopology {
		maxTopologies = 1
	}
	if r.IsDirect {
		minTopologies = x.minDirectTopologies
	}
	neverRelays := r.HasOneTopology || r.IsDirect || r.Name == paperPlanner
	for d := minTopologies; d <= maxTopologies; d++ {
		slots := x.bounds[d-1].Relay
		if neverRelays {
			slots = x.bounds[d-1].Forward
		}
		if plan.Better(&plan.Candidate{Reconfigurations: d, Slots: slots}, best, cost) {
			return true
		}
	}
	return false
}

// bestOwn returns the best plan of our own constructions, or nil if none has a finite cost. For
// uniform demand these are circulants and, with one topology, a generalised Kautz graph.
func (x *plusSearch) bestOwn(cost plan.Cost, stop cancellation.Condition) (best *plan.Candidate, err error) {
	if x.unequal != nil {
		return x.unequal.Best(cost, stop)
	}

	// Compute circulants with more and more topologies, until more cannot be better.
	p := x.Problem
	for {
		if best, err = plan.Best(x.circulants, cost); err != nil {
			best = nil
		}
		wanted := x.maxUsefulTopologies(best, cost)
		if wanted <= x.maxTopologies {
			break
		}
		x.maxTopologies = max(x.maxTopologies, minCirculantTopologies)
		for x.maxTopologies < wanted {
			x.maxTopologies *= 2
		}
		x.circulants, err = circulant.Candidates(p, circulant.Options{
			Relay:  x.Options.Plus.Relay,
			Stop:   stop,
			Wanted: func(d int) bool { return d <= x.maxTopologies },
		})
		if err != nil {
			return nil, err
		}
	}

	// Use the Kautz graph if a plan with one topology may be better.
	oneTopology := &plan.Candidate{Reconfigurations: 1, Slots: x.bounds[0].Forward}
	if p.Degree == 1 || !isPackable(p) || !plan.Better(oneTopology, best, cost) {
		return best, nil
	}
	if x.kautz == nil {
		if x.kautz, err = kautzCandidates(p, x.Options, stop); err != nil {
			return nil, err
		}
	}
	for i := range x.kautz {
		if plan.Better(&x.kautz[i], best, cost) {
			best = &x.kautz[i]
		}
	}
	return best, nil
}

// minCirculantTopologies is the minimum limit of the number of topologies up to which circulants
// are computed. Larger requests double the limit, so that circulants are computed few times.
const minCirculantTopologies = 16

// maxUsefulTopologies returns the maximum number of topologies with which circulants may be better
// than best, or 0 if there is no such number. If best is nil, it returns the number of topologies
// for which the cost of the lower bound is the lowest.
func (x *plusSearch) maxUsefulTopologies(best *plan.Candidate, cost plan.Cost) int {
	bounds := make([]plan.Candidate, len(x.bounds)) // plans that take as many slots as the bounds
	for i, b := range x.bounds {
		bounds[i] = plan.Candidate{Reconfigurations: i + 1, Slots: b.Circulant}
		if x.Options.Plus.Relay {
			bounds[i].Slots = b.CirculantRelay
		}
	}
	if best == nil {
		c, err := plan.Best(bounds, cost)
		if err != nil {
			return 0
		}
		return c.Reconfigurations
	}
	for i, c := range slices.Backward(bounds) {
		if plan.Better(&c, best, cost) {
			return i + 1
		}
	}
	return 0
}

// kautzCandidates packs the chunks on a generalised Kautz graph.
func kautzCandidates(p *plan.Problem, o Options, stop cancellation.Condition) ([]plan.Candidate, error) {
	sequence := pack.Sequence{Origin: "Kautz graph",
		Topologies: []scaleup.Topology{scaleup.GeneralizedKautz(p.GPUs, p.Degree)}}
	return pack.Candidates(p, []pack.Sequence{sequence}, packOptions(o, stop))
}

// packOptions returns the options of package pack that correspond to o.
func packOptions(o Options, stop cancellation.Condition) pack.Options {
	return pack.Options{Relay: o.Plus.Relay, Buffer: int32(o.Plus.Buffer), Workers: o.Workers, Stop: stop}
}
