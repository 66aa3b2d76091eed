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

// TestRecommendationCalls: the calls of a recommendation model are counted exactly, and errors name the keys at fault.
func TestRecommendationCalls(t *testing.T) {
	mesh := &engine.Network{Nodes: 4}
	for i := range int32(16) {
		if i/4 != i%4 {
			mesh.Links = append(mesh.Links, engine.Link{From: i / 4, To: i % 4, Rate: 1e9, Channels: 2})
		}
	}
	w := &recommendation{training.RecommendationModel{GPUs: 4, Samples: 8, Tables: 4, Width: 16, Pooling: 1, RowBytes: 4, MemoryRate: 8e12, EmbeddingBytes: 2, Dense: 4000, GradientBytes: 4, Operations: 2, EffectiveTFLOPS: 1, Pieces: 3}}
	e := &calls.Expander{Spec: &training.Spec{}, Network: mesh, Expansion: calls.Expansion{Algorithms: "ring"}}
	const ring, direct = 2 * 3 * 4, 2 * 4 * 3 // transfers of an all-reduce, and of both all-to-alls
	const maxTransfers = 4*ring + direct      // there are 3 pieces, and what is reduced with the last
	e.TaskCost.Bytes = assembly.MaxBytes / maxTransfers
	if keys, err := w.CheckCalls(t.Context(), e); err != nil {
		t.Errorf("%d transfers of at most %d: keys %v (%v)", maxTransfers, maxTransfers, keys, err)
	}
	e.TaskCost.Bytes = assembly.MaxBytes / (maxTransfers - 1)
	if keys, err := w.CheckCalls(t.Context(), e); err == nil || len(keys) == 0 || keys[0] != "workload.pieces" {
		t.Errorf("%d transfers of at most %d: keys %v (%v)", maxTransfers, maxTransfers-1, keys, err)
	}
	unserving := 0
	for _, row := range collective.Table {
		e := &calls.Expander{Spec: &training.Spec{}, Network: mesh, TaskCost: assembly.LinkTask, Expansion: calls.Expansion{Algorithms: calls.Algorithms(row.Name)}}
		keys, err := w.CheckCalls(t.Context(), e)
		if _, _, reduce, _ := w.Calls(); err != nil {
			unserving++
			if _, unserved := e.Schedule(t.Context(), reduce, []int32{0, 1, 2, 3}); !errors.Is(unserved, collective.ErrUnserved) || !slices.Contains(keys, "policy.collective") {
				t.Errorf("%s: keys %v (%v)", row.Name, keys, err)
			}
		}
	}
	if unserving == 0 {
		t.Error("all algorithms serve a mesh without coordinates")
	}
	unknown := &calls.Expander{Spec: &training.Spec{}, Network: mesh, TaskCost: assembly.LinkTask, Expansion: calls.Expansion{Algorithms: "nobody"}}
	if keys, err := w.CheckCalls(t.Context(), unknown); err == nil || !slices.Contains(keys, "workload.dense_parameters") {
		t.Errorf("by nobody: keys %v (%v)", keys, err)
	}
}
