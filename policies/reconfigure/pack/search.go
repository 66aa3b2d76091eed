package pack

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Search finds the best plan of an unequal demand with relaying for one cost after another. Its
// plans are the plans of Plan, but it plans one number of topologies at a time, and only numbers
// that may have the best plan for a cost. The plans of a number do not depend on earlier
// requests. A Search is not safe for concurrent use.
type Search struct {
	// variants are indexed by withinVariant and acrossVariant. The former may have no counts. Of
	// two equal candidates the former is preferred.
	variants   [2]planVariant
	incumbents *incumbentSet // minimum slots of all candidates so far, by number of topologies
	options    Options
	stop       cancellation.Condition // polled during the current call of Best
}

// Variants of plans: chunks stay within a phase, or may rest across reconfigurations (relaying).
const (
	withinVariant = iota
	acrossVariant
)

// planVariant has the plans without relaying, or the plans with relaying.
type planVariant struct {
	counts  []int      // wanted numbers of topologies, increasing
	base    BaseSource // sequences for uniform demand
	builder *sequenceBuilder

	sequences    []Sequence // sequences of base with up to maxBaseCount topologies
	maxBaseCount int
	candidates   []plan.Candidate // of all numbers of topologies that are done

	// Indexed by number of topologies.
	minSlots []int64 // lower bound on the slots
	isTried  []bool  // the first attempt is over, which may have rejected sequences
	isDone   []bool  // all sequences are scheduled, or need not be
}

// BaseSource returns sequences for uniform demand of up to maxCount topologies.
type BaseSource func(maxCount int, stop cancellation.Condition) []Sequence

// SearchSpec describes the sequences of a variant: the sequences for uniform demand from
// which they are built, and the wanted numbers of topologies.
type SearchSpec struct {
	Base   BaseSource
	Counts []int
}

// NewSearch returns a search. bounds are the bounds of p; within and across are as for
// Plan. Options.Relay must be set, Options.Buffer must be 0. The error is plan.ErrProblem
// for numbers of topologies below 1, or an error of p.Check.
func NewSearch(p *plan.Problem, bounds *plan.Bounder, within, across SearchSpec, o Options) (_ *Search, err error) {
	r := newIncumbents(p, bounds, slices.Concat(within.Counts, across.Counts))
	s := &Search{incumbents: r}
	o.Stop = func() bool { return s.stop != nil && s.stop() }
	s.options = o
	for i, from := range []SearchSpec{within, across} {
		x := &s.variants[i]
		*x = planVariant{
			counts:   from.Counts,
			base:     from.Base,
			minSlots: make([]int64, len(r.minSlots)),
			isTried:  make([]bool, len(r.minSlots)),
			isDone:   make([]bool, len(r.minSlots)),
		}

		relay := i == acrossVariant
		if x.builder, err = newSequenceBuilder(p, SequenceSpec{Counts: from.Counts}, relay); err != nil {
			return nil, err
		}
		x.builder.workers, x.builder.stop = o.Workers, o.Stop
		for _, d := range x.counts {
			b, err := r.bounder.At(d)
			if err != nil {
				return nil, err
			}
			if x.minSlots[d] = b.Forward; relay {
				x.minSlots[d] = b.Relay
			}
			x.isDone[d] = d == 1 && !relay // plans of one topology belong to across
		}
	}

	return s, nil
}

// searchGoal specifies the candidate that a request needs: one that costs less than the
// best one so far, or that costs the same with fewer topologies or of an earlier variant.
type searchGoal struct {
	cost    plan.Cost
	best    *plan.Candidate // nil if there is no candidate yet
	variant int             // variant of best
}

// admits reports whether the goal may be met by a candidate of a variant, with d topologies
// and at least the given slots.
func (g *searchGoal) admits(variant, d int, slots int64) bool {
	c := &plan.Candidate{Reconfigurations: d, Slots: slots}
	return plan.Better(c, g.best, g.cost) ||
		g.best != nil && variant < g.variant && !plan.Better(g.best, c, g.cost)
}

// Best returns the candidate of Plan with the lowest cost, nil if all candidates cost
// plan.Never. It returns the same errors as Candidates. After an error, s must not be used
// again.
func (s *Search) Best(cost plan.Cost, stop cancellation.Condition) (_ *plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	s.stop = stop
	defer func() { s.stop = nil }()
	for {
		// The best candidate so far is the goal to beat.
		goal := searchGoal{cost: cost}
		for i := range s.variants {
			for j := range s.variants[i].candidates {
				if c := &s.variants[i].candidates[j]; plan.Better(c, goal.best, cost) {
					goal.best, goal.variant = c, i
				}
			}
		}

		// Schedule the most promising numbers of topologies, one per worker. Without a candidate,
		// schedule only one number, because its plan may exclude all others.
		open := s.openCounts(&goal)
		if len(open) == 0 {
			return goal.best, nil
		}
		batch := 1
		if goal.best != nil {
			batch = min(len(open), max(1, s.options.Workers))
		}
		if err := s.schedule(open[:batch], &goal); err != nil {
			return nil, err
		}
	}
}

