package circuits

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/policies/topology"
)

// simulateMoves simulates the trials of a decision whose circuits move, and returns the makespans by trial. Each is an
// iteration that begins as those that repeat do as planned, with what is being set up then, so that the change back is
// paid for.
func (r *trials) simulateMoves(ctx context.Context, d *topology.Decision, workers int) ([]engine.Time, error) {
	base := r.circuits.Clone()
	base.SetContext(ctx)
	base.SetService(d.Service)
	_, c, err := r.controller(ctx, d)
	if err != nil {
		return nil, err
	}
	if r.s.Replay.Priorities == "nominal" {
		r.provision(base, c.Sequence().MaxCircuits())
		if err := base.SetTails(base.Spans().Tail); err != nil {
			return nil, err
		}
	}
	ends := make([]engine.Time, len(r.seeds))
	err = each(ctx, len(ends), workers, func() func(int) error {
		e, durations := base.Clone(), make([]engine.Time, len(r.graph.Tasks))
		return func(i int) error {
			if err := r.shift(e, i, durations); err != nil {
				return err
			}
			run, ok := c.Run(e)
			if ends[i] = run.Makespan; !ok {
				ends[i] = stalled
			}
			return ctx.Err()
		}
	})
	return ends, err
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
	p.Switching = r.s.Fabric.Moving()
	at := map[[2]int32]int{}
	for e, b := range r.plan.optical.Bundles {
		at[[2]int32{b.A, b.B}] = e
	}
	of := make([]int, len(r.optical.Bundles))
	for e, b := range r.optical.Bundles {
		k, ok := at[r.planned(&b)]
		if !ok {
			return nil, nil, fmt.Errorf("no circuits were decided from %s to %s", r.optical.Pods[b.A].Name, r.optical.Pods[b.B].Name)
		}
		of[e] = k
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
	run, _ := c.Planned()
	return p, c, r.agree(run.Makespan, d.Moves.Runs[last].Makespan)
}
