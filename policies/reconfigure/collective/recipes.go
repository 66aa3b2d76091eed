package collective

import (
	"slices"

	"sim/policies/collective"
)

// recipe has the stages of a plan on circulants, in the order of time. newPlan makes the plan.
type recipe struct {
	scatter  []chainStage // scatter and sum partial data, from the outer to the inner subgroup
	exchange []chainStage // exchange whole vectors, from the inner to the outer subgroup
	gather   []chainStage // gather shards, from the inner to the outer subgroup

	planCriteria // phases, steps and parts of all stages
}

// recipes returns the recipes of an operation on the frontier of phases, steps and parts: no other
// recipe is at most as high in all three. A chain (chain.go) is a list of stages that gather along
// subgroups of the GPUs, each a part of the next one.
//
// A reduce-scatter is an all-gather with time and links reversed and sums instead of copies.
// Taken on the mirror image, it has the topologies of the all-gather, the last one first (Chan et
// al., "Collective communication: theory, practice, and experience", 2007).
//
// An all-reduce has three parts, for each order h > 1 of a subgroup:
//
//  1. Scatter: GPUs of different cosets of the subgroup of order h scatter and sum their vectors.
//     All GPUs of a coset then have partial sums of the same h shards.
//  2. Middle: the GPUs of each coset complete these sums. Either they exchange whole vectors of
//     h shards, or they scatter and gather by one more stage.
//  3. Gather: the stages of the scatter, in reverse order.
//
// The scatter and the gather have the same stages. If A and B are the costs of two chains, a
// scatter by one and a gather by the other costs A+B. This is at least the smaller of 2A and 2B.
func (t *chainTable) recipes(op collective.Kind) []*recipe {
	var all []*recipe
	if op != collective.AllReduce {
		for _, c := range t.gatherChains(1) { // from single GPUs to all GPUs
			r := &recipe{planCriteria: c.planCriteria, gather: c.stages()}
			if op == collective.ReduceScatter {
				r.scatter = reverseStages(r.gather)
				r.gather = nil
			}
			all = append(all, r)
		}

		return all
	}

	for _, h := range t.divisors[1:] { // h > 1; divisors[0] is 1
		// outer is a chain of parts 1 and 3, from the cosets of order h to all GPUs.
		for _, outer := range t.gatherChains(h) {
			gather := outer.stages()
			twice := outer.plus(outer.planCriteria)

			// Part 2 scatters and gathers by a stage s on h GPUs, so steps and parts count twice. Its
			// scatter ends with the topology with which its gather begins. These two phases count as
			// one.
			for _, s := range t.stages[h] {
				middle := planCriteria{
					phases: 2*len(s.phases) - 1,
					steps:  2 * s.steps,
					parts:  2 * s.parts,
				}
				whole := append([]chainStage{{stage: s, below: 1}}, gather...)
				all = append(all, &recipe{
					planCriteria: twice.plus(middle),
					scatter:      reverseStages(whole),
					gather:       whole,
				})
			}

			// Or part 2 exchanges whole vectors along a chain inner.
			for _, inner := range t.exchangeChains(h) {
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
