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

// usesSearch reports whether PlannerSet.Best of "reconfigure-during+" computes only plans
// that may be best. It does for unequal demand and for many GPUs, where each number of
// topologies takes long. Problems that are searched exhaustively are small and need no
// search.
func (s *PlannerSet) usesSearch() bool {
	_, uniform := s.Problem.Uniform()
	o := &s.Options
	if o.Plus.Buffer > 0 || uniform && o.Independent || s.exhaustible() {
		return false
	}
	return uniform && s.Problem.GPUs > maxGPUsForAllPaperPlans || !uniform && o.Plus.Relay
}

// plusSearch has the plans of "reconfigure-during+" that requests for the best plan have
// needed so far. The plans for a number of topologies do not depend on earlier requests.
type plusSearch struct {
	*PlannerSet
	bounds []plan.Bounds // indexed by the number of topologies - 1
	// minDirectTopologies is the minimum number of topologies with which all chunks take one
	// hop.
	minDirectTopologies int

	unequal       *pack.Search     // nil for uniform demand
	circulants    []plan.Candidate // of up to maxTopologies topologies
	maxTopologies int
	kautz         []plan.Candidate // nil if not computed yet
	paper         *rounds.Search   // nil if paperPlanner computes all its plans
}

// newSearch returns a search without plans.
func newSearch(s *PlannerSet, stop cancellation.Condition) (*plusSearch, error) {
	p := s.Problem
	n, k := p.GPUs, p.Degree
	x := &plusSearch{PlannerSet: s, minDirectTopologies: 1}
	bounder, err := plan.NewBounder(p, stop)
	if err != nil {
		return nil, err
	}
	for d := 1; d < n; d++ {
		b, err := bounder.At(d)
		if err != nil {
			return nil, err
		}
		x.bounds = append(x.bounds, b)
	}

	for u := range n {
		served := 0
		for v, c := range p.Chunks[u*n : (u+1)*n] {
			if c > 0 && u != v {
				served++
			}
		}
		x.minDirectTopologies = max(x.minDirectTopologies, (served+k-1)/k)
	}

	if n > maxGPUsForAllPaperPlans {
		if x.paper, err = rounds.NewSearch(p, s.paperOptions()); err != nil {
			return nil, err
		}
	}
	if _, uniform := p.Uniform(); !uniform {
		within, across := pack.SearchSpec{}, pack.SearchSpec{Counts: counts(n, (n-2)/k+1, false)}
		if n > maxGPUsForAllPaperPlans { // relaying was better in all measured cases
			across.Base = func(maxCount int, stop cancellation.Condition) []pack.Sequence {
				return circulants(n, k, circulant.Options{Relay: true, Stop: stop, Wanted: func(d int) bool {
					return d <= maxCount && slices.Contains(across.Counts, d)
				}})
			}
		} else {
			var all []pack.Sequence
			across.Base = func(_ int, stop cancellation.Condition) []pack.Sequence {
				if all == nil {
					all = circulants(n, k, circulant.Options{Relay: true, Stop: stop})
				}
				return all
			}
			within.Counts = counts(n, (n-2)/k+1, true)
			within.Base = func(maxCount int, stop cancellation.Condition) []pack.Sequence {
				return withoutRelaying(across.Base(maxCount, stop))
			}
		}
		x.unequal, err = pack.NewSearch(p, bounder, within, across,
			pack.Options{Relay: true, Workers: s.Options.Workers})
	}

	return x, err
}

// bestOfPlus is Best of "reconfigure-during+".
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

