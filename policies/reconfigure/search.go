package reconfigure

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/circulant"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

// searches says whether "reconfigure-during+", asked for the best plan, makes only those that may be: of unequal demand,
// and of many GPUs, where every number of topologies takes long. What is searched exhaustively is small.
func (s *Planning) searches() bool {
	_, uniform := s.Problem.Uniform()
	o := &s.Options
	if o.Plus.Buffer > 0 || uniform && o.Independent || s.exhaustible() {
		return false
	}
	return uniform && s.Problem.GPUs > many || !uniform && o.Plus.Relay
}

// search is what "reconfigure-during+" has planned so far where it was asked for the best alone. What it has of a number
// of topologies does not depend on what it was asked before.
type search struct {
	*Planning
	bounds []plan.Bounds // by one less than the topologies
	direct int           // the fewest topologies by which all chunks go straight

	unequal *pack.Search
	rings   []plan.Candidate // circulants of up to most topologies
	most    int
	kautz   []plan.Candidate
	paper   *rounds.Search // nil up to many GPUs, where all of it is planned if anything may be best
}

func newSearch(s *Planning, stop halt.When) (*search, error) {
	p := s.Problem
	n, k := p.GPUs, p.Degree
	x := &search{Planning: s, direct: 1}
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
		x.direct = max(x.direct, (served+k-1)/k)
	}
	if n > many {
		if x.paper, err = rounds.NewSearch(p, s.paper()); err != nil {
			return nil, err
		}
	}
	if _, uniform := p.Uniform(); !uniform {
		within, across := pack.SearchSpec{}, pack.SearchSpec{Counts: counts(n, (n-2)/k+1, false)}
		if n > many { // where relaying was better in all cases tried
			across.Base = func(most int, stop halt.When) []pack.Sequence {
				return circulants(n, k, circulant.Options{Relay: true, Stop: stop, Wanted: func(d int) bool {
					return d <= most && slices.Contains(across.Counts, d)
				}})
			}
		} else {
			var all []pack.Sequence
			across.Base = func(_ int, stop halt.When) []pack.Sequence {
				if all == nil {
					all = circulants(n, k, circulant.Options{Relay: true, Stop: stop})
				}
				return all
			}
			within.Counts = counts(n, (n-2)/k+1, true)
			within.Base = func(most int, stop halt.When) []pack.Sequence { return separate(across.Base(most, stop)) }
		}
		x.unequal, err = pack.NewSearch(p, bounder, within, across, pack.Options{Relay: true, Workers: s.Options.Workers})
	}
	return x, err
}

// bestPlus is Best of "reconfigure-during+".
func (s *Planning) bestPlus(ctx context.Context, cost plan.Cost) (*plan.Candidate, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	best, err := s.searched(ctx, cost)
	if ended := ctx.Err(); ended != nil {
		err = ended
	}
	if err != nil {
		s.search = nil // it may have been interrupted anywhere
		return nil, err
	}
	if best == nil {
		return nil, plan.ErrNoCandidate
	}
	return best, nil
}

// searched begins, or goes on with, the search.
func (s *Planning) searched(ctx context.Context, cost plan.Cost) (_ *plan.Candidate, err error) {
	if s.search == nil {
		if s.search, err = newSearch(s, ended(ctx)); err != nil {
			return nil, err
		}
	}
	return s.search.best(ctx, cost)
}

// best is the best of own, paper's and others' plans, of equals the first.
func (x *search) best(ctx context.Context, cost plan.Cost) (*plan.Candidate, error) {
	stop := ended(ctx)
	own, err := x.own(cost, stop)
	if err != nil || !x.Options.Plus.Others {
		return own, err
	}
	best := own
	names := x.others()
	if x.paper == nil {
		names = slices.Insert(names, 0, first)
	}
	for _, name := range names {
		if !x.open(x.row(name), best, cost) {
			continue
		}
		theirs, err := x.plan(ctx, name)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, c := range x.taken(name, theirs.all) {
			if plan.Better(&c, best, cost) {
				best = &c
			}
		}
	}
	for d := 1; x.paper != nil && d < x.Problem.GPUs; d++ {
		// The paper's comes before others'.
		enough := func(slots int64) bool {
			c := &plan.Candidate{Reconfigurations: d, Slots: slots}
			return !plan.Better(c, best, cost) && (own == best || !plan.Better(c, own, cost) || plan.Better(best, c, cost))
		}
		below := firstEnough(x.bounds[d-1].Forward, enough)
		if below == x.bounds[d-1].Forward {
			continue
		}
		c, err := x.paper.At(d, below, stop)
		if err != nil {
			return nil, err
		}
		if c != nil {
			best = &x.taken(first, []plan.Candidate{*c})[0]
			own = best
		}
	}
	return best, nil
}

