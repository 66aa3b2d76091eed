// This file computes the reference times of trials: compute alone and the ideal fabric,
// under the perturbations of each trial.

package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/flow"
	"sim/scenarios/assembly/composition"
	"sim/workloads/training"
)

// simulateReferences sets r.times, the reference times of each trial, and r.maxGap, the
// maximum gap of an ideal makespan to its lower bound. Only the first call simulates; the
// policies of a run share the result.
//
// The reference of a trial is compute alone and the ideal fabric, with the perturbed
// compute times of the trial but without lost circuits.
func (r *trials) simulateReferences(ctx context.Context, workers int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times != nil {
		return nil
	}

	// If a topology is the reference of the plan, trials also simulate it.
	var onCircuits *flow.Evaluator
	if planCircuits := r.planSystem.referenceCircuits; planCircuits != nil {
		circuits, err := r.circuitsOf(planCircuits)
		if err != nil {
			return err
		}
		onCircuits = r.circuitEvaluator.Clone()
		onCircuits.SetService(r.planSystem.Service)
		r.setCircuits(onCircuits, circuits)
	}

	times := make([]training.ReferenceTimes, len(r.seeds)) // indexed by trial
	bounds := make([]engine.Time, len(r.seeds))            // lower bounds on the ideal makespans
	newWorker := func() func(trial int) error {
		// Each goroutine has its own evaluators and scratch memory.
		z := &referenceEvaluator{
			compute: r.computeEvaluator.Clone(),
			ideal:   r.idealEvaluator.Clone(),
		}
		evaluators := []*flow.Evaluator{z.compute, z.ideal}
		if onCircuits != nil {
			z.onCircuits = onCircuits.Clone()
			evaluators = append(evaluators, z.onCircuits)
		}
		durations := make([]engine.Time, len(r.graph.Tasks))
		return func(trial int) error {
			for _, e := range evaluators {
				e.SetContext(ctx)
				if err := r.setDurations(e, trial, durations); err != nil {
					return err
				}
			}
			times[trial], bounds[trial] = z.evaluate()
			return nil
		}
	}
	if err := forEach(ctx, len(times), workers, newWorker); err != nil {
		return err
	}

	for i, t := range times {
		if bounds[i] > 0 {
			gap := float64(t.Ideal-bounds[i]) / float64(bounds[i])
			r.maxGap = max(r.maxGap, gap)
		}
	}
	r.times = times
	return nil
}

// referenceEvaluator computes the reference times of one trial after the other.
type referenceEvaluator struct {
	compute *flow.Evaluator // the graph with transfers that take no time
	ideal   *flow.Evaluator // the graph on the ideal fabric
	// onCircuits is the graph on the topology that is the reference of the plan; nil if
	// the ideal fabric is.
	onCircuits *flow.Evaluator
}

// evaluate returns the reference times with the durations that were set in the
// evaluators, and a lower bound on the makespan of the ideal fabric.
//
// As in the plan, the ideal fabric uses the best of several services, which may depend on
// the perturbed times. A topology that is the reference of the plan may be faster than
// all of them; its makespan then counts.
func (z *referenceEvaluator) evaluate() (t training.ReferenceTimes, bound engine.Time) {
	t.Compute = makespan(z.compute)
	bound = z.ideal.Bound()
	const unlimitedWork = 0
	t.Ideal, _, _ = composition.BestService(z.ideal, bound, unlimitedWork)
	if z.onCircuits != nil && !composition.MeetsBound(t.Ideal, bound) {
		if end, isFaster := z.onCircuits.Makespan(t.Ideal); isFaster {
			t.Ideal = end
		}
	}
	return t, bound
}

// addReference adds the mean reference times of the trials to the metrics of the
// reference, if the trials were simulated.
func (r *trials) addReference(m map[string]float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.times) == 0 {
		return
	}

	ideal, compute := make([]float64, len(r.times)), make([]float64, len(r.times))
	for i, t := range r.times {
		ideal[i], compute[i] = t.Ideal.Seconds(), t.Compute.Seconds()
	}
	m["trial_makespan_mean_s"] = mean(ideal)
	m["trial_compute_makespan_mean_s"] = mean(compute)
	m["trial_gap_max"] = r.maxGap
}
