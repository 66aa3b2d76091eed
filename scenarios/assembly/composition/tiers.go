package composition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// HardwareInfo is what measures need to know about the hardware.
type HardwareInfo struct {
	Tiers        []string                 // kinds of tiers that all work takes, innermost first; nil without tiers
	TierOf       func(resource int32) int // index into Tiers
	UsesDecision func(task int32) bool    // whether a transfer uses what the policy decides; nil for all transfers
	Copies       int                      // replicas that the job stands for; 0 means 1
	Ideal        *IdealReference          // compute alone, the ideal network, and its bound; nil for traffic
}

// Run is a decided and simulated job, the argument of every measure.
type Run struct {
	Job
	Decision
	HardwareInfo
	Result *Result     // nil if messages were simulated in classes
	Level  string      // "flow" or "packet"
	End    engine.Time // of the job at Level
}

// simulateVariant simulates a variant of the job under a variant of the decision at the run's level. Traces have no rates.
func (r *Run) simulateVariant(ctx context.Context, j *Job, d *Decision) (end engine.Time, ended bool, err error) {
	if j.Sources != nil && !slices.ContainsFunc(j.Graph.Tasks, func(t engine.Task) bool { return t.Kind == engine.Transfer }) {
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

// ExposedTime returns how much longer work takes for some of its transfers, if it ends at end with them, and at without if
// they take no time. It is at least 0: transfers that take no time may be held back until they would have ended, so the
// work need never end later without their time, even if links that share by a fixed rule would let it.
func ExposedTime(end, without engine.Time) float64 { return max(0, end-without).Seconds() }

// MeasureExposedCalls measures what the collective calls of each dimension expose: how much sooner the iteration would end, at the
// row's level and under the same decision, if they took no time.
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
			row.Labels[name] = "undefined: circuits move when transfers end, and without these calls they would move at other times"
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

// tierMetrics is what a tier carries in a run.
type tierMetrics struct {
	bytes                  float64
	busy                   engine.Time // time in which it carries something
	endWithout, endDoubled engine.Time // end of the run if the tier takes no time, and if its links have twice the rate
}

// addTo adds the metrics of tier i to the row of a run that ends at end, whose trace ends at traced.
func (t *tierMetrics) addTo(row *result.Row, i int, end, traceEnd engine.Time) {
	m, name := row.Metrics, fmt.Sprintf("tier%d_", i+1)
	m[name+"bytes"], m[name+"busy"] = t.bytes, t.busy.Seconds()/traceEnd.Seconds()
	m[name+"exposed_s"], m[name+"doubled_s"] = ExposedTime(end, t.endWithout), t.endDoubled.Seconds()
}

// addTransfers sets the bytes of the transfers that count and how long at least one of them is under way.
func (t *tierMetrics) addTransfers(g *engine.Graph, trace *engine.Trace, selects func(task int32) bool) {
	var spans [][2]engine.Time
	for i := range g.Tasks {
		if g.Tasks[i].Kind == engine.Transfer && (selects == nil || selects(int32(i))) {
			t.bytes += float64(g.Tasks[i].Bytes)
			spans = append(spans, [2]engine.Time{trace.Start[i], trace.End[i]})
		}
	}
	slices.SortFunc(spans, func(a, b [2]engine.Time) int { return cmp.Compare(a[0], b[0]) })
	busyUntil := engine.Time(0)
	for _, span := range spans {
		t.busy += max(0, span[1]-max(span[0], busyUntil))
		busyUntil = max(busyUntil, span[1])
	}
}

// MeasureTiers measures what each tier that all work takes carries and for how much of the time, how much longer the work takes
// for it, and how long it would be were its links twice as fast: at the row's level, under the same decision. If the
// transfers themselves were not simulated, when they are under way follows from the fluid.
func MeasureTiers(ctx context.Context, r *Run, row *result.Row) error {
	if r.Tiers == nil || r.Graph == nil || r.SimulateMoves != nil { // what moving circuits do follows from all tiers together
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
		onTier := func(resource int32) bool { return r.TierOf(resource) == i }
		usesTier := func(task int32) bool {
			uses := routes.Of(task)
			return len(uses) > 0 && onTier(uses[0].Resource)
		}
		var measured tierMetrics
		measured.addTransfers(r.Graph, simulated.Trace, usesTier)
		if measured.endWithout, _, err = r.simulateVariant(ctx, r.WithoutTransfers(usesTier), r.withoutLoads(onTier)); err != nil {
			return err
		}
		if measured.endDoubled, _, err = r.simulateVariant(ctx, &r.Job, r.ScaleRates(2, onTier)); err != nil {
			return err
		}
		measured.addTo(row, i, end, simulated.Trace.Makespan)
	}
	row.Labels[result.TierKinds] = strings.Join(r.Tiers, ", ")
	return nil
}

// InnerTier is a tier whose calls lengthen the passes of a step.
type InnerTier struct {
	Kind                     string
	Bytes                    float64
	Busy                     engine.Time
	WithoutTier, DoubledRate PassExtension // passes if the tier takes no time, and if its links have twice the rate
}

// MeasureInnerTiers is ByTier for a step whose passes inner tiers lengthen, by longer together; outer names the outermost one.
func MeasureInnerTiers(ctx context.Context, r *Run, row *result.Row, inner []InnerTier, extension PassExtension, outer string) error {
	if r.SimulateMoves != nil && r.Level == "packet" {
		for i := range len(inner) + 1 {
			row.Labels[fmt.Sprintf("tier%d_exposed_s", i+1)] = "undefined: circuits move with the packets of the step"
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
	measured := tierMetrics{endWithout: r.Ideal.Times.Compute}
	measured.addTransfers(r.Graph, r.Result.Trace, r.UsesDecision)
	measured.bytes *= float64(max(1, r.Copies))
	var err error
	if measured.endDoubled, err = simulate(extension, r.ScaleRates(2, nil)); err != nil {
		return err
	}
	measured.addTo(row, len(inner), end, end)
	row.Labels[result.TierKinds] = strings.Join(append(kinds, outer), ", ")
	return nil
}
