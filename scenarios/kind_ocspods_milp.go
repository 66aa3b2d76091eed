package scenarios

import (
	"sim/engine"
	"sim/policies/milp"
	"sim/policies/topology"
)

// MILPOptions are the options of the allocators that have a MILP solver decide.
type MILPOptions struct {
	Solver    string      // "auto", "highs", "cbc" or "none"
	TimeLimit engine.Time // wall-clock of the solver; 0 is none
	Gap       float64     // between incumbent and bound, at which the solver stops
	Threads   int
	Form      string      // "strengthened" or "paper"
	Model     string      // "variable-interval" or "fixed-step"
	Step      engine.Time // of the fixed-step model
	Intervals int         // K of the variable-interval model; 0 is as many as are needed
	Anchors   bool        // prune by Alg. 1's anchors
	Export    string      // directory for the models; "" is none
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

// milpRows are the allocators that have a solver decide.
var milpRows = []string{"delta-joint-milp", "delta-joint-milp-hotstart", "delta-topo-milp", "delta-topo-milp-hotstart"}

func milpTable() table {
	of := func(f func(o *MILPOptions) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Policy.MILP) }
	}
	fixedOnly := &condition{
		keys: []string{"policy.milp.model"},
		ok:   func(s *Scenario) bool { return s.Policy.MILP.Model == fixedStep },
		by:   func(s *Scenario) string { return "model " + quote(s.Policy.MILP.Model) },
		want: `set model = "fixed-step"`,
	}
	variableOnly := &condition{
		keys: []string{"policy.milp.model"},
		ok:   func(s *Scenario) bool { return s.Policy.MILP.Model != fixedStep },
		by:   fixedOnly.by,
		want: `set model = "variable-interval"`,
	}
	return table{
		path: "policy.milp", doc: "The allocators that hand the paper's model to a MILP solver on the PATH.", when: allocator(milpRows...),
		keys: []key{
			defaultsTo("auto", key{
				name: "solver", doc: "which solver; `none` decides by what is known without one, for `export`",
				choices: func() []string { return append(append([]string{"auto"}, milp.Solvers()...), topology.NoSolver) },
				field:   of(func(o *MILPOptions) any { return &o.Solver }),
			}),
			defaultsTo(engine.Time(600)*engine.Second, key{
				name: "time_limit", doc: "wall-clock after which the solver is stopped; \"0s\" is none",
				field: of(func(o *MILPOptions) any { return &o.TimeLimit }),
			}),
			defaultsTo(1e-4, key{
				name: "gap", doc: "relative gap between solution and bound at which a solver may stop", max: 1,
				field: of(func(o *MILPOptions) any { return &o.Gap }),
			}),
			defaultsTo(1, key{
				name: "threads", doc: "of a solver; with one its runs repeat", min: 1, max: 1024,
				field: of(func(o *MILPOptions) any { return &o.Threads }),
			}),
			defaultsTo("strengthened", key{
				name: "form", doc: "whether rows are added that every schedule satisfies", choices: fixed("strengthened", "paper"), when: variableOnly,
				field: of(func(o *MILPOptions) any { return &o.Form }),
			}),
			defaultsTo("variable-interval", key{
				name: "model", doc: "the paper's own model, or that of its App. A", choices: fixed("variable-interval", fixedStep),
				field: of(func(o *MILPOptions) any { return &o.Model }),
			}),
			defaultsTo(engine.Millisecond, key{
				name: "step", doc: "length of a slice", above: true, when: fixedOnly,
				field: of(func(o *MILPOptions) any { return &o.Step }),
			}),
			defaultsTo(0, key{
				name: "intervals", doc: "intervals that time may be cut into; 0 is as many as the baseline's play and the best known have", max: 1e6, when: variableOnly,
				field: of(func(o *MILPOptions) any { return &o.Intervals }),
			}),
			defaultsTo(false, key{
				name: "anchors", doc: "prune by the anchors of Alg. 1, which may exclude the optimum", when: variableOnly,
				field: of(func(o *MILPOptions) any { return &o.Anchors }),
			}),
			defaultsTo("", key{
				name: "export", doc: "directory to write each model to as MPS and LP; \"\" is none",
				field: of(func(o *MILPOptions) any { return &o.Export }),
			}),
		},
	}
}

// Ready fails, with a fault that says what to install, where a policy needs a
// program that is not there.
func (s *Scenario) Ready() error {
	var faults Faults
	for _, name := range s.Policy.Allocators {
		if err := topology.Available(name, s.Policy.MILP.topology()); err != nil {
			faults = append(faults, Fault{File: s.Name, Key: "policy.allocators", What: quote(name) + " cannot run", Want: err.Error()})
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}
