// This file simulates trials of decisions whose circuits move during an iteration.

package circuits

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
)

// simulateMoves simulates the trials of a decision whose circuits move and returns their
// makespans. Each trial is one of the iterations that repeat. It starts in their planned
// state, in which circuits may still be down. The change back to the first topology is
// thus part of its time.
func (r *trials) simulateMoves(
	ctx context.Context, d *topology.Decision, workers int,
) ([]engine.Time, error) {
	base := r.baseEvaluator(ctx, d.Service)
	_, c, err := r.controller(ctx, d)
	if err != nil {
		return nil, err
	}
	if r.scenario.Trials.Priorities == "nominal" {
		// Nominal tails assume that every bundle has its maximum number of circuits.
		r.setCircuits(base, c.Sequence().MaxCircuits())
	}
	if err := r.fixPriorities(base); err != nil {
		return nil, err
	}

	// The controller moves circuits after the events that trigger them in the plan.
	run := func(e *flow.Evaluator, _ int) (engine.Time, error) {
		run, ok := c.Run(e)
		if !ok {
			run.Makespan = stalled
		}
		return run.Makespan, ctx.Err()
	}
	return r.runTrials(ctx, base, workers, run)
}

// controller returns the controller of a decision whose circuits move, for the simulated
// graph. It also returns the problem of that graph. Both have the sequence length of the
// plan, because the order of events in the plan defines when circuits move. It fails if
// the graph does not end when the plan says.
func (r *trials) controller(
	ctx context.Context, d *topology.Decision,
) (*topology.Problem, *topology.Controller, error) {
	plan := r.circuitSystem // at the sequence length of the plan
	if s := r.scenario; s.Trials.Sequence != s.Workload.Sequence {
		x := s.BuildOptions()
		x.All = r.iteration.All
		spec := r.planSystem.iteration.Spec
		var err error
		if plan, err = buildIteration(ctx, s, spec, x, s.jobLayout(x.All)); err != nil {
			return nil, nil, err
		}
		if len(plan.graph.Tasks) != len(r.graph.Tasks) {
			return nil, nil, fmt.Errorf("the step has %d tasks as planned, and %d at another sequence "+
				"length", len(plan.graph.Tasks), len(r.graph.Tasks))
		}
	}

	p, err := topology.NewProblem(plan.graph, plan.optical)
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
	run, _ := c.PlanRun()
	return p, c, r.checkReduction(run.Makespan, d.Moves.Runs[last].Makespan)
}
