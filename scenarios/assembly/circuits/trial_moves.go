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
	base := r.base(ctx, d.Service)
	_, c, err := r.controller(ctx, d)
	if err != nil {
		return nil, err
	}
	if r.s.Replay.Priorities == "nominal" {
		r.provision(base, c.Sequence().MaxCircuits())
	}
	if err := r.prioritise(base); err != nil {
		return nil, err
	}
	return r.each(ctx, base, workers, func(e *flow.Evaluator, _ int) (engine.Time, error) {
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
	same := r.instance // at the sequence length of the plan
	if s := r.s; s.Replay.Sequence != s.Workload.Sequence {
		x := s.Extent()
		x.All = r.it.All
		var err error
		if same, err = place(ctx, s, r.plan.it.Spec, x, s.layoutOf(x.All)); err != nil {
			return nil, nil, err
		}
		if len(same.graph.Tasks) != len(r.graph.Tasks) {
			return nil, nil, fmt.Errorf("the step has %d tasks as planned, and %d at another sequence length", len(same.graph.Tasks), len(r.graph.Tasks))
		}
	}
	p, err := topology.NewProblem(same.graph, same.optical)
	if err != nil {
		return nil, nil, err
	}
	p.Switching = r.s.Fabric.SwitchingModel()
	of, err := r.bundles()
	if err != nil {
		return nil, nil, err
	}
	it, err := r.plan.problem.PlanIterations(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	last := d.Moves.Last()
	c, err := it.Controller(ctx, p, d, of, last)
	if err != nil {
		return nil, nil, err
	}
	run, _ := c.PlannedRun()
	return p, c, r.agree(run.Makespan, d.Moves.Runs[last].Makespan)
}
