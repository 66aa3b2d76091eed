package training

import (
	"fmt"
	"math"

	"sim/engine"
)

// Choices are the modelling choices that the paper leaves open. The preset "calibrated" (docs/model.md) is the set that
// comes nearest to its figures.
type Choices struct {
	EffectiveTFLOPS float64 // TFLOP/s that a GPU reaches
	BackwardRatio   float64 // backward time over forward time
	CausalAttention bool    // count half of the attention matrix
	LayerGranular   bool    // stages hold whole layers, the first ones one more; else all are alike
	Embedding       bool    // count the embedding in the first stage and the LM head in the last
	RouterAllLayers bool    // count a router's FLOPs in the dense layers of an MoE model too
	// ConcurrentMicrobatches is the number of micro-batches whose compute a stage does at a time: 1, or the number of
	// its tensor-parallel groups.
	ConcurrentMicrobatches int
	ActivationBytes        int  // an element, in pipeline transfers
	GradientBytes          int  // an element, in the reduce-scatter
	ParameterBytes         int  // an element, in the all-gather
	SequenceParallel       bool // a GPU sends 1/TP of the activations; else each sends them all
	Bidirectional          bool // with more than two replicas half of a stage's GPUs send each way round the ring
}

// Spec describes one training iteration.
type Spec struct {
	Arch         Architecture
	Choices      Choices
	Sequence     int // tokens a sample
	Microbatch   int // samples
	Microbatches int // an iteration and replica
	TP, PP       int
	EP, ETP      int // of the experts; 1 for dense models
	GPUs         int
	Schedule     Schedule
	Chunks       int // model chunks a stage holds: 1, or more under Interleaved
}

// StageGPUs returns the number of GPUs of a pipeline stage: an expert-parallel group where there are experts, else a
// tensor-parallel one.
func (s *Spec) StageGPUs() int {
	if s.Arch.Experts > 0 {
		return s.ETP * s.EP
	}
	return s.TP
}

// Replicas returns the number of data-parallel replicas (for MoE models expert-data-parallel ones).
func (s *Spec) Replicas() int { return s.GPUs / (s.PP * s.StageGPUs()) }

// Check fails when the parts do not make whole stages and replicas.
func (s *Spec) Check() error {
	switch {
	case s.TP < 1 || s.PP < 1 || s.EP < 1 || s.ETP < 1 || s.Chunks < 1 || s.Microbatches < 1:
		return fmt.Errorf("training: parallelism and micro-batches must be at least 1")
	case s.GPUs%(s.PP*s.StageGPUs()) != 0 || s.Replicas() < 1:
		return fmt.Errorf("training: %d GPUs are not a multiple of %d stages of %d GPUs", s.GPUs, s.PP, s.StageGPUs())
	case s.StageGPUs()%s.TP != 0:
		return fmt.Errorf("training: stages of %d GPUs do not hold whole groups of TP %d", s.StageGPUs(), s.TP)
	case s.PP*s.Chunks > s.Arch.Layers:
		return fmt.Errorf("training: %d stages of %d chunks for %d layers", s.PP, s.Chunks, s.Arch.Layers)
	case s.Chunks > 1 && s.Schedule != Interleaved:
		return fmt.Errorf("training: %d chunks a stage need the schedule %v, not %v", s.Chunks, Interleaved, s.Schedule)
	case s.Schedule == Interleaved && s.Microbatches%s.PP != 0:
		return fmt.Errorf("training: %d micro-batches are not a multiple of PP %d", s.Microbatches, s.PP)
	case !(s.Choices.EffectiveTFLOPS > 0) || !(s.Choices.BackwardRatio >= 0):
		return fmt.Errorf("training: effective TFLOP/s %g, backward ratio %g", s.Choices.EffectiveTFLOPS, s.Choices.BackwardRatio)
	}
	return nil
}

// layers returns the number of layers of virtual stage v of PP x Chunks (a share of all unless stages are
// layer-granular), and the index of its first.
func (s *Spec) layers(v int) (first, count float64) {
	n, l := s.PP*s.Chunks, s.Arch.Layers
	if !s.Choices.LayerGranular {
		each := float64(l) / float64(n)
		return float64(v) * each, each
	}
	f := v*(l/n) + min(v, l%n)
	c := l / n
	if v < l%n {
		c++
	}
	return float64(f), float64(c)
}

