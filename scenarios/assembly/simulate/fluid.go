// This file simulates plans in slots at level flow.

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

// Fluid simulates a plan on engine/flow. The plan must be sealed. In a phase, the
// chunks of a flow with the same path are one transfer, which uses all its links
// at the same time. Transfers share links max-min fairly, weighted by their number
// of chunks. Phases follow each other as in Free. In plans in steps, each message
// is a transfer. There is no latency and no forwarding.
//
// The errors are as in Free.
func Fluid(ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64) (*Result, error) {
	if p.Steps != nil {
		end, err := simulateSteps(ctx, p, stepMode{isFree: true, isFluid: true})
		return &Result{Completion: end}, err
	}
	run := func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error) {
		return u.simulateFluid(ctx, n, s, chunk)
	}
	return simulatePhases(ctx, d, p, chunk, run)
}

// simulateFluid simulates a phase and returns its duration.
func (u *planReader) simulateFluid(
	ctx context.Context, n *engine.Network, s *planPhase, chunk int64,
) (engine.Time, error) {
	if len(s.tx) == 0 {
		return 0, nil
	}

	// Sort the paths so that equal ones are adjacent.
	list, allLinks := u.chunkPaths(s)
	linksOf := func(p chunkPath) []int32 { return allLinks[p.from:p.to] }
	compare := func(a, b chunkPath) int {
		x, y := &s.tx[a.tx], &s.tx[b.tx]
		return cmp.Or(cmp.Compare(x.Src, y.Src), cmp.Compare(x.Dst, y.Dst),
			slices.Compare(linksOf(a), linksOf(b)))
	}
	slices.SortFunc(list, compare)

	// Add one transfer for each run of equal paths.
	g, r := &engine.Graph{}, &engine.Routes{Start: []int32{0}}
	lastUse := make([]int, len(n.Links)) // 1 + index in r.Uses, by link
	for k := 0; k < len(list); {
		next := k + 1 // the first chunk with another path
		for next < len(list) && compare(list[k], list[next]) == 0 {
			next++
		}

		links := linksOf(list[k])
		g.AddTask(engine.Task{
			Kind: engine.Transfer, Src: n.Links[links[0]].From,
			Dst:   n.Links[links[len(links)-1]].To,
			Flows: int32(next - k), Bytes: int64(next-k) * chunk,
		})

		// A path may use a link twice, which then counts twice.
		begin := len(r.Uses)
		for _, l := range links {
			if lastUse[l] > begin {
				r.Uses[lastUse[l]-1].Weight++
				continue
			}
			r.Uses = append(r.Uses, engine.Use{Resource: l, Weight: 1})
			lastUse[l] = len(r.Uses)
		}
		r.Start = append(r.Start, int32(len(r.Uses)))
		k = next
	}

	if err := g.Freeze(); err != nil {
		return 0, err
	}
	job := &composition.Job{Graph: g}
	decision := composition.NewRouteDecision(n, r, flow.Options{Service: flow.MaxMin})
	out, err := composition.Simulate(ctx, "flow", job, decision)
	if err != nil {
		return 0, err
	}
	return out.Trace.Makespan, nil
}
