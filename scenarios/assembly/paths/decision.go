package paths

import (
	"context"
	"errors"
	"maps"
	"time"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// routingResult is a router's decision, simulated and measured.
type routingResult struct {
	assembly.PolicyResult // whose Run is nil if nothing was simulated, or messages in groups at one rate
	composition.Result    // what was simulated

	system         *routingSystem
	decision       *routing.Decision
	paths          *engine.Paths // of it
	sums           routing.Sums  // of walks, which are then on channel 0, and at level static none; else nil
	loads          *static.Loads
	linkLoads      []float64           // load of every link, in messages
	bottleneckLoad float64             // load, in messages, of the link that takes longest, as if it had the fabric's rate
	visible        *engine.Network     // that the router saw
	uniformRates   bool                // of level flow: messages are many, of one size, and get the rates that they begin with
	classGraph     *engine.FoldedGraph // of level flow: its task c is the messages of class c, which are identical; nil where they are not
	workers        int                 // goroutines, which change no result
	finishTime     engine.Time         // when the work ends, where it does

	faultFreeLoad, maxLoad float64 // loads of the most loaded link without faults, 0 where that makes no sense to compare, and with them
}

// rowForStep returns the row of a scenario that differs from the answer's in nothing but its step, of traffic.
func (a *routingResult) rowForStep(step any) result.Row {
	row := a.Row
	row.Metrics, row.Labels = maps.Clone(a.Row.Metrics), maps.Clone(a.Row.Labels)
	delete(row.Metrics, "step_slowdown")
	delete(row.Metrics, "implied_share")
	delete(row.Labels, "implied_share")
	if a.faultFreeLoad > 0 {
		measureStep(&row, step.(*input.Step), a.faultFreeLoad, a.maxLoad)
	}
	return row
}

// Decide lets one router choose paths, and simulates the traffic on them. It returns nil where a link alone is busy for more
// than limit seconds with what is sent.
func (r *routingSystem) Decide(
	ctx context.Context, name string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	a, err := r.decide(ctx, name, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	return &a.PolicyResult, nil
}

// addFinalMetrics measures what needs further simulations: of an iteration what calls and faults cost, and the bound on when the
// work may end.
func (a *routingResult) addFinalMetrics(ctx context.Context) error {
	err := a.compareWithFaultFree(ctx)
	if _, done := a.Row.Metrics[a.system.endMetric()]; err == nil && done && a.Run != nil {
		if err = composition.MeasureExposedCalls(ctx, a.Run, &a.Row); err == nil {
			err = composition.MeasureTiers(ctx, a.Run, &a.Row)
		}
	}
	if err = a.recordStall(ctx, err); err == nil && a.Err == nil {
		err = a.setMakespanBounds(ctx, a.decision)
	}
	if a.RowFor != nil {
		a.Row = a.RowFor(&a.system.s.Workload.Step)
	}
	return err
}

// recordStall returns an error of a simulation, nil where that came to no end, which the answer then says.
func (a *routingResult) recordStall(ctx context.Context, err error) error {
	var deadlock *packet.Deadlock
	switch {
	case errors.Is(err, packet.ErrStopped):
		return ctx.Err()
	case errors.As(err, &deadlock), errors.Is(err, packet.ErrStalled): // others may do better
		a.Err = err
		a.Row.Labels["failed"] = a.Err.Error()
		a.Row.Bounds = nil // as in a sweep, whose cell fails: others get no bound from it
		return nil
	}
	return err
}

// decide is Decide with more to tell than the answer.
func (r *routingSystem) decide(
	ctx context.Context, name string, workers int, limit float64,
) (*routingResult, error) {
	a, after, err := r.choosePaths(ctx, routing.ByName(name))
	if not := (*unservedError)(nil); errors.As(err, &not) {
		return &routingResult{PolicyResult: *r.unservedAnswer(name, not.reason)}, nil
	}
	if err != nil || a.Row.Metrics["fluid_s"] > limit {
		return nil, err
	}
	a.workers, a.Finish, a.Describe = workers, a.addFinalMetrics, a.describe
	if r.iteration == nil {
		a.RowFor = a.rowForStep
	}
	begin := time.Now()
	if err = a.recordStall(ctx, a.simulate(ctx, after)); err != nil {
		return nil, err
	}
	a.Timings.SimulateS += time.Since(begin).Seconds()
	return a, nil
}
