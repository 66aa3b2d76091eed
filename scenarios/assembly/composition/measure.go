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

// Ground is what measures need to know about the hardware.
type Ground struct {
	Tiers  []string                 // kinds of tiers that all work takes, innermost first; nil without tiers
	TierOf func(resource int32) int // index into Tiers
	Counts func(task int32) bool    // whether a transfer uses what the policy decides; nil for all transfers
	Copies int                      // replicas that the job stands for; 0 means 1
	Ideal  *Ideal                   // compute alone, the ideal network, and its bound; nil for traffic
}

// Run is a decided and simulated job, the argument of every measure.
type Run struct {
	Job
	Decision
	Ground
	Result *Result     // nil if messages were simulated in classes
	Level  string      // "flow" or "packet"
	End    engine.Time // of the job at Level
}

// again simulates a variant of the job under a variant of the decision at the run's level. Traces have no rates.
func (r *Run) again(ctx context.Context, j *Job, d *Decision) (end engine.Time, ended bool, err error) {
	if j.Sources != nil && !slices.ContainsFunc(j.Graph.Tasks, func(t engine.Task) bool { return t.Kind == engine.Transfer }) {
		return 0, true, nil
	}
	plain := *d
	plain.Flow.Rates = false
	out, err := Simulate(ctx, r.Level, j, &plain)
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

// Exposed measures what the collective calls of each dimension expose: how much sooner the iteration would end, at the
// row's level and under the same decision, if they took no time.
func Exposed(ctx context.Context, r *Run, row *result.Row) error {
	if r.Step == nil {
		return nil
	}
	for _, dim := range training.Dims {
		j, name := r.WithoutCalls(dim), dim.String()+"_exposed_s"
		switch {
		case j == nil:
			continue
		case r.Follow != nil:
			row.Labels[name] = "undefined: circuits move when transfers end, and without these calls they would move at other times"
			continue
		}
		without, ended, err := r.again(ctx, j, &r.Decision)
		if err != nil {
			return fmt.Errorf("without calls of %s: %w", dim, err)
		}
		if ended {
			row.Metrics[name] = ExposedTime(r.End, without)
		}
	}
	return nil
}

// tier is what a tier carries in a run.
type tier struct {
	bytes            float64
	busy             engine.Time // time in which it carries something
	without, doubled engine.Time // end of the run if the tier takes no time, and if its links have twice the rate
}

// measure adds the metrics of tier i to the row of a run that ends at end, whose trace ends at traced.
func (t *tier) measure(row *result.Row, i int, end, traced engine.Time) {
	m, name := row.Metrics, fmt.Sprintf("tier%d_", i+1)
	m[name+"bytes"], m[name+"busy"] = t.bytes, t.busy.Seconds()/traced.Seconds()
	m[name+"exposed_s"], m[name+"doubled_s"] = ExposedTime(end, t.without), t.doubled.Seconds()
}

// carries sets the bytes of the transfers that count and how long at least one of them is under way.
func (t *tier) carries(g *engine.Graph, trace *engine.Trace, counts func(task int32) bool) {
	var spans [][2]engine.Time
	for i := range g.Tasks {
		if g.Tasks[i].Kind == engine.Transfer && (counts == nil || counts(int32(i))) {
			t.bytes += float64(g.Tasks[i].Bytes)
			spans = append(spans, [2]engine.Time{trace.Start[i], trace.End[i]})
		}
	}
	slices.SortFunc(spans, func(a, b [2]engine.Time) int { return cmp.Compare(a[0], b[0]) })
	until := engine.Time(0)
	for _, x := range spans {
		t.busy += max(0, x[1]-max(x[0], until))
		until = max(until, x[1])
	}
}

// ByTier measures what each tier that all work takes carries and for how much of the time, how much longer the work takes
// for it, and how long it would be were its links twice as fast: at the row's level, under the same decision. If the
// transfers themselves were not simulated, when they are under way follows from the fluid.
func ByTier(ctx context.Context, r *Run, row *result.Row) error {
	if r.Tiers == nil || r.Graph == nil || r.Follow != nil { // what moving circuits do follows from all tiers together
		return nil
	}
	routes, err := r.Routes(r.Graph)
	if err != nil {
		return err
	}
	end, of := r.End, r.Result
	if of == nil || of.Trace == nil {
		if of, err = Simulate(ctx, "flow", &r.Job, &r.Decision); err != nil {
			return err
		}
		if r.Level == "flow" {
			end = of.Trace.Makespan
		}
	}
	for i := range r.Tiers {
		is := func(resource int32) bool { return r.TierOf(resource) == i }
		own := func(task int32) bool {
			uses := routes.Of(task)
			return len(uses) > 0 && is(uses[0].Resource)
		}
		var t tier
		t.carries(r.Graph, of.Trace, own)
		if t.without, _, err = r.again(ctx, r.Without(own), r.withoutLoads(is)); err != nil {
			return err
		}
		if t.doubled, _, err = r.again(ctx, &r.Job, r.ScaleRates(2, is)); err != nil {
			return err
		}
		t.measure(row, i, end, of.Trace.Makespan)
	}
	row.Labels[result.TierKinds] = strings.Join(r.Tiers, ", ")
	return nil
}

// Inside is a tier whose calls lengthen the passes of a step.
type Inside struct {
	Kind            string
	Bytes           float64
	Busy            engine.Time
	Without, Faster Longer // passes if the tier takes no time, and if its links have twice the rate
}

// ByInnerTier is ByTier for a step whose passes inner tiers lengthen, by longer together; outer names the outermost one.
func ByInnerTier(ctx context.Context, r *Run, row *result.Row, inner []Inside, longer Longer, outer string) error {
	if r.Follow != nil && r.Level == "packet" {
		for i := range len(inner) + 1 {
			row.Labels[fmt.Sprintf("tier%d_exposed_s", i+1)] = "undefined: circuits move with the packets of the step"
		}
		return nil
	}
	end := r.Result.Trace.Makespan
	play := func(longer Longer, d *Decision) (engine.Time, error) {
		j, err := r.WithPasses(ctx, longer)
		if err != nil {
			return 0, err
		}
		end, _, err := r.again(ctx, j, d)
		return end, err
	}
	var kinds []string
	for i, x := range inner {
		t := tier{bytes: x.Bytes, busy: x.Busy}
		var err error
		if t.without, err = play(x.Without, &r.Decision); err != nil {
			return err
		}
		if t.doubled, err = play(x.Faster, &r.Decision); err != nil {
			return err
		}
		t.measure(row, i, end, end)
		kinds = append(kinds, x.Kind)
	}
	t := tier{without: r.Ideal.Times.Compute}
	t.carries(r.Graph, r.Result.Trace, r.Counts)
	t.bytes *= float64(max(1, r.Copies))
	var err error
	if t.doubled, err = play(longer, r.ScaleRates(2, nil)); err != nil {
		return err
	}
	t.measure(row, len(inner), end, end)
	row.Labels[result.TierKinds] = strings.Join(append(kinds, outer), ", ")
	return nil
}
