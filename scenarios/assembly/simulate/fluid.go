package simulate

import (
	"cmp"
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/composition"
)

// Fluid simulates a sealed plan on engine/flow: in a phase, the chunks of a flow that go the same way are one transfer,
// all of whose links it takes at once, and transfers share links max-min fair, each with a claim for every chunk.
// Phases follow each other as in Free. Of plans in steps, the messages are transfers. Fluid has no hops to be stored at
// and no latency.
//
// Errors: as Free.
func Fluid(ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64) (*Result, error) {
	if p.Steps != nil {
		end, err := simulateSteps(ctx, p, true, true)
		return &Result{Completion: end}, err
	}
	return simulatePhases(ctx, d, p, chunk, func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error) {
		return u.simulateFluid(ctx, n, s, chunk)
	})
}

// simulateFluid simulates a phase.
func (u *planReader) simulateFluid(
	ctx context.Context, n *engine.Network, s *planPhase, chunk int64,
) (engine.Time, error) {
	if len(s.tx) == 0 {
		return 0, nil
	}
	list, path := u.chunkPaths(s)
	links := func(l chunkPath) []int32 { return path[l.from:l.to] }
	order := func(a, b chunkPath) int {
		x, y := &s.tx[a.tx], &s.tx[b.tx]
		return cmp.Or(cmp.Compare(x.Src, y.Src), cmp.Compare(x.Dst, y.Dst),
			slices.Compare(links(a), links(b)))
	}

	slices.SortFunc(list, order)
	g, r := &engine.Graph{}, &engine.Routes{Start: []int32{0}}
	used := make([]int, len(n.Links)) // 1 + the place of a link's last use
	for k := 0; k < len(list); {
		same := k + 1
		for same < len(list) && order(list[k], list[same]) == 0 {
			same++
		}
		links := links(list[k])
		g.AddTask(engine.Task{
			Kind: engine.Transfer, Src: n.Links[links[0]].From,
			Dst:   n.Links[links[len(links)-1]].To,
			Flows: int32(same - k), Bytes: int64(same-k) * chunk,
		})
		begin := len(r.Uses)
		for _, l := range links {
			if used[l] > begin {
				r.Uses[used[l]-1].Weight++
				continue
			}
			r.Uses = append(r.Uses, engine.Use{Resource: l, Weight: 1})
			used[l] = len(r.Uses)
		}
		r.Start = append(r.Start, int32(len(r.Uses)))
		k = same
	}

	if err := g.Freeze(); err != nil {
		return 0, err
	}
	out, err := composition.Simulate(ctx, "flow", &composition.Job{Graph: g},
		composition.NewRouteDecision(n, r, flow.Options{Service: flow.MaxMin}))
	if err != nil {
		return 0, err
	}
	return out.Trace.Makespan, nil
}
