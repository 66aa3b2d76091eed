// This file simulates trials: further simulations of a decided topology under conditions
// that the plan does not cover. The other files trial_*.go draw lost circuits, move
// circuits, react to losses, and compute references and metrics of trials.

package circuits

import (
	"context"
	"fmt"
	"sync"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// trials simulates decisions again under conditions that the plan does not cover
// (docs/trials.md): jitter of compute times, a slow replica, another sequence length, or
// lost circuits. It is shared by all policies of a run and safe for concurrent use.
//
// Each trial has its own seed. All policies see the same perturbations in trial i, so
// that their results can be compared pairwise.
type trials struct {
	planSystem *circuitSystem // on which allocators decide
	// circuitSystem is simulated: its graph, its iteration and its circuits (optical). It
	// differs from planSystem if perturbations make replicas differ that the plan
	// represents by one replica, or if the sequence length changes.
	*circuitSystem
	seeds        []uint64 // indexed by trial
	perturbation training.Perturbation

	// Evaluators of the graph without perturbations. Trials use clones of them.
	// computeEvaluator has transfers that take no time.
	circuitEvaluator, idealEvaluator, computeEvaluator *flow.Evaluator

	mu sync.Mutex
	// times holds the reference times of each trial, with the same perturbations; nil
	// until they are simulated. maxGap is the maximum relative gap of an ideal makespan
	// to its lower bound.
	times  []training.ReferenceTimes
	maxGap float64
}

// newTrials prepares the trials of the scenario of sys.
func newTrials(ctx context.Context, sys *circuitSystem) (*trials, error) {
	s, k := sys.scenario, &sys.scenario.Trials
	r := &trials{
		planSystem:    sys,
		circuitSystem: sys,
		seeds:         make([]uint64, k.Count),
		perturbation: training.Perturbation{
			TaskCV:      k.ComputeJitter,
			StageCV:     k.StageJitter,
			Slowdown:    k.SlowReplica,
			SlowReplica: k.SlowReplicaIndex,
		},
	}
	// The seed of a trial does not depend on the number of trials.
	draw := training.RandomStream(s.Seed, "replay")
	for i := range r.seeds {
		r.seeds[i] = draw.Uint64()
	}

	var err error
	// Build another iteration only if the one of the plan does not serve.
	all := sys.iteration.All || k.MakesReplicasDiffer()
	if all != sys.iteration.All || k.Sequence != s.Workload.Sequence {
		spec, x := sys.iteration.Spec, s.BuildOptions()
		// Replicas that the plan represents by one are identical: their compute scale is
		// 1.
		spec.Sequence, x.All = k.Sequence, all
		r.circuitSystem, err = buildIteration(ctx, s, spec, x, s.jobLayout(all))
		if err != nil {
			return nil, err
		}
	}

	r.circuitEvaluator, err = flow.NewEvaluator(r.graph, r.optical.Network, r.optical.Routes, flow.MaxMin)
	if err != nil {
		return nil, err
	}
	// The ideal fabric and compute alone serve as references of the trials.
	n, routes, err := r.planSystem.scenario.connectIdeal(r.pods, r.graph)
	if err != nil {
		return nil, err
	}
	if r.idealEvaluator, err = flow.NewEvaluator(r.graph, n, routes, flow.MaxMin); err != nil {
		return nil, err
	}
	noRoutes := engine.NewRoutes(len(r.graph.Tasks), nil)
	r.computeEvaluator, err = flow.NewEvaluator(r.graph, n, noRoutes, flow.MaxMin)
	return r, err
}

// planBundles returns the bundle of the plan whose circuits a simulated bundle has,
// indexed by simulated bundle. If one replica of the plan stands for all, its decision
// holds for each replica.
func (r *trials) planBundles() ([]int, error) {
	planBundle := map[[2]int32]int{}
	for e, b := range r.planSystem.optical.Bundles {
		planBundle[[2]int32{b.A, b.B}] = e
	}

	bundles := make([]int, len(r.optical.Bundles))
	for e, b := range r.optical.Bundles {
		// Pods of all replicas map to the pods of the single replica.
		a, c := b.A, b.B
		if r.iteration.All && !r.planSystem.iteration.All {
			pods := int32(r.scenario.PodsPerReplica())
			a, c = a%pods, c%pods
		}
		k, ok := planBundle[[2]int32{a, c}]
		if !ok {
			return nil, fmt.Errorf("no circuits were decided from %s to %s",
				r.optical.Pods[b.A].Name, r.optical.Pods[b.B].Name)
		}
		bundles[e] = k
	}
	return bundles, nil
}

// circuitsOf returns the circuits of a decision, indexed by simulated bundle. The
// argument is indexed by bundle of the plan.
func (r *trials) circuitsOf(circuits []int) ([]int, error) {
	bundles, err := r.planBundles()
	if err != nil {
		return nil, err
	}
	// Several simulated bundles may have the circuits of one bundle of the plan.
	x := make([]int, len(bundles))
	for e, k := range bundles {
		x[e] = circuits[k]
	}
	return x, nil
}

// setCircuits sets the topology of the next simulations of e.
func (r *trials) setCircuits(e *flow.Evaluator, x []int) {
	for b, n := range x {
		for _, l := range r.optical.Bundles[b].Links {
			e.SetRate(l, float64(n)*r.optical.Rate(b))
		}
	}
}

// measure simulates the trials of a decision and adds their metrics to its row. If the
// decision has fewer circuits than a trial loses, it returns a result that rejects the
// policy. It returns the error of ctx if ctx is cancelled.
func (r *trials) measure(
	ctx context.Context, d *topology.Decision, controller *lossController, row *result.Row,
	workers int,
) (rejected *assembly.PolicyResult, err error) {
	if err := r.simulateReferences(ctx, workers); err != nil {
		return nil, err
	}
	// Circuits that move follow the events of each trial.
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
	// Reject the policy before any trial is simulated.
	if lost, all := r.scenario.Trials.LostCircuits, countCircuits(circuits); lost > all {
		const key = "trials.lost_circuits"
		reason := fmt.Sprintf("%d circuits are more than the %d that are provisioned", lost, all)
		diagnostic := func() schema.Diagnostic {
			return schema.Diagnostic{
				File:    r.scenario.Name,
				Key:     key,
				Problem: reason,
				Remedy:  fmt.Sprintf("lose at most %d", all),
			}
		}
		return assembly.RejectedResult(row.Policy, key+": "+reason, diagnostic), nil
	}

	ends, later, err := r.simulate(ctx, circuits, d.Service, controller, workers)
	if err != nil {
		return nil, err
	}
	r.addTrialMetrics(row, ends)
	if controller != nil {
		r.addLaterMetrics(row, later)
	}
	return nil, nil
}

// stalled replaces the makespan of a trial that does not end, because transfers have lost
// all their circuits.
const stalled = engine.Never

// simulate simulates all trials of a topology under a service and returns their
// makespans. With a controller it also returns the iterations after the reaction.
func (r *trials) simulate(
	ctx context.Context, circuits []int, service flow.Service, controller *lossController,
	workers int,
) ([]engine.Time, *laterIterations, error) {
	// The makespan without perturbations defines the times at which circuits are lost.
	base := r.baseEvaluator(ctx, service)
	r.setCircuits(base, circuits)
	planMakespan := makespan(base)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if planMakespan == stalled {
		return nil, nil, fmt.Errorf("no trials: the work does not end, even without perturbations")
	}
	if err := r.fixPriorities(base); err != nil {
		return nil, nil, err
	}

	later := &laterIterations{ends: make([]engine.Time, len(r.seeds))}
	moved := make([]bool, len(r.seeds))
	run := func(e *flow.Evaluator, i int) (end engine.Time, err error) {
		after, moves, err := r.applyLosses(ctx, e, circuits, r.seeds[i], planMakespan, controller)
		if err != nil {
			return 0, err
		}
		if end = makespan(e); controller == nil {
			return end, nil
		}

		// A further iteration on the new topology.
		moved[i] = moves
		var noChanges []engine.Change // the circuits have moved
		if err := e.SetChanges(noChanges); err != nil {
			return 0, err
		}
		r.setCircuits(e, after)
		later.ends[i] = makespan(e)
		return end, nil
	}
	ends, err := r.runTrials(ctx, base, workers, run)
	for _, moves := range moved {
		if moves {
			later.numMoved++
		}
	}
	return ends, later, err
}

// baseEvaluator returns the evaluator that trials on circuits clone, with the given
// service.
func (r *trials) baseEvaluator(ctx context.Context, service flow.Service) *flow.Evaluator {
	base := r.circuitEvaluator.Clone()
	base.SetContext(ctx)
	base.SetService(service)
	return base
}

// fixPriorities fixes the priorities of the plan in e, if trials use nominal priorities.
// Otherwise priorities follow from the perturbed durations of each trial. The priority of
// a transfer is its tail, the longest path from its end to the end of the graph.
func (r *trials) fixPriorities(e *flow.Evaluator) error {
	if r.scenario.Trials.Priorities != "nominal" {
		return nil
	}
	planTails := e.Spans().Tail
	return e.SetTails(planTails)
}

// runTrials calls run for every trial, with a clone of base that has the durations of the
// trial. It returns the makespans, indexed by trial.
func (r *trials) runTrials(
	ctx context.Context, base *flow.Evaluator, workers int,
	run func(e *flow.Evaluator, i int) (engine.Time, error),
) ([]engine.Time, error) {
	ends := make([]engine.Time, len(r.seeds))
	newWorker := func() func(int) error {
		// Each worker has its own evaluator and scratch memory.
		e, d := base.Clone(), make([]engine.Time, len(r.graph.Tasks))
		return func(i int) (err error) {
			if err = r.setDurations(e, i, d); err == nil {
				ends[i], err = run(e, i)
			}
			return err
		}
	}
	return ends, forEach(ctx, len(ends), workers, newWorker)
}

// noTimeLimit lets flow.Evaluator.Makespan simulate to the end, however late it is.
const noTimeLimit = engine.Never

// makespan returns the time at which a trial ends, or stalled if it does not end.
func makespan(e *flow.Evaluator) engine.Time {
	end, ok := e.Makespan(noTimeLimit)
	if !ok {
		return stalled
	}
	return end
}

// setDurations sets the durations of trial i in e. The slice d is scratch memory, indexed
// by task.
func (r *trials) setDurations(e *flow.Evaluator, i int, d []engine.Time) error {
	if err := r.iteration.Durations(r.perturbation, r.seeds[i], d); err != nil {
		return fmt.Errorf("trial %d: %w", i, err)
	}
	return e.SetDurations(d)
}

// countCircuits returns the number of circuits of a topology.
func countCircuits(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}
