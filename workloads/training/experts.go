// This file computes the traffic and the times of layers with experts (mixture of experts). In
// such a layer, a router sends each token to TopK experts, which are on different GPUs of
// the stage. One all-to-all sends tokens to their experts (dispatch), another one sends the
// results back (combine).

package training

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/workloads/collective"
)

// ExpertLayers returns the number of layers of virtual stage v that have experts. Unless
// stages hold whole layers, it is an equal share of these layers and may be a fraction.
func (s *Spec) ExpertLayers(v int) float64 {
	_, layers := s.layers(v)
	return layers - s.denseLayers(v)
}

// ExpertBytes returns the mean message size of one all-to-all between tokens and experts:
// the bytes from one GPU of a stage to another, rounded up. Each token is sent to TopK
// experts, which are spread evenly over the stage, and to each of the ETP GPUs of an
// expert. It is 0 for a dense model.
func (s *Spec) ExpertBytes() int64 {
	return s.meanExpertBytes(float64(s.Choices.ActivationBytes))
}

// meanExpertBytes is ExpertBytes for numbers of the given size.
func (s *Spec) meanExpertBytes(bytesPerNumber float64) int64 {
	gpus := float64(s.StageGPUs())
	tokens := float64(s.Sequence*s.Microbatch*s.Choices.ConcurrentMicrobatches) / gpus
	return int64(math.Ceil(tokens * (float64(s.Arch.TopK*s.ETP*s.Arch.Hidden) * bytesPerNumber) / gpus))
}

// nodeGPUs returns the GPUs of a stage that are in one node.
func (s *Spec) nodeGPUs() int {
	if s.NodeGPUs == 0 {
		return s.StageGPUs()
	}
	return min(s.NodeGPUs, s.StageGPUs())
}

// ExpertRouting returns how tokens choose their experts.
func (s *Spec) ExpertRouting() collective.ExpertRouting {
	return collective.ExpertRouting{
		Experts: s.Arch.Experts, TopK: s.Arch.TopK, Ranks: s.EP, Nodes: s.StageGPUs() / s.nodeGPUs(),
		MaxNodes: s.ExpertNodes,
	}
}

// sendsCopiesPerExpert reports whether a token is sent once per expert.
func (s *Spec) sendsCopiesPerExpert() bool {
	return s.ExpertCopies == "" || s.ExpertCopies == collective.CopyPerExpert
}

// exchange returns the expected messages of one all-to-all between tokens and experts, for
// numbers of the given size.
func (s *Spec) exchange(bytesPerNumber float64) collective.Exchange {
	if s.sendsCopiesPerExpert() || s.Arch.Experts == 0 {
		return collective.Exchange{Inside: s.meanExpertBytes(bytesPerNumber)}
	}
	tokens := float64(s.Sequence*s.Microbatch*s.Choices.ConcurrentMicrobatches) / float64(s.StageGPUs())
	x := s.ExpertRouting().Exchange(s.ExpertCopies, tokens*float64(s.Arch.Hidden)*bytesPerNumber)
	x.NodeGPUs *= s.ETP // all of these GPUs share an expert
	return x
}

// loadFactor returns the factor by which more copies are sent to a GPU or node than on average, if
// its experts get load times as many tokens as on average. average is the probability that a
// token has a copy there. A token has at most one, unless copies are sent per expert.
func (s *Spec) loadFactor(load, average float64) float64 {
	if s.sendsCopiesPerExpert() {
		return load
	}
	return (1 - math.Pow(1-average, load)) / average
}

// LoadSizes returns the messages of an all-to-all with the mean sizes of call c, by the loads of
// experts in a layer. The message from GPU i to GPU k of a stage has index i*GPUs + k.
func (s *Spec) LoadSizes(c Call, layer int, seed uint64) []int64 {
	gpus, shares := s.StageGPUs(), s.LoadShares(layer, seed)
	perNode := s.nodeGPUs()
	nodeShares := make([]float64, gpus/perNode)
	for i, share := range shares {
		nodeShares[i/perNode] += share
	}
	var ranks, nodes float64
	if !s.sendsCopiesPerExpert() {
		ranks, nodes = s.ExpertRouting().Expected()
	}

	sizes := make([]int64, gpus*gpus)
	for i := range sizes {
		from, to := i/gpus, i%gpus
		load, average := float64(gpus)*shares[to], ranks/float64(s.EP)
		if c.NodeGPUs > 0 && from/perNode != to/perNode {
			load, average = float64(len(nodeShares))*nodeShares[to/perNode], nodes/float64(len(nodeShares))
		}
		sizes[i] = int64(math.Round(float64(c.Size(from, to)) * s.loadFactor(load, average)))
	}
	return sizes
}

// expertLayer returns the layer that contains the middle of the given piece of a pass of
// virtual stage v. Layers are counted from the first one with experts.
func (s *Spec) expertLayer(v, piece, pieces int) int {
	first, layers := s.layers(v)
	middle := first + (float64(piece)+0.5)*layers/float64(pieces)
	layer := int(middle) - s.Arch.DenseLayers
	return min(max(layer, 0), s.Arch.Layers-s.Arch.DenseLayers-1)
}

