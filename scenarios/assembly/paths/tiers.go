package paths

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/scenarios/assembly"
)

// byTier measures what each tier of a machine carries and for how much of the time, how much longer the work takes for it,
// and how long it would be were its links twice as fast, on the same routes. Packets take so much less as the fluid does.
func (a *routedAnswer) byTier(ctx context.Context) error {
	r := a.r
	end, done := a.row.Metrics[r.end()]
	if r.Tiers == nil || !done || r.load.graph == nil && !r.s.Timed() {
		return nil
	}
	g, err := a.toSimulate(), error(nil)
	if g == nil {
		if g, err = r.load.parts[0].traffic.Graph(); err != nil {
			return err
		}
	}
	flows, paths := r.load.byTask(a.walks)
	routes, err := engine.RoutesOf(g, a.seen, paths, flows)
	if err != nil {
		return err
	}
	tier := make([]int, len(g.Tasks))
	for i := range tier {
		tier[i] = -1
		if uses := routes.Of(int32(i)); len(uses) > 0 {
			tier[i] = r.TierOf(uses[0].Resource)
		}
	}
	usual := a.graph // whose transfers late asks for
	a.graph = g
	late := a.late()
	a.graph = usual
	_, plain, err := r.fluid(ctx, g, a.seen, routes, late)
	if err != nil {
		return err
	}
	trace := a.trace
	if usual == nil || a.folded != nil { // packets of sources, and flows of which one stands for many
		trace = plain
	}
	for t := range r.Tiers.Machine {
		own := func(task int32) bool { return tier[task] == t }
		step := assembly.NewStep(g, trace, own)
		free, soon := &engine.Routes{Start: make([]int32, len(routes.Start))}, slices.Clone(late)
		for i := range g.Tasks {
			if !own(int32(i)) {
				free.Uses = append(free.Uses, routes.Of(int32(i))...)
			} else if late != nil {
				soon[i] = 0
			}
			free.Start[i+1] = int32(len(free.Uses))
		}
		_, without, err := r.fluid(ctx, g, a.seen, free, soon)
		if err != nil {
			return err
		}
		_, doubled, err := r.fluid(ctx, g, r.Faster(a.seen, t, 2), routes, late)
		if err != nil {
			return err
		}
		m, name := a.row.Metrics, fmt.Sprintf("tier%d_", t+1)
		m[name+"bytes"], m[name+"busy"] = step.Bytes, step.Busy.Seconds()/trace.Makespan.Seconds()
		m[name+"exposed_s"], m[name+"doubled_s"] = (plain.Makespan - without.Makespan).Seconds(), end-(plain.Makespan-doubled.Makespan).Seconds()
	}
	a.row.Labels["tiers"] = strings.Join(r.s.Fabric.Kinds(), ", ")
	return nil
}
