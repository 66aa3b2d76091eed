// This file builds training steps of recommendation models (Naumov et al., "Deep Learning
// Recommendation Model for Personalization and Recommendation Systems", 2019).

package training

import (
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/units"
)

// RecommendationModel describes a training step of a recommendation model (Naumov et al.
// 2019). Each GPU has a copy of the dense networks. The embedding tables are spread
// evenly over all GPUs.
type RecommendationModel struct {
	GPUs            int        `key:"gpus" doc:"number of GPUs of the job" required:"" min:"2" max:"1048576"`
	Samples         int        `key:"samples" doc:"samples per GPU and step" required:"" min:"1" max:"1000000000"`
	Tables          int        `key:"tables" doc:"number of embedding tables" required:"" min:"1" max:"1000000000"`
	Width           int        `key:"width" doc:"mean number of elements per embedding" required:"" min:"1" max:"1000000"`
	Pooling         float64    `key:"pooling" doc:"mean number of rows that a sample looks up and sums per table" default:"1.0" above:"0" max:"1000000"`
	RowBytes        int        `key:"table_bytes" doc:"bytes per number in a table" default:"4" min:"1" max:"16"`
	MemoryRate      units.Rate `key:"memory_rate" doc:"rate at which a GPU's memory reads and writes rows" default:"1200GB/s" above:"0" max:"1e16"`
	EmbeddingBytes  int        `key:"embedding_bytes" doc:"bytes per number of an embedding or its gradient when sent" default:"2" min:"1" max:"16"`
	Dense           int        `key:"dense_parameters" doc:"parameters of the dense networks" required:"" min:"1" max:"1000000000000"`
	GradientBytes   int        `key:"gradient_bytes" doc:"bytes per gradient of the dense networks when sent" default:"4" min:"1" max:"16"`
	Operations      float64    `key:"operations" doc:"operations per sample and parameter of the dense networks in the forward pass: 2 for plain layers, more if weights are used several times" default:"2.0" above:"0" max:"1000000"`
	Bottom          float64    `key:"bottom" doc:"share of the dense networks that needs no embeddings and is computed during their exchange" default:"0.0" max:"1"`
	BackwardRatio   float64    `key:"backward_ratio" doc:"backward time over forward time" default:"2.0" max:"1000"`
	EffectiveTFLOPS float64    `key:"effective_tflops" doc:"effective rate of one GPU on the dense networks, in 1e12 operations per second" required:"" above:"0" max:"1000000"`
	Pieces          int        `key:"pieces" doc:"number of parts of the backward pass; the gradients of a part are reduced after it" default:"1" min:"1" max:"65536"`
	Pipelined       bool       `key:"pipelined" doc:"whether embeddings of the next step and embedding gradients of the previous step are exchanged while the dense networks are computed" default:"false"`
}

// MessageBytes returns the bytes of embeddings that a GPU sends to each other GPU.
// Gradients of embeddings have the same size.
func (s *RecommendationModel) MessageBytes() int64 {
	return int64(math.Ceil(float64(s.Samples) * float64(s.Tables) * float64(s.Width) * float64(s.EmbeddingBytes) / float64(s.GPUs)))
}

// LookupSeconds returns the time in which a GPU reads, or writes, the rows of its tables
// for the samples of all GPUs.
func (s *RecommendationModel) LookupSeconds() float64 {
	return float64(s.Samples) * float64(s.Tables) * s.Pooling * float64(s.Width) * float64(s.RowBytes) * 8 / float64(s.MemoryRate)
}

// ForwardSeconds returns the forward time of the dense networks.
func (s *RecommendationModel) ForwardSeconds() float64 {
	return float64(s.Samples) * s.Operations * float64(s.Dense) / (s.EffectiveTFLOPS * 1e12)
}

// Calls returns the calls of a step: the exchange of embeddings (forward), the exchange
// of their gradients (backward), and the all-reduce of the gradients of one piece of the
// top network and of the bottom network. An all-reduce of an empty network has no bytes.
func (s *RecommendationModel) Calls() (forward, backward, top, bottom Call) {
	exchange := Call{Dim: Expert, Kind: AllToAll, Bytes: s.MessageBytes()}
	back := exchange
	back.Transposed = true
	reduce := func(part float64) Call {
		return Call{Dim: Sync, Kind: AllReduce,
			Bytes: int64(math.Round(part * float64(s.Dense) * float64(s.GradientBytes)))}
	}
	return exchange, back, reduce((1 - s.Bottom) / float64(s.Pieces)), reduce(s.Bottom)
}

// The parts of a step. TaskMeta.Chunk of a task is one of them.
const (
	lookup int32 = iota
	bottomForward
	topForward
	topBackward
	bottomBackward
	update
	exchange
	exchangeBack
	reduction
)