// LoadShares returns the share of a stage's tokens that each of its GPUs receives in a
// layer, from the loads in ExpertLoads. Layers are counted from the first one with
// experts. The GPUs of a rank share its experts. With ExpertDrift, the loads have changed since
// the experts were placed; seed selects the change.
func (s *Spec) LoadShares(layer int, seed uint64) []float64 {
	loads := make([]float64, s.Arch.Experts)
	for i, load := range s.ExpertLoads[layer] {
		loads[i] = float64(load)
	}
	placed, copies := s.placeExperts(loads)
	if s.ExpertDrift > 0 {
		random := RandomStream(seed, fmt.Sprintf("expert drift %d", layer))
		deviation := s.ExpertDrift * math.Sqrt(float64(s.ExpertAge))
		for i := range loads {
			loads[i] *= math.Exp(deviation * random.NormFloat64())
		}
	}

	shares := make([]float64, s.StageGPUs())
	sum := 0.0
	for rank, experts := range placed {
		for _, expert := range experts {
			load := loads[expert] / float64(copies[expert])
			for k := range s.ETP {
				shares[rank*s.ETP+k] += load / float64(s.ETP)
			}
			sum += load
		}
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// placeExperts returns the experts on each rank and the number of copies of each expert. Without
// ExtraExperts, consecutive experts are on one rank. Otherwise each further copy is of the
// expert with the largest load per copy. In the order of their loads, copies go to the rank with
// the smallest load that has capacity (expert-parallel load balancer, EPLB, of DeepSeek-AI, 2025).
func (s *Spec) placeExperts(loads []float64) (ranks [][]int, copies []int) {
	copies = slices.Repeat([]int{1}, len(loads))
	ranks = make([][]int, s.EP)
	if s.ExtraExperts == 0 {
		perRank := len(loads) / s.EP
		for expert := range loads {
			ranks[expert/perRank] = append(ranks[expert/perRank], expert)
		}
		return ranks, copies
	}

	perCopy := func(expert int) float64 { return loads[expert] / float64(copies[expert]) }
	for range s.ExtraExperts {
		hottest := 0
		for expert := range loads {
			if perCopy(expert) > perCopy(hottest) {
				hottest = expert
			}
		}
		copies[hottest]++
	}
	var all []int // an expert occurs once per copy
	for expert, n := range copies {
		all = append(all, slices.Repeat([]int{expert}, n)...)
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(perCopy(b), perCopy(a)) })
	capacity, rankLoads := len(all)/s.EP, make([]float64, s.EP)
	for _, expert := range all {
		lightest := -1
		for rank := range ranks {
			if len(ranks[rank]) < capacity && (lightest < 0 || rankLoads[rank] < rankLoads[lightest]) {
				lightest = rank
			}
		}
		ranks[lightest], rankLoads[lightest] = append(ranks[lightest], expert), rankLoads[lightest]+perCopy(expert)
	}
	return ranks, copies
}

// AddExchanges lengthens every pass by its all-to-alls between tokens and experts. Each
// layer with experts has two in the forward pass (dispatch and combine) and two in the
// backward pass; timeOf lists their durations in this order. AddExchanges is called once,
// before the graph is simulated. It fails if a time exceeds the range of simulated time.
func (it *Iteration) AddExchanges(timeOf [4]engine.Time) error {
	return it.Lengthen(func(v int, pass Phase) (engine.Time, error) {
		i := 2 * int(pass-Forward) // Backward follows Forward
		return engine.FromSeconds(it.Spec.ExpertLayers(v) * (timeOf[i] + timeOf[i+1]).Seconds())
	})
}

// ExchangeGaps returns the minimum compute time before each of the two all-to-alls of a
// layer with experts, once all earlier data has been sent: attention before the dispatch,
// and the routed experts before the combine. In a backward pass the same holds for
// gradients, with the layers in reverse order. Shared experts are left out because they
// can be computed at any time.
func (s *Spec) ExchangeGaps(pass Phase) (first, second engine.Time, err error) {
	ratio := 1.0
	if pass == Backward && s.Compute != Profile {
		ratio = s.Choices.BackwardRatio
	}
	attention, experts := s.layerSeconds(pass)
	if first, err = engine.FromSeconds(attention * ratio); err != nil {
		return 0, 0, err
	}
	second, err = engine.FromSeconds(experts * ratio)
	return first, second, err
}

// layerSeconds returns the time of one layer with experts: of attention and the router, and of the
// routed experts. It is the forward time, except with a profile, which has the times of each pass.
// Measured times do not distinguish shared experts, so the experts' time then includes them. A
// roofline and a profile omit the router.
func (s *Spec) layerSeconds(pass Phase) (attention, experts float64) {
	a, c := &s.Arch, &s.Choices
	partsOf := func(p passParts) (attention, experts float64) {
		return p.attention + p.scores, p.experts * float64(a.TopK) / float64(a.TopK+a.SharedExperts)
	}
	switch s.Compute {
	case OperatorTimes:
		o, n := &s.Operators, float64(c.ConcurrentMicrobatches)
		return n * (o.Attention + o.Scores).Seconds(), n * o.Network.Seconds()
	case Roofline:
		return partsOf(s.roofline())
	case Profile:
		return partsOf(s.profileParts(pass))
	}

	// A product with a parameter takes 2 operations per token. perOperation is the time of
	// the stage for one operation per token.
	tokens := s.microbatchTokens() * float64(c.ConcurrentMicrobatches)
	perOperation := tokens / (float64(s.StageGPUs()) * c.EffectiveTFLOPS * 1e12)
	attention = (2*(a.AttentionParameters()+a.RouterParameters()) + s.scoreFLOPs()) * perOperation
	experts = 2 * float64(a.TopK) * a.ExpertParameters() * perOperation
	return attention, experts
}
