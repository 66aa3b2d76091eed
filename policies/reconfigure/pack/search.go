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
	// variants are what Plan makes within topologies, of which there may be none, and across them; of equals the former is
	// taken.
	variants   [2]planVariant
	incumbents *incumbents
	options    Options
	stop       halt.When // of who asks
}

// planVariant is the plans without relaying, or with it.
type planVariant struct {
	counts  []int // of topologies, rising
	base    BaseSource
	builder *sequenceBuilder

	sequences    []Sequence // base, of up to most topologies
	maxBaseCount int
	candidates   []plan.Candidate
	// minSlots are the least slots by number of topologies, as far as is known; tried are those that were begun, done those
	// that need not be again.
	minSlots        []int64
	isTried, isDone []bool
}

// BaseSource makes sequences for uniform demand of up to so many topologies.
type BaseSource func(most int, stop halt.When) []Sequence

// SearchSpec are the numbers of topologies that are wanted, of sequences made from those of a base.
type SearchSpec struct {
	Base   BaseSource
	Counts []int
}

// NewSearch begins. bounds are those of p, within and across as Plan has them; Options.Relay must be set, Buffer not.
// Errors: those of p.Check, and plan.ErrProblem for numbers of topologies below 1.
func NewSearch(p *plan.Problem, bounds *plan.Bounder, within, across SearchSpec, o Options) (_ *Search, err error) {
	r := newIncumbents(p, bounds, slices.Concat(within.Counts, across.Counts))
	s := &Search{incumbents: r}
	o.Stop = func() bool { return s.stop != nil && s.stop() }
	s.options = o
	for i, from := range []SearchSpec{within, across} {
		x := &s.variants[i]
		*x = planVariant{counts: from.Counts, base: from.Base, minSlots: make([]int64, len(r.minSlots)), isTried: make([]bool, len(r.minSlots)), isDone: make([]bool, len(r.minSlots))}
		if x.builder, err = newSequenceBuilder(p, SequenceSpec{Counts: from.Counts}, i == 1); err != nil {
			return nil, err
		}
		x.builder.workers, x.builder.stop = o.Workers, o.Stop
		for _, d := range x.counts {
			b, err := r.bounder.At(d)
			if err != nil {
				return nil, err
			}
			if x.minSlots[d] = b.Forward; x.builder.relay {
				x.minSlots[d] = b.Relay
			}
			x.isDone[d] = d == 1 && !x.builder.relay // it is across that has one topology
		}
	}
	return s, nil
}

// searchGoal is what is asked for: what costs less than best, or as much with fewer topologies or of a side before.
type searchGoal struct {
	cost    plan.Cost
	best    *plan.Candidate // nil if there is none yet
	variant int             // of best
}

// admits says whether a candidate of a side, of d topologies and at least so many slots, may be what is asked for.
func (g *searchGoal) admits(variant, d int, slots int64) bool {
	c := &plan.Candidate{Reconfigurations: d, Slots: slots}
	return plan.Better(c, g.best, g.cost) || g.best != nil && variant < g.variant && !plan.Better(g.best, c, g.cost)
}

// Best returns the candidate of the lowest cost that Plan would offer, nil where all cost plan.Never. Errors: those of
// Candidates, after which s must not be asked again.
func (s *Search) Best(cost plan.Cost, stop halt.When) (_ *plan.Candidate, err error) {
	defer halt.Caught(&err)
	s.stop = stop
	defer func() { s.stop = nil }()
	for {
		g := searchGoal{cost: cost}
		for i := range s.variants {
			for j := range s.variants[i].candidates {
				if c := &s.variants[i].candidates[j]; plan.Better(c, g.best, cost) {
					g.best, g.variant = c, i
				}
			}
		}
		open := s.openCounts(&g)
		if len(open) == 0 {
			return g.best, nil
		}
		batch := 1 // the first may leave none open
		if g.best != nil {
			batch = min(len(open), max(1, s.options.Workers))
		}
		if err := s.schedule(open[:batch], &g); err != nil {
			return nil, err
		}
	}
}