// dense returns how many of virtual stage v's layers have no experts: its share of them, or those that it holds where
// stages are layer-granular.
func (s *Spec) dense(v int) float64 {
	first, count := s.layers(v)
	switch {
	case s.Arch.Experts == 0:
		return count
	case !s.Choices.LayerGranular:
		return float64(s.Arch.DenseLayers) / float64(s.PP*s.Chunks)
	}
	return min(count, max(0, float64(s.Arch.DenseLayers)-first))
}

// ForwardSeconds returns the time of the forward pass of one micro-batch through virtual stage v.
func (s *Spec) ForwardSeconds(v int) float64 {
	a, c := &s.Arch, &s.Choices
	_, layers := s.layers(v)
	dense := s.dense(v)
	active := layers*a.AttentionParameters() + dense*a.FFNParameters()
	if a.Experts > 0 {
		moe := layers - dense
		active += moe * float64(a.TopK+a.SharedExperts) * a.ExpertParameters()
		if c.RouterAllLayers {
			active += layers * a.RouterParameters()
		} else {
			active += moe * a.RouterParameters()
		}
	}
	if c.Embedding && v == s.PP*s.Chunks-1 {
		active += float64(a.Vocab) * float64(a.Hidden)
	}
	perToken := 2*active + 4*float64(s.Sequence)*a.AttentionWidth()*layers
	if c.CausalAttention {
		perToken -= 2 * float64(s.Sequence) * a.AttentionWidth() * layers
	}
	tokens := float64(s.Sequence * s.Microbatch * c.ConcurrentMicrobatches)
	return perToken * tokens / (float64(s.StageGPUs()) * c.EffectiveTFLOPS * 1e12)
}

// PipelineBytes returns what one GPU sends to the next stage a micro-batch.
func (s *Spec) PipelineBytes() int64 {
	b := int64(s.Sequence) * int64(s.Microbatch) * int64(s.Arch.Hidden) * int64(s.Choices.ActivationBytes)
	if s.Choices.SequenceParallel {
		b /= int64(s.TP)
	}
	return b
}

// Parameters returns the parameters that one GPU of virtual stage v holds.
func (s *Spec) Parameters(v int) float64 {
	a := &s.Arch
	_, layers := s.layers(v)
	dense := s.dense(v)
	gpus := float64(s.StageGPUs())
	// attention, dense layers, router and shared experts are divided over the tensor-parallel groups of the stage too
	held := (layers*a.AttentionParameters() + dense*a.FFNParameters()) / gpus
	if a.Experts > 0 {
		moe := layers - dense
		held += moe * (a.RouterParameters() + float64(a.SharedExperts)*a.ExpertParameters()) / gpus
		held += moe * float64(a.Experts) * a.ExpertParameters() / gpus
	}
	if table := float64(a.Vocab) * float64(a.Hidden) / gpus; s.Choices.Embedding {
		if v == 0 {
			held += table
		}
		if v == s.PP*s.Chunks-1 {
			held += table // of the LM head
		}
	}
	return held
}

// SyncBytes returns what one GPU of virtual stage v sends to its neighbour on the ring of replicas an iteration:
// gradients reduce-scattered, parameters all-gathered.
func (s *Spec) SyncBytes(v int) int64 {
	d := float64(s.Replicas())
	b := float64(s.Choices.GradientBytes+s.Choices.ParameterBytes) * (d - 1) / d * s.Parameters(v)
	return int64(math.Round(b))
}

// times returns the forward and backward time of virtual stage v on GPUs that take scale times as long.
func (s *Spec) times(v int, scale float64) (forward, backward engine.Time, err error) {
	f := s.ForwardSeconds(v) * scale
	if forward, err = engine.FromSeconds(f); err != nil {
		return 0, 0, err
	}
	backward, err = engine.FromSeconds(f * s.Choices.BackwardRatio)
	return forward, backward, err
}
