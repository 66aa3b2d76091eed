package scenarios

import (
	"errors"
	"slices"
	"testing"

	"sim/engine"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/workloads/training"
)

// TestRecommendationCalls checks that the limit on transfers counts the calls of a
// recommendation model exactly. Diagnostics of calls that exceed the limit, or that an
// algorithm does not serve, name the keys to change.
func TestRecommendationCalls(t *testing.T) {
	mesh := &engine.Network{Nodes: 4}
	for i := range int32(16) {
		if i/4 != i%4 {
			mesh.Links = append(mesh.Links, engine.Link{From: i / 4, To: i % 4, Rate: 1e9, Channels: 2})
		}
	}

	w := &recommendation{training.RecommendationModel{GPUs: 4, Samples: 8, Tables: 4, Width: 16,
		Pooling: 1, RowBytes: 4, MemoryRate: 8e12, EmbeddingBytes: 2, Dense: 4000, GradientBytes: 4,
		Operations: 2, EffectiveTFLOPS: 1, Pieces: 3}}
	e := &calls.Expander{Spec: &training.Spec{}, Network: mesh,
		Expansion: calls.Expansion{Algorithms: "ring"}}
	const ring, direct = 2 * 3 * 4, 2 * 4 * 3 // transfers of one all-reduce and of two all-to-alls
	const maxTransfers = 4*ring + direct      // 3 pieces, and the dense gradients with the last one
	e.TaskCost.Bytes = assembly.DefaultBudget.Bytes / maxTransfers
	if keys, err := w.CheckCalls(t.Context(), e); err != nil {
		t.Errorf("%d transfers, limit %d: got error %v for keys %v, want none",
			maxTransfers, maxTransfers, err, keys)
	}
	e.TaskCost.Bytes = assembly.DefaultBudget.Bytes / (maxTransfers - 1)
	if keys, err := w.CheckCalls(t.Context(), e); err == nil || len(keys) == 0 ||
		keys[0] != "workload.pieces" {
		t.Errorf("%d transfers, limit %d: got error %v for keys %v, want an error for "+
			"workload.pieces", maxTransfers, maxTransfers-1, err, keys)
	}
	unserving := 0
	for _, row := range collective.Table {
		e := &calls.Expander{Spec: &training.Spec{}, Network: mesh, TaskCost: assembly.LinkTask,
			Expansion: calls.Expansion{Algorithms: calls.Algorithms(row.Name)}}
		keys, err := w.CheckCalls(t.Context(), e)
		if _, _, reduce, _ := w.Calls(); err != nil {
			unserving++
			_, unserved := e.Schedule(t.Context(), reduce,
				[]int32{0, 1, 2, 3})
			if !errors.Is(unserved, collective.ErrUnserved) ||
				!slices.Contains(keys, "policy.collective") {
				t.Errorf("%s: got error %v for keys %v, want an unserved call for "+
					"policy.collective", row.Name, err, keys)
			}
		}
	}

	if unserving == 0 {
		t.Error("got all algorithms to serve a mesh without coordinates, want some that do not")
	}
	unknown := &calls.Expander{Spec: &training.Spec{}, Network: mesh, TaskCost: assembly.LinkTask,
		Expansion: calls.Expansion{Algorithms: "nobody"}}
	if keys, err := w.CheckCalls(t.Context(), unknown); err == nil ||
		!slices.Contains(keys, "workload.dense_parameters") {
		t.Errorf("unknown algorithm: got error %v for keys %v, want an error for "+
			"workload.dense_parameters", err, keys)
	}
}
