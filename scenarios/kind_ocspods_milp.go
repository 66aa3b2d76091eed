package scenarios

import (
	"sim/engine"
	"sim/policies/topology"
	"sim/scenarios/schema"
)

// MILPOptions are the options of the allocators that have a MILP solver decide.
type MILPOptions struct {
	Solver    string      `key:"solver" doc:"which solver; 'none' decides by what is known without one, for 'export'" default:"auto" choices:"@milp-solvers"`
	TimeLimit engine.Time `key:"time_limit" doc:"wall-clock after which the solver is stopped; \"0s\" is none" default:"10min"`
	Gap       float64     `key:"gap" doc:"relative gap between solution and bound at which a solver may stop" default:"0.0001" max:"1"`
	Threads   int         `key:"threads" doc:"of a solver; with one its runs repeat" default:"1" min:"1" max:"1024"`
	Form      string      `key:"form" doc:"whether rows are added that every schedule satisfies" default:"strengthened" choices:"strengthened|paper" when:"model=variable-interval"`
	Model     string      `key:"model" doc:"the paper's own model, or that of its App. A" default:"variable-interval" choices:"variable-interval|fixed-step"`
	Step      engine.Time `key:"step" doc:"length of a slice" default:"1ms" above:"0" when:"model=fixed-step"`
	Intervals int         `key:"intervals" doc:"intervals that time may be cut into; 0 is as many as the baseline's play and the best known have" default:"0" max:"1000000" when:"model=variable-interval"`
	Anchors   bool        `key:"anchors" doc:"prune by the anchors of Alg. 1, which may exclude the optimum" default:"false" when:"model=variable-interval"`
	Export    string      `key:"export" doc:"directory to write each model to as MPS and LP; \"\" is none" default:""`
}

// fixedStep is the model of App. A.
const fixedStep = "fixed-step"

// topology returns the options as the allocators take them.
func (o *MILPOptions) topology() topology.MILPOptions {
	t := topology.MILPOptions{
		Solver: o.Solver, TimeLimit: wall(o.TimeLimit), Gap: o.Gap, Threads: o.Threads, Paper: o.Form == "paper",
		Intervals: o.Intervals, Anchors: o.Anchors, Export: o.Export,
	}
	if o.Solver == "auto" {
		t.Solver = ""
	}
	if o.Model == fixedStep {
		t.Step = o.Step
	}
	return t
}

// Ready fails, with a fault that says what to install, where a policy needs a
// program that is not there.
func (s *Scenario) Ready() error {
	var faults Diagnostics
	for _, name := range s.Policy.Allocators {
		if err := topology.Available(name, s.Policy.MILP.topology()); err != nil {
			faults = append(faults, Diagnostic{File: s.Name, Key: "policy.allocators", Problem: schema.Quote(name) + " cannot run", Remedy: err.Error()})
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}
