package collective

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Candidates returns the plans of a problem that no other one found beats in reconfigurations, steps and bytes alike,
// and the static rings, by rising reconfigurations, steps and time on the links: for any latency and delay the cheapest
// is among them, of the families that the package knows. Errors: those of Collective.Check, and halt.ErrHalted.
func Candidates(p *Problem) ([]plan.Candidate, error) { return planCandidates(frontierPlans(p)) }

// StaticRings returns the plans on rings that are set up once: one ring, k side by side with a share of the data each,
// half of them the other way round, or rings of k strides that take ceil((n-1)/k) steps. Errors: as Candidates.
func StaticRings(p *Problem) ([]plan.Candidate, error) { return planCandidates(staticRingPlans(p)) }

func planCandidates(made []*Plan, err error) ([]plan.Candidate, error) {
	list := make([]plan.Candidate, len(made))
	for i, pl := range made {
		list[i] = pl.candidate()
	}
	return list, err
}

func frontierPlans(p *Problem) (_ []*Plan, err error) {
	defer halt.Caught(&err)
	static, err := staticRingPlans(p)
	if err != nil {
		return nil, err
	}
	longest := map[phaseKey][]int64{}
	var all []*Plan
	for _, r := range newChainTable(p.GPUs, p.Degree, shardParts(p), p.Stop).recipes(p.Op) {
		all = append(all, newPlan(p, r, longest))
	}
	for _, pl := range graphPlans(p) {
		beats := func(o *Plan) bool {
			return o.Reconfigurations() <= pl.Reconfigurations() && o.Steps() <= pl.Steps() && o.Time() <= pl.Time()
		}
		if !slices.ContainsFunc(all, beats) {
			all = append(all, pl)
		}
	}
	all = append(all, static...)
	slices.SortStableFunc(all, func(a, b *Plan) int {
		return cmp.Or(cmp.Compare(a.Reconfigurations(), b.Reconfigurations()), cmp.Compare(a.Steps(), b.Steps()), cmp.Compare(a.Time(), b.Time()))
	})
	return all, nil
}

func staticRingPlans(p *Problem) (_ []*Plan, err error) {
	defer halt.Caught(&err)
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
