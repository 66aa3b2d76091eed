package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/flow"
	"sim/scenarios/assembly/composition"
	"sim/workloads/training"
)

// references simulates, for each seed, compute alone and the ideal fabric under the same perturbed compute times as the
// policies will, the ideal fabric as in the plan: by whichever service is best, knowing the times, and on circuits if
// those made the plan's reference. No circuit is lost there. It does so once.
func (r *trials) references(ctx context.Context, workers int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times != nil {
		return nil
	}
	planned := r.circuitEvaluator.Clone()
	if r.planSystem.referenceCircuits != nil {
		x, err := r.circuitsOf(r.planSystem.referenceCircuits)
		if err != nil {
			return err
		}
		planned.SetService(r.planSystem.Service)
		r.setCircuits(planned, x)
	}
	times, bounds := make([]training.ReferenceTimes, len(r.seeds)), make([]engine.Time, len(r.seeds))
	err := forEach(ctx, len(times), workers, func() func(int) error {
		compute, ideal, circuits := r.computeEvaluator.Clone(), r.idealEvaluator.Clone(), planned.Clone()
		evaluators := []*flow.Evaluator{compute, ideal, circuits}
		for _, e := range evaluators {
			e.SetContext(ctx)
		}
		d := make([]engine.Time, len(r.graph.Tasks))
		return func(i int) error {
			t := &times[i]
			for _, e := range evaluators {
				if err := r.setDurations(e, i, d); err != nil {
					return err
				}
			}
			t.Compute, _ = compute.Makespan(engine.Never)
			bounds[i] = ideal.Bound()
			t.Ideal, _, _ = composition.BestService(ideal, bounds[i])
			if r.planSystem.referenceCircuits != nil && !composition.MeetsBound(t.Ideal, bounds[i]) {
				if c, ok := circuits.Makespan(t.Ideal); ok {
					t.Ideal = c
				}
			}
			return nil
		}
	})
	if err != nil {
		return err
	}
	for i, t := range times {
		if bounds[i] > 0 {
			r.maxGap = max(r.maxGap, float64(t.Ideal-bounds[i])/float64(bounds[i]))
		}
	}
	r.times = times
	return nil
}

// addReference adds the references of the trials to those of the plan, once they were simulated.
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
	m["replay_makespan_mean_s"], m["replay_compute_makespan_mean_s"], m["replay_gap_max"] = mean(ideal), mean(compute), r.maxGap
}
