package gather

import (
	"cmp"
	"slices"

	"sim/engine"
	"sim/policies/reconfigure/halt"
)

// Plans returns the plans of a problem that no other one found beats in reconfigurations, steps and bytes alike, and the
// static rings, by rising reconfigurations, steps and time on the links: for any latency and delay the cheapest is among
// them, of the families that the package knows. Errors: those of Problem.Check.
func Plans(p *Problem) (_ []*Plan, err error) {
	defer halt.Caught(&err)
	static, err := staticRings(p)
	if err != nil {
		return nil, err
	}
	longest := map[phaseKey][]int64{}
	var all []*Plan
	for _, r := range newTable(p.GPUs, p.Degree, p.parts(), p.Stop).recipes(p.Op) {
		all = append(all, newPlan(p, r, longest))
	}
	for _, pl := range generalPlans(p) {
		beats := func(o *Plan) bool {
			return o.Reconfigurations() <= pl.Reconfigurations() && o.Steps() <= pl.Steps() && o.CostAt(0) <= pl.CostAt(0)
		}
		if !slices.ContainsFunc(all, beats) {
			all = append(all, pl)
		}
	}
	all = append(all, static...)
	slices.SortStableFunc(all, func(a, b *Plan) int {
		return cmp.Or(cmp.Compare(a.Reconfigurations(), b.Reconfigurations()), cmp.Compare(a.Steps(), b.Steps()), cmp.Compare(a.CostAt(0), b.CostAt(0)))
	})
	return all, nil
}

// Cheapest returns the plan of the least cost at a reconfiguration delay, of equal ones the first; nil of none.
func Cheapest(plans []*Plan, delay engine.Time) *Plan {
	var best *Plan
	for _, pl := range plans {
		if best == nil || pl.CostAt(delay) < best.CostAt(delay) {
			best = pl
		}
	}
	return best
}

// Best returns the cheapest of Plans. It is never slower than StaticRing.
func Best(p *Problem) (*Plan, error) {
	plans, err := Plans(p)
	if err != nil {
		return nil, err
	}
	return Cheapest(plans, p.Delay), nil
}

// StaticRing returns the cheapest plan on rings that are set up once: one ring, k side by side with a share of the data
// each, half of them the other way round, or rings of k strides that take ceil((n-1)/k) steps.
func StaticRing(p *Problem) (*Plan, error) {
	list, err := staticRings(p)
	if err != nil {
		return nil, err
	}
	return Cheapest(list, p.Delay), nil
}

func staticRings(p *Problem) (_ []*Plan, err error) {
	defer halt.Caught(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	var list []*Plan
	for _, r := range rings(p.GPUs, p.Degree) {
		if pl := static(p, r.name, r.offsets); pl != nil {
			list = append(list, pl)
		}
	}
	return list, nil
}
