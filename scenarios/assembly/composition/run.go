// This file defines Run, a simulated job with its decision, and measures the time that
// collective calls expose. All such measures simulate a variant of the run.

package composition

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// HardwareInfo is the part of the hardware description that measures need.
type HardwareInfo struct {
	Tiers        []string                 // kinds of the tiers, innermost first; nil without tiers
	TierOf       func(resource int32) int // index into Tiers of a resource
	UsesDecision func(task int32) bool    // whether the decision affects a transfer; nil means all
	Copies       int                      // number of replicas that the job represents; 0 means 1
	// Multiplicity returns the number of identical transfers that a transfer stands for; nil
	// means 1.
	Multiplicity func(task int32) float64
	Ideal        *IdealReference // nil for traffic
}

// Run is a job with a decision and its simulation. All measures take a Run and use the
// fields and methods of its embedded parts.
type Run struct {
	Job          // Graph, Step, WithoutCalls, WithoutTransfers, ...
	Decision     // Network, Routes, SimulateMoves, ScaleRates, ...
	HardwareInfo // Tiers, TierOf, Ideal, ...

	Result *Result     // nil if messages were simulated in classes
	Level  string      // "flow" or "packet"
	End    engine.Time // end of the job at Level
}

// simulateVariant simulates a variant of the job under a variant of the decision, at the
// level of the run. Traces of variants do not record rates.
func (r *Run) simulateVariant(
	ctx context.Context, j *Job, d *Decision,
) (end engine.Time, ended bool, err error) {
	// Sources without any transfer send nothing.
	isTransfer := func(t engine.Task) bool { return t.Kind == engine.Transfer }
	if j.Sources != nil && !slices.ContainsFunc(j.Graph.Tasks, isTransfer) {
		return 0, true, nil
	}

	withoutRates := *d
	withoutRates.Flow.Rates = false
	out, err := Simulate(ctx, r.Level, j, &withoutRates)
	if err != nil {
		return 0, false, err
	}
	end, ended = out.End()
	return end, ended, nil
}

// ExposedTime returns by how many seconds some transfers lengthen work that ends at end,
// and at without if these transfers take no time.
//
// The result is at least 0. A transfer that takes no time could be held back until it
// would have ended, so the work need never end later without the time of its transfers.
// Links that share by a fixed rule may still let it end later.
func ExposedTime(end, without engine.Time) float64 { return max(0, end-without).Seconds() }

// MeasureExposedCalls adds the exposed time of the collective calls of each dimension: by
// how much earlier the iteration would end if these calls took no time, at the same level
// and under the same decision.
func MeasureExposedCalls(ctx context.Context, r *Run, row *result.Row) error {
	if r.Step == nil {
		return nil
	}
	for _, dim := range training.Dims {
		j, name := r.WithoutCalls(dim), dim.String()+"_exposed_s"
		switch {
		case j == nil:
			continue
		case r.SimulateMoves != nil:
			row.Labels[name] = "undefined: circuits move when transfers end, " +
				"and without these calls they would move at other times"
			continue
		}

		without, ended, err := r.simulateVariant(ctx, j, &r.Decision)
		if err != nil {
			return fmt.Errorf("without calls of %s: %w", dim, err)
		}
		if ended {
			row.Metrics[name] = ExposedTime(r.End, without)
		}
	}
	return nil
}
