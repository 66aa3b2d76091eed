// This file states why planners have no plan, in diagnostics of scenarios.

package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sim/policies/reconfigure"
	"sim/policies/reconfigure/baselines"
	"sim/scenarios/schema"
)

// UnservedDiagnostics returns one diagnostic per planner if no planner has a plan
// for s. It returns nil if a planner has one, or may have one.
func UnservedDiagnostics(
	ctx context.Context, s *Scenario, planners []string, workers int,
) (schema.Diagnostics, error) {
	sys, err := New(ctx, s, workers)
	if err != nil {
		return nil, err
	}

	// The all-to-all, alone or in a training step.
	exchange, ok := sys.(*exchangeSystem)
	if step, isStep := sys.(*stepSystem); isStep {
		exchange, ok = step.exchangeSystem, true
	}
	if !ok { // planners of other collectives always have a plan
		return nil, nil
	}

	// Ask each planner until one may have a plan.
	var diagnostics schema.Diagnostics
	for _, name := range planners {
		_, err := exchange.bestCandidate(ctx, name)
		if !errors.Is(err, reconfigure.ErrUnserved) {
			return nil, nil // there is a plan, or the run will report another error
		}
		diagnostics = append(diagnostics, exchange.unservedDiagnostic(name, err))
	}

	return diagnostics, nil
}

// unservedDiagnostic returns the diagnostic of a scenario for which a planner has
// no plan because of err. It applies if no other planner has one.
func (d *exchangeSystem) unservedDiagnostic(name string, err error) schema.Diagnostic {
	key, remedy := "policy.planners", "choose another planner, or add others, which then go on"

	// Name the key that most likely excludes all plans.
	switch {
	case reconfigure.ByName(name).IsImported:
		key, remedy = "policy."+name+".file", "name a file with a plan of it"
	case d.s.Policy.Reconfigurations > 0:
		i := slices.IndexFunc(reconfigure.Table, func(r reconfigure.Planner) bool {
			return r.HasOneTopology && r.Collective != nil
		})
		key = "policy.reconfigurations"
		remedy = "allow more, or choose a planner of one topology, such as " +
			schema.Quote(reconfigure.Table[i].Name)
	}

	reason := strings.TrimPrefix(err.Error(), reconfigure.ErrUnserved.Error()+": ")
	return schema.Diagnostic{
		File: d.s.Name, Key: key, Problem: name + " has no plan: " + reason, Remedy: remedy,
	}
}

// MissingPlanReason returns why no run of s has plans to export, or "" if some run
// has.
func (s *Scenario) MissingPlanReason() string {
	fluidSchedules := []string{string(baselines.ScheduleFluid), string(baselines.SchedulePaths)}
	reconfigures := func(name string) bool { return !reconfigure.ByName(name).HasOneTopology }
	switch p := &s.Policy; {
	case s.IsStepwise():
		return ""
	case s.Engine.Level == "cost":
		return "engine.level = \"cost\" writes no plans out; set \"plan\""
	case slices.Contains(fluidSchedules, p.Static) && !slices.ContainsFunc(p.Planners, reconfigures):
		return fmt.Sprintf("policy.static.schedule = %q has no plan; set \"simulated\" or \"packed\"", p.Static)
	}
	return ""
}
