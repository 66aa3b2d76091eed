package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
)

// simulateMoves simulates the trials of a decision whose circuits move, and returns the makespans by trial. Each is an
// iteration that begins as those that repeat do as planned, with what is being set up then, so that the change back is
// paid for.
func (r *trials) simulateMoves(ctx context.Context, d *topology.Decision, workers int) ([]engine.Time, error) {
	base := r.circuits.Clone()
	base.SetContext(ctx)
	base.SetService(d.Service)
	_, trial, err := r.moving(base.Clone(), d)
	if err != nil {
		return nil, err
	}
	if r.s.Replay.Priorities == "nominal" {
		r.provision(base, trial.Sequence().Most())
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
			run, ok := trial.Run(e)
			if ends[i] = run.Makespan; !ok {
				ends[i] = stalled
			}
			return ctx.Err()
		}
	})
	return ends, err
}

// moving returns the problem of what is simulated, and trials on it of a decision whose circuits move.
func (r *trials) moving(e *flow.Evaluator, d *topology.Decision) (*topology.Problem, *topology.Trial, error) {
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
		of[e] = at[r.planned(&b)]
	}
	return p, p.NewTrial(e, d.Moves, of, len(r.plan.optical.Bundles)), nil
}
