package pack

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Search plans an unequal demand with relaying, as Plan does, but one number of topologies after another and only
// those that may be best at a cost. What it finds of a number does not depend on what it was asked before. It is not
// safe for concurrent use.
type Search struct {
	// sides are what Plan makes within topologies, of which there may be none, and across them; of equals the former is
	// taken.
	sides [2]side
	race  *race
	o     Options
	stop  halt.When // of who asks
}

// side is the plans without relaying, or with it.
type side struct {
	counts []int // of topologies, rising
	base   Base
	maker  *maker

	sequences []Sequence // base, of up to most topologies
	most      int
	found     []plan.Candidate
	// least are the least slots by number of topologies, as far as is known; tried are those that were begun, done those
	// that need not be again.
	least       []int64
	tried, done []bool
}

// Base makes sequences for uniform demand of up to so many topologies.
type Base func(most int, stop halt.When) []Sequence

// Wanted are the numbers of topologies that are wanted, of sequences made from those of a base.
type Wanted struct {
	Base   Base
	Counts []int
}

// NewSearch begins. bounds are those of p, within and across as Plan has them; Options.Relay must be set, Buffer not.
// Errors: those of p.Check, and plan.ErrProblem for numbers of topologies below 1.
func NewSearch(p *plan.Problem, bounds *plan.Bounder, within, across Wanted, o Options) (_ *Search, err error) {
	r := newRace(p, bounds, slices.Concat(within.Counts, across.Counts))
	s := &Search{race: r}
	o.Stop = func() bool { return s.stop != nil && s.stop() }
	s.o = o
	for i, from := range []Wanted{within, across} {
		x := &s.sides[i]
		*x = side{counts: from.Counts, base: from.Base, least: make([]int64, len(r.least)), tried: make([]bool, len(r.least)), done: make([]bool, len(r.least))}
		if x.maker, err = newMaker(p, Start{Counts: from.Counts}, i == 1); err != nil {
			return nil, err
		}
		x.maker.workers, x.maker.stop = o.Workers, o.Stop
		for _, d := range x.counts {
			b, err := r.bounder.At(d)
			if err != nil {
				return nil, err
			}
			if x.least[d] = b.Forward; x.maker.relay {
				x.least[d] = b.Relay
			}
			x.done[d] = d == 1 && !x.maker.relay // it is across that has one topology
		}
	}
	return s, nil
}

// goal is what is asked for: what costs less than best, or as much with fewer topologies or of a side before.
type goal struct {
	cost plan.Cost
	best *plan.Candidate // nil if there is none yet
	side int             // of best
}

// may says whether a candidate of a side, of d topologies and at least so many slots, may be what is asked for.
func (g *goal) may(side, d int, slots int64) bool {
	c := &plan.Candidate{Reconfigurations: d, Slots: slots}
	return plan.Better(c, g.best, g.cost) || g.best != nil && side < g.side && !plan.Better(g.best, c, g.cost)
}

// Best returns the candidate of the lowest cost that Plan would offer, nil where all cost plan.Never. Errors: those of
// Candidates, after which s must not be asked again.
func (s *Search) Best(cost plan.Cost, stop halt.When) (_ *plan.Candidate, err error) {
	defer halt.Caught(&err)
	s.stop = stop
	defer func() { s.stop = nil }()
	for {
		g := goal{cost: cost}
		for i := range s.sides {
			for j := range s.sides[i].found {
				if c := &s.sides[i].found[j]; plan.Better(c, g.best, cost) {
					g.best, g.side = c, i
				}
			}
		}
		open := s.open(&g)
		if len(open) == 0 {
			return g.best, nil
		}
		some := 1 // the first may leave none open
		if g.best != nil {
			some = min(len(open), max(1, s.o.Workers))
		}
		if err := s.try(open[:some], &g); err != nil {
			return nil, err
		}
	}
}

// number is a number of topologies of a side.
type number struct{ side, d int }

// open lists the numbers of topologies that may have what is asked for, those first that may have the best.
func (s *Search) open(g *goal) (list []number) {
	least := func(x number) *plan.Candidate {
		return &plan.Candidate{Reconfigurations: x.d, Slots: s.sides[x.side].least[x.d]}
	}
	for i := range s.sides {
		for _, d := range s.sides[i].counts {
			if x := &s.sides[i]; !x.done[d] && g.may(i, d, x.least[d]) {
				list = append(list, number{i, d})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b number) int { return cmp.Compare(g.cost(least(a)), g.cost(least(b))) })
	return list
}

// try schedules the sequences of some numbers of topologies. It gives a number up for now, unless it was given up before,
// as soon as its slots are known to cost more than is asked for.
func (s *Search) try(numbers []number, g *goal) error {
	var list []made
	var of []number // by sequence
	for _, x := range numbers {
		if err := s.reach(x); err != nil {
			return err
		}
		for _, m := range s.sides[x.side].maker.of(x.d) {
			list, of = append(list, m), append(of, x)
		}
	}
	found, faults := make([]*Schedule, len(list)), make([]error, len(list))
	parallel(s.o.Workers, len(list), s.o.Stop, func(w *worker, i int) {
		x, o := of[i], s.o
		if w.cut = nil; g.best != nil && !s.sides[x.side].tried[x.d] {
			w.cut = func(slots int64) bool { return !g.may(x.side, x.d, slots) }
		}
		o.Relay = s.sides[x.side].maker.relay
		found[i], faults[i] = w.run(s.race.problem, list[i], o, s.race)
	})
	for _, x := range numbers {
		all, fewest := []plan.Candidate(nil), int64(math.MaxInt64)
		least := int64(math.MaxInt64) // of those that were given up
		for i, r := range found {
			if of[i] != x {
				continue
			}
			var over cutOff
			switch err := faults[i]; {
			case err == nil:
				all, fewest = append(all, r.Candidate(list[i].Origin)), min(fewest, r.Total)
			case errors.As(err, &over):
				least = min(least, over.least)
			case !errors.Is(err, ErrUnreachable) && !errors.Is(err, errLost):
				return err
			}
		}
		side := &s.sides[x.side]
		if side.tried[x.d] = true; least == math.MaxInt64 || fewest < least {
			side.done[x.d], side.found = true, append(side.found, all...)
		} else {
			side.least[x.d] = max(side.least[x.d], least) // which all others take too
		}
	}
	return nil
}

// reach makes the sequences of a number of topologies: those that grow, from all of fewer.
func (s *Search) reach(x number) error {
	side := &s.sides[x.side]
	if x.d > side.most {
		side.most = max(ladder, side.most)
		for side.most < x.d {
			side.most *= 2
		}
		side.sequences = side.base(side.most, s.o.Stop)
	}
	m := side.maker
	if m.relay && m.grows(x.d) {
		return m.extend(x.d, side.sequences)
	}
	m.relabelled(x.d, x.d, side.sequences)
	return nil
}

// ladder and its doubles are the most topologies that base is asked for.
const ladder = 16

// cutOff says that a sequence takes at least so many slots, which costs more than is asked for.
type cutOff struct{ least int64 }

func (cutOff) Error() string { return "pack: others cost less" }
