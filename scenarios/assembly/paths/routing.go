// This file calls routers, and measures the paths that they choose.

package paths

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sim/engine"
	"sim/engine/static"
	"sim/policies/routing"
	"sim/scenarios/result"
)

// choosePaths calls one router and measures its paths without simulating them.
// after holds the paths for the time after a fault in mid-run, or nil.
//
// The error is an *unservedError if the router cannot serve the fabric. It is a
// diagnostic of the scenario if simulating the traffic on the paths would exceed
// the limits.
func (r *routingSystem) choosePaths(
	ctx context.Context, row *routing.Row,
) (a *routingResult, after *routing.Decision, err error) {
	name, router, options := row.Name, row.Router, r.s.options()
	if row.ReadsGraph {
		if r, err = r.withAllTransfers(ctx); err != nil {
			return nil, nil, err
		}
	}
	visible := r.visibleNetwork()
	begin := time.Now()
	d, sums, err := r.callRouter(ctx, row, visible)
	if errors.Is(err, routing.ErrUnserved) {
		return nil, nil, &unservedError{err}
	}
	if err != nil {
		return nil, nil, err
	}

	if r, err = r.pinCallLinks(ctx, visible, d); err != nil {
		return nil, nil, err
	}
	a = &routingResult{system: r, decision: d, routerNetwork: visible, paths: d.Paths, sums: sums}
	a.Row = result.Row{Policy: name, Metrics: map[string]float64{},
		Labels: map[string]string{}}

	// After a fault in mid-run the same router chooses paths on the remaining
	// network.
	if r.s.Fabric.FailAt > 0 {
		after, err = routing.RouteSystem(ctx, &r.System, router,
			r.routingProblem(r.Known), options)
		if errors.Is(err, routing.ErrUnserved) {
			return nil, nil, &unservedError{fmt.Errorf("after the fault: %w", err)}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("after the fault: %w", err)
		}
	}

	// The loads without faults and with them are compared.
	faultFreeLoad, err := r.faultFreeMaxLoad(ctx, row)
	if err != nil {
		return nil, nil, err
	}

	solved := time.Now()
	a.Timings.SolveS = solved.Sub(begin).Seconds()
	if err := a.measurePaths(ctx, visible, d, faultFreeLoad); err != nil {
		return nil, nil, err
	}

	if r.s.Engine.Level == "packet" {
		channels := a.paths.Channels()
		if after != nil {
			channels = max(channels, after.Paths.Channels())
		}
		if err := a.checkChannels(channels); err != nil {
			return nil, nil, &unservedError{err}
		}
	}

	// Reject simulations that are too large, and reduce identical messages to
	// classes.
	if err := a.checkCost(name); err != nil {
		return nil, nil, err
	}
	if err := a.foldMessages(); err != nil {
		return nil, nil, err
	}
	a.Timings.SimulateS = time.Since(solved).Seconds()
	return a, after, nil
}

// callRouter computes the paths of one router on network n. The returned sums are
// nil if the router computed a path for each flow.
//
// With many flows, level static needs only the link loads from the router. Level
// flow, and level packet without virtual channels, need one path per class of
// flows. Flows are in one class if a symmetry of the network maps them to each
// other.
func (r *routingSystem) callRouter(
	ctx context.Context, row *routing.Row, n *engine.Network,
) (*routing.Decision, routing.Sums, error) {
	p, level, o := r.routingProblem(n), r.s.Engine.Level, r.s.options()
	o.Progress = engine.Progress(ctx)
	many := r.shortestHops > maxTracedHops && r.Whole.Nodes > maxTableNodes
	flowLimit := level == "flow" && float64(len(p.Flows))*r.shortestHops > maxFlowLevelHops
	packetLimit := level == "packet" && many && r.s.Fabric.Queue != "credit"

	// Avoid computing all paths if they are many and not needed.
	switch {
	case r.load.graph != nil || r.load.call != nil || r.Tiers != nil: // these need every path

	case level == "static" && many:
		sums, d, err := row.Sums(ctx, p, o)
		if err != nil {
			return nil, nil, err
		}
		if sums != nil {
			d.Paths = &engine.Paths{}
			return d, sums, nil
		}
	case !r.s.Fabric.Faulty() && (flowLimit || packetLimit):
		orbits, d, err := row.Orbits(ctx, p, o)
		if err != nil {
			return nil, nil, err
		}
		if orbits != nil {
			d.Paths, err = orbits.Paths(ctx, p.Flows)
			return d, orbits, err
		}
	}

	// Compute every path.
	d, err := routing.RouteSystem(ctx, &r.System, row.Router, p, o)
	return d, nil, err
}

// measureLoads returns the link loads of a decision's paths, from sums unless it
// is nil.
func (r *routingSystem) measureLoads(
	ctx context.Context, n *engine.Network, d *routing.Decision, sums routing.Sums,
) (*static.Loads, error) {
	if sums != nil {
		return sums.Loads(), ctx.Err()
	}
	return static.PathLoads(ctx, n, r.load.flows, r.load.demand, d.Paths)
}

// visibleNetwork returns the network that routers see at the start. A fault in
// mid-run is not visible yet.
func (r *routingSystem) visibleNetwork() *engine.Network {
	if r.s.Fabric.FailAt > 0 {
		return r.Whole
	}
	return r.Known
}

// unservedError reports that a router cannot serve the fabric, with the reason.
type unservedError struct{ reason error }

func (u *unservedError) Error() string { return u.reason.Error() }

// routers returns the table rows of the compared routers.
func (s *Scenario) routers() []*routing.Row {
	var rows []*routing.Row
	for _, name := range s.Policy.Routers {
		rows = append(rows, routing.ByName(name))
	}
	return rows
}

// options returns the options that all routers get.
func (s *Scenario) options() routing.Options {
	return routing.Options{Settings: s.Policy.Routing.Settings, Seed: s.Seed}
}
