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
	planSystem     *circuitSystem // that the decisions are made on
	*circuitSystem                // that is simulated, without a decision: of all replicas where they become different
	seeds          []uint64       // by trial
	perturbation   training.Perturbation

	// Evaluators of the graph as planned, to be cloned: on circuits, on the ideal fabric, and with transfers that take
	// no time.
	circuitEvaluator, idealEvaluator, computeEvaluator *flow.Evaluator

	mu     sync.Mutex
	times  []training.ReferenceTimes // by trial, on the same perturbed graph; nil until simulated
	maxGap float64                   // the largest of an ideal makespan to its bound
}

// newTrials prepares the trials of in's scenario.
func newTrials(ctx context.Context, sys *circuitSystem) (*trials, error) {
	s, k := sys.scenario, &sys.scenario.Replay
	r := &trials{
		planSystem: sys, circuitSystem: sys, seeds: make([]uint64, k.Seeds),
		perturbation: training.Perturbation{TaskCV: k.ComputeJitter, StageCV: k.StageJitter, Slowdown: k.SlowReplica, SlowReplica: k.SlowReplicaIndex},
	}
	// trials are numbered: more of them leave the first ones as they are
	draw := training.RandomStream(s.Seed, "replay")
	for i := range r.seeds {
		r.seeds[i] = draw.Uint64()
	}
	var err error
	// another sequence length, or all replicas if one cannot stand for them because each is perturbed in its own way
	if all := sys.iteration.All || k.MakesReplicasDiffer(); all != sys.iteration.All || k.Sequence != s.Workload.Sequence {
		spec, x := sys.iteration.Spec, s.BuildOptions()
		spec.Sequence, x.All = k.Sequence, all // those that are not planned apart are identical: scale 1
		if r.circuitSystem, err = buildIteration(ctx, s, spec, x, s.jobLayout(all)); err != nil {
			return nil, err
		}
	}
	if r.circuitEvaluator, err = flow.NewEvaluator(r.graph, r.optical.Network, r.optical.Routes, flow.MaxMin); err != nil {
		return nil, err
	}
	n, routes, err := electrical.Connect(r.pods, r.graph)
	if err != nil {
		return nil, err
	}
	if r.idealEvaluator, err = flow.NewEvaluator(r.graph, n, routes, flow.MaxMin); err != nil {
		return nil, err
	}
	r.computeEvaluator, err = flow.NewEvaluator(r.graph, n, engine.NewRoutes(len(r.graph.Tasks), nil), flow.MaxMin)
	return r, err
}

// planBundles returns, by bundle of what is simulated, that of the plan whose circuits it has: what was decided for one replica
// that stands for all holds for each.
func (r *trials) planBundles() ([]int, error) {
	planBundle := map[[2]int32]int{}
	for e, b := range r.planSystem.optical.Bundles {
		planBundle[[2]int32{b.A, b.B}] = e
	}
	bundles := make([]int, len(r.optical.Bundles))
	for e, b := range r.optical.Bundles {
		a, c := b.A, b.B
		if r.iteration.All && !r.planSystem.iteration.All {
			pods := int32(r.scenario.PodsPerReplica())
			a, c = a%pods, c%pods
		}
		k, ok := planBundle[[2]int32{a, c}]
		if !ok {
			return nil, fmt.Errorf("no circuits were decided from %s to %s", r.optical.Pods[b.A].Name, r.optical.Pods[b.B].Name)
		}
		bundles[e] = k
	}
	return bundles, nil
}

// circuitsOf returns the circuits, by bundle of what is simulated, of a decision.
func (r *trials) circuitsOf(circuits []int) ([]int, error) {
	bundles, err := r.planBundles()
	if err != nil {
		return nil, err
	}
	x := make([]int, len(bundles))
	for e, k := range bundles {
		x[e] = circuits[k]
	}
	return x, nil
}

// setCircuits sets the circuits of e's next trials.
func (r *trials) setCircuits(e *flow.Evaluator, x []int) {
	for b, n := range x {
		for _, l := range r.optical.Bundles[b].Links {
			e.SetRate(l, float64(n)*r.optical.Rate(b))
		}
	}
}

