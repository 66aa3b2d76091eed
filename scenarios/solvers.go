// This file checks that the solvers that allocators need are installed.

package scenarios

import (
	"sim/policies/topology"
	"sim/scenarios/schema"
)

// CheckSolvers fails if an allocator needs a solver that is not installed. The diagnostic
// names the solver to install.
func (s *Scenario) CheckSolvers() error {
	var faults Diagnostics

	// Only MILP allocators depend on a program.
	for _, name := range s.Policy.Allocators {
		row, err := topology.Find(name)
		if err == nil {
			err = row.Available(&s.Policy.Allocation.Settings)
		}
		if err != nil {
			faults = append(
				faults,
				Diagnostic{
					File:    s.Name,
					Key:     "policy.allocators",
					Problem: schema.Quote(name) + " cannot run",
					Remedy:  err.Error(),
				},
			)
		}
	}

	if len(faults) > 0 {
		return faults
	}
	return nil
}
