package collective

import (
	"cmp"
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// maxExchangeGPUs limits the GPUs among which whole vectors are exchanged along trees. Each of n
// GPUs receives n vectors of n shards, so plans have n^3 pieces, 17 million at the limit.
const maxExchangeGPUs = 256

// graphPlans returns the plans of a problem on topologies other than circulants.
func graphPlans(p *Problem) []*Plan {
	var all []*Plan
	var none *broadcastTrees
	for _, t := range findTrees(p.GPUs, min(p.Degree, maxTreeDegree), p.Stop) {
		back := t.reversed()

		// A single operation may use the trees or their converse, whose links may be more
		// even.
		switch {
		case p.Op == collective.AllGather:
			all = append(all, treePlan(p, none, plan.Gather, t), treePlan(p, none, plan.Gather, back))
			continue
		case p.Op == collective.ReduceScatter:
			all = append(all, treePlan(p, back, plan.Scatter, none),
				treePlan(p, t, plan.Scatter, none))
			continue
		case p.GPUs <= maxExchangeGPUs:
			all = append(all, treePlan(p, none, plan.Exchange, t))
		}

		all = append(all, treePlan(p, back, plan.Gather, t))
	}

	if p.Op == collective.AllReduce && p.GPUs <= maxTreeGPUs {
		for _, f := range newFolds(p.GPUs, p.Degree) {
			all = append(all, f.newPlan(p))
		}
	}
	return all
}

// treePlan returns the plan that scatters along the trees backward, in reverse, and then sends
// along the trees forward; kind says whether it gathers or exchanges there. Either may be nil.
func treePlan(p *Problem, backward *broadcastTrees, kind plan.Kind, forward *broadcastTrees) *Plan {
	pl := &Plan{Problem: *p, Parts: shardParts(p)}
	if backward != nil {
		pl.Phases = pl.newPhases(slices.Repeat([]plan.Kind{plan.Scatter}, len(backward.phases)),
			backward.phases, backward, inReverse)
		pl.Name = "scatter " + backward.name
	}
	if forward != nil {
		if pl.Name != "" {
			pl.Name += "; "
		}
		pl.Phases = append(pl.Phases, pl.newPhases(slices.Repeat([]plan.Kind{kind},
			len(forward.phases)), forward.phases, forward, inOrder)...)
		pl.Name += kind.String() + " " + forward.name
	}

	// Phases with equal links need no reconfiguration between them.
	for i := 1; i < len(pl.Phases); i++ {
		pl.Phases[i].Reused = slices.Equal(pl.Phases[i].edges.Sorted(),
			pl.Phases[i-1].edges.Sorted())
	}
	return pl
}

// messageSource computes the pieces on each link of a topology, phase by phase and step by step.
type messageSource interface {
	emitSteps(parts int32, stop cancellation.Condition, emit func(phase, step int, list []linkPieces))
}

// linkPieces are pieces on a link of a graph in a step: parts from..to-1 of count consecutive
// shards, or in an exchange, of the vector of GPU shard.
type linkPieces struct{ link, shard, count, from, to int32 }

// Values of the parameter reverse of newPhases.
const (
	inOrder   = false
	inReverse = true
)

// newPhases returns the phases of a message source. With reverse, links and time are reversed: on
// the converse topologies, the last phase first.
func (pl *Plan) newPhases(kinds []plan.Kind, treePhases []treePhase, pieces messageSource, reverse bool) []Phase {
	p := &pl.Problem
	list := make([]Phase, len(treePhases))
	for i, l := range treePhases {
		open := kinds[i] == plan.Exchange && i+1 < len(treePhases) && kinds[i+1] == plan.Exchange
		list[i] = Phase{
			Phase:      plan.Phase{Kind: kinds[i], Open: open, MaxMessageBytes: make([]int64, l.steps)},
			source:     pieces,
			index:      i,
			isReversed: reverse,
		}

		list[i].edges = l.topology(reverse)
	}

	// The longest message of a step has the bytes of the link with the highest load.
	shardSizes := newPartSizes(p, pl.Parts)
	vectorSizes := shardSizes.ofVectors(int64(p.GPUs))
	load := make([]int64, p.GPUs*p.Degree)
	pieces.emitSteps(pl.Parts, p.Stop, func(index, step int, pieces []linkPieces) {
		z := shardSizes
		if kinds[index] == plan.Exchange {
			z = vectorSizes
		}
		clear(load)
		for _, c := range pieces {
			load[c.link] += z.bytes(c)
		}
		list[index].MaxMessageBytes[step] = slices.Max(load)
	})

	// In reverse, the last step of the last phase comes first.
	if reverse {
		slices.Reverse(list)
		for i := range list {
			slices.Reverse(list[i].MaxMessageBytes)
		}
	}

	return list
}

// partSizes has the first byte of each part of a shard. The first rest shards are long: they have
// one byte more than the others, which are short. The sizes of ofVectors are for exchanges.
type partSizes struct {
	rest        int32
	long, short []int64 // first byte of each part, indexed by part; the last entry is the end
}

// newPartSizes computes the sizes of the parts of shards.
func newPartSizes(p *Problem, parts int32) *partSizes {
	n := int64(p.GPUs)
	z := &partSizes{rest: int32(p.Bytes % n)}
	for from := range parts + 1 {
		z.long = append(z.long, plan.PieceStart(p.Bytes/n+1, from, parts))
		z.short = append(z.short, plan.PieceStart(p.Bytes/n, from, parts))
	}
	return z
}

// ofVectors returns the sizes for whole vectors: a part of a vector is this part of all n shards.
func (z *partSizes) ofVectors(n int64) *partSizes {
	v := &partSizes{}
	for i, long := range z.long {
		v.short = append(v.short, long*int64(z.rest)+z.short[i]*(n-int64(z.rest)))
	}
	v.long = v.short
	return v
}

// bytes returns the size of some pieces.
func (z *partSizes) bytes(c linkPieces) int64 {
	numLong := int64(min(max(0, z.rest-c.shard), c.count))
	return numLong*(z.long[c.to]-z.long[c.from]) +
		(int64(c.count)-numLong)*(z.short[c.to]-z.short[c.from])
}

// sourceMessages returns the messages of a phase that a message source makes.
func (f *Phase) sourceMessages(pl *Plan, phase int) []plan.Message {
	n := int32(pl.Problem.GPUs)
	var all []plan.Message
	f.source.emitSteps(pl.Parts, pl.Problem.Stop, func(index, step int, list []linkPieces) {
		if index != f.index {
			return
		}
		if f.isReversed {
			step = len(f.MaxMessageBytes) - 1 - step
		}
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b linkPieces) int {
			return cmp.Or(cmp.Compare(a.link, b.link), cmp.Compare(a.shard, b.shard))
		})

		for i, c := range list {
			if i == 0 || c.link != list[i-1].link {
				e := f.edges[c.link]
				all = append(all, plan.Message{
					Phase: int32(phase),
					Step:  int32(step),
					From:  e.From,
					To:    e.To,
				})
			}

			shard := c.shard
			count := c.count
			origin := int32(-1)
			if f.Kind == plan.Exchange {
				shard, count, origin = 0, n, c.shard
			}

			x := &all[len(all)-1]
			for s := shard; s < shard+count; s++ {
				x.Pieces = append(x.Pieces, plan.Piece{
					Shard:  s,
					From:   c.from,
					To:     c.to,
					Origin: origin,
				})
			}
		}
	})

	slices.SortStableFunc(all, func(a, b plan.Message) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.From, b.From))
	})
	return all
}
