package paths

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sim/engine"
	"sim/engine/static"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// choosePaths lets one router choose paths, and others for after a fault in mid-run. It fails where the router cannot serve
// the fabric (*unservable), or where simulating the traffic on its paths would exceed the limits, which is a fault of
// the input.
func (r *routingSystem) choosePaths(
	ctx context.Context, row *routing.Row,
) (a *routingResult, after *routing.Decision, err error) {
	name, router, options := row.Name, row.Router, r.s.options()
	seen := r.visibleNetwork()
	begin := time.Now()
	d, sums, err := r.callRouter(ctx, row, seen)
	if errors.Is(err, routing.ErrUnserved) {
		return nil, nil, &unservedError{err}
	}
	if err != nil {
		return nil, nil, err
	}
	if r, err = r.pinCallLinks(ctx, seen, d); err != nil {
		return nil, nil, err
	}
	a = &routingResult{system: r, decision: d, visible: seen, paths: d.Paths, sums: sums}
	a.Row = result.Row{Policy: name, Metrics: map[string]float64{},
		Labels: map[string]string{}}
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

	healthy, err := r.faultFreeMaxLoad(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	solved := time.Now()
	a.Timings.SolveS = solved.Sub(begin).Seconds()
	if err := a.measurePaths(ctx, seen, d, healthy); err != nil {
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

	if err := a.checkCost(name); err != nil {
		return nil, nil, err
	}
	if err := a.foldMessages(); err != nil {
		return nil, nil, err
	}
	a.Timings.SimulateS = time.Since(solved).Seconds()
	return a, after, nil
}

// callRouter lets one router choose paths on a network. Where there are many flows it is asked for what their paths come to
// alone; level flow needs those of one flow of each class, as do packets where their links have no channels.
func (r *routingSystem) callRouter(
	ctx context.Context, row *routing.Row, n *engine.Network,
) (*routing.Decision, routing.Sums, error) {
	p, level, o := r.routingProblem(n), r.s.Engine.Level, r.s.options()
	o.Progress = assembly.ProgressFunc(ctx)
	many := r.shortestHops > maxTracedHops && r.Whole.Nodes > maxTableNodes
	fluid := level == "flow" && float64(len(p.Flows))*r.shortestHops > maxFlowLevelHops
	switch {
	case r.load.graph != nil || r.load.call != nil || r.Tiers != nil:
	case level == "static" && many:
		sums, d, err := row.Sums(ctx, p, o)
		if err != nil {
			return nil, nil, err
		}
		if sums != nil {
			d.Paths = &engine.Paths{}
			return d, sums, nil
		}
	case !r.s.Fabric.Faulty() && (fluid || level == "packet" && many && r.s.Fabric.Queue != "credit"):
		z, d, err := row.Orbits(ctx, p, o)
		if err != nil {
			return nil, nil, err
		}
		if z != nil {
			d.Paths, err = z.Paths(ctx, p.Flows)
			return d, z, err
		}
	}

	d, err := routing.RouteSystem(ctx, &r.System, row.Router, p, o)
	return d, nil, err
}

// measureLoads measures a decision's paths.
func (r *routingSystem) measureLoads(
	ctx context.Context, n *engine.Network, d *routing.Decision, sums routing.Sums,
) (*static.Loads, error) {
	if sums != nil {
		return sums.Loads(), ctx.Err()
	}
	return static.PathLoads(ctx, n, r.load.flows, r.load.demand, d.Paths)
}

// visibleNetwork returns the network that routers see at first.
func (r *routingSystem) visibleNetwork() *engine.Network {
	if r.s.Fabric.FailAt > 0 {
		return r.Whole
	}
	return r.Known
}

// unservedError is the error of a router that cannot serve the fabric, for a reason.
type unservedError struct{ reason error }

func (u *unservedError) Error() string { return u.reason.Error() }

// routers returns the rows of the routers that are listed.
func (s *Scenario) routers() []*routing.Row {
	var rows []*routing.Row
	for _, name := range s.Policy.Routers {
		rows = append(rows, routing.ByName(name))
	}
	return rows
}

// options returns the options of all routers.
func (s *Scenario) options() routing.Options {
	return routing.Options{Settings: s.Policy.Routing.Settings, Seed: s.Seed}
}
