package scenarios

import (
	"sim/scenarios/assembly/plans"
	"sim/scenarios/schema"
)

// domain returns s, which is of a scale-up domain, as what plans it takes it.
func (s *Scenario) domain() *plans.Scenario {
	return &plans.Scenario{
		Name: s.Name, Title: s.Title, Seed: s.Seed, Fabric: s.Fabric.ScaleUp, Policy: s.Policy.Keys, Level: s.Engine.Level,
		Read:     func(file string) ([]byte, error) { return s.files.read(file, schema.MaxFileBytes) },
		Workload: plans.Workload{Kind: s.Workload.Kind, Trains: s.trains(), Spec: s.Workload.Spec, Exchange: s.Workload.Exchange},
	}
}
