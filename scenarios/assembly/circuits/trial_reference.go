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

// references simulates the reference of each trial: compute alone and the ideal fabric,
// with the perturbed compute times of the trial but without lost circuits. It runs once
// for all policies.
//
// As in the plan, the ideal fabric uses the best of several services, which may depend on
// the perturbed times. If a topology is the reference of the plan, it is also simulated,
// and the faster of the two counts.
func (r *trials) references(ctx context.Context, workers int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times != nil {
		return nil
	}

	onCircuits := r.circuitEvaluator.Clone() // on the topology of the reference, if there is one
	hasCircuits := r.planSystem.referenceCircuits != nil
	if hasCircuits {
		x, err := r.circuitsOf(r.planSystem.referenceCircuits)
		if err != nil {
			return err
		}
		onCircuits.SetService(r.planSystem.Service)
		r.setCircuits(onCircuits, x)
	}

	times := make([]training.ReferenceTimes, len(r.seeds))
	bounds := make([]engine.Time, len(r.seeds)) // on the ideal makespan
	newWorker := func() func(int) error {
		compute, ideal := r.computeEvaluator.Clone(), r.idealEvaluator.Clone()
		circuits := onCircuits.Clone()
		evaluators := []*flow.Evaluator{compute, ideal, circuits}
		for _, e := range evaluators {
			e.SetContext(ctx)
		}
		d := make([]engine.Time, len(r.graph.Tasks))
		return func(i int) error {
			for _, e := range evaluators {
				if err := r.setDurations(e, i, d); err != nil {
					return err
				}
			}
			t := &times[i]
			// Compute alone always ends. The ideal makespan is the best of several
			// services.
			t.Compute, _ = compute.Makespan(engine.Never)
			bounds[i] = ideal.Bound()
			t.Ideal, _, _ = composition.BestService(ideal, bounds[i])
			if hasCircuits && !composition.MeetsBound(t.Ideal, bounds[i]) {
				if c, ok := circuits.Makespan(t.Ideal); ok {
					t.Ideal = c
				}
			}
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
