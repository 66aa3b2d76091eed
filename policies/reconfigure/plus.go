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

// others are the planners whose plans "reconfigure-during+" takes where they are better than its own, beside those of the
// paper's construction, which come before them.
var others = []string{
	"fast", "bruck", "spreadout", "static-ring", "directconnect-kautz", "directconnect-circulant", "topoopt", "mixnet",
}

// packable reports whether chunks may be packed one by one on topologies that are no circulants: up to 256 GPUs, or
// where that is about as much work.
func packable(p *plan.Problem) bool {
	const most = 1 << 26 // hops of all chunks, on rings
	chunks := 0
	for _, c := range p.Chunks {
		chunks += int(c)
	}
	return p.GPUs <= 256 || chunks*p.GPUs/p.Degree <= most
}

// plus joins better constructions than the paper's with what the other planners can schedule: of all candidates
// Frontier keeps the best for each number of reconfigurations, our own first among equals. Small unequal demands are also
// searched exhaustively, where these leave room for fewer slots.
func plus(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
	list, err := constructed(ctx, s)
	if err != nil || !s.exhaustible() {
		return list, err
	}
	more, err := pack.Exhaustive(s.Problem, s.Options.Plus.Relay, list, ended(ctx))
	return append(list, more...), err
}

// exhaustible reports whether "reconfigure-during+" searches the problem exhaustively.
func (s *Planning) exhaustible() bool {
	return s.Options.Plus.Buffer == 0 && pack.Exhaustible(s.Problem)
}

// constructed is what plus has before it searches exhaustively.
func constructed(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
	if !s.Options.Plus.Others {
		return own(ctx, s)
	}
	names := s.others()
	all := s.Problem.GPUs <= many
	if all {
		names = slices.Insert(names, 0, first)
	}
	done := make(chan struct{})
	ahead := func() { // what fails is told below
		defer close(done)
		for _, name := range names {
			_, _ = s.plan(ctx, name)
		}
	}
	if s.Options.Workers > 1 {
		go ahead()
		defer func() { <-done }()
	}
	list, err := own(ctx, s)
	if err != nil {
		return nil, err
	}
	var paper, rest []plan.Candidate
	for _, name := range names {
		theirs, err := s.plan(ctx, name)
		if errors.Is(err, ErrUnserved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rest = append(rest, s.taken(name, theirs.all)...)
	}
	if !all {
		theirs, err := duringBelow(ctx, s, below(list, rest))
		if err != nil {
			return nil, err
		}
		paper = s.taken(first, theirs)
	}
	return slices.Concat(list, paper, rest), nil
}

// others lists the planners whose plans are taken, but for the first.
func (s *Planning) others() []string {
	return slices.DeleteFunc(slices.Clone(others), func(name string) bool {
		return !packable(s.Problem) && (name == "fast" || s.row(name).OneTopology)
	})
}

// first is whose plans are taken first, the paper's construction.
const first = "reconfigure-during"

// many is the number of GPUs above which first is asked only for plans that are better than others, which are few. Only
// tests change it.
var many = 128

// taken returns what another planner has that "reconfigure-during+" may take: the best of them may be fluid, which is no
// plan.
func (s *Planning) taken(name string, theirs []plan.Candidate) (list []plan.Candidate) {
	for _, c := range theirs {
		if c.Build == nil || c.Relay && (!s.Options.Plus.Relay || s.Options.Plus.Buffer > 0) {
			continue
		}
		c.Origin = name + ": " + c.Origin
		list = append(list, c)
	}
	return list
}

// below returns by number of topologies the slots that plans must take fewer of to be better than those before them, and
// than those behind them, which they may equal.
func below(before, behind []plan.Candidate) []int64 {
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
	lower(behind, 1)
	for d := 1; d < len(slots); d++ {
		slots[d] = min(slots[d], slots[d-1])
	}
	return slots
}

// own is our constructions alone: circulants, which uniform demand makes open shops that end when the most loaded link
// does, and chunks packed over phases and ways of other topologies.
func own(ctx context.Context, s *Planning) ([]plan.Candidate, error) {
	p, o := s.Problem, s.Options
	if _, uniform := p.Uniform(); !uniform {
		return packed(ctx, p, o)
	}
	n, k := p.GPUs, p.Degree
	list, err := circulant.Candidates(p, circulant.Options{Relay: o.Plus.Relay, BufferLimit: int32(o.Plus.Buffer), Independent: o.Independent, Stop: ended(ctx)})
	if err != nil || k == 1 || !packable(p) {
		return list, err
	}
	options := packing(o, ended(ctx))
	one, err := kautz(p, o, ended(ctx))
	if err != nil || n > mostIrregular {
		return append(list, one...), err
	}
	list = append(list, one...)
	wanted, err := improvable(p, list, counts(n, min(fewIrregular, max(1, irregularPermutations/k), (n-2)/k+1), false), o.Plus.Relay)
	if err != nil || len(wanted) == 0 {
		return list, err
	}
	options.Known = list
	irregular, err := pack.Plan(p, pack.SequenceSpec{Counts: wanted}, pack.SequenceSpec{Counts: wanted}, options)
	return append(list, irregular...), err
}

// improvable returns those numbers of topologies whose bound leaves room below the slots of list.
func improvable(p *plan.Problem, list []plan.Candidate, counts []int, relay bool) (open []int, err error) {
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
	fewIrregular          = 4
	irregularPermutations = 12
	mostIrregular         = 128
)

// packed spreads the chunks of unequal demand over sequences of topologies that suit it. With relaying it also plans
// without, where that may do better.
func packed(ctx context.Context, p *plan.Problem, o Options) ([]plan.Candidate, error) {
	n, k := p.GPUs, p.Degree
	base := circulants(n, k, circulant.Options{Relay: o.Plus.Relay, Stop: ended(ctx)})
	most := (n-2)/k + 1
	within := pack.SequenceSpec{Base: separate(base), Counts: counts(n, most, o.Plus.Relay)}
	across := pack.SequenceSpec{Base: base, Counts: counts(n, most, false)}
	return pack.Plan(p, within, across, packing(o, ended(ctx)))
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

// separate are those of circulants that are without relaying: the first, of more topologies each than the one before.
func separate(list []pack.Sequence) []pack.Sequence {
	i := 0
	for i < len(list) && (i == 0 || len(list[i].Topologies) > len(list[i-1].Topologies)) {
		i++
	}
	return list[:i]
}

// counts lists the numbers of topologies to plan with, up to most: all, or beyond 16 growing by an eighth; few of them
// beyond 8 by a quarter, where other plans will do better. Of more than 128 GPUs they grow by a half from the start,
// and of more than 256 fourfold, as each takes seconds.
func counts(gpus, most int, few bool) []int {
	var list []int
	for d := 1; d < most; {
		list = append(list, d)
		switch {
		case gpus > 256:
			d *= 4
		case gpus > 128:
			d += max(1, d/2)
		case few:
			d += max(1, d/4)
		default:
			d += max(1, d/8)
		}
	}
	return append(list, most)
}
