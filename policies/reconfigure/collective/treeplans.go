package collective

import (
	"cmp"
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// maxExchangeGPUs limits the GPUs among which whole vectors are exchanged along trees: each
// receives n vectors of n shards.
const maxExchangeGPUs = 256

// graphPlans returns the plans of a problem on topologies other than circulants.
func graphPlans(p *Problem) []*Plan {
	var all []*Plan
	for _, t := range findTrees(p.GPUs, min(p.Degree, maxTreeDegree), p.Stop) {
		back := t.reversed()

		// A single operation may use the trees or their converse, whose links may be more
		// even.
		switch {
		case p.Op == collective.AllGather:
			all = append(all, treePlan(p, nil, plan.Gather, t), treePlan(p, nil, plan.Gather, back))
			continue
		case p.Op == collective.ReduceScatter:
			all = append(all, treePlan(p, back, plan.Scatter, nil),
				treePlan(p, t, plan.Scatter, nil))
			continue
		case p.GPUs <= maxExchangeGPUs:
			all = append(all, treePlan(p, nil, plan.Exchange, t))
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

// treePlan returns the plan that scatters along the trees backward, in reverse, and then gathers
// or exchanges along the trees forward. Either may be nil.
func treePlan(p *Problem, backward *broadcastTrees, kind plan.Kind, forward *broadcastTrees) *Plan {
	pl := &Plan{Problem: *p, Parts: shardParts(p)}
	if backward != nil {
		pl.Phases = pl.newPhases(slices.Repeat([]plan.Kind{plan.Scatter}, len(backward.phases)),
			backward.phases, backward, true)
		pl.Name = "scatter " + backward.name
	}
	if forward != nil {
		if pl.Name != "" {
			pl.Name += "; "
		}
		pl.Phases = append(pl.Phases, pl.newPhases(slices.Repeat([]plan.Kind{kind},
			len(forward.phases)), forward.phases, forward, false)...)
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

	// The longest message of each step, by the load of links.
	sizes := [2]*partSizes{newPartSizes(p, pl.Parts, false), newPartSizes(p, pl.Parts, true)}
	load := make([]int64, p.GPUs*p.Degree)
	pieces.emitSteps(pl.Parts, p.Stop, func(index, step int, pieces []linkPieces) {
		z := sizes[0]
		if kinds[index] == plan.Exchange {
			z = sizes[1]
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

// partSizes has the first byte of each part of a shard: for the first rest shards, which have one
// more byte, and for the others. For exchanges it has the bytes of whole vectors.
type partSizes struct {
	rest  int32
	begin [2][]int64 // for long and short shards, by part
}

// newPartSizes computes the sizes of parts, or of vectors of parts, of a problem.
func newPartSizes(p *Problem, parts int32, vectors bool) *partSizes {
	n := int64(p.GPUs)
	z := &partSizes{rest: int32(p.Bytes % n)}
	for from := range parts + 1 {
		long := plan.PieceStart(p.Bytes/n+1, from, parts)
		short := plan.PieceStart(p.Bytes/n, from, parts)
		if vectors {
			long = long*int64(z.rest) + short*(n-int64(z.rest))
			short = long
		}
		z.begin[0], z.begin[1] = append(z.begin[0], long), append(z.begin[1], short)
	}

	return z
}

// bytes returns the size of some pieces.
func (z *partSizes) bytes(c linkPieces) int64 {
	long := int64(min(max(0, z.rest-c.shard), c.count))
	return long*(z.begin[0][c.to]-z.begin[0][c.from]) +
		(int64(c.count)-long)*(z.begin[1][c.to]-z.begin[1][c.from])
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
