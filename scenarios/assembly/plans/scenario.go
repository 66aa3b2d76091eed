// Package plans assembles collectives, and training steps with them, on scale-up
// domains: GPUs joined by optical switches that reconfigure during a collective.
// The open decision is a plan, which planners make (policies/reconfigure): the
// topologies, and the transmissions over them.
//
// For each planner the package computes the cost of the plan in closed form and
// compares it with lower bounds. Depending on the level, it also builds and checks
// the plan, and simulates it (package simulate).
//
// There are three systems. exchangeSystem plans an all-to-all in slots.
// collectiveSystem plans another collective in steps. stepSystem is a training
// step with planned all-to-alls. Start reading with New and exchangeSystem. The
// scenarios are checked in package scenarios.
package plans

import (
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/input"
)

// Scenario is an input whose fabric is a scale-up domain.
type Scenario input.Scenario

// IsStepwise reports whether s is a collective with a plan in steps, that is, not
// an all-to-all.
func (s *Scenario) IsStepwise() bool {
	op, err := collective.ParseKind(s.Workload.Kind)
	return err == nil && slices.Contains(plan.Ops, op)
}
