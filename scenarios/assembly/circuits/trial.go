package circuits

import (
	"context"
	"fmt"
	"sync"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/fabric/electrical"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// replay simulates decided topologies again under what was not planned for (docs/replay.md). It holds what all policies
// have in common and is safe for concurrent use.
type replay struct {
	in      *instance           // that the decisions are made on
	it      *training.Iteration // that is replayed: of all replicas where they become unlike
	optical *fabric.Optical     // with the routes of it.Graph
	seeds   []uint64            // by trial
	perturb training.Perturbation

	// Evaluators of it.Graph as planned, to be cloned: on circuits, on the ideal fabric, and with transfers that take
	// no time.
	circuits, ideal, compute *flow.Evaluator

	mu    sync.Mutex
	times []training.Times // by trial, on the same perturbed graph; nil until simulated
	gap   float64          // the largest of an ideal makespan to its bound
}

// newReplay prepares the trials of in's scenario.
func newReplay(ctx context.Context, in *instance) (*replay, error) {
	s, k := in.s, &in.s.Replay
	r := &replay{
		in: in, it: in.it, optical: in.optical, seeds: make([]uint64, k.Seeds),
		perturb: training.Perturbation{Task: k.ComputeJitter, Stage: k.StageJitter, Slow: k.SlowReplica, SlowReplica: k.SlowReplicaIndex},
	}
	// plays are numbered: more of them leave the first ones as they are
	draw := training.Stream(s.Seed, "replay")
	for i := range r.seeds {
		r.seeds[i] = draw.Uint64()
	}
	pods, err := r.build(ctx)
	if err != nil {
		return nil, err
	}
	if r.circuits, err = flow.NewEvaluator(r.it.Graph, r.optical.Network, r.optical.Routes, flow.MaxMin); err != nil {
		return nil, err
	}
	n, routes, err := electrical.Connect(pods, r.it.Graph)
	if err != nil {
		return nil, err
	}
	if r.ideal, err = flow.NewEvaluator(r.it.Graph, n, routes, flow.MaxMin); err != nil {
		return nil, err
	}
	none := &engine.Routes{Start: make([]int32, len(r.it.Graph.Tasks)+1)}
	r.compute, err = flow.NewEvaluator(r.it.Graph, n, none, flow.MaxMin)
	return r, err
}

// build makes what is replayed where it is not the instance's own: with another sequence length, and of all replicas if
// one cannot stand for them because each is perturbed in its own way.
func (r *replay) build(ctx context.Context) (*fabric.Pods, error) {
	s := r.in.s
	all := r.in.it.All || s.Replay.Unlike()
	if all == r.in.it.All && s.Replay.Sequence == s.Workload.Sequence {
		return r.in.pods, nil
	}
	spec, x, replicas := r.in.it.Spec, s.Extent(), []int{0}
	spec.Sequence = s.Replay.Sequence
	x.All = all // those that are not planned apart are identical: scale 1
	if all {
		replicas = make([]int, s.Workload.Replicas())
		for i := range replicas {
			replicas[i] = i
		}
	}
	var err error
	if r.it, err = training.Build(spec, x); err != nil {
		return nil, err
	}
	pods, err := r.it.Place(s.layout(replicas...))
	if err != nil {
		return nil, err
	}
	r.optical, err = pods.Connect(r.it.Graph)
	return pods, err
}

// spread returns the circuits, by bundle of what is replayed, of a decision: what was decided for one replica that
// stands for all holds for each.
func (r *replay) spread(circuits []int) ([]int, error) {
	of := make(map[[2]int32]int, len(circuits))
	for e, b := range r.in.optical.Bundles {
		of[[2]int32{b.A, b.B}] = circuits[e]
	}
	x := make([]int, len(r.optical.Bundles))
	for e, b := range r.optical.Bundles {
		at := [2]int32{b.A, b.B}
		if r.it.All && !r.in.it.All {
			pods := int32(r.in.s.PodsPerReplica())
			at = [2]int32{b.A % pods, b.B % pods}
		}
		if x[e] = of[at]; x[e] < 1 {
			return nil, fmt.Errorf("no circuits were decided from %s to %s", r.optical.Pods[b.A].Name, r.optical.Pods[b.B].Name)
		}
	}
	return x, nil
}

// light sets the circuits of e's next trials.
func (r *replay) light(e *flow.Evaluator, x []int) {
	for b, n := range x {
		for _, l := range r.optical.Bundles[b].Links {
			e.SetRate(l, float64(n)*float64(r.optical.Bundles[b].Rate))
		}
	}
}

// measure replays a decision and adds what came of it to its row. It returns the context's error when ctx is cancelled.
func (r *replay) measure(ctx context.Context, d *topology.Decision, row *result.Row, workers int) error {
	if err := r.references(ctx, workers); err != nil {
		return err
	}
	x, err := r.spread(d.Circuits)
	if err != nil {
		return err
	}
	if lost, lit := r.in.s.Replay.LostCircuits, litIn(x); lost > lit {
		return &tooDark{lost, lit}
	}
	ends, err := r.play(ctx, x, d.Service, workers)
	if err != nil {
		return err
	}
	r.record(row, ends)
	return nil
}

// tooDark is the error of a replay that is to lose more circuits than a policy lights.
type tooDark struct{ lost, lit int }

func (e *tooDark) Error() string {
	return fmt.Sprintf("%d circuits are more than the %d that are lit", e.lost, e.lit)
}

// unlit is the answer of a policy that lights too few circuits for its trials.
func (in *instance) unlit(name string, dark *tooDark) assembly.Answer {
	at := "replay.lost_circuits"
	return assembly.NoAnswer(name, at+": "+dark.Error(), func() schema.Diagnostic {
		return schema.Diagnostic{File: in.s.Name, Key: at, Problem: dark.Error(), Remedy: fmt.Sprintf("lose at most %d", dark.lit)}
	})
}

// stalled stands for the makespan of a trial that does not end.
const stalled = engine.Never

// play replays circuits x under a service and returns the makespans by trial.
func (r *replay) play(ctx context.Context, x []int, service flow.Service, workers int) ([]engine.Time, error) {
	k := &r.in.s.Replay
	base := r.circuits.Clone()
	base.SetContext(ctx)
	base.SetService(service)
	r.light(base, x)
	planned, ok := base.Makespan(engine.Never)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("what is to be replayed does not end even as planned")
	}
	if k.Priorities == "nominal" {
		if err := base.SetTails(base.Spans().Tail); err != nil {
			return nil, err
		}
	}
	ends := make([]engine.Time, len(r.seeds))
	err := each(ctx, len(ends), workers, func() func(int) error {
		e, d, dark := base.Clone(), make([]engine.Time, len(r.it.Graph.Tasks)), &darkness{r: r, lit: x}
		return func(i int) error {
			if err := r.shift(e, i, d); err != nil {
				return err
			}
			if err := dark.fall(e, r.seeds[i], planned); err != nil {
				return err
			}
			c, ok := e.Makespan(engine.Never)
			if !ok {
				c = stalled
			}
			ends[i] = c
			return nil
		}
	})
	return ends, err
}

// shift gives e the durations of trial i; d is room for them.
func (r *replay) shift(e *flow.Evaluator, i int, d []engine.Time) error {
	if err := r.it.Durations(r.perturb, r.seeds[i], d); err != nil {
		return fmt.Errorf("play %d: %w", i, err)
	}
	return e.SetDurations(d)
}

// litIn counts circuits.
func litIn(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}
