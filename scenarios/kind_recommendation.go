// This file implements the workload "recommendation": a training step of a recommendation
// model (DLRM), whose embedding tables are spread over all GPUs.

package scenarios

import (
	"context"
	"errors"

	"sim/engine"
	"sim/policies/collective"
	"sim/policies/mapping"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// recommendation is the program of a training step of a recommendation model. It implements
// rankProgram.
type recommendation struct{ training.RecommendationModel }

// Spec implements rankProgram.
func (w *recommendation) Spec() any { return &w.RecommendationModel }

// Ranks returns the number of GPUs. Each GPU is a rank.
func (w *recommendation) Ranks() int { return w.GPUs }

// RankKeys returns the key that sets the number of ranks.
func (w *recommendation) RankKeys() []string { return []string{"workload.gpus"} }

// Dims returns nil: the ranks form a single group.
func (w *recommendation) Dims() []mapping.Dim { return nil }

// Size returns the bytes and transfers of the step: two all-to-alls, and all-reduces of the
// top and bottom networks, each as a ring.
func (w *recommendation) Size() (bytes, transfers, slack float64) {
	n := float64(w.GPUs)
	pairs := n * (n - 1)
	forward, backward, top, bottom := w.Calls()

	// Embeddings and their gradients are exchanged between all pairs of ranks.
	exchangeBytes := pairs * float64(forward.Bytes+backward.Bytes)

	// The gradients of the top network are reduced in pieces. A ring of n ranks sends a
	// vector 2*(n-1) times.
	reducedBytes := float64(w.Pieces)*float64(top.Bytes) + float64(bottom.Bytes)
	bytes = exchangeBytes + 2*(n-1)*reducedBytes
	transfers = 2*pairs + 2*pairs*float64(w.Pieces+1)
	slack = 1 // the bytes are exact
	return bytes, transfers, slack
}

// SizeKeys returns the keys that determine the bytes of the step.
func (w *recommendation) SizeKeys() []string {
	return []string{"workload.samples", "workload.tables", "workload.dense_parameters"}
}

// SizeRemedy completes the remedy "choose fewer GPUs ..." if the step is too large.
func (w *recommendation) SizeRemedy() string { return "or fewer samples" }

// Check rejects sizes that overflow simulated time, which is 9e6 s, or numbers of bytes.
func (w *recommendation) Check(c *schema.Reader, _ bool) {
	const maxNumbers, maxComputeSeconds = 1e15, 1e6
	switch {
	case float64(w.Samples)*float64(w.Tables)*float64(w.Width) > maxNumbers:
		c.Conflict([]string{"workload.samples", "workload.tables", "workload.width"},
			"a GPU exchanges more than 1e15 numbers", "choose fewer samples or tables")
	case w.Pooling*w.LookupSeconds()+w.ForwardSeconds()*(1+w.BackwardRatio) > maxComputeSeconds:
		keys := []string{
			"workload.samples", "workload.dense_parameters", "workload.effective_tflops",
			"workload.memory_rate",
		}
		c.Conflict(keys, "a step computes for more than 1e6 s", "choose a smaller one")
	}
}

// CheckCalls checks that the algorithm serves the all-reduce and that the transfers of all
// calls fit into memory.
func (w *recommendation) CheckCalls(ctx context.Context, e *calls.Expander) (keys []string, err error) {
	group := make([]int32, w.GPUs)
	for i := range group {
		group[i] = int32(i)
	}

	// The all-reduce of the top network stands for both; the all-to-alls are direct.
	_, _, reduce, _ := w.Calls()
	s, err := e.Schedule(ctx, reduce, group)
	if errors.Is(err, collective.ErrUnserved) {
		return []string{"policy.collective", "workload.gpus"}, err
	}
	if err != nil {
		return []string{"workload.dense_parameters", "workload.pieces"}, err
	}
	transfers := float64(w.Pieces+1)*float64(len(s.Transfers)) + 2*float64(w.GPUs)*float64(w.GPUs-1)
	cost := e.TaskCost.Scale(transfers)
	keys = []string{"workload.pieces", "workload.gpus"}
	return keys, cost.CheckLimits("the calls of the step", "fewer pieces or GPUs")
}

// Tasks returns the transfers of the step. A step is not folded.
func (w *recommendation) Tasks() (all, folded float64) {
	_, transfers, _ := w.Size()
	return transfers, 0
}

// Build returns the task graph of the step. merged lists the ranges of tasks that belong to
// an all-to-all.
func (w *recommendation) Build(
	ctx context.Context, e *calls.Expander,
) (step *training.Iteration, merged [][2]int, err error) {
	expand := e.Expand(ctx)
	expandAndRecord := func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
		first := len(g.Tasks)
		done, err := expand(g, c, group, ready)
		if c.Kind == training.AllToAll {
			merged = append(merged, [2]int{first, len(g.Tasks)})
		}
		return done, err
	}
	step, err = training.BuildRecommendation(&w.RecommendationModel, expandAndRecord)
	return step, merged, err
}
