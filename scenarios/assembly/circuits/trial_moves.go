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
		r.provision(base, c.Sequence().Most())
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

// controller returns the problem of what is simulated, and the controller on it of a decision whose circuits move. It
// fails where the iteration takes longer or shorter there than planned, at the sequence length of the plan.
func (r *trials) controller(ctx context.Context, d *topology.Decision) (*topology.Problem, *topology.Controller, error) {
	p, err := topology.NewProblem(r.graph, r.optical)
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
	it, err := r.plan.problem.Iterations(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	last := d.Moves.Last()
	c, err := it.Controller(ctx, p, d, of, last)
	if err != nil {
		return nil, nil, err
	}
	if run, _ := c.Planned(); r.s.Replay.Sequence == r.s.Workload.Sequence {
		if err := r.agree(run.Makespan, d.Moves.Runs[last].Makespan); err != nil {
			return nil, nil, err
		}
	}
	return p, c, nil
}
