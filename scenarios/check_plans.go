// This file checks that a scale-up domain has at least one planner with a plan.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"context"
	"runtime"
	"slices"

	"sim/policies/reconfigure"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/plans"
)

// checkPlans checks that at least one of the planners has a plan. If no planner is certain
// to have one, all planners plan here; a run reuses these plans. Cells of a sweep skip the
// check, because their rows record planners without a plan. All keys must be valid.
func checkPlans(c *checker) {
	s := c.s

	// Planners with one topology always have a plan. Others have one if nothing limits the
	// number of reconfigurations.
	isCertain := func(name string) bool {
		r := reconfigure.ByName(name)
		return r.HasOneTopology || r.AlwaysHasPlan || !r.IsImported && s.Policy.Reconfigurations == 0
	}
	if c.isCell || slices.ContainsFunc(s.Policy.Planners, isCertain) {
		return
	}

	// Plan now, and report each planner without a plan.
	unserved, err := plans.UnservedDiagnostics(
		context.Background(), s.plansView(), s.Policy.Planners, runtime.GOMAXPROCS(0),
	)
	if err != nil {
		c.Add("workload.kind", assembly.ErrorText(err), "choose other traffic")
		return
	}

	for _, d := range unserved {
		c.conflictf(d.Key, "%s; %s", d.Problem, d.Remedy)
	}
}
