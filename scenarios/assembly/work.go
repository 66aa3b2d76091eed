// This file exports the work of a system as a task graph of ranks, for other tools.

package assembly

import (
	"context"

	"sim/scenarios/schema"
	"sim/workloads/trace"
)

// WorkExporter is a system whose work can be exported as a task graph of ranks, for other
// tools.
type WorkExporter interface {
	// Work returns the work under a policy. Its error is of type schema.Diagnostics if
	// the simulated graph does not represent all work.
	Work(ctx context.Context, policy string) (*trace.RankGraph, error)
}

// ExportError returns the diagnostic of a scenario whose work cannot be exported because
// of a key.
func ExportError(name, key, reason, remedy string) error {
	return schema.Diagnostics{{
		File:    name,
		Key:     key,
		Problem: "the work cannot be written: " + reason,
		Remedy:  remedy,
	}}
}

// WorkOf returns the work of a system under a policy. The name of the scenario is used in
// diagnostics.
func WorkOf(ctx context.Context, sys System, name, policy string) (*trace.RankGraph, error) {
	if w, ok := sys.(WorkExporter); ok {
		return w.Work(ctx, policy)
	}
	const noKey = ""
	return nil, ExportError(name, noKey, "policy "+schema.Quote(policy)+" makes no one graph of it",
		"name one algorithm for all calls")
}

// Work returns the work in the system that results from the preceding decision of a
// policy, such as a mapping of ranks (preceding.go).
func (b *precedingDecision) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	s, err := b.systemOf(ctx, policy)
	if err != nil {
		return nil, err
	}
	return WorkOf(ctx, s, policy, b.remainingPolicy)
}
