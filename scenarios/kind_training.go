package scenarios

import (
	"sim/engine/units"
	"sim/scenarios/schema"
)

// trainingPacket is TrafficPacket of a step.
type trainingPacket struct {
	Packet units.Bytes `key:"packet" doc:"size of a packet on the wire" default:"64KB" when:"engine.level=packet & unplanned"`
}

// trainingParts are the tables of the workload "training".
func trainingParts(s *Scenario) []schema.Part {
	return []schema.Part{{
		Path: "workload", Doc: "What is trained, and how it is spread. Give `model`, or describe another model in `[workload.architecture]`.",
		Specs:    []any{&s.Workload.WorkloadKind, &s.Workload.Spec, (*trainingPacket)(&s.Workload.TrafficPacket)},
		Defaults: func(int) []any { return []any{s.Workload.Spec.Defaults()} },
	}}
}
