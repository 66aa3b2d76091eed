package paths

import (
	"context"

	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
)

// lengthen lengthens the passes of a training step by the calls inside inner tiers.
func (r *routed) lengthen(ctx context.Context) (err error) {
	if r.it == nil {
		return nil
	}
	if r.placed != nil {
		if _, err := r.s.PassExtension.Lengthen(ctx, r.placed.usual); err != nil {
			return assembly.ContextErrorOr(ctx, err)
		}
	}
	r.base, err = r.s.PassExtension.Lengthen(ctx, r.it)
	return assembly.ContextErrorOr(ctx, err)
}

// compare finds what an iteration is compared with: the ideal fabric between the nodes of all links, whether they work
// or not, with ranks in the usual order, so that all mappings are compared with one.
func (r *routed) compare(ctx context.Context) (err error) {
	if r.it == nil || r.s.Engine.Level == "static" {
		return nil
	}
	g := r.load.graph
	if r.placed != nil {
		g = r.placed.usual.Graph
	}
	n, routes := r.IdealNetwork(g)
	r.IdealReference, err = composition.NewIdealReference(ctx, g, n, routes)
	return err
}

// end names the metric of when the work ends.
func (r *routed) end() string {
	if r.it == nil {
		return "completion_s"
	}
	return "makespan_s"
}
