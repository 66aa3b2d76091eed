package scenarios

import (
	"context"
	"runtime"
	"slices"

	"sim/policies/reconfigure"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/plans"
)

// checkPlans holds that a planner of those listed has a plan. Where some may have none they plan, as they will in a
// run, which finds their plans made. Not so of a cell. All keys must be sound.
func checkPlans(c *checker) {
	s := c.s
	sure := func(name string) bool {
		r := reconfigure.ByName(name)
		return r.OneTopology || r.Sure || !r.Given && s.Policy.Reconfigurations == 0
	}
	if c.isCell || slices.ContainsFunc(s.Policy.Planners, sure) {
		return
	}
	none, err := plans.UnservedDiagnostics(context.Background(), s.plansView(), s.Policy.Planners, runtime.GOMAXPROCS(0))
	if err != nil {
		c.Add("workload.kind", assembly.ErrorText(err), "choose other traffic")
		return
	}
	for _, d := range none {
		c.conflictf(d.Key, "%s; %s", d.Problem, d.Remedy)
	}
}
