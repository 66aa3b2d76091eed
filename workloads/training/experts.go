package training

import (
	"math"

	"sim/engine"
)

// ExpertLayers returns how many layers of virtual stage v have experts; a share of all unless stages are
// layer-granular.
func (s *Spec) ExpertLayers(v int) float64 {
	_, layers := s.layers(v)
	return layers - s.dense(v)
}

// ExpertBytes returns the mean size of what a GPU of a stage sends to another in one all-to-all between tokens and
// experts, rounded up: a token goes to TopK experts, which are spread evenly over the stage, as ActivationBytes a
// number of its Hidden, and where ETP GPUs share an expert to each of them. 0 in a dense model.
func (s *Spec) ExpertBytes() int64 {
	gpus := float64(s.StageGPUs())
	tokens := float64(s.Sequence*s.Microbatch*s.Choices.ConcurrentMicrobatches) / gpus
	return int64(math.Ceil(tokens * float64(s.Arch.TopK*s.ETP*s.Arch.Hidden*s.Choices.ActivationBytes) / gpus))
}

// AddExchanges lengthens every pass by its all-to-alls between tokens and experts, of which each takes so long: two a
// layer with experts, there and back, in the forward pass and two in the backward pass. It must be called once, before
// the graph is simulated. Error: a time beyond what simulated time can hold.
func (it *Iteration) AddExchanges(each engine.Time) error {
	s := &it.Spec
	return it.Lengthen(func(v int, _ Phase) (engine.Time, error) {
		return engine.FromSeconds(2 * s.ExpertLayers(v) * each.Seconds())
	})
}
