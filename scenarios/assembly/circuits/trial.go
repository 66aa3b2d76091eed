package circuits

import (
	"context"
	"fmt"
	"sync"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/electrical"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// trials simulate decided topologies again under what was not planned for (docs/replay.md). They hold what all policies
// have in common and are safe for concurrent use.
type trials struct {
	plan      *instance // that the decisions are made on
	*instance           // that is simulated, without a decision: of all replicas where they become different
	seeds     []uint64  // by trial
	perturb   training.Perturbation

	// Evaluators of the graph as planned, to be cloned: on circuits, on the ideal fabric, and with transfers that take
	// no time.
	circuits, ideal, compute *flow.Evaluator

	mu    sync.Mutex
	times []training.ReferenceTimes // by trial, on the same perturbed graph; nil until simulated
	gap   float64                   // the largest of an ideal makespan to its bound
}

// newTrials prepares the trials of in's scenario.
func newTrials(ctx context.Context, in *instance) (*trials, error) {
	s, k := in.s, &in.s.Replay
	r := &trials{
		plan: in, instance: in, seeds: make([]uint64, k.Seeds),
		perturb: training.Perturbation{TaskCV: k.ComputeJitter, StageCV: k.StageJitter, Slowdown: k.SlowReplica, SlowReplica: k.SlowReplicaIndex},
	}
	// trials are numbered: more of them leave the first ones as they are
	draw := training.RandomStream(s.Seed, "replay")
	for i := range r.seeds {
		r.seeds[i] = draw.Uint64()
	}
	var err error
	// another sequence length, or all replicas if one cannot stand for them because each is perturbed in its own way
	if all := in.it.All || k.MakesReplicasDiffer(); all != in.it.All || k.Sequence != s.Workload.Sequence {
		spec, x := in.it.Spec, s.Extent()
		spec.Sequence, x.All = k.Sequence, all // those that are not planned apart are identical: scale 1
		if r.instance, err = place(ctx, s, spec, x, s.layoutOf(all)); err != nil {
			return nil, err
		}
	}
	if r.circuits, err = flow.NewEvaluator(r.graph, r.optical.Network, r.optical.Routes, flow.MaxMin); err != nil {
		return nil, err
	}
	n, routes, err := electrical.Connect(r.pods, r.graph)
	if err != nil {
		return nil, err
	}
	if r.ideal, err = flow.NewEvaluator(r.graph, n, routes, flow.MaxMin); err != nil {
		return nil, err
	}
	r.compute, err = flow.NewEvaluator(r.graph, n, engine.NewRoutes(len(r.graph.Tasks), nil), flow.MaxMin)
	return r, err
}

// bundles returns, by bundle of what is simulated, that of the plan whose circuits it has: what was decided for one replica
// that stands for all holds for each.
func (r *trials) bundles() ([]int, error) {
	at := map[[2]int32]int{}
	for e, b := range r.plan.optical.Bundles {
		at[[2]int32{b.A, b.B}] = e
	}
	of := make([]int, len(r.optical.Bundles))
	for e, b := range r.optical.Bundles {
		a, c := b.A, b.B
		if r.it.All && !r.plan.it.All {
			pods := int32(r.s.PodsPerReplica())
			a, c = a%pods, c%pods
		}
		k, ok := at[[2]int32{a, c}]
		if !ok {
			return nil, fmt.Errorf("no circuits were decided from %s to %s", r.optical.Pods[b.A].Name, r.optical.Pods[b.B].Name)
		}
		of[e] = k
	}
	return of, nil
}

// spread returns the circuits, by bundle of what is simulated, of a decision.
func (r *trials) spread(circuits []int) ([]int, error) {
	of, err := r.bundles()
	if err != nil {
		return nil, err
	}
	x := make([]int, len(of))
	for e, k := range of {
		x[e] = circuits[k]
	}
	return x, nil
}

// provision sets the circuits of e's next trials.
func (r *trials) provision(e *flow.Evaluator, x []int) {
	for b, n := range x {
		for _, l := range r.optical.Bundles[b].Links {
			e.SetRate(l, float64(n)*r.optical.Rate(b))
		}
	}
}

// measure simulates the trials of a decision and adds what came of them to its row. Where it has fewer circuits than
// are to be lost the answer says so. It returns the context's error when ctx is cancelled.
func (r *trials) measure(ctx context.Context, d *topology.Decision, c *reaction, row *result.Row, workers int) (none *assembly.PolicyResult, err error) {
	if err := r.references(ctx, workers); err != nil {
		return nil, err
	}
	if d.Moves.Moving() {
		ends, err := r.simulateMoves(ctx, d, workers)
		if err == nil {
			r.record(row, ends)
		}
		return nil, err
	}
	x, err := r.spread(d.Circuits)
	if err != nil {
		return nil, err
	}
	if lost, all := r.s.Replay.LostCircuits, total(x); lost > all {
		const at = "replay.lost_circuits"
		why := fmt.Sprintf("%d circuits are more than the %d that are provisioned", lost, all)
		return assembly.RejectedResult(row.Policy, at+": "+why, func() schema.Diagnostic {
			return schema.Diagnostic{File: r.s.Name, Key: at, Problem: why, Remedy: fmt.Sprintf("lose at most %d", all)}
		}), nil
	}
	ends, after, err := r.simulate(ctx, x, d.Service, c, workers)
	if err != nil {
		return nil, err
	}
	r.record(row, ends)
	if c != nil {
		r.recordAfter(row, after)
	}
	return nil, nil
}

// stalled stands for the makespan of a trial that does not end.
const stalled = engine.Never

// simulate simulates the trials of circuits x under a service and returns the makespans by trial, and where a controller
// reacts what follows.
func (r *trials) simulate(ctx context.Context, x []int, service flow.Service, c *reaction, workers int) ([]engine.Time, *afterwards, error) {
	base := r.base(ctx, service)
	r.provision(base, x)
	planned := makespan(base)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if planned == stalled {
		return nil, nil, fmt.Errorf("trials of what does not end even as planned")
	}
	if err := r.prioritise(base); err != nil {
		return nil, nil, err
	}
	after, moved := &afterwards{ends: make([]engine.Time, len(r.seeds))}, make([]bool, len(r.seeds))
	ends, err := r.each(ctx, base, workers, func(e *flow.Evaluator, i int) (end engine.Time, err error) {
		then, did, err := r.lose(ctx, e, x, r.seeds[i], planned, c)
		if err != nil {
			return 0, err
		}
		if end = makespan(e); c == nil {
			return end, nil
		}
		moved[i] = did
		if err := e.SetChanges(nil); err != nil {
			return 0, err
		}
		r.provision(e, then)
		after.ends[i] = makespan(e)
		return end, nil
	})
	for _, did := range moved {
		if did {
			after.moved++
		}
	}
	return ends, after, err
}

// base returns what trials on circuits are cloned of, under a service.
func (r *trials) base(ctx context.Context, service flow.Service) *flow.Evaluator {
	base := r.circuits.Clone()
	base.SetContext(ctx)
	base.SetService(service)
	return base
}

// prioritise has e keep to the priorities of the plan, if trials do.
func (r *trials) prioritise(e *flow.Evaluator) error {
	if r.s.Replay.Priorities != "nominal" {
		return nil
	}
	return e.SetTails(e.Spans().Tail)
}

// each has run simulate every trial, on a clone of base with the trial's durations, and returns the makespans by trial.
func (r *trials) each(ctx context.Context, base *flow.Evaluator, workers int, run func(e *flow.Evaluator, i int) (engine.Time, error)) ([]engine.Time, error) {
	ends := make([]engine.Time, len(r.seeds))
	return ends, each(ctx, len(ends), workers, func() func(int) error {
		e, d := base.Clone(), make([]engine.Time, len(r.graph.Tasks))
		return func(i int) (err error) {
			if err = r.shift(e, i, d); err == nil {
				ends[i], err = run(e, i)
			}
			return err
		}
	})
}

// makespan returns when a trial ends, stalled if it does not.
func makespan(e *flow.Evaluator) engine.Time {
	end, ok := e.Makespan(engine.Never)
	if !ok {
		return stalled
	}
	return end
}

// shift gives e the durations of trial i; d is room for them.
func (r *trials) shift(e *flow.Evaluator, i int, d []engine.Time) error {
	if err := r.it.Durations(r.perturb, r.seeds[i], d); err != nil {
		return fmt.Errorf("trial %d: %w", i, err)
	}
	return e.SetDurations(d)
}

// total counts circuits.
func total(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}
