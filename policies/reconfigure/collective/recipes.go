package collective

import (
	"slices"

	"sim/policies/collective"
)

// recipe is a plan's stages: those by which the data is scattered and summed, from the outer to the inner; those that
// exchange whole vectors, from the inner to the outer; those that gather, from the inner to the outer.
type recipe struct {
	scatter, exchange, gather []chainStage
	cost
}

// recipes returns those of an operation that no other beats in phases, steps and parts alike.
//
// A reduce-scatter is an all-gather with its time and its links reversed and sums in the place of copies, on the mirror
// image, so that it has the same topologies as the all-gather, last first (Chan et al., "Collective communication:
// theory, practice, and experience", 2007). An all-reduce scatters down to the subgroup of order h and gathers from
// there; for h = 1 the topology of the first gather is that of the last scatter, and for h > 1 the GPUs of each coset
// exchange in between. It gathers by the stages by which it scatters: with others on one side the cost would be the
// mean of doing as on either side on both.
func (t *chainTable) recipes(op collective.Kind) []*recipe {
	var all []*recipe
	if op != collective.AllReduce {
		for _, c := range t.chains(1, t.n, false) {
			r := &recipe{cost: c.cost, gather: c.stages()}
			if op == collective.ReduceScatter {
				r.scatter, r.gather = reverseStages(r.gather), nil
			}
			all = append(all, r)
		}
		return all
	}
	for _, h := range t.divisors[1:] {
		for _, outer := range t.chains(h, t.n, false) {
			gather := outer.stages()
			twice := outer.plus(outer.cost)
			for _, s := range t.stages[h] { // the topology of the first gather is that of the last scatter
				whole := append([]chainStage{{s, 1}}, gather...)
				all = append(all, &recipe{cost: twice.plus(cost{2*len(s.phases) - 1, 2 * s.steps, 2 * s.parts}), scatter: reverseStages(whole), gather: whole})
			}
			for _, inner := range t.chains(1, h, true) {
				all = append(all, &recipe{cost: twice.plus(inner.cost), scatter: reverseStages(gather), exchange: inner.stages(), gather: gather})
			}
		}
	}
	return frontier(all, func(r *recipe) cost { return r.cost })
}

func reverseStages(list []chainStage) []chainStage {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
