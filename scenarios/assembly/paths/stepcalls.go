package paths

import (
	"context"

	"sim/scenarios/assembly/calls"
)

// stepCalls returns what expands the calls of ranks on some nodes.
func (r *routed) stepCalls(place []int32) *calls.Step {
	e := &calls.Step{Expansion: r.s.Workload.Calls, Spec: &r.s.Workload.Spec, Seed: r.s.Seed, Network: r.Direct(r.seen()), Domains: r.Domains, Place: place}
	if r.Torus != nil {
		e.Torus = r.Torus
	}
	return e
}

// layStep lays the calls of a training step out.
func layStep(r *routed, _ int64, where []string) ([]string, error) {
	if r.s.Workload.Collectives != "graph" {
		return nil, nil
	}
	hardware, err := r.s.Fabric.Build()
	if err != nil {
		return where, err
	}
	one := &routed{s: r.s, System: hardware}
	keys, err := one.stepCalls(r.s.ranks(one.Torus, int(one.Whole.Nodes), one.Down).Slots).Check(context.Background())
	return append(keys, where...), err
}
