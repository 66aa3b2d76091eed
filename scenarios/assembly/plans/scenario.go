// Package plans assembles collectives, and training steps with them, on scale-up domains: GPUs joined by optical
// switches that reconfigure during a collective. What it leaves open is a plan of topologies and of what is sent over
// them, which planners make (policies/reconfigure). A plan is priced, written out and checked, and simulated, as the
// level asks.
//
// Scenarios that exist are sound: what their keys may be is checked in package plans.
package plans

import (
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/input"
)

// Scenario is an input whose fabric is a scale-up domain.
type Scenario input.Scenario

// IsStepwise reports whether s is a collective other than an all-to-all.
func (s *Scenario) IsStepwise() bool {
	op, err := collective.ParseKind(s.Workload.Kind)
	return err == nil && slices.Contains(plan.Ops, op)
}
