package paths

import (
	"context"
	"fmt"
	"math"
	"strings"

	"sim/engine"
	"sim/scenarios/assembly"
)

// byTier measures what each tier of a machine carries and for how much of the time, how much longer the work takes for it,
// and how long it would be were its links twice as fast: at the row's level, on the same routes. When transfers of sources
// of packets are under way follows from the fluid on these routes.
func (a *routedAnswer) byTier(ctx context.Context) error {
	r := a.r
	if _, done := a.row.Metrics[r.end()]; r.Tiers == nil || !done || r.load.graph == nil && !r.s.Timed() {
		return nil
	}
	g, err := a.toSimulate(), error(nil)
	if g == nil {
		if g, err = r.load.parts[0].traffic.Graph(); err != nil {
			return err
		}
	}
	tier, err := a.tiersOf(g)
	if err != nil {
		return err
	}
	trace, end := a.trace, a.at
	if a.graph == nil || a.folded != nil { // packets of sources, and flows of which one stands for many
		plain := a.variant()
		plain.work = g
		if err := plain.flow(ctx, a.seen); err != nil {
			return err
		}
		if trace = plain.trace; a.folded != nil {
			end = plain.at
		}
	}
	for t := range r.Tiers.Machine {
		own := func(task int32) bool { return tier[task] == t }
		without, err := a.withoutTier(ctx, g, t, own)
		if err != nil {
			return err
		}
		fast := a.variant()
		fast.rated = func(n *engine.Network) *engine.Network { return r.Faster(n, t, 2) }
		fast.pressed = pressed(r.Faster(a.seen, t, 2), a.loads, float64(r.s.Fabric.LinkRate))
		doubled, _, err := fast.end(ctx)
		if err != nil {
			return err
		}
		step := assembly.NewStep(g, trace, own)
		m, name := a.row.Metrics, fmt.Sprintf("tier%d_", t+1)
		m[name+"bytes"], m[name+"busy"] = step.Bytes, step.Busy.Seconds()/trace.Makespan.Seconds()
		m[name+"exposed_s"], m[name+"doubled_s"] = assembly.ExposedTime(end, without), doubled.Seconds()
	}
	a.row.Labels["tiers"] = strings.Join(r.s.Fabric.Kinds(), ", ")
	return nil
}

// tiersOf returns by task the tier whose links it takes, -1 if it takes none.
func (a *routedAnswer) tiersOf(g *engine.Graph) ([]int, error) {
	flows, paths := a.r.load.byTask(a.walks)
	routes, err := engine.RoutesOf(g, a.seen, paths, flows)
	if err != nil {
		return nil, err
	}
	tier := make([]int, len(g.Tasks))
	for i := range tier {
		tier[i] = -1
		if uses := routes.Of(int32(i)); len(uses) > 0 {
			tier[i] = a.r.TierOf(uses[0].Resource)
		}
	}
	return tier, nil
}

// withoutTier returns when the work of graph g ends if the transfers of a tier, which own tells, take no time.
func (a *routedAnswer) withoutTier(ctx context.Context, g *engine.Graph, tier int, own func(task int32) bool) (engine.Time, error) {
	h := a.variant()
	if a.r.s.Engine.Level == "packet" && a.toSimulate() == nil { // task f of g is flow f
		others := false
		h.still = make([]bool, len(a.r.load.flows))
		for f := range h.still {
			h.still[f] = own(int32(f))
			others = others || !h.still[f]
		}
		if !others {
			return 0, nil
		}
		h.pressed = pressed(a.r.Faster(a.seen, tier, math.Inf(1)), a.loads, float64(a.r.s.Fabric.LinkRate))
	} else {
		h.work, _ = assembly.Without(g, own)
	}
	end, _, err := h.end(ctx)
	return end, err
}