// topologyCount is a number of topologies of a side.
type topologyCount struct{ variant, d int }

// openCounts lists the numbers of topologies that may have what is asked for, those first that may have the best.
func (s *Search) openCounts(g *searchGoal) (list []topologyCount) {
	optimistic := func(x topologyCount) *plan.Candidate {
		return &plan.Candidate{Reconfigurations: x.d, Slots: s.variants[x.variant].minSlots[x.d]}
	}
	for i := range s.variants {
		for _, d := range s.variants[i].counts {
			if x := &s.variants[i]; !x.isDone[d] && g.admits(i, d, x.minSlots[d]) {
				list = append(list, topologyCount{i, d})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b topologyCount) int { return cmp.Compare(g.cost(optimistic(a)), g.cost(optimistic(b))) })
	return list
}

// schedule schedules the sequences of some numbers of topologies. It gives a number up for now, unless it was given up before,
// as soon as its slots are known to cost more than is asked for.
func (s *Search) schedule(numbers []topologyCount, g *searchGoal) error {
	var list []scoredSequence
	var countOf []topologyCount // by sequence
	for _, x := range numbers {
		if err := s.buildSequences(x); err != nil {
			return err
		}
		for _, m := range s.variants[x.variant].builder.selectedOf(x.d) {
			list, countOf = append(list, m), append(countOf, x)
		}
	}
	schedules, errs := make([]*Schedule, len(list)), make([]error, len(list))
	parallel(s.options.Workers, len(list), s.options.Stop, func(w *scheduleWorker, i int) {
		x, o := countOf[i], s.options
		if w.isTooCostly = nil; g.best != nil && !s.variants[x.variant].isTried[x.d] {
			w.isTooCostly = func(slots int64) bool { return !g.admits(x.variant, x.d, slots) }
		}
		o.Relay = s.variants[x.variant].builder.relay
		schedules[i], errs[i] = w.scheduleSequence(s.incumbents.problem, list[i], o, s.incumbents)
	})
	for _, x := range numbers {
		all, shortest := []plan.Candidate(nil), int64(math.MaxInt64)
		minRejected := int64(math.MaxInt64) // of those that were given up
		for i, r := range schedules {
			if countOf[i] != x {
				continue
			}
			var rejected costError
			switch err := errs[i]; {
			case err == nil:
				all, shortest = append(all, r.Candidate(list[i].Origin)), min(shortest, r.Total)
			case errors.As(err, &rejected):
				minRejected = min(minRejected, rejected.minSlots)
			case !errors.Is(err, ErrUnreachable) && !errors.Is(err, errDominated):
				return err
			}
		}
		variant := &s.variants[x.variant]
		if variant.isTried[x.d] = true; minRejected == math.MaxInt64 || shortest < minRejected {
			variant.isDone[x.d], variant.candidates = true, append(variant.candidates, all...)
		} else {
			variant.minSlots[x.d] = max(variant.minSlots[x.d], minRejected) // which all others take too
		}
	}
	return nil
}

// buildSequences makes the sequences of a number of topologies: those that grow, from all of fewer.
func (s *Search) buildSequences(x topologyCount) error {
	variant := &s.variants[x.variant]
	if x.d > variant.maxBaseCount {
		variant.maxBaseCount = max(minBaseCount, variant.maxBaseCount)
		for variant.maxBaseCount < x.d {
			variant.maxBaseCount *= 2
		}
		variant.sequences = variant.base(variant.maxBaseCount, s.options.Stop)
	}
	m := variant.builder
	if m.relay && m.canGrow(x.d) {
		return m.buildUpTo(x.d, variant.sequences)
	}
	m.addRelabelled(x.d, x.d, variant.sequences)
	return nil
}

// minBaseCount and its doubles are the most topologies that base is asked for.
const minBaseCount = 16

// costError says that a sequence takes at least so many slots, which costs more than is asked for.
type costError struct{ minSlots int64 }

func (costError) Error() string { return "pack: others cost less" }
