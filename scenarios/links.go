package scenarios

import (
	"context"

	"sim/engine/units"
	"sim/scenarios/assembly/paths"
)

// links returns s, which is of a torus or graph, as what chooses paths takes it.
func (s *Scenario) links() *paths.Scenario {
	w := &s.Workload
	out := &paths.Scenario{
		Name: s.Name, Title: s.Title, Seed: s.Seed, Fabric: s.Fabric.Links, Policy: s.Policy.Routing, Mapping: s.Policy.Placed, Engine: s.Engine,
		Workload: paths.Workload{Kind: w.Kind, Work: s.ranked(), Traffic: w.Traffic, Patterns: w.Patterns},
	}
	if s.jointly() {
		out.Fabric.Inside = s.inside()
	} else if n := len(s.Tiers); n > 0 {
		if gpus := s.innerTier(n - 1).GPUs(); s.Fabric.Links.GPUs()%gpus == 0 { // else it is refused
			out.Domain = gpus
		}
	}
	if s.stepCalls() {
		out.Workload.Calls = s.expansion()
	}
	if s.calls() {
		out.Workload.Call = s.call()
		out.Workload.Message = units.Bytes(out.Workload.Call.Bytes)
	}
	return out
}

// PacketWork guesses how many hops of packets the simulation of one policy makes, from the hops of shortest routes, and
// how many seconds of a processor it takes. They are 0 where the scenario is not simulated packet by packet. It returns
// the context's error when ctx is cancelled.
func (s *Scenario) PacketWork(ctx context.Context) (hops, seconds float64, err error) {
	if !s.routes() || s.calls() {
		return 0, 0, nil
	}
	return s.links().PacketWork(ctx)
}
