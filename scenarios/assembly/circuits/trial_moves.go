package circuits

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
)

// simulateMoves simulates the trials of a decision whose circuits move, and returns the makespans by trial. Each is an
// iteration that begins as those that repeat do as planned, with what is being set up then, so that the change back is
// paid for.
func (r *trials) simulateMoves(ctx context.Context, d *topology.Decision, workers int) ([]engine.Time, error) {
	base := r.baseEvaluator(ctx, d.Service)
	_, c, err := r.controller(ctx, d)
	if err != nil {
		return nil, err
	}
	if r.scenario.Replay.Priorities == "nominal" {
		r.setCircuits(base, c.Sequence().MaxCircuits())
	}
	if err := r.fixPriorities(base); err != nil {
		return nil, err
	}
	return r.runTrials(ctx, base, workers, func(e *flow.Evaluator, _ int) (engine.Time, error) {
		run, ok := c.Run(e)
		if !ok {
			run.Makespan = stalled
		}
		return run.Makespan, ctx.Err()
	})
}

// controller returns the problem of what is simulated, at the sequence length of the plan, and the controller on it of a
// decision whose circuits move. It fails where an iteration takes longer or shorter there than planned.
func (r *trials) controller(ctx context.Context, d *topology.Decision) (*topology.Problem, *topology.Controller, error) {
	simulated := r.circuitSystem // at the sequence length of the plan
	if s := r.scenario; s.Replay.Sequence != s.Workload.Sequence {
		x := s.BuildOptions()
		x.All = r.iteration.All
		var err error
		if simulated, err = buildIteration(ctx, s, r.planSystem.iteration.Spec, x, s.jobLayout(x.All)); err != nil {
			return nil, nil, err
		}
		if len(simulated.graph.Tasks) != len(r.graph.Tasks) {
			return nil, nil, fmt.Errorf("the step has %d tasks as planned, and %d at another sequence length", len(simulated.graph.Tasks), len(r.graph.Tasks))
		}
	}
	p, err := topology.NewProblem(simulated.graph, simulated.optical)
	if err != nil {
		return nil, nil, err
	}
	p.Switching = r.scenario.Fabric.SwitchingModel()
	bundles, err := r.planBundles()
	if err != nil {
		return nil, nil, err
	}
	it, err := r.planSystem.problem.PlanIterations(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	last := d.Moves.Last()
	c, err := it.Controller(ctx, p, d, bundles, last)
	if err != nil {
		return nil, nil, err
	}
	run, _ := c.PlannedRun()
	return p, c, r.checkReduction(run.Makespan, d.Moves.Runs[last].Makespan)
}
