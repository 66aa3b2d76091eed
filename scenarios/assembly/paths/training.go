package paths

import (
	"context"

	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
)

// lengthenPasses lengthens the passes of a training step by the calls inside inner tiers.
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

// setIdeal finds what an iteration is compared with: the ideal fabric between the nodes of all links, whether they work
// or not, with ranks in the usual order, so that all mappings are compared with one.
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

// endMetric names the metric of when the work ends.
func (r *routingSystem) endMetric() string {
	if r.iteration == nil {
		return "completion_s"
	}
	return "makespan_s"
}
