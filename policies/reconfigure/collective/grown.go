package collective

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/plan"
	"sim/workloads/collective"
)

// mostExchanged is the most GPUs among which whole vectors go along trees: n vectors of n shards come to each.
const mostExchanged = 256

// generalPlans returns the plans of a problem on topologies that are no circulants.
func generalPlans(p *Problem) []*Plan {
	var all []*Plan
	for _, t := range forests(p.GPUs, min(p.Degree, mostTreeDegree), p.Stop) {
		switch {
		case p.Op == collective.AllGather:
			all = append(all, along(p, nil, plan.Gather, t))
			continue
		case p.Op == collective.ReduceScatter:
			all = append(all, along(p, t.backwards(), plan.Scatter, nil))
			continue
		case p.GPUs <= mostExchanged:
			all = append(all, along(p, nil, plan.Exchange, t))
		}
		all = append(all, along(p, t.backwards(), plan.Gather, t))
	}
	if p.Op == collective.AllReduce && p.GPUs <= mostTreeGPUs {
		for _, f := range folds(p.GPUs, p.Degree) {
			p.Stop.Check()
			all = append(all, f.plan(p))
		}
	}
	return all
}

// along is the plan that scatters along trees back, and then gathers or exchanges along trees on; nil leaves one out.
func along(p *Problem, back *trees, kind plan.Kind, on *trees) *Plan {
	pl := &Plan{Problem: *p, Parts: partsOf(p)}
	if back != nil {
		pl.Phases = pl.grow(plan.Scatter, back)
		pl.Name = "scatter " + back.name
	}
	if on != nil {
		if pl.Name != "" {
			pl.Name += "; "
		}
		pl.Phases = append(pl.Phases, pl.grow(kind, on)...)
		pl.Name += kind.String() + " " + on.name
	}
	for i := 1; i < len(pl.Phases); i++ {
		pl.Phases[i].Reused = slices.Equal(pl.Phases[i].edges.Sorted(), pl.Phases[i-1].edges.Sorted())
	}
	return pl
}

// grow returns the phases of trees: gathering and exchanging along them, scattering against them on the converse
// topologies, the last first.
func (pl *Plan) grow(kind plan.Kind, t *trees) []Phase {
	p := &pl.Problem
	list := make([]Phase, len(t.legs))
	for i, l := range t.legs {
		list[i] = Phase{Phase: plan.Phase{Kind: kind, Open: kind == plan.Exchange && i+1 < len(t.legs), Longest: make([]int64, l.steps)}, trees: t, course: i}
		list[i].edges = l.topology(kind == plan.Scatter)
	}
	sizes := sizesOf(p, pl.Parts, kind == plan.Exchange)
	load := make([]int64, p.GPUs*p.Degree)
	t.grow(pl.Parts, p.Stop, func(leg, step int, of []carried) {
		clear(load)
		for _, c := range of {
			load[c.link] += sizes.of(c.shard, c.from, c.to)
		}
		if kind == plan.Scatter {
			step = len(list[leg].Longest) - 1 - step
		}
		list[leg].Longest[step] = slices.Max(load)
	})
	if kind == plan.Scatter {
		slices.Reverse(list)
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
		long, short := plan.Cut(p.Bytes/n+1, from, parts), plan.Cut(p.Bytes/n, from, parts)
		if vectors {
			long = long*int64(z.rest) + short*(n-int64(z.rest))
			short = long
		}
		z.begin[0], z.begin[1] = append(z.begin[0], long), append(z.begin[1], short)
	}
	return z
}

func (z *sizes) of(shard, from, to int32) int64 {
	begin := z.begin[0]
	if shard >= z.rest {
		begin = z.begin[1]
	}
	return begin[to] - begin[from]
}

// transmissions writes out a phase along trees.
func (f *Phase) transmissions(pl *Plan, phase int) []plan.Message {
	n := int32(pl.Problem.GPUs)
	var all []plan.Message
	f.trees.grow(pl.Parts, pl.Problem.Stop, func(leg, step int, list []carried) {
		if leg != f.course {
			return
		}
		if f.Kind == plan.Scatter {
			step = len(f.Longest) - 1 - step
		}
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b carried) int { return cmp.Or(cmp.Compare(a.link, b.link), cmp.Compare(a.shard, b.shard)) })
		for at := 0; at < len(list); {
			end := at + 1
			for end < len(list) && list[end].link == list[at].link {
				end++
			}
			e := f.edges[list[at].link]
			x := plan.Message{Phase: int32(phase), Step: int32(step), From: e.From, To: e.To}
			for _, c := range list[at:end] {
				if f.Kind != plan.Exchange {
					x.Pieces = append(x.Pieces, plan.Piece{Shard: c.shard, From: c.from, To: c.to, Origin: -1})
					continue
				}
				for s := range n {
					x.Pieces = append(x.Pieces, plan.Piece{Shard: s, From: c.from, To: c.to, Origin: c.shard})
				}
			}
			all = append(all, x)
			at = end
		}
	})
	slices.SortStableFunc(all, func(a, b plan.Message) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.From, b.From)) })
	return all
}
