package pack

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Search plans an unequal demand with relaying, as Plan does, but one number of topologies after another and only
// those that may be best at a cost. What it finds of a number does not depend on what it was asked before. It is not
// safe for concurrent use.
type Search struct {
	counts []int // of topologies, rising
	base   func(most int, stop halt.When) []Sequence
	maker  *maker
	race   *race
	o      Options
	stop   halt.When // of who asks

	sequences []Sequence // base, of up to most topologies
	most      int
	done      map[int]bool
	found     []plan.Candidate
	// least are the least slots by number of topologies, as far as is known; tried are those that were begun.
	least []int64
	tried []bool
}

// NewSearch is given the numbers of topologies that are wanted, and base, which makes sequences for uniform demand of up
// to so many topologies. Options.Relay must be set, Buffer not. Errors: those of p.Check.
func NewSearch(p *plan.Problem, counts []int, base func(most int, stop halt.When) []Sequence, o Options) (*Search, error) {
	r, err := newRace(p, counts)
	if err != nil {
		return nil, err
	}
	s := &Search{counts: counts, base: base, race: r, done: map[int]bool{}, least: make([]int64, len(r.least)), tried: make([]bool, len(r.least))}
	for _, d := range counts {
		b, err := r.bounder.At(d)
		if err != nil {
			return nil, err
		}
		s.least[d] = b.Relay
	}
	if s.maker, err = newMaker(p, Start{Counts: counts}, true); err != nil {
		return nil, err
	}
	o.Stop = func() bool { return s.stop != nil && s.stop() }
	s.o, s.maker.workers, s.maker.stop = o, o.Workers, o.Stop
	return s, nil
}

// Best returns the candidate of the lowest cost that Plan would offer, nil where all cost plan.Never. cost must rise with
// slots. Errors: those of Candidates, after which s must not be asked again.
func (s *Search) Best(cost func(*plan.Candidate) engine.Time, stop halt.When) (best *plan.Candidate, err error) {
	defer halt.Caught(&err)
	s.stop = stop
	for {
		for i := range s.found {
			if plan.Better(&s.found[i], best, cost) {
				best = &s.found[i]
			}
		}
		open := s.open(best, cost)
		if len(open) == 0 {
			return best, nil
		}
		some := 1 // the first may leave none open
		if best != nil {
			some = min(len(open), max(1, s.o.Workers))
		}
		if err := s.try(open[:some], best, cost); err != nil {
			return nil, err
		}
	}
}

// open lists the numbers of topologies that may have a better candidate than best, those first that may have the best.
func (s *Search) open(best *plan.Candidate, cost func(*plan.Candidate) engine.Time) []int {
	var list []plan.Candidate
	for _, d := range s.counts {
		c := plan.Candidate{Reconfigurations: d, Slots: s.least[d]}
		if !s.done[d] && plan.Better(&c, best, cost) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b plan.Candidate) int { return cmp.Compare(cost(&a), cost(&b)) })
	open := make([]int, len(list))
	for i, c := range list {
		open[i] = c.Reconfigurations
	}
	return open
}

// try schedules the sequences of some numbers of topologies. It gives a number up for now, unless it was before, as soon
// as its slots are known to cost more than best.
func (s *Search) try(counts []int, best *plan.Candidate, cost func(*plan.Candidate) engine.Time) error {
	var list []made
	for _, d := range counts {
		if err := s.reach(d); err != nil {
			return err
		}
		list = append(list, s.maker.of(d)...)
	}
	found, faults := make([]*Schedule, len(list)), make([]error, len(list))
	parallel(s.o.Workers, len(list), s.o.Stop, func(w *worker, i int) {
		d := len(list[i].Topologies)
		if !s.tried[d] && best != nil {
			w.dear = func(slots int64) bool {
				return !plan.Better(&plan.Candidate{Reconfigurations: d, Slots: slots}, best, cost)
			}
		}
		found[i], faults[i] = w.run(s.maker.p, list[i], s.o, s.race)
		w.dear = nil
	})
	for _, d := range counts {
		s.tried[d] = true
		all, whole, least := []plan.Candidate(nil), true, int64(math.MaxInt64)
		for i, r := range found {
			if len(list[i].Topologies) != d {
				continue
			}
			var over dear
			switch err := faults[i]; {
			case err == nil:
				all, least = append(all, r.Candidate(list[i].Origin)), min(least, r.Total)
			case errors.As(err, &over):
				whole, least = false, min(least, over.least)
			case !errors.Is(err, ErrUnreachable) && !errors.Is(err, errLost):
				return err
			}
		}
		if whole {
			s.done[d], s.found = true, append(s.found, all...)
		} else {
			s.least[d] = max(s.least[d], least)
		}
	}
	return nil
}

// reach makes the sequences of d topologies: those that grow, from all of fewer.
func (s *Search) reach(d int) error {
	if d > s.most {
		s.most = max(ladder, s.most)
		for s.most < d {
			s.most *= 2
		}
		s.sequences = s.base(s.most, s.o.Stop)
	}
	if s.maker.grows(d) {
		return s.maker.extend(d, s.sequences)
	}
	s.maker.relabelled(d, d, s.sequences)
	return nil
}

// ladder and its doubles are the most topologies that base is asked for.
const ladder = 16

// dear says that a sequence takes at least so many slots, which costs more than is wanted.
type dear struct{ least int64 }

func (dear) Error() string { return "pack: others cost less" }
