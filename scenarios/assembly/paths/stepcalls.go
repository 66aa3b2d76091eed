package paths

import (
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
)

// stepCalls returns what expands the calls of ranks on some nodes.
func (r *routed) stepCalls(place []int32) *calls.Step {
	e := &calls.Step{Expansion: r.s.Workload.Calls, Seed: r.s.Seed, Network: r.Direct(r.seen()), Domains: r.Domains, Place: place, Task: assembly.LinkTask}
	if r.Torus != nil {
		e.Torus = r.Torus
	}
	return e
}
