package paths

import (
	"context"

	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
)

// lengthenPasses extends the passes of a training step by the collective calls
// inside inner tiers.
func (r *routingSystem) lengthenPasses(ctx context.Context) (err error) {
	if r.iteration == nil {
		return nil
	}
	if r.ranks != nil {
		if _, err := r.s.PassExtension.Lengthen(ctx, r.ranks.defaultIteration); err != nil {
			return assembly.ContextErrorOr(ctx, err)
		}
	}

	r.originalTasks, err = r.s.PassExtension.Lengthen(ctx, r.iteration)
	return assembly.ContextErrorOr(ctx, err)
}

// setIdeal computes the reference of a training step: the times on the ideal
// fabric between all nodes, including nodes that are down. Ranks are in the
// default order, so all mappings have the same reference.
func (r *routingSystem) setIdeal(ctx context.Context) (err error) {
	if r.iteration == nil || r.s.Engine.Level == "static" {
		return nil
	}
	g := r.load.graph
	if r.ranks != nil {
		g = r.ranks.defaultIteration.Graph
	}
	n, routes := r.IdealNetwork(g)
	r.IdealReference, err = composition.NewIdealReference(ctx, g, n, routes)
	return err
}

// endMetric returns the name of the metric of the completion time.
func (r *routingSystem) endMetric() string {
	if r.iteration == nil {
		return "completion_s"
	}
	return "makespan_s"
}