// firstEnough returns the least number from from on that is enough, by doubling first: costs of many more slots than are
// asked for may not fit.
func firstEnough(from int64, enough func(int64) bool) int64 {
	const most = math.MaxInt32
	low, high := from, max(1, from)
	for ; high < most && !enough(high); high *= 2 {
		low = high
	}
	if high >= most {
		return math.MaxInt64
	}
	return low + int64(sort.Search(int(high-low), func(i int) bool { return enough(low + int64(i)) }))
}

// open says whether a planner may have a better plan.
func (x *search) open(r *Row, best *plan.Candidate, cost plan.Cost) bool {
	from, to := 1, len(x.bounds)
	if r.OneTopology {
		to = 1
	}
	if r.Direct {
		from = x.direct
	}
	for d := from; d <= to; d++ {
		slots := x.bounds[d-1].Relay
		if r.OneTopology || r.Direct || r.Name == first {
			slots = x.bounds[d-1].Forward
		}
		if plan.Better(&plan.Candidate{Reconfigurations: d, Slots: slots}, best, cost) {
			return true
		}
	}
	return false
}

// own is the best of our constructions.
func (x *search) own(cost plan.Cost, stop halt.When) (best *plan.Candidate, err error) {
	if x.unequal != nil {
		return x.unequal.Best(cost, stop)
	}
	p := x.Problem
	for {
		if best, err = plan.Best(x.rings, cost); err != nil {
			best = nil
		}
		most := x.lastOpen(best, cost)
		if most <= x.most {
			break
		}
		for x.most = max(x.most, leastRings); x.most < most; {
			x.most *= 2
		}
		x.rings, err = circulant.Candidates(p, circulant.Options{Relay: x.Options.Plus.Relay, Stop: stop, Wanted: func(d int) bool { return d <= x.most }})
		if err != nil {
			return nil, err
		}
	}
	one := &plan.Candidate{Reconfigurations: 1, Slots: x.bounds[0].Forward}
	if p.Degree == 1 || !packable(p) || !plan.Better(one, best, cost) {
		return best, nil
	}
	if x.kautz == nil {
		if x.kautz, err = kautz(p, x.Options, stop); err != nil {
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

// leastRings and its doubles are the most topologies that circulants are sought of.
const leastRings = 16

// lastOpen returns the most topologies of which circulants may be better than best; where there is none yet those of
// which they may be best; 0 for none.
func (x *search) lastOpen(best *plan.Candidate, cost plan.Cost) (most int) {
	list := make([]plan.Candidate, len(x.bounds))
	for i, b := range x.bounds {
		list[i] = plan.Candidate{Reconfigurations: i + 1, Slots: b.Circulant}
		if x.Options.Plus.Relay {
			list[i].Slots = b.CirculantRelay
		}
	}
	if best == nil {
		if c, err := plan.Best(list, cost); err == nil {
			most = c.Reconfigurations
		}
		return most
	}
	for i, c := range slices.Backward(list) {
		if plan.Better(&c, best, cost) {
			return i + 1
		}
	}
	return 0
}

// kautz packs chunks on a Kautz graph.
func kautz(p *plan.Problem, o Options, stop halt.When) ([]plan.Candidate, error) {
	sequence := pack.Sequence{Origin: "Kautz graph", Topologies: []scaleup.Topology{scaleup.GeneralizedKautz(p.GPUs, p.Degree)}}
	return pack.Candidates(p, []pack.Sequence{sequence}, packing(o, stop))
}

// packing is the options of packing.
func packing(o Options, stop halt.When) pack.Options {
	return pack.Options{Relay: o.Plus.Relay, Buffer: int32(o.Plus.Buffer), Workers: o.Workers, Stop: stop}
}
