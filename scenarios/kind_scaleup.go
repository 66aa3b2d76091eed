// This file describes the fabric "scaleup" with switches that reconfigure during a
// collective. Planners choose the topologies. kind_fixed_topology.go describes switches
// that keep one topology.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"

	"sim/engine/units"
	"sim/policies/reconfigure"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/plans"
	"sim/scenarios/schema"
)

// vectorTags are the tags of MeanMessage for collectives other than all-to-alls.
var vectorTags = schema.Tags{
	"Message": `key:"message" doc:"size of the vector of each GPU; for an all-gather, of the result" default:"32MB"`,
}

// matrixKeys are the keys of a matrix. The fields have no names because applyMatrixAlias
// replaces these keys by the keys of an all-to-all before reading.
type matrixKeys struct {
	_ string      `key:"matrix_file" doc:"CSV file with one row of bytes per source GPU, instead of matrix"`
	_ [][]int     `key:"matrix" doc:"bytes from each GPU to each GPU, one row per source" max:"1125899906842624"`
	_ units.Bytes `key:"chunk" doc:"chunk size of messages; the last chunk of a message takes a full slot" default:"4MB"`
}

// planLevelTags are the tags of Engine for plans.
var planLevelTags = schema.Tags{
	"Level": `key:"level" doc:"level of the simulation: 'cost', delays and slots only; 'plan', verified plans; 'packet', plans on the packet engine; 'flow', fluid rates" default:"plan" choices:"cost|plan|packet|flow"`,
}

// planForm is the form of a collective whose topologies are planned.
func planForm(doc, keys string, specs func(s *Scenario) []any) *form {
	return &form{
		doc:              doc,
		acceptedCarriers: []carrier{planCarrier},
		parts: func(s *Scenario) []schema.Part {
			return []schema.Part{{Path: "workload", Doc: keys, Specs: specs(s)}}
		},
	}
}

// scaleUpKind describes the fabric "scaleup". Its switches reconfigure, or keep one
// topology.
func scaleUpKind() *kind {
	return &kind{name: "scaleup", sizeKey: "gpus", canBeInner: true, forms: []*form{
		{
			doc:       "A scale-up domain: GPUs joined by optical switches that reconfigure during a collective.",
			qualifier: "whose switches reconfigure",
			carrier:   planCarrier,
			policyKey: "planners",
			hardware: &hardware{
				build: func(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
					return plans.New(ctx, s.plansView(), workers)
				},
				describe:     func(s *Scenario) string { return s.plansView().Description() },
				noPlanReason: func(s *Scenario) (string, error) { return s.plansView().MissingPlanReason(), nil },
			},
			when:    (*Scenario).reconfigures,
			parts:   scaleUpParts,
			prepare: prepareImport,
			check:   checkScaleUp,
		},
		fixedTopologyForm(),
	}}
}

// scaleUpParts are the tables of fabric "scaleup" and of its planners.
func scaleUpParts(s *Scenario) []schema.Part {
	return []schema.Part{
		{
			Path: "fabric", Doc: "The domain.", Specs: []any{&s.Fabric.ScaleUp}, Defaults: func(int) []any {
				d := s.Fabric.ScaleUp
				switch w := &s.Workload; {
				// The number of GPUs follows from the work.
				case s.isTraining():
					d.GPUs = max(2, w.EP*w.ETP)
				case w.Exchange.Sizes == input.ListedSizes:
					d.GPUs = max(2, len(w.Exchange.Matrix))
				default:
					d.GPUs = 8
				}
				return []any{&d}
			},
		},
		{
			Path:  "policy",
			Doc:   "The planners to compare.",
			Specs: []any{&s.Policy.Keys},
			Defaults: func(int) []any {
				d := s.Policy.Keys

				// The default planners depend on the collective.
				d.Planners = plannersWhere(func(r *reconfigure.Planner) bool { return r.IsDefault })
				if s.plansNonAllToAll() {
					d.Planners = collectivePlanners()
				}
				return []any{&d}
			},
		},
		{
			Path:  "engine",
			Doc:   "The level of the simulation of plans.",
			Specs: []any{schema.RetaggedSpec{Spec: &s.Engine, Tags: planLevelTags}},
		},
	}
}

// plansNonAllToAll reports whether planners plan a collective other than an all-to-all.
func (s *Scenario) plansNonAllToAll() bool { return s.usesPlanners() && s.plansView().IsStepwise() }

// collectivePlanners returns the planners that serve collectives other than all-to-alls.
func collectivePlanners() []string {
	return plannersWhere(func(r *reconfigure.Planner) bool { return r.Collective != nil })
}

// plannersWhere returns the names of the planners that satisfy ok, in the order of the
// table.
func plannersWhere(ok func(*reconfigure.Planner) bool) (names []string) {
	for i := range reconfigure.Table {
		if r := &reconfigure.Table[i]; ok(r) {
			names = append(names, r.Name)
		}
	}
	return names
}
