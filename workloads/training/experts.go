package training

import (
	"math"

	"sim/engine"
)

// ExpertLayers returns how many layers of virtual stage v have experts; a share of all unless stages are
// layer-granular.
func (s *Spec) ExpertLayers(v int) float64 {
	_, layers := s.layers(v)
	return layers - s.denseLayers(v)
}

// ExpertBytes returns the mean size of what a GPU of a stage sends to another in one all-to-all between tokens and
// experts, rounded up: a token goes to TopK experts, which are spread evenly over the stage, as ActivationBytes a
// number of its Hidden, and where ETP GPUs share an expert to each of them. 0 in a dense model.
func (s *Spec) ExpertBytes() int64 {
	gpus := float64(s.StageGPUs())
	tokens := float64(s.Sequence*s.Microbatch*s.Choices.ConcurrentMicrobatches) / gpus
	return int64(math.Ceil(tokens * float64(s.Arch.TopK*s.ETP*s.Arch.Hidden*s.Choices.ActivationBytes) / gpus))
}

// expertLayer returns which of the layers with experts a piece of a pass of virtual stage v computes, or most of it,
// from 0.
func (s *Spec) expertLayer(v, piece, pieces int) int {
	first, layers := s.layers(v)
	layer := int(first+(float64(piece)+0.5)*layers/float64(pieces)) - s.Arch.DenseLayers
	return min(max(layer, 0), s.Arch.Layers-s.Arch.DenseLayers-1)
}

// LoadShares returns the part of a stage's tokens that each of its GPUs receives, by the loads of the experts of a
// layer with experts, from 0: consecutive experts are on the same rank, whose ETP GPUs share them.
func (s *Spec) LoadShares(layer int) []float64 {
	shares := make([]float64, s.StageGPUs())
	sum := 0.0
	each := s.Arch.Experts / s.EP
	for expert, load := range s.ExpertLoads[layer] {
		for k := range s.ETP {
			shares[expert/each*s.ETP+k] += float64(load) / float64(s.ETP)
		}
		sum += float64(load)
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// AddExchanges lengthens every pass by its all-to-alls between tokens and experts, each as long as it says: two a layer
// with experts, there and back, in the forward pass and two in the backward pass. It must be called once, before the
// graph is simulated. Error: a time beyond what simulated time can hold.
func (it *Iteration) AddExchanges(each [4]engine.Time) error {
	return it.Lengthen(func(v int, pass Phase) (engine.Time, error) {
		i := 2 * int(pass-Forward)
		return engine.FromSeconds(it.Spec.ExpertLayers(v) * (each[i] + each[i+1]).Seconds())
	})
}

// ExchangeGaps returns what a pass computes at least before each of the two all-to-alls of a layer with experts, when
// all that comes before them has been sent: attention before tokens go to experts, the experts before they come back,
// and in the backward pass the same the other way round. Shared experts may be computed at any time, and are left out.
func (s *Spec) ExchangeGaps(pass Phase) (first, second engine.Time, err error) {
	ratio := 1.0
	if pass == Backward {
		ratio = s.Choices.BackwardRatio
	}
	attention, experts := s.layerSeconds()
	if first, err = engine.FromSeconds(attention * ratio); err != nil {
		return 0, 0, err
	}
	second, err = engine.FromSeconds(experts * ratio)
	return first, second, err
}

// layerSeconds returns how long the forward pass of a layer with experts computes attention and
// the router, and how long routed experts. Measured times have no part for shared experts, which
// are then left in. The router's share of a roofline is left out.
func (s *Spec) layerSeconds() (attention, experts float64) {
	a, c := &s.Arch, &s.Choices
	switch s.Compute {
	case OperatorTimes:
		o, n := &s.Operators, float64(c.ConcurrentMicrobatches)
		return n * (o.Attention + o.Scores).Seconds(), n * o.Network.Seconds()
	case Roofline:
		r := s.roofline()
		return r.attention + r.scores, r.experts * float64(a.TopK) / float64(a.TopK+a.SharedExperts)
	}
	token := s.microbatchTokens() * float64(c.ConcurrentMicrobatches) / (float64(s.StageGPUs()) * c.EffectiveTFLOPS * 1e12)
	return (2*(a.AttentionParameters()+a.RouterParameters()) + s.scoreFLOPs()) * token, 2 * float64(a.TopK) * a.ExpertParameters() * token
}
