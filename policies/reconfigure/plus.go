package reconfigure

import (
	"context"
	"errors"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/circulant"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// otherNames are the planners whose plans "reconfigure-during+" takes where they are better than its own, beside those of the
// paper's construction, which come before them.
var otherNames = []string{
	"fast", "bruck", "spreadout", "static-ring", "directconnect-kautz", "directconnect-circulant", "topoopt", "mixnet",
}

// isPackable reports whether chunks may be packed one by one on topologies that are no circulants: up to 256 GPUs, or
// where that is about as much work.
func isPackable(p *plan.Problem) bool {
	const maxHops = 1 << 26 // hops of all chunks, on rings
	chunks := 0
	for _, c := range p.Chunks {
		chunks += int(c)
	}
	return p.GPUs <= 256 || chunks*p.GPUs/p.Degree <= maxHops
}

// planPlus joins better constructions than the paper's with what the other planners can schedule: of all candidates
// Frontier keeps the best for each number of reconfigurations, our own first among equals. Small unequal demands are also
// searched exhaustively, where these leave room for fewer slots.
func planPlus(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
	list, err := planConstructions(ctx, s)
	if err != nil || !s.exhaustible() {
		return list, err
	}
	more, err := pack.Exhaustive(s.Problem, s.Options.Plus.Relay, list, stopWhenDone(ctx))
	return append(list, more...), err
}

// exhaustible reports whether "reconfigure-during+" searches the problem exhaustively.
func (s *Planning) exhaustible() bool {
	return s.Options.Plus.Buffer == 0 && pack.Exhaustible(s.Problem)
}

// planConstructions is what plus has before it searches exhaustively.
func planConstructions(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
	if !s.Options.Plus.Others {
		return planOwn(ctx, s)
	}
	names := s.otherPlanners()
	all := s.Problem.GPUs <= maxGPUsForAllPaperPlans
	if all {
		names = slices.Insert(names, 0, paperPlanner)
	}
	done := make(chan struct{})
	planOthers := func() { // what fails is told below
		defer close(done)
		for _, name := range names {
			_, _ = s.plan(ctx, name)
		}
	}
	if s.Options.Workers > 1 {
		go planOthers()
		defer func() { <-done }()
	}
	list, err := planOwn(ctx, s)
	if err != nil {
		return nil, err
	}
	var paper, rest []plan.Candidate
	for _, name := range names {
		offered, err := s.plan(ctx, name)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rest = append(rest, s.usableCandidates(name, offered.candidates)...)
	}
	if !all {
		offered, err := planDuringBelow(ctx, s, slotLimits(list, rest))
		if err != nil {
			return nil, err
		}
		paper = s.usableCandidates(paperPlanner, offered)
	}
	return slices.Concat(list, paper, rest), nil
}

// otherPlanners lists the planners whose plans are taken, but for the first.
func (s *Planning) otherPlanners() []string {
	return slices.DeleteFunc(slices.Clone(otherNames), func(name string) bool {
		return !isPackable(s.Problem) && (name == "fast" || s.row(name).OneTopology)
	})
}

// paperPlanner is whose plans are taken first, the paper's construction.
const paperPlanner = "reconfigure-during"

// maxGPUsForAllPaperPlans is the number of GPUs above which first is asked only for plans that are better than others, which are few. Only
// tests change it.
var maxGPUsForAllPaperPlans = 128

// usableCandidates returns what another planner has that "reconfigure-during+" may take: the best of them may be fluid, which is no
// plan.
func (s *Planning) usableCandidates(name string, offered []plan.Candidate) (list []plan.Candidate) {
	for _, c := range offered {
		if c.Build == nil || c.Relay && (!s.Options.Plus.Relay || s.Options.Plus.Buffer > 0) {
			continue
		}
		c.Origin = name + ": " + c.Origin
		list = append(list, c)
	}
	return list
}

// slotLimits returns by number of topologies the slots that plans must take fewer of to be better than those before them, and
// than those behind them, which they may equal.
func slotLimits(before, after []plan.Candidate) []int64 {
	slots := []int64{math.MaxInt64}
	lower := func(list []plan.Candidate, by int64) {
		for _, c := range list {
			if c.Switches == nil && c.Fluid == 0 {
				for len(slots) <= c.Reconfigurations {
					slots = append(slots, math.MaxInt64)
				}
				slots[c.Reconfigurations] = min(slots[c.Reconfigurations], c.Slots+by)
			}
		}
	}
	lower(before, 0)
	lower(after, 1)
	for d := 1; d < len(slots); d++ {
		slots[d] = min(slots[d], slots[d-1])
	}
	return slots
}

// planOwn is our constructions alone: circulants, which uniform demand makes open shops that end when the most loaded link
// does, and chunks packed over phases and ways of other topologies.
func planOwn(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
	p, o := s.Problem, s.Options
	if _, uniform := p.Uniform(); !uniform {
		return planUnequal(ctx, p, o)
	}
	n, k := p.GPUs, p.Degree
	list, err := circulant.Candidates(p, circulant.Options{Relay: o.Plus.Relay, BufferLimit: int32(o.Plus.Buffer), Independent: o.Independent, Stop: stopWhenDone(ctx)})
	if err != nil || k == 1 || !isPackable(p) {
		return list, err
	}
	options := packOptions(o, stopWhenDone(ctx))
	one, err := kautzCandidates(p, o, stopWhenDone(ctx))
	if err != nil || n > maxIrregularGPUs {
		return append(list, one...), err
	}
	list = append(list, one...)
	wanted, err := openCounts(p, list, counts(n, min(maxIrregularTopologies, max(1, maxIrregularPermutations/k), (n-2)/k+1), false), o.Plus.Relay)
	if err != nil || len(wanted) == 0 {
		return list, err
	}
	options.Known = list
	irregular, err := pack.Plan(p, pack.SequenceSpec{Counts: wanted}, pack.SequenceSpec{Counts: wanted}, options)
	return append(list, irregular...), err
}

// openCounts returns those numbers of topologies whose bound leaves room below the slots of list.
func openCounts(p *plan.Problem, list []plan.Candidate, counts []int, relay bool) (open []int, err error) {
	bounder, err := plan.NewBounder(p, nil)
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

// Of uniform demand, irregular topologies beat circulants, in which all GPUs have the same neighbours, where chunks
// have many hops: by up to 17 % on one topology, and hardly on more than three (measured for 16 to 256 GPUs). They are
// sought on up to fewIrregular topologies of so many permutations in all, and for up to mostIrregular GPUs, beyond
// which that would double the time of planning.
const (
	maxIrregularTopologies   = 4
	maxIrregularPermutations = 12
	maxIrregularGPUs         = 128
)

// planUnequal spreads the chunks of unequal demand over sequences of topologies that suit it. With relaying it also plans
// without, where that may do better.
func planUnequal(ctx context.Context, p *plan.Problem, o Options) ([]plan.Candidate, error) {
	n, k := p.GPUs, p.Degree
	base := circulants(n, k, circulant.Options{Relay: o.Plus.Relay, Stop: stopWhenDone(ctx)})
	maxTopologies := (n-2)/k + 1
	within := pack.SequenceSpec{Base: withoutRelaying(base), Counts: counts(n, maxTopologies, o.Plus.Relay)}
	across := pack.SequenceSpec{Base: base, Counts: counts(n, maxTopologies, false)}
	return pack.Plan(p, within, across, packOptions(o, stopWhenDone(ctx)))
}

// circulants are the sequences that circulant.Sequences has.
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

// withoutRelaying are those of circulants that are without relaying: the first, of more topologies each than the one before.
func withoutRelaying(list []pack.Sequence) []pack.Sequence {
	i := 0
	for i < len(list) && (i == 0 || len(list[i].Topologies) > len(list[i-1].Topologies)) {
		i++
	}
	return list[:i]
}

// counts lists the numbers of topologies to plan with, up to most: all, or beyond 16 growing by an eighth; few of them
// beyond 8 by a quarter, where other plans will do better. Of more than 128 GPUs they grow by a half from the start,
// and of more than 256 fourfold, as each takes seconds.
func counts(gpus, maxCount int, coarse bool) []int {
	var list []int
	for d := 1; d < maxCount; {
		list = append(list, d)
		switch {
		case gpus > 256:
			d *= 4
		case gpus > 128:
			d += max(1, d/2)
		case coarse:
			d += max(1, d/4)
		default:
			d += max(1, d/8)
		}
	}
	return append(list, maxCount)
}
