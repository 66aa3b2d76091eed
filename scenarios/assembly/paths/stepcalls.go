// This file configures the expansion of the collective calls of training steps and
// traces.

package paths

import (
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
	return e
}
