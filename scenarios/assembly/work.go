package assembly

import (
	"context"

	"sim/scenarios/schema"
	"sim/workloads/trace"
)

// WorkExporter is a system whose work is a task graph of ranks, for other tools.
type WorkExporter interface {
	// Work returns the work under a policy. It fails with schema.Diagnostics where what is simulated is not all of it.
	Work(ctx context.Context, policy string) (*trace.RankGraph, error)
}

// ExportError says that the work of a scenario cannot be written, which a key is behind.
func ExportError(name, key, reason, remedy string) error {
	return schema.Diagnostics{{File: name, Key: key, Problem: "the work cannot be written: " + reason, Remedy: remedy}}
}

// WorkOf returns the work of a system under a policy.
func WorkOf(ctx context.Context, sys System, name, policy string) (*trace.RankGraph, error) {
	if w, ok := sys.(WorkExporter); ok {
		return w.Work(ctx, policy)
	}
	return nil, ExportError(name, "", "policy "+schema.Quote(policy)+" makes no one graph of it", "name one algorithm for all calls")
}

// Work is that of the policy's system.
func (b *precedingDecision) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	s, err := b.System, error(nil)
	if policy != b.firstPolicy {
		if s, err = b.build(ctx, policy); err != nil {
			return nil, err
		}
	}
	return WorkOf(ctx, s, policy, b.remainingPolicy)
}
