package collective

import (
	"slices"

	"sim/policies/collective"
)

// recipe has the stages of a plan on circulants: scatter and sum partial data, from the outer to
// the inner subgroup; exchange whole vectors, outwards; and gather, outwards.
type recipe struct {
	scatter, exchange, gather []chainStage
	planCriteria
}

// recipes returns the recipes of an operation on the frontier of phases, steps and parts.
//
// A reduce-scatter is an all-gather with time and links reversed and sums instead of copies.
// Taken on the mirror image, it has the topologies of the all-gather, the last one first (Chan et
// al., "Collective communication: theory, practice, and experience", 2007).
//
// An all-reduce scatters down to the subgroup of order h, and gathers from there by the same
// stages. With different stages, the cost would be the mean of two all-reduces that each use one
// side's stages twice. In between, the GPUs of each coset exchange vectors, or scatter and gather
// by one more stage whose innermost topology serves both.
func (t *chainTable) recipes(op collective.Kind) []*recipe {
	var all []*recipe
	if op != collective.AllReduce {
		for _, c := range t.chains(1, t.n, false) {
			r := &recipe{planCriteria: c.planCriteria, gather: c.stages()}
			if op == collective.ReduceScatter {
				r.scatter = reverseStages(r.gather)
				r.gather = nil
			}
			all = append(all, r)
		}

		return all
	}

	for _, h := range t.divisors[1:] {
		for _, outer := range t.chains(h, t.n, false) {
			gather := outer.stages()
			twice := outer.plus(outer.planCriteria)

			// The first gather reuses the topology of the last scatter.
			for _, s := range t.stages[h] {
				whole := append([]chainStage{{s, 1}}, gather...)
				all = append(all, &recipe{
					planCriteria: twice.plus(planCriteria{2*len(s.phases) - 1, 2 * s.steps, 2 * s.parts}),
					scatter:      reverseStages(whole),
					gather:       whole,
				})
			}

			for _, inner := range t.chains(1, h, true) {
				all = append(all, &recipe{
					planCriteria: twice.plus(inner.planCriteria),
					scatter:      reverseStages(gather),
					exchange:     inner.stages(),
					gather:       gather,
				})
			}
		}
	}

	return frontier(all, func(r *recipe) planCriteria { return r.planCriteria })
}

// reverseStages returns the stages in reverse order.
func reverseStages(list []chainStage) []chainStage {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
