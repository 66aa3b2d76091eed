// This file measures the tiers of a machine: the load of each tier, by how much the tier
// lengthens the work, and the effect of links with twice the rate.

package composition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/scenarios/result"
)

// tierMetrics holds the measures of one tier in a run.
type tierMetrics struct {
	bytes      float64     // bytes of the tier's transfers
	busy       engine.Time // time with at least one transfer in progress
	endWithout engine.Time // end of the run if the tier takes no time
	endDoubled engine.Time // end of the run if the links of the tier have twice the rate
}

// addTo adds the metrics of tier i to the row of a run that ends at end. The trace behind
// t.busy ends at traceEnd.
func (t *tierMetrics) addTo(row *result.Row, i int, end, traceEnd engine.Time) {
	m, name := row.Metrics, fmt.Sprintf("tier%d_", i+1)
	m[name+"bytes"] = t.bytes
	m[name+"busy"] = t.busy.Seconds() / traceEnd.Seconds()
	m[name+"exposed_s"] = ExposedTime(end, t.endWithout)
	m[name+"doubled_s"] = t.endDoubled.Seconds()
}

// addTransfers sets the bytes and the busy time of the selected transfers. If selects is
// nil, all transfers are selected. The function multiplicity returns the number of transfers
// that a transfer stands for; nil means 1.
func (t *tierMetrics) addTransfers(
	g *engine.Graph, trace *engine.Trace, selects func(task int32) bool,
	multiplicity func(task int32) float64,
) {
	var spans [][2]engine.Time // start and end of each transfer
	for i := range g.Tasks {
		if g.Tasks[i].Kind == engine.Transfer && (selects == nil || selects(int32(i))) {
			transfers := 1.0
			if multiplicity != nil {
				transfers = multiplicity(int32(i))
			}
			t.bytes += transfers * float64(g.Tasks[i].Bytes)
			spans = append(spans, [2]engine.Time{trace.Start[i], trace.End[i]})
		}
	}

	// The busy time is the length of the union of all spans.
	slices.SortFunc(spans, func(a, b [2]engine.Time) int { return cmp.Compare(a[0], b[0]) })
	busyUntil := engine.Time(0)
	for _, span := range spans {
		t.busy += max(0, span[1]-max(span[0], busyUntil))
		busyUntil = max(busyUntil, span[1])
	}
}

// MeasureTiers adds the measures of each tier: its bytes and its busy time, by how much
// it lengthens the work, and the time of the work if its links had twice the rate.
// Variants are simulated at the same level and under the same decision. If transfers were
// simulated in classes, a simulation at level flow provides their times.
func MeasureTiers(ctx context.Context, r *Run, row *result.Row) error {
	// A run without tiers or without a task graph has no such measures. If circuits move,
	// they depend on the transfers of all tiers, so that tiers cannot be separated.
	movesCircuits := r.Decision.SimulateMoves != nil
	if r.HardwareInfo.Tiers == nil || r.Job.Graph == nil || movesCircuits {
		return nil
	}
	routes, err := r.Routes(r.Graph)
	if err != nil {
		return err
	}

	end, simulated := r.End, r.Result
	if simulated == nil || simulated.Trace == nil {
		if simulated, err = Simulate(ctx, "flow", &r.Job, &r.Decision); err != nil {
			return err
		}
		if r.Level == "flow" {
			end = simulated.Trace.Makespan
		}
	}

	for i := range r.Tiers {
		// A transfer belongs to the tier of the first resource that it uses.
		onTier := func(resource int32) bool { return r.TierOf(resource) == i }
		usesTier := func(task int32) bool {
			uses := routes.Of(task)
			return len(uses) > 0 && onTier(uses[0].Resource)
		}
		var measured tierMetrics
		measured.addTransfers(r.Graph, simulated.Trace, usesTier, r.Multiplicity)

		without, unloaded := r.WithoutTransfers(usesTier), r.withoutLoads(onTier)
		if measured.endWithout, _, err = r.simulateVariant(ctx, without, unloaded); err != nil {
			return err
		}
		doubled := r.ScaleRates(2, onTier)
		if measured.endDoubled, _, err = r.simulateVariant(ctx, &r.Job, doubled); err != nil {
			return err
		}
		measured.addTo(row, i, end, simulated.Trace.Makespan)
	}
	row.Labels[result.TierKinds] = strings.Join(r.Tiers, ", ")
	return nil
}

// InnerTier is a tier whose collective calls lengthen the passes of a training step.
type InnerTier struct {
	Kind        string
	Bytes       float64     // bytes of its calls per iteration
	Busy        engine.Time // time of its calls per iteration
	WithoutTier PassExtension
	DoubledRate PassExtension // extension if the links of the tier have twice the rate
}

// MeasureInnerTiers is like MeasureTiers for a training step whose passes inner tiers
// lengthen. The tiers together lengthen passes by extension. The string outer is the kind
// of the outermost tier.
func MeasureInnerTiers(
	ctx context.Context, r *Run, row *result.Row, inner []InnerTier, extension PassExtension,
	outer string,
) error {
	if r.SimulateMoves != nil && r.Level == "packet" {
		for i := range len(inner) + 1 {
			row.Labels[fmt.Sprintf("tier%d_exposed_s", i+1)] =
				"undefined: circuits move with the packets of the step"
		}
		return nil
	}

	end := r.Result.Trace.Makespan
	simulate := func(extension PassExtension, d *Decision) (engine.Time, error) {
		j, err := r.WithPassExtension(ctx, extension)
		if err != nil {
			return 0, err
		}
		end, _, err := r.simulateVariant(ctx, j, d)
		return end, err
	}

	var kinds []string
	for i, tier := range inner {
		measured := tierMetrics{bytes: tier.Bytes, busy: tier.Busy}
		var err error
		if measured.endWithout, err = simulate(tier.WithoutTier, &r.Decision); err != nil {
			return err
		}
		if measured.endDoubled, err = simulate(tier.DoubledRate, &r.Decision); err != nil {
			return err
		}
		measured.addTo(row, i, end, end)
		kinds = append(kinds, tier.Kind)
	}

	// The outermost tier carries the transfers of the graph. Without it, only compute
	// remains.
	measured := tierMetrics{endWithout: r.Ideal.Times.Compute}
	measured.addTransfers(r.Graph, r.Result.Trace, r.UsesDecision, r.Multiplicity)
	measured.bytes *= float64(max(1, r.Copies))
	var err error
	var allResources func(int32) bool // all links that the run simulates
	allDoubled := r.ScaleRates(2, allResources)
	if measured.endDoubled, err = simulate(extension, allDoubled); err != nil {
		return err
	}
	measured.addTo(row, len(inner), end, end)
	row.Labels[result.TierKinds] = strings.Join(append(kinds, outer), ", ")
	return nil
}
