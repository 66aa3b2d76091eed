package paths

import (
	"context"
	"fmt"

	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/workloads/training"
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

// exposed measures what the calls of each dimension expose: how much sooner the iteration would end, at the row's level, if
// they took no time.
func (a *routedAnswer) exposed(ctx context.Context) error {
	r := a.r
	if _, done := a.row.Metrics[r.end()]; r.it == nil || !done {
		return nil
	}
	for _, dim := range training.Dims {
		without := r.it.Without(dim)
		if without == nil {
			continue
		}
		h := a.variant()
		h.work = without
		end, done, err := h.end(ctx)
		if err != nil {
			return fmt.Errorf("without calls of %s: %w", dim, err)
		}
		if done {
			a.row.Metrics[dim.String()+"_exposed_s"] = assembly.ExposedTime(a.at, end)
		}
	}
	return nil
}
