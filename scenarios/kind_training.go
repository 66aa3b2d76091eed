package scenarios

import (
	"sim/engine/units"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
)

// trainingPacket is TrafficPacket of a step.
type trainingPacket struct {
	Packet units.Bytes `key:"packet" doc:"size of a packet on the wire" default:"64KB" when:"engine.level=packet & unplanned"`
}

// recommendationKind describes a step of a recommendation model.
func recommendationKind() *kind {
	return &kind{
		section: "workload", name: paths.Recommendation,
		doc: "One training step of a recommendation model: lookups, exchanges of embeddings and of their gradients, dense networks and the reduction of their gradients.",
		parts: func(s *Scenario) []schema.Part {
			w := &s.Workload
			return []schema.Part{{
				Path: "workload", Doc: "What is trained, on how many samples.", Specs: []any{&w.WorkloadKind, &w.Recommendation, (*trainingPacket)(&w.TrafficPacket)},
			}}
		},
		check: func(c *checker) {
			_, open := calls.Algorithms(c.s.Policy.Calls.Collective).Settled()
			c.forbid(c.OK("policy.collective") && len(open) > 0, "policy.collective",
				"%q is found by simulating the dimensions of parallelism of a training step, which this has not; name an algorithm", c.s.Policy.Calls.Collective)
		},
	}
}

// trainingParts are the tables of the workload "training".
func trainingParts(s *Scenario) []schema.Part {
	return []schema.Part{{
		Path: "workload", Doc: "What is trained, and how it is spread. Give `model`, or describe another model in `[workload.architecture]`.",
		Specs:    []any{&s.Workload.WorkloadKind, &s.Workload.Spec, (*trainingPacket)(&s.Workload.TrafficPacket)},
		Defaults: func(int) []any { return []any{s.Workload.Spec.Defaults()} },
	}}
}
