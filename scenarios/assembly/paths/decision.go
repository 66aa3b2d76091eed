// This file calls one router, simulates its decision and measures it. routing.go
// chooses the paths, simulation.go simulates, and metrics.go measures.

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

// routingResult is the decision of one router, with its simulation and its
// metrics.
type routingResult struct {
	// PolicyResult has the row and the functions of the result. Run is nil if nothing was
	// simulated.
	assembly.PolicyResult
	// Result is the simulation at the scenario's level (Graph, Trace, Stats, Packets); zero
	// at level static.
	composition.Result

	system   *routingSystem // fabric and workload, with the call as balanced for this decision
	decision *routing.Decision
	// paths are the paths of decision. At level static they are empty if sums is
	// set.
	paths *engine.Paths
	// sums holds the link loads of paths, if they were computed for classes of
	// flows. All paths then use channel 0. It is nil if a path was computed for
	// each flow.
	sums          routing.Sums
	pathLoads     *static.Loads
	linkLoads     []float64       // messages on each link, indexed by link
	routerNetwork *engine.Network // network as the router saw it

	// bottleneckLoad is the number of messages on the link that is busy for the
	// longest time, scaled to the link rate of the fabric.
	bottleneckLoad float64
	// uniformRates reports, at level flow, that there are many messages of one
	// size that keep their initial rates.
	uniformRates bool
	// classGraph has, at level flow, one task per class of identical messages. It
	// is nil if messages differ.
	classGraph *engine.FoldedGraph

	workers    int         // number of goroutines; does not change the result
	finishTime engine.Time // completion time; 0 if the work did not complete

	// maxLoad is the maximum link load in messages. faultFreeLoad is the same
	// without faults, or 0 if the two are not comparable.
	faultFreeLoad, maxLoad float64
}

// rowForStep returns the row of a scenario of traffic that differs from this
// scenario only in its training step. It implements PolicyResult.RowFor.
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

// Decide calls one router and simulates the traffic on its paths. It returns nil
// if some link alone is busy for more than limit seconds.
func (r *routingSystem) Decide(
	ctx context.Context, name string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	a, err := r.decide(ctx, name, workers, limit)
	if a == nil || err != nil {
		return nil, err
	}
	return &a.PolicyResult, nil
}

// addFinalMetrics adds the metrics that need further simulations: for training
// iterations the cost of calls, tiers and faults, and for task graphs the bound on
// the completion time. It implements PolicyResult.Finish.
func (a *routingResult) addFinalMetrics(ctx context.Context) error {
	err := a.compareWithFaultFree(ctx)

	// Exposed communication and tiers are measured only if the work was simulated to its
	// end.
	if _, hasEnded := a.Row.Metrics[a.system.endMetric()]; err == nil && hasEnded && a.Run != nil {
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

// recordStall returns err, the error of a simulation. If the simulation stalled,
// it stores the reason in the result and returns nil. Another router may complete.
func (a *routingResult) recordStall(ctx context.Context, err error) error {
	var deadlock *packet.Deadlock

	switch {
	case errors.Is(err, packet.ErrStopped):
		return ctx.Err()
	case errors.As(err, &deadlock), errors.Is(err, packet.ErrStalled):
		a.Err = err
		a.Row.Labels["failed"] = a.Err.Error()
		a.Row.Bounds = nil // other rows get no bound from a stalled one, as in a sweep, where its cell fails
		return nil
	}
	return err
}

// decide implements Decide. It returns the result with all its intermediate data.
func (r *routingSystem) decide(
	ctx context.Context, name string, workers int, limit float64,
) (*routingResult, error) {
	a, afterFault, err := r.choosePaths(ctx, routing.ByName(name))
	if unserved := (*unservedError)(nil); errors.As(err, &unserved) {
		return &routingResult{PolicyResult: *r.unservedResult(name, unserved.reason)}, nil
	}
	if err != nil || a.Row.Metrics["fluid_s"] > limit {
		return nil, err
	}

	// The caller may compute the further metrics later, or not at all.
	a.workers, a.Finish, a.Describe = workers, a.addFinalMetrics, a.describe
	if r.iteration == nil {
		a.RowFor = a.rowForStep
	}

	begin := time.Now()
	if err = a.recordStall(ctx, a.simulate(ctx, afterFault)); err != nil {
		return nil, err
	}
	a.Timings.SimulateS += time.Since(begin).Seconds()
	return a, nil
}
