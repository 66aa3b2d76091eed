package scenarios

import (
	"fmt"
	"slices"

	"sim/policies/reconfigure"
	"sim/policies/reconfigure/baselines"
	"sim/scenarios/schema"
)

// NoTrace says why no run of s has timelines, "" where it has.
func (s *Scenario) NoTrace() string {
	if s.routes() || s.plans() {
		return fmt.Sprintf("fabric.kind = %q has no timelines; training on fabric.kind = \"ocs-pods\" has", s.Fabric.Kind)
	}
	if s.podTraffic() {
		return fmt.Sprintf("workload.kind = %q has no timelines; workload.kind = \"training\" has", s.Workload.Kind)
	}
	return ""
}

// NoRoutes says why no run of s has routes to write, "" where it has.
func (s *Scenario) NoRoutes() string {
	if s.routes() {
		return ""
	}
	return fmt.Sprintf("fabric.kind = %q has no routers; fabric.kind = \"torus\" and \"graph\" have", s.Fabric.Kind)
}

// NoPlan says why no run of s can have a plan, "" where it can.
func (s *Scenario) NoPlan() (string, error) {
	switch {
	case s.routes():
		return "routers plan nothing; --routes-out DIR writes what they decide", nil
	case s.plans():
		return s.noSchedule(), nil
	}
	return s.pods().NoPlan()
}

// noSchedule is NoPlan of a collective on a scale-up domain.
func (s *Scenario) noSchedule() string {
	fluid := []string{string(baselines.Fluid), string(baselines.Paths)}
	switch p := &s.Policy.Planning; {
	case s.gathers():
		return ""
	case s.Engine.Level == "cost":
		return "engine.level = \"cost\" writes no plans out; set \"plan\""
	case slices.Contains(fluid, p.Static) && !slices.ContainsFunc(p.Planners, func(name string) bool { return !slices.Contains(reconfigure.OneTopology, name) }):
		return fmt.Sprintf("policy.static.schedule = %q has no plan; set \"simulated\" or \"packed\"", p.Static)
	}
	return ""
}

// OutputDir is a directory that policies write to while they decide.
type OutputDir struct {
	Key  string // that names it
	Path string
}

// OutputDirs returns the directories that the policies of s write to.
func (s *Scenario) OutputDirs() []OutputDir {
	var list []OutputDir
	for _, d := range []OutputDir{
		{"policy.milp.export", s.Policy.MILP.Export}, {"policy.route-optimised.cache", s.Policy.Optimised.Cache},
	} {
		if d.Path != "" {
			list = append(list, d)
		}
	}
	return list
}

// Fault says that the directory cannot serve a scenario or study of that name.
func (d OutputDir) Fault(name, why string) error {
	return Diagnostics{{File: name, Key: d.Key, Problem: schema.Quote(d.Path) + " " + why, Remedy: "name a directory that can be written"}}
}

// Inputs returns the files that the scenario at path is read from: its own, those it is based on, and those
// that its keys name.
func Inputs(path string, overrides []string) []string {
	name, data, fault := open(path)
	if fault != nil {
		return nil
	}
	c, faults := parse(name, data, overrides)
	if faults != nil {
		return []string{name}
	}
	_, _ = c.finish() // whoever runs it is told of faults
	for _, l := range c.Layers {
		c.inputs = append(c.inputs, l.File)
	}
	return c.inputs
}
