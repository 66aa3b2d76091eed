// This file configures the expansion of the collective calls of training steps and
// traces.

package paths

import (
	"errors"

	"sim/engine"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
)

// stepCalls returns the Expander of the collective calls in work of ranks.
// nodeOfRank is indexed by rank.
func (r *routingSystem) stepCalls(nodeOfRank []int32) *calls.Expander {
	e := &calls.Expander{
		Expansion: r.s.Workload.Calls, Seed: r.s.Seed, TaskCost: assembly.LinkTask,
		Network: r.Direct(r.visibleNetwork()), Domains: r.Domains, NodeOfRank: nodeOfRank,
	}
	if r.Torus != nil {
		e.Torus = r.Torus
	}
	if r.s.folds() {
		r.quotient = &calls.Quotient{}
		e.Quotient = r.quotient
	}
	return e
}

// mayFold reports whether a training step may be folded (calls.Quotient). Packets, mappings, and
// nodes that start one message at a time need the tasks of all ranks.
func (s *Scenario) mayFold() bool {
	return s.Engine.Level != "packet" && !s.Mapping.IsSet() && s.Engine.MessageOverhead == 0
}

// folds reports whether the work is folded: by choice, or because the tasks of all ranks exceed the
// memory.
func (s *Scenario) folds() bool {
	all, folded := s.Workload.Work.Tasks()
	isLarge := !assembly.LinkTask.Scale(all).IsAffordable()
	return s.mayFold() && folded > 0 && (isLarge || s.Workload.Fold)
}

// tierOfResource returns the function that gives the tier of a resource, or nil
// without tiers.
func (r *routingSystem) tierOfResource() func(resource int32) int {
	if r.Tiers == nil {
		return nil
	}
	return r.TierOf
}

// foldRoutes returns the routes of the folded graph g on network n. The function route returns
// the routes of another graph, and part returns the tier of a resource.
func (r *routingSystem) foldRoutes(
	g *engine.Graph, n *engine.Network, part func(resource int32) int,
	route func(g *engine.Graph) (*engine.Routes, error),
) (*engine.Routes, error) {
	routes, err := r.quotient.Routes(g, n, part, route)
	if errors.Is(err, calls.ErrAsymmetric) {
		return nil, r.inputError("workload.microbatches",
			"the step is too large to simulate each GPU, and one per stage cannot stand for all: "+err.Error(),
			"choose fewer micro-batches, or a fabric on which all GPUs of a stage are alike")
	}
	return routes, err
}