// bestOfAll returns the best of our own plans, the paper's plans and other plans. Of equal
// ones it returns the first in this order.
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

	for d := 1; x.paper != nil && d < x.Problem.GPUs; d++ {
		// The paper's plans come before the plans of other planners. isEnough reports whether
		// the paper's plans are of no use if they take at least the given slots.
		isEnough := func(slots int64) bool {
			c := &plan.Candidate{Reconfigurations: d, Slots: slots}
			return !plan.Better(c, best, cost) && (bestOwn == best || !plan.Better(c, bestOwn, cost) ||
				plan.Better(best, c, cost))
		}
		limit := minEnough(x.bounds[d-1].Forward, isEnough)
		if limit == x.bounds[d-1].Forward {
			continue
		}
		c, err := x.paper.At(d, limit, stop)
		if err != nil {
			return nil, err
		}
		if c != nil {
			best = &x.usableCandidates(paperPlanner, []plan.Candidate{*c})[0]
			bestOwn = best
		}
	}

	return best, nil
}

// minEnough returns the smallest number >= from that is enough. It doubles the upper limit
// first, because the costs of very large numbers may overflow.
func minEnough(from int64, enough func(int64) bool) int64 {
	const limit = math.MaxInt32
	low, high := from, max(1, from)
	for ; high < limit && !enough(high); high *= 2 {
		low = high
	}
	if high >= limit {
		return math.MaxInt64
	}
	return low + int64(sort.Search(int(high-low), func(i int) bool { return enough(low + int64(i)) }))
}

// mayBeBetter reports whether a planner may have a better plan.
func (x *plusSearch) mayBeBetter(r *Planner, best *plan.Candidate, cost plan.Cost) bool {
	from, to := 1, len(x.bounds)
	if r.HasOneTopology {
		to = 1
	}
	if r.IsDirect {
		from = x.minDirectTopologies
	}
	for d := from; d <= to; d++ {
		slots := x.bounds[d-1].Relay
		if r.HasOneTopology || r.IsDirect || r.Name == paperPlanner {
			slots = x.bounds[d-1].Forward
		}
		if plan.Better(&plan.Candidate{Reconfigurations: d, Slots: slots}, best, cost) {
			return true
		}
	}
	return false
}

// bestOwn returns the best plan of our own constructions.
func (x *plusSearch) bestOwn(cost plan.Cost, stop cancellation.Condition) (best *plan.Candidate, err error) {
	if x.unequal != nil {
		return x.unequal.Best(cost, stop)
	}
	p := x.Problem
	for {
		if best, err = plan.Best(x.circulants, cost); err != nil {
			best = nil
		}
		wanted := x.maxUsefulTopologies(best, cost)
		if wanted <= x.maxTopologies {
			break
		}
		for x.maxTopologies = max(x.maxTopologies, minCirculantTopologies); x.maxTopologies < wanted; {
			x.maxTopologies *= 2
		}
		x.circulants, err = circulant.Candidates(p, circulant.Options{Relay: x.Options.Plus.Relay, Stop: stop, Wanted: func(d int) bool { return d <= x.maxTopologies }})
		if err != nil {
			return nil, err
		}
	}

	one := &plan.Candidate{Reconfigurations: 1, Slots: x.bounds[0].Forward}
	if p.Degree == 1 || !isPackable(p) || !plan.Better(one, best, cost) {
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

// minCirculantTopologies is the smallest number of topologies for which circulants are
// computed. Larger requests double it, so that few are needed.
const minCirculantTopologies = 16

// maxUsefulTopologies returns the largest number of topologies with which circulants may be
// better than best, 0 if no number may. If best is nil it returns the number with which
// they may be best.
func (x *plusSearch) maxUsefulTopologies(best *plan.Candidate, cost plan.Cost) (largest int) {
	list := make([]plan.Candidate, len(x.bounds))
	for i, b := range x.bounds {
		list[i] = plan.Candidate{Reconfigurations: i + 1, Slots: b.Circulant}
		if x.Options.Plus.Relay {
			list[i].Slots = b.CirculantRelay
		}
	}
	if best == nil {
		if c, err := plan.Best(list, cost); err == nil {
			largest = c.Reconfigurations
		}
		return largest
	}
	for i, c := range slices.Backward(list) {
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

// packOptions returns the options of package pack.
func packOptions(o Options, stop cancellation.Condition) pack.Options {
	return pack.Options{Relay: o.Plus.Relay, Buffer: int32(o.Plus.Buffer), Workers: o.Workers, Stop: stop}
}
