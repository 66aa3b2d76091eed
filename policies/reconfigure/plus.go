package reconfigure

import (
	"context"
	"errors"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/circulant"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// This file implements the planner "reconfigure-during+". Its candidates come from three sources, in
// this order: its own constructions (circulants, and chunks packed on other topologies), the
// construction of the paper, and other planners. Of equal candidates, the first is used.

// otherNames are the planners whose plans "reconfigure-during+" uses if they are better
// than its own, in addition to the paper's construction, which precedes them.
var otherNames = []string{
	"fast", "bruck", "spreadout", "static-ring", "directconnect-kautz", "directconnect-circulant",
	"topoopt", "mixnet",
}

// isPackable reports whether chunks are packed one by one on topologies other than circulants.
// The work grows with the hops of all chunks, here estimated on rings. It is limited to maxHops,
// about the hops of 4 chunks per pair of 256 GPUs on one switch. Up to 256 GPUs are always packed.
func isPackable(p *plan.Problem) bool {
	const maxHops = 1 << 26
	chunks := 0
	for _, c := range p.Chunks {
		chunks += int(c)
	}
	return p.GPUs <= 256 || chunks*p.GPUs/p.Degree <= maxHops
}

// planPlus combines constructions that are better than the paper's with the plans of other
// planners. plan.Frontier later selects the best candidate for each number of
// reconfigurations; of equal candidates, the own constructions come first. Small unequal demands
// are also searched exhaustively, for the numbers of topologies whose bound no candidate meets.
func planPlus(ctx context.Context, s *PlannerSet) ([]plan.Candidate, error) {
	list, err := planConstructions(ctx, s)
	if err != nil || !s.exhaustible() {
		return list, err
	}
	more, err := pack.Exhaustive(s.Problem, s.Options.Plus.Relay, list, stopWhenDone(ctx))
	return append(list, more...), err
}

// exhaustible reports whether "reconfigure-during+" searches the problem exhaustively.
func (s *PlannerSet) exhaustible() bool {
	return s.Options.Plus.Buffer == 0 && pack.Exhaustible(s.Problem)
}

// planConstructions is planPlus without the exhaustive search.
func planConstructions(ctx context.Context, s *PlannerSet) ([]plan.Candidate, error) {
	if !s.Options.Plus.Others {
		return planOwn(ctx, s)
	}
	names := s.otherPlanners()
	usesAllPaperPlans := s.Problem.GPUs <= maxGPUsForAllPaperPlans
	if usesAllPaperPlans {
		names = slices.Insert(names, 0, paperPlanner)
	}

	// With several workers, run the other planners during planOwn. Their results are stored in s,
	// and their errors are returned again by the calls of s.plan below.
	if s.Options.Workers > 1 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, name := range names {
				_, _ = s.plan(ctx, name)
			}
		}()
		defer func() { <-done }()
	}

	own, err := planOwn(ctx, s)
	if err != nil {
		return nil, err
	}
	var paper, others []plan.Candidate
	for _, name := range names {
		offered, err := s.plan(ctx, name)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		others = append(others, s.usableCandidates(name, offered.candidates)...)
	}

	// For many GPUs, compute only the plans of the paper that are better than all others.
	if !usesAllPaperPlans {
		offered, err := planDuringBelow(ctx, s, slotLimits(own, others))
		if err != nil {
			return nil, err
		}
		paper = s.usableCandidates(paperPlanner, offered)
	}

	return slices.Concat(own, paper, others), nil
}

// otherPlanners returns the planners of otherNames that are used for this problem.
func (s *PlannerSet) otherPlanners() []string {
	return slices.DeleteFunc(slices.Clone(otherNames), func(name string) bool {
		return !isPackable(s.Problem) && (name == "fast" || s.planner(name).HasOneTopology)
	})
}

// paperPlanner is the paper's construction, whose plans come before the plans of
// other planners.
const paperPlanner = "reconfigure-during"

// maxGPUsForAllPaperPlans is the largest number of GPUs for which paperPlanner computes all
// its plans. To limit the time of planning, it computes only the few plans that are better than
// others for more GPUs. It is a variable for tests.
var maxGPUsForAllPaperPlans = 128

// usableCandidates returns the candidates of another planner that "reconfigure-during+" may
// use. It leaves out fluid candidates, which are not plans, and relaying ones if the
// options exclude them.
func (s *PlannerSet) usableCandidates(name string, offered []plan.Candidate) (list []plan.Candidate) {
	for _, c := range offered {
		if c.Build == nil || c.Relay && (!s.Options.Plus.Relay || s.Options.Plus.Buffer > 0) {
			continue
		}
		c.Origin = name + ": " + c.Origin
		list = append(list, c)
	}
	return list
}

// slotLimits returns exclusive upper limits of the slots, indexed by number of topologies.
// Plans within the limits are better than the plans in before, and at least as good as the
// plans in after.
func slotLimits(before, after []plan.Candidate) []int64 {
	limits := []int64{math.MaxInt64}
	lower := func(list []plan.Candidate, margin int64) {
		for _, c := range list {
			if c.Switches != nil || c.Fluid != 0 {
				continue // not comparable by slots
			}
			for len(limits) <= c.Reconfigurations {
				limits = append(limits, math.MaxInt64)
			}
			limits[c.Reconfigurations] = min(limits[c.Reconfigurations], c.Slots+margin)
		}
	}
	lower(before, 0) // equal plans in before come first
	lower(after, 1)

	// A plan with fewer topologies also limits the plans with more.
	for d := 1; d < len(limits); d++ {
		limits[d] = min(limits[d], limits[d-1])
	}
	return limits
}

