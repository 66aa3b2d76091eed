package collective

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Candidates returns the known plans of a problem that are on the frontier of reconfigurations,
// steps and bytes, and the static rings. They are sorted by reconfigurations, steps and time on
// the links. The plan with the lowest cost is among them for any latency and delay. Errors: from
// Collective.Check, and cancellation.ErrCancelled.
func Candidates(p *Problem) ([]plan.Candidate, error) {
	return planCandidates(frontierPlans(p))
}

// StaticRings returns the plans on rings that are set up once: one ring, in which the k links
// share the data; half of the links in each direction; or rings of k strides, which take
// ceil((n-1)/k) steps. Errors: as for Candidates.
func StaticRings(p *Problem) ([]plan.Candidate, error) {
	return planCandidates(staticRingPlans(p))
}

// planCandidates converts plans to candidates.
func planCandidates(plans []*Plan, err error) ([]plan.Candidate, error) {
	list := make([]plan.Candidate, len(plans))
	for i, pl := range plans {
		list[i] = pl.candidate()
	}
	return list, err
}

// frontierPlans returns the plans of Candidates.
func frontierPlans(p *Problem) (_ []*Plan, err error) {
	defer cancellation.Recover(&err)
	static, err := staticRingPlans(p)
	if err != nil {
		return nil, err
	}
	longest := map[phaseKey][]int64{} // cache of newPlan: bytes of the longest message, by step
	var all []*Plan
	for _, r := range newChainTable(p.GPUs, p.Degree, shardParts(p), p.Stop).recipes(p.Op) {
		all = append(all, newPlan(p, r, longest))
	}

	for _, pl := range graphPlans(p) {
		beats := func(o *Plan) bool {
			return o.Reconfigurations() <= pl.Reconfigurations() && o.Steps() <= pl.Steps() &&
				o.Time() <= pl.Time()
		}
		if !slices.ContainsFunc(all, beats) {
			all = append(all, pl)
		}
	}

	all = append(all, static...)
	slices.SortStableFunc(all, func(a, b *Plan) int {
		return cmp.Or(cmp.Compare(a.Reconfigurations(), b.Reconfigurations()),
			cmp.Compare(a.Steps(), b.Steps()), cmp.Compare(a.Time(), b.Time()))
	})
	return all, nil
}

// staticRingPlans returns the plans of StaticRings.
func staticRingPlans(p *Problem) (_ []*Plan, err error) {
	defer cancellation.Recover(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	var list []*Plan
	for _, r := range ringSets(p.GPUs, p.Degree) {
		if pl := staticPlan(p, r.name, r.offsets); pl != nil {
			list = append(list, pl)
		}
	}
	return list, nil
}
