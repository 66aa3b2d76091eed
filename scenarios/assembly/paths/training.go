// This file adds the calls of inner tiers to training steps, and computes the
// reference of their iteration times.

package paths

import (
	"context"
	"math"

	"sim/engine"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
)

// lengthenPasses lengthens the forward and backward passes of the training step by the
// time of its collective calls inside inner tiers (Scenario.PassExtension). It sets
// r.originalTasks, the tasks before. Without a training step it does nothing.
func (r *routingSystem) lengthenPasses(ctx context.Context) (err error) {
	if r.iteration == nil {
		return nil
	}
	// The step with ranks in the default order is the reference of mappings.
	if r.ranks != nil {
		if _, err := r.s.PassExtension.Lengthen(ctx, r.ranks.defaultIteration); err != nil {
			return assembly.ContextErrorOr(ctx, err)
		}
	}

	r.originalTasks, err = r.s.PassExtension.Lengthen(ctx, r.iteration)
	return assembly.ContextErrorOr(ctx, err)
}

// setIdeal sets r.IdealReference, the times of the training step without communication
// and on the ideal fabric. The ideal fabric joins all nodes, including nodes that are
// down. If a mapping places ranks (r.ranks), the step with ranks in the default order is
// simulated instead, so that all mappings have the same reference.
func (r *routingSystem) setIdeal(ctx context.Context, workers int) (err error) {
	if r.iteration == nil || r.s.Engine.Level == "static" {
		return nil
	}
	graph, iteration := r.load.graph, r.iteration
	if r.ranks != nil {
		iteration = r.ranks.defaultIteration
		graph = iteration.Graph
	}
	network, routes := r.System.IdealNetwork(graph)
	if r.quotient != nil {
		onIdeal := func(g *engine.Graph) (*engine.Routes, error) {
			_, routes := r.System.IdealNetwork(g)
			return routes, nil
		}
		// Each tier has two resources per node.
		tier := func(resource int32) int { return int(resource / (2 * network.Nodes)) }
		if routes, err = r.foldRoutes(graph, network, tier, onIdeal); err != nil {
			return err
		}
	}
	r.IdealReference, err = composition.NewIdealReference(ctx, graph, network, routes,
		composition.ReferenceOptions{MaxWork: r.maxReferenceWork(), Tolerance: r.s.Engine.Tolerance, Workers: max(1, workers)})
	if err != nil {
		return err
	}

	// The delays of calls count as communication.
	if undelayed := iteration.WithoutCallDelays(); undelayed != nil {
		r.Times.Compute, err = composition.ComputeMakespan(ctx, undelayed, network)
	}
	return err
}

// endMetric returns the name of the metric of the completion time: "makespan_s" for
// training steps and traces, "completion_s" for other traffic.
func (r *routingSystem) endMetric() string {
	if r.iteration == nil {
		return "completion_s"
	}
	return "makespan_s"
}

// Limits on the work of the reference at level packet. It takes a hundredth of the estimated time
// of the packets if these take more than a second, and otherwise at most about two seconds.
const (
	minLimitedSeconds     = 1
	maxReferenceShare     = 0.01
	flowStepsPerSecond    = 3e7 // steps of flow.Evaluator.Work that one core takes
	maxShortReferenceWork = 1 << 26
)

// maxReferenceWork returns the largest number of steps that the reference may take; 0 means no
// limit.
func (r *routingSystem) maxReferenceWork() int64 {
	if r.s.Engine.Level != "packet" {
		return 0
	}
	seconds := r.packetCost().Seconds
	if seconds <= minLimitedSeconds {
		return maxShortReferenceWork
	}
	return int64(min(maxReferenceShare*seconds, math.MaxInt32) * flowStepsPerSecond)
}
