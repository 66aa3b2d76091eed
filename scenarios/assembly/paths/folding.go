// This file reduces identical messages at level flow to one task per class, and
// rejects traffic with too many different messages.

package paths

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
)

// maxFlowLevelHops is the product of flows and links of all paths up to which level flow
// simulates flows one by one, also if it could derive their ends from their initial
// rates. Such a simulation takes some seconds.
const maxFlowLevelHops = 2e10

// flowCost estimates the cost of flows that may all end at different times at level flow. hops
// is the number of links of all their paths.
func flowCost(flows, hops float64) assembly.Cost {
	return assembly.LinkTask.Scale(flows).Add(assembly.FlowHop.Scale(flows * hops))
}

// nodeOrbits returns the orbit of each node under the symmetries of n, indexed by
// node. Nodes of one orbit are indistinguishable. Without symmetry every node is
// its own orbit.
func (r *routingSystem) nodeOrbits(n *engine.Network) []int32 {
	const tiePeriod = 2 // the rule that breaks ties in routers alternates with this period
	if y := r.routingProblem(n).Symmetry(tiePeriod); y != nil {
		return y.Orbit
	}
	all := make([]int32, n.Nodes)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// foldMessages reduces the messages at level flow to one task per class of
// identical messages. The reduction is exact; classes follow from the orbits of
// nodes.
//
// If messages differ and there are too many to simulate one by one, they must have
// uniform initial rates. Otherwise foldMessages returns a diagnostic of the
// scenario.
func (a *routingResult) foldMessages() error {
	r := a.system
	if r.s.Engine.Level != "flow" || r.load.graph != nil {
		return nil
	}

	// Fold the messages by the classes of their paths.
	t := r.load.parts[0].traffic
	f, err := engine.Fold(r.visibleNetwork(), a.paths, r.load.flows, t.Bytes, t.Message,
		r.nodeOrbits(r.visibleNetwork()))

	if err == nil {
		a.classGraph = f
		return nil
	}
	if !errors.Is(err, engine.ErrAsymmetric) {
		return err
	}

	// Messages differ. Few messages are simulated one by one.
	flows := float64(len(r.load.flows))
	if flows*float64(a.pathLoads.SumHops) <= maxFlowLevelHops {
		return nil
	}

	// Initial rates remain valid if all messages have one size and one path, and
	// arrive without latency.
	singlePath := a.paths.First == nil && a.paths.Spread == nil && r.Tiers == nil
	hops := float64(a.pathLoads.SumHops)
	a.uniformRates = singlePath && t.Bytes == nil && !r.hasLatency() &&
		assembly.UniformHop.Scale(hops).IsAffordable()
	if a.uniformRates {
		return nil
	}
	err = flowCost(flows, hops).CheckLimits(
		fmt.Sprintf("the %.0f flows on paths of %s, which may all end at different times,", flows, a.Row.Policy),
		`engine.level = "packet" or "static", or fewer nodes`)
	if err == nil {
		return nil
	}
	what, want := assembly.SplitError(err)
	return r.inputError("engine.level", what, want)
}

// maxFoldAttempts limits the expansions of a call with finer and finer classes.
const maxFoldAttempts = 4

// foldCall folds the network for the classes of a call, whose flows take the given
// paths on n. If classes are too coarse for these paths, it returns a copy of r
// with finer ones, and if few transfers are identical, one with every transfer.
func (r *routingSystem) foldCall(
	ctx context.Context, n *engine.Network, paths *engine.Paths,
) (*routingSystem, error) {
	flows := new(engine.Graph) // a task per flow
	for k, f := range r.load.flows {
		// Of several paths, the longest determines the latency, and classes of links do not
		// determine the longest.
		first, end := paths.Of(paths.ClassOf(int32(k)))
		if end-first > 1 && r.hasLatency() {
			return r.withAllTransfers(ctx)
		}
		flows.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst})
	}
	routes, err := engine.RoutesOf(flows, n, paths, r.load.flows)
	if err != nil {
		return nil, err
	}

	p, err := r.callProblem()
	if err != nil {
		return nil, err
	}
	p.Network = r.Direct(p.Network)
	for range maxFoldAttempts {
		c := r.load.call
		folded, classOf, err := c.FoldRoutes(n, routes, r.tierOfResource())
		if err == nil {
			c.foldedRoutes = folded
			return r, nil
		}
		if !errors.Is(err, engine.ErrAsymmetric) {
			return nil, err
		}
		if classOf == nil {
			break
		}
		s, err := r.s.Workload.Call.ExpandClasses(ctx, p, classOf)
		if errors.Is(err, engine.ErrAsymmetric) {
			break
		}
		if err != nil {
			return nil, err
		}
		if r, err = r.withSchedule(ctx, s); err != nil {
			return nil, err
		}
	}
	return r.withAllTransfers(ctx)
}

// withAllTransfers returns a copy of r in which each transfer of a call stands for
// itself. It returns r if there is no call with classes.
func (r *routingSystem) withAllTransfers(ctx context.Context) (*routingSystem, error) {
	return r.unfold(ctx, (*calls.Call).Expand)
}

// listTransfers is withAllTransfers for outputs that list each transfer.
func (r *routingSystem) listTransfers(ctx context.Context) (*routingSystem, error) {
	return r.unfold(ctx, (*calls.Call).ExpandForOutput)
}

// unfold is withAllTransfers with a function that returns the transfers of the call.
func (r *routingSystem) unfold(
	ctx context.Context,
	expand func(*calls.Call, context.Context, *collective.Problem) (*collective.Schedule, error),
) (*routingSystem, error) {
	if r.load.call == nil || !r.load.call.HasClasses() {
		return r, nil
	}
	p, err := r.callProblem()
	if err != nil {
		return nil, err
	}
	p.Network = r.Direct(p.Network)
	s, err := expand(r.s.Workload.Call, ctx, p)
	if err != nil {
		return nil, err
	}
	return r.withSchedule(ctx, s)
}