// topologyCount is a number of topologies of a variant.
type topologyCount struct{ variant, d int }

// openCounts returns the numbers of topologies that may meet the goal, in the order of
// their lowest possible cost.
func (s *Search) openCounts(g *searchGoal) (list []topologyCount) {
	optimistic := func(count topologyCount) *plan.Candidate {
		return &plan.Candidate{Reconfigurations: count.d, Slots: s.variants[count.variant].minSlots[count.d]}
	}
	for i := range s.variants {
		for _, d := range s.variants[i].counts {
			if x := &s.variants[i]; !x.isDone[d] && g.admits(i, d, x.minSlots[d]) {
				list = append(list, topologyCount{variant: i, d: d})
			}
		}
	}

	slices.SortStableFunc(list, func(a, b topologyCount) int {
		return cmp.Compare(g.cost(optimistic(a)), g.cost(optimistic(b)))
	})
	return list
}

// schedule schedules the sequences of the given numbers of topologies. On the first attempt
// it rejects a number as soon as its slots are known to miss the goal. The second attempt
// is complete.
func (s *Search) schedule(numbers []topologyCount, g *searchGoal) error {
	// List the sequences of all numbers.
	var list []scoredSequence
	var countOf []topologyCount // indexed by sequence
	for _, count := range numbers {
		if err := s.buildSequences(count); err != nil {
			return err
		}
		for _, m := range s.variants[count.variant].builder.selectedOf(count.d) {
			list = append(list, m)
			countOf = append(countOf, count)
		}
	}

	// Schedule them.
	schedules := make([]*Schedule, len(list))
	errs := make([]error, len(list))
	parallel(s.options.Workers, len(list), s.options.Stop, func(w *scheduleWorker, i int) {
		count, o := countOf[i], s.options
		w.isTooCostly = nil
		if g.best != nil && !s.variants[count.variant].isTried[count.d] {
			w.isTooCostly = func(slots int64) bool { return !g.admits(count.variant, count.d, slots) }
		}
		o.Relay = s.variants[count.variant].builder.relay
		schedules[i], errs[i] = w.scheduleSequence(s.incumbents.problem, list[i], o, s.incumbents)
	})

	// Collect the candidates of each number.
	for _, count := range numbers {
		all := []plan.Candidate(nil)
		shortest := int64(math.MaxInt64)
		minRejected := int64(math.MaxInt64) // lowest bound of a rejected sequence
		for i, r := range schedules {
			if countOf[i] != count {
				continue
			}
			var rejected costError
			switch err := errs[i]; {
			case err == nil:
				all = append(all, r.Candidate(list[i].Origin))
				shortest = min(shortest, r.Total)
			case errors.As(err, &rejected):
				minRejected = min(minRejected, rejected.minSlots)
			case !errors.Is(err, ErrUnreachable) && !errors.Is(err, errDominated):
				return err
			}
		}

		// The number is done if no sequence was rejected, or if the best schedule takes fewer slots
		// than every rejected sequence. Otherwise all its sequences take at least minRejected slots.
		variant := &s.variants[count.variant]
		variant.isTried[count.d] = true
		if minRejected == math.MaxInt64 || shortest < minRejected {
			variant.isDone[count.d] = true
			variant.candidates = append(variant.candidates, all...)
		} else {
			variant.minSlots[count.d] = max(variant.minSlots[count.d], minRejected)
		}
	}

	return nil
}

// buildSequences builds the sequences of a number of topologies. If sequences grow from
// smaller ones, it also builds all smaller numbers.
func (s *Search) buildSequences(count topologyCount) error {
	// Request more sequences for uniform demand if necessary.
	variant := &s.variants[count.variant]
	if count.d > variant.maxBaseCount {
		variant.maxBaseCount = max(minBaseCount, variant.maxBaseCount)
		for variant.maxBaseCount < count.d {
			variant.maxBaseCount *= 2
		}
		variant.sequences = variant.base(variant.maxBaseCount, s.options.Stop)
	}

	m := variant.builder
	if m.relay && m.canGrow(count.d) {
		return m.buildUpTo(count.d, variant.sequences)
	}
	m.addRelabelled(count.d, count.d, variant.sequences)
	return nil
}

// minBaseCount is the smallest number of topologies that is requested from a BaseSource.
// Larger requests double it, so that few are needed.
const minBaseCount = 16

// costError is returned if a sequence takes at least minSlots slots, which cost more than
// the caller accepts.
type costError struct{ minSlots int64 }

func (costError) Error() string {
	return "pack: the sequence costs more than the incumbent"
}