// planOwn returns the own constructions of "reconfigure-during+": circulants, and chunks packed
// over phases and paths of other topologies. For uniform demand, a phase of a circulant is an open
// shop: its schedule is as long as the load of its most loaded link.
func planOwn(ctx context.Context, s *PlannerSet) ([]plan.Candidate, error) {
	p, o := s.Problem, s.Options
	if _, uniform := p.Uniform(); !uniform {
		return planUnequal(ctx, p, o)
	}

	n, k := p.GPUs, p.Degree
	list, err := circulant.Candidates(p, circulant.Options{
		Relay:       o.Plus.Relay,
		BufferLimit: int32(o.Plus.Buffer),
		Independent: o.Independent,
		Stop:        stopWhenDone(ctx),
	})
	if err != nil || k == 1 || !isPackable(p) {
		return list, err
	}
	kautz, err := kautzCandidates(p, o, stopWhenDone(ctx))
	list = append(list, kautz...)
	if err != nil || n > maxIrregularGPUs {
		return list, err
	}

	// Search irregular topologies for the numbers of topologies for which a better plan is possible.
	maxTopologies := min(maxIrregularTopologies, max(1, maxIrregularPermutations/k), (n-2)/k+1)
	wanted, err := openCounts(p, list, counts(n, maxTopologies), o.Plus.Relay)
	if err != nil || len(wanted) == 0 {
		return list, err
	}
	options := packOptions(o, stopWhenDone(ctx))
	options.Known = list
	within := pack.SequenceSpec{Counts: wanted} // plans without relaying
	across := within                            // plans with relaying
	irregular, err := pack.Plan(p, within, across, options)
	return append(list, irregular...), err
}

// openCounts returns the numbers of topologies for which list does not meet the lower
// bound.
func openCounts(p *plan.Problem, list []plan.Candidate, counts []int, relay bool) (open []int, err error) {
	bounder, err := plan.NewBounder(p, cancellation.Never)
	if err != nil {
		return nil, err
	}
	for _, d := range counts {
		b, err := bounder.At(d)
		if err != nil {
			return nil, err
		}
		bound := b.Forward
		if relay {
			bound = b.Relay
		}
		reached := func(c plan.Candidate) bool { return c.Switches == nil && c.Reconfigurations <= d && c.Slots <= bound }
		if !slices.ContainsFunc(list, reached) {
			open = append(open, d)
		}
	}
	return open, nil
}

const (
	// For uniform demand, irregular topologies beat circulants, in which all GPUs have
	// equivalent neighbours, if chunks take many hops: by up to 17 % on one topology, and
	// hardly on more than three (measured for 16 to 256 GPUs). They are searched for up to
	// maxIrregularTopologies topologies with maxIrregularPermutations permutations in
	// total. Above maxIrregularGPUs this would double the time of planning.
	maxIrregularTopologies   = 4
	maxIrregularPermutations = 12
	maxIrregularGPUs         = 128
)

// planUnequal plans unequal demand on sequences of topologies that suit it. With relaying
// it also plans without relaying if that may be better.
func planUnequal(ctx context.Context, p *plan.Problem, o Options) ([]plan.Candidate, error) {
	n, k := p.GPUs, p.Degree
	base := circulants(n, k, circulant.Options{Relay: o.Plus.Relay, Stop: stopWhenDone(ctx)})
	maxTopologies := (n-2)/k + 1 // with this number, every GPU has a link to each other one
	across := pack.SequenceSpec{Base: base, Counts: counts(n, maxTopologies)}
	within := pack.SequenceSpec{Base: withoutRelaying(base), Counts: across.Counts}
	if o.Plus.Relay {
		within.Counts = coarseCounts(n, maxTopologies) // relaying is probably better
	}
	return pack.Plan(p, within, across, packOptions(o, stopWhenDone(ctx)))
}

// circulants returns the sequences of circulant.Sequences, which have the offsets of each phase, as
// sequences of topologies.
func circulants(n, k int, o circulant.Options) (list []pack.Sequence) {
	for _, phases := range circulant.Sequences(n, k, o) {
		one := pack.Sequence{Origin: "circulants"}
		for _, offsets := range phases {
			one.Topologies = append(one.Topologies, scaleup.Circulant(n, offsets...))
		}
		list = append(list, one)
	}
	return list
}

// withoutRelaying returns the sequences for plans without relaying. They come first in list, each
// with more topologies than the one before it. The sequences for relaying start again at few
// topologies.
func withoutRelaying(list []pack.Sequence) []pack.Sequence {
	i := 0
	for i < len(list) && (i == 0 || len(list[i].Topologies) > len(list[i-1].Topologies)) {
		i++
	}
	return list[:i]
}

// counts returns the numbers of topologies to plan with, up to maxCount: all numbers up to 16,
// above that in steps of an eighth.
func counts(gpus, maxCount int) []int { return growingCounts(gpus, maxCount, 8) }

// coarseCounts is counts for plans that others probably beat: all numbers up to 8, above that in
// steps of a quarter.
func coarseCounts(gpus, maxCount int) []int { return growingCounts(gpus, maxCount, 4) }

// growingCounts returns numbers from 1 to maxCount that grow by d/divisor, at least by 1. For more
// than 128 GPUs they grow by half instead, and for more than 256 GPUs fourfold, because plans with
// one number of topologies then take seconds.
func growingCounts(gpus, maxCount, divisor int) []int {
	var list []int
	for d := 1; d < maxCount; {
		list = append(list, d)
		switch {
		case gpus > 256:
			d *= 4
		case gpus > 128:
			d += max(1, d/2)
		default:
			d += max(1, d/divisor)
		}
	}
	return append(list, maxCount)
}
