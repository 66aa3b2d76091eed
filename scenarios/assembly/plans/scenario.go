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
	"sim/policies/reconfigure"
	"sim/policies/reconfigure/plan"
	"sim/workloads/training"
)

// Scenario is work on a scale-up domain, with what plans it.
type Scenario struct {
	Name, Title string
	Seed        uint64
	Workload    Workload
	Fabric      ScaleUp
	Policy      reconfigure.Keys
	Level       string                            // "cost", "plan", "packet" or "flow"
	Read        func(file string) ([]byte, error) // a file that is named
}

// Workload is a collective of some kind, or a training step with all-to-alls.
type Workload struct {
	Kind   string
	Trains bool // a training step
	training.Spec
	Exchange Exchange
}

// Gathers reports whether s is a collective other than an all-to-all.
func (s *Scenario) Gathers() bool {
	op, err := collective.ParseKind(s.Workload.Kind)
	return err == nil && slices.Contains(plan.Ops, op)
}
