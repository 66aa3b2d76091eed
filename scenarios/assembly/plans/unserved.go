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

// UnservedDiagnostics returns why none of the planners has a plan for s, a diagnostic each; nil where one has, or may have.
func UnservedDiagnostics(
	ctx context.Context, s *Scenario, planners []string, workers int,
) (schema.Diagnostics, error) {
	sys, err := New(ctx, s, workers)
	if err != nil {
		return nil, err
	}
	d, ok := sys.(*exchangeSystem)
	if step, training := sys.(*stepSystem); training {
		d, ok = step.exchangeSystem, true
	}
	if !ok {
		return nil, nil
	}
	var none schema.Diagnostics
	for _, name := range planners {
		_, err := d.bestCandidate(ctx, name)
		if !errors.Is(err, reconfigure.ErrUnserved) {
			return nil, nil // it has one, or a run will say what else is wrong
		}
		none = append(none, d.unservedDiagnostic(name, err))
	}

	return none, nil
}

// unservedDiagnostic is the fault of the input that a planner has no plan, for some reason, and no other has.
func (d *exchangeSystem) unservedDiagnostic(name string, why error) schema.Diagnostic {
	key, want := "policy.planners", "choose another planner, or add others, which then go on"
	switch {
	case reconfigure.ByName(name).Given:
		key, want = "policy."+name+".file", "name a file with a plan of it"
	case d.s.Policy.Reconfigurations > 0:
		i := slices.IndexFunc(reconfigure.Table,
			func(r reconfigure.Row) bool { return r.OneTopology && r.Collective != nil })
		key, want = "policy.reconfigurations",
			"allow more, or choose a planner of one topology, such as "+schema.Quote(reconfigure.Table[i].Name)
	}
	what := strings.TrimPrefix(why.Error(), reconfigure.ErrUnserved.Error()+": ")
	return schema.Diagnostic{File: d.s.Name, Key: key,
		Problem: name + " has no plan: " + what,
		Remedy:  want}
}

// MissingPlanReason says why no run of s has plans to write, "" where one has.
func (s *Scenario) MissingPlanReason() string {
	fluid := []string{string(baselines.ScheduleFluid), string(baselines.SchedulePaths)}
	switch p := &s.Policy; {
	case s.IsStepwise():
		return ""
	case s.Engine.Level == "cost":
		return "engine.level = \"cost\" writes no plans out; set \"plan\""
	case slices.Contains(fluid, p.Static) && !slices.ContainsFunc(p.Planners, func(name string) bool { return !reconfigure.ByName(name).OneTopology }):
		return fmt.Sprintf("policy.static.schedule = %q has no plan; set \"simulated\" or \"packed\"", p.Static)
	}
	return ""
}