// measure simulates the trials of a decision and adds what came of them to its row. Where it has fewer circuits than
// are to be lost the answer says so. It returns the context's error when ctx is cancelled.
func (r *trials) measure(ctx context.Context, d *topology.Decision, controller *lossController, row *result.Row, workers int) (rejected *assembly.PolicyResult, err error) {
	if err := r.references(ctx, workers); err != nil {
		return nil, err
	}
	if d.Moves.Moving() {
		ends, err := r.simulateMoves(ctx, d, workers)
		if err == nil {
			r.addTrialMetrics(row, ends)
		}
		return nil, err
	}
	circuits, err := r.circuitsOf(d.Circuits)
	if err != nil {
		return nil, err
	}
	if lost, all := r.scenario.Replay.LostCircuits, countCircuits(circuits); lost > all {
		const key = "replay.lost_circuits"
		reason := fmt.Sprintf("%d circuits are more than the %d that are provisioned", lost, all)
		return assembly.RejectedResult(row.Policy, key+": "+reason, func() schema.Diagnostic {
			return schema.Diagnostic{File: r.scenario.Name, Key: key, Problem: reason, Remedy: fmt.Sprintf("lose at most %d", all)}
		}), nil
	}
	ends, after, err := r.simulate(ctx, circuits, d.Service, controller, workers)
	if err != nil {
		return nil, err
	}
	r.addTrialMetrics(row, ends)
	if controller != nil {
		r.addLaterMetrics(row, after)
	}
	return nil, nil
}

// stalled stands for the makespan of a trial that does not end.
const stalled = engine.Never

// simulate simulates the trials of circuits x under a service and returns the makespans by trial, and where a controller
// reacts what follows.
func (r *trials) simulate(ctx context.Context, circuits []int, service flow.Service, controller *lossController, workers int) ([]engine.Time, *laterIterations, error) {
	base := r.baseEvaluator(ctx, service)
	r.setCircuits(base, circuits)
	planned := makespan(base)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if planned == stalled {
		return nil, nil, fmt.Errorf("trials of what does not end even as planned")
	}
	if err := r.fixPriorities(base); err != nil {
		return nil, nil, err
	}
	after, moved := &laterIterations{ends: make([]engine.Time, len(r.seeds))}, make([]bool, len(r.seeds))
	ends, err := r.runTrials(ctx, base, workers, func(e *flow.Evaluator, i int) (end engine.Time, err error) {
		remaining, moves, err := r.applyLosses(ctx, e, circuits, r.seeds[i], planned, controller)
		if err != nil {
			return 0, err
		}
		if end = makespan(e); controller == nil {
			return end, nil
		}
		moved[i] = moves
		if err := e.SetChanges(nil); err != nil {
			return 0, err
		}
		r.setCircuits(e, remaining)
		after.ends[i] = makespan(e)
		return end, nil
	})
	for _, moves := range moved {
		if moves {
			after.numMoved++
		}
	}
	return ends, after, err
}

// baseEvaluator returns what trials on circuits are cloned of, under a service.
func (r *trials) baseEvaluator(ctx context.Context, service flow.Service) *flow.Evaluator {
	base := r.circuitEvaluator.Clone()
	base.SetContext(ctx)
	base.SetService(service)
	return base
}

// fixPriorities has e keep to the priorities of the plan, if trials do.
func (r *trials) fixPriorities(e *flow.Evaluator) error {
	if r.scenario.Replay.Priorities != "nominal" {
		return nil
	}
	return e.SetTails(e.Spans().Tail)
}

// runTrials has run simulate every trial, on a clone of base with the trial's durations, and returns the makespans by trial.
func (r *trials) runTrials(ctx context.Context, base *flow.Evaluator, workers int, run func(e *flow.Evaluator, i int) (engine.Time, error)) ([]engine.Time, error) {
	ends := make([]engine.Time, len(r.seeds))
	return ends, forEach(ctx, len(ends), workers, func() func(int) error {
		e, d := base.Clone(), make([]engine.Time, len(r.graph.Tasks))
		return func(i int) (err error) {
			if err = r.setDurations(e, i, d); err == nil {
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

// setDurations gives e the durations of trial i; d is room for them.
func (r *trials) setDurations(e *flow.Evaluator, i int, d []engine.Time) error {
	if err := r.iteration.Durations(r.perturbation, r.seeds[i], d); err != nil {
		return fmt.Errorf("trial %d: %w", i, err)
	}
	return e.SetDurations(d)
}

// countCircuits counts circuits.
func countCircuits(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}