var partNames = [...]string{
	"lookup", "bottom network, forward", "top network, forward", "top network, backward",
	"bottom network, backward", "update of tables",
	"exchange of embeddings", "exchange of their gradients", "reduction of gradients",
}

// BuildRecommendation returns a step of a recommendation model. The function expand adds
// each collective call to the graph, among all GPUs (see BuildOptions.Expand).
//
// Each GPU looks up the rows of its tables for all samples and sends the embeddings to
// the GPUs of the samples, while the bottom network is computed. The top network follows,
// forward and backward. Gradients of embeddings return and are written to the tables.
//
// Gradients of the dense networks are all-reduced in pieces. A reduction starts when its
// piece is computed and the previous reduction has ended. Lookups do not slow down
// computation, because memory limits the former and arithmetic the latter. Exchanges
// have the phase Expert, reductions the phase Sync.
func BuildRecommendation(s *RecommendationModel, expand func(g *engine.Graph, c Call, group, ready []int32) ([]int32, error)) (*Iteration, error) {
	b := &builder{Iteration: &Iteration{
		Spec:  Spec{GPUs: s.GPUs, PP: 1, Chunks: 1, Microbatches: 1, Collectives: CollectivesInGraph},
		Graph: &engine.Graph{}, All: true,
	}}
	b.options.Expand = expand

	var group []int32
	for g := range int32(s.GPUs) {
		group = append(group, g)
	}

	var firstErr error

	// compute adds one task per GPU, each after the tasks of the same GPU in after. A task that
	// takes noTime only joins others.
	const noTime = 0
	compute := func(part int32, seconds float64, after ...[]int32) []int32 {
		d, err := engine.FromSeconds(seconds)
		if err != nil && firstErr == nil {
			firstErr = fmt.Errorf("training: %s: %w", partNames[part], err)
		}
		m := TaskMeta{Phase: Forward, Chunk: part}
		if part == topBackward || part == bottomBackward {
			m.Phase = Backward
		}
		ids := make([]int32, s.GPUs)
		for g := range ids {
			m.GPU = int32(g)
			ids[g] = b.addTask(engine.Task{Duration: d}, m)
			for _, a := range after {
				b.Graph.AddDependency(a[g], ids[g])
			}
		}
		return ids
	}

	// call adds a collective call among all GPUs and returns its last task on each.
	call := func(part int32, c Call, ready []int32) []int32 {
		if firstErr != nil || c.Bytes == 0 {
			return ready
		}
		done, err := b.expandCall(c, group, ready, TaskMeta{Chunk: part, GPU: -1})
		if firstErr = err; err != nil {
			return ready
		}
		return done
	}

	// Forward: lookup and exchange, bottom network, top network.
	forward, backward, top, bottom := s.Calls()
	dense := s.ForwardSeconds()
	lookedUp := compute(lookup, s.LookupSeconds())
	embedded := call(exchange, forward, lookedUp)
	bottomDone := compute(bottomForward, dense*s.Bottom)
	needs := [][]int32{bottomDone}
	if !s.Pipelined {
		needs = append(needs, embedded)
	}
	last := compute(topForward, dense*(1-s.Bottom), needs...)

	// Backward: top network in pieces, each followed by its reduction.
	var reduced []int32
	reduce := func(c Call, computed []int32) {
		if reduced != nil { // wait for the previous reduction
			computed = compute(reduction, noTime, reduced, computed)
		}
		reduced = call(reduction, c, computed)
	}
	for range s.Pieces {
		last = compute(topBackward, dense*(1-s.Bottom)*s.BackwardRatio/float64(s.Pieces), last)
		reduce(top, last)
	}

	// The gradients of embeddings are exchanged and written to the tables.
	gradients := last
	if s.Pipelined { // the gradients of the previous step
		gradients = compute(exchangeBack, noTime)
	}
	compute(update, s.LookupSeconds(), call(exchangeBack, backward, gradients))
	reduce(bottom, compute(bottomBackward, dense*s.Bottom*s.BackwardRatio, last))

	if firstErr != nil {
		return nil, firstErr
	}
	b.Graph.Namer = func(id int32) string {
		if m := b.Meta[id]; m.GPU >= 0 {
			return fmt.Sprintf("%s of gpu %d", partNames[m.Chunk], m.GPU)
		}
		return partNames[b.Meta[id].Chunk]
	}
	if err := b.Graph.Freeze(); err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	return b.Iteration, nil
}

// Description describes the step in one line. A non-empty title replaces the name of the model.
func (s *RecommendationModel) Description(title string) string {
	if title == "" {
		title = "a recommendation model"
	}
	return fmt.Sprintf("%s on %d GPUs: %d samples each, %d tables of width %d, %.3g dense parameters",
		title, s.GPUs, s.Samples, s.Tables, s.Width, float64(s.Dense))
}
