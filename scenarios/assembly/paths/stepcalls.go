package paths

import (
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
)

// stepCalls returns what expands the calls of ranks on some nodes.
func (r *routingSystem) stepCalls(place []int32) *calls.Expander {
	e := &calls.Expander{Expansion: r.s.Workload.Calls, Seed: r.s.Seed,
		Network: r.Direct(r.visibleNetwork()), Domains: r.Domains, NodeOfRank: place,
		TaskCost: assembly.LinkTask}
	if r.Torus != nil {
		e.Torus = r.Torus
	}
	return e
}
