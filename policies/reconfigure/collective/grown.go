package collective

import (
	"cmp"
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// mostExchanged is the most GPUs among which whole vectors go along trees: n vectors of n shards come to each.
const mostExchanged = 256

// generalPlans returns the plans of a problem on topologies that are no circulants.
func generalPlans(p *Problem) []*Plan {
	var all []*Plan
	for _, t := range forests(p.GPUs, min(p.Degree, mostTreeDegree), p.Stop) {
		back := t.backwards()
		switch { // one direction alone goes either way, of which one may fill links more evenly
		case p.Op == collective.AllGather:
			all = append(all, along(p, nil, plan.Gather, t), along(p, nil, plan.Gather, back))
			continue
		case p.Op == collective.ReduceScatter:
			all = append(all, along(p, back, plan.Scatter, nil), along(p, t, plan.Scatter, nil))
			continue
		case p.GPUs <= mostExchanged:
			all = append(all, along(p, nil, plan.Exchange, t))
		}
		all = append(all, along(p, back, plan.Gather, t))
	}
	if p.Op == collective.AllReduce && p.GPUs <= mostTreeGPUs {
		for _, f := range folds(p.GPUs, p.Degree) {
			all = append(all, f.plan(p))
		}
	}
	return all
}

// along is the plan that scatters along trees back, and then gathers or exchanges along trees on; nil leaves one out.
func along(p *Problem, back *trees, kind plan.Kind, on *trees) *Plan {
	pl := &Plan{Problem: *p, Parts: partsOf(p)}
	if back != nil {
		pl.Phases = pl.lay(slices.Repeat([]plan.Kind{plan.Scatter}, len(back.legs)), back.legs, back, true)
		pl.Name = "scatter " + back.name
	}
	if on != nil {
		if pl.Name != "" {
			pl.Name += "; "
		}
		pl.Phases = append(pl.Phases, pl.lay(slices.Repeat([]plan.Kind{kind}, len(on.legs)), on.legs, on, false)...)
		pl.Name += kind.String() + " " + on.name
	}
	for i := 1; i < len(pl.Phases); i++ {
		pl.Phases[i].Reused = slices.Equal(pl.Phases[i].edges.Sorted(), pl.Phases[i-1].edges.Sorted())
	}
	return pl
}

// source makes what links carry, leg by leg and step by step.
type source interface {
	run(parts int32, stop halt.When, emit func(leg, step int, list []carried))
}

// carried is what a link of a graph brings in a step: parts from..to-1 of so many consecutive shards, or in an exchange
// of the vector of one GPU.
type carried struct{ link, shard, count, from, to int32 }

// lay returns phases whose links carry what a source makes, a leg each; back does so against its direction, on the
// converse topologies, the last first.
func (pl *Plan) lay(kinds []plan.Kind, legs []leg, of source, back bool) []Phase {
	p := &pl.Problem
	list := make([]Phase, len(legs))
	for i, l := range legs {
		open := kinds[i] == plan.Exchange && i+1 < len(legs) && kinds[i+1] == plan.Exchange
		list[i] = Phase{Phase: plan.Phase{Kind: kinds[i], Open: open, Longest: make([]int64, l.steps)}, source: of, course: i, back: back}
		list[i].edges = l.topology(back)
	}
	sizes := [2]*sizes{sizesOf(p, pl.Parts, false), sizesOf(p, pl.Parts, true)}
	load := make([]int64, p.GPUs*p.Degree)
	of.run(pl.Parts, p.Stop, func(leg, step int, of []carried) {
		z := sizes[0]
		if kinds[leg] == plan.Exchange {
			z = sizes[1]
		}
		clear(load)
		for _, c := range of {
			load[c.link] += z.of(c)
		}
		list[leg].Longest[step] = slices.Max(load)
	})
	if back {
		slices.Reverse(list)
		for i := range list {
			slices.Reverse(list[i].Longest)
		}
	}
	return list
}

// sizes are where the parts of shards begin: of the first rest ones, of the others, and of whole vectors.
type sizes struct {
	rest  int32
	begin [2][]int64
}

func sizesOf(p *Problem, parts int32, vectors bool) *sizes {
	n := int64(p.GPUs)
	z := &sizes{rest: int32(p.Bytes % n)}
	for from := range parts + 1 {
		long, short := plan.PieceStart(p.Bytes/n+1, from, parts), plan.PieceStart(p.Bytes/n, from, parts)
		if vectors {
			long = long*int64(z.rest) + short*(n-int64(z.rest))
			short = long
		}
		z.begin[0], z.begin[1] = append(z.begin[0], long), append(z.begin[1], short)
	}
	return z
}

func (z *sizes) of(c carried) int64 {
	long := int64(min(max(0, z.rest-c.shard), c.count))
	return long*(z.begin[0][c.to]-z.begin[0][c.from]) + (int64(c.count)-long)*(z.begin[1][c.to]-z.begin[1][c.from])
}

// transmissions writes out a phase that a source makes.
func (f *Phase) transmissions(pl *Plan, phase int) []plan.Message {
	n := int32(pl.Problem.GPUs)
	var all []plan.Message
	f.source.run(pl.Parts, pl.Problem.Stop, func(leg, step int, list []carried) {
		if leg != f.course {
			return
		}
		if f.back {
			step = len(f.Longest) - 1 - step
		}
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b carried) int { return cmp.Or(cmp.Compare(a.link, b.link), cmp.Compare(a.shard, b.shard)) })
		for i, c := range list {
			if i == 0 || c.link != list[i-1].link {
				e := f.edges[c.link]
				all = append(all, plan.Message{Phase: int32(phase), Step: int32(step), From: e.From, To: e.To})
			}
			shard, count, origin := c.shard, c.count, int32(-1)
			if f.Kind == plan.Exchange {
				shard, count, origin = 0, n, c.shard
			}
			x := &all[len(all)-1]
			for s := shard; s < shard+count; s++ {
				x.Pieces = append(x.Pieces, plan.Piece{Shard: s, From: c.from, To: c.to, Origin: origin})
			}
		}
	})
	slices.SortStableFunc(all, func(a, b plan.Message) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.From, b.From)) })
	return all
}
