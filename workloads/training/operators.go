package training

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// The values of Spec.Compute: the models of compute time.
const (
	Effective     = "effective" // arithmetic operations at one effective rate
	Roofline      = "roofline"  // for each operator, the maximum of arithmetic and memory time
	OperatorTimes = "operators" // measured time of each operator
)

// Operators are the times of a GPU for the parts of a forward pass of one micro-batch.
type Operators struct {
	File      string      `key:"file" doc:"file with measured times in AICB's format, instead of the keys below; '' means none" default:"" implicit:"" unset:""`
	Attention engine.Time `key:"attention" doc:"attention of a layer, without its scores" default:"0s" min:"0"`
	Scores    engine.Time `key:"scores" doc:"attention scores of a layer and the weighted values" default:"0s" min:"0"`
	Network   engine.Time `key:"network" doc:"feed-forward network of a layer" default:"0s" min:"0"`
	Embedding engine.Time `key:"embedding" doc:"embedding, in the first stage" default:"0s" min:"0"`
	Head      engine.Time `key:"head" doc:"output head, in the last stage" default:"0s" min:"0"`
	Optimizer engine.Time `key:"optimizer" doc:"time of the optimizer's step of a stage, unless optimizer_time is set" default:"0s" min:"0"`
}

// Machine holds the peak rates of a GPU, for a roofline.
type Machine struct {
	PeakTFLOPS float64    `key:"peak_tflops" doc:"peak rate of a GPU, in 1e12 operations per second" required:"" above:"0" max:"1000000" when:"compute=roofline"`
	Memory     units.Rate `key:"memory_bandwidth" doc:"memory bandwidth of a GPU" required:"" max:"1e18" when:"compute=roofline"`
}

// attentionTime returns the time of attention in a forward pass of virtual stage v, in
// seconds, and the part of it spent on scores and weighted values.
func (s *Spec) attentionTime(v int) (all, scores float64) {
	_, layers := s.layers(v)
	switch s.Compute {
	case OperatorTimes:
		scores = layers * s.Operators.Scores.Seconds()
		all = scores + layers*s.Operators.Attention.Seconds()
	case Roofline:
		r := s.roofline()
		return layers * (r.attention + r.scores), layers * r.scores
	default:
		per := func(flops float64) float64 {
			tokens := s.microbatchTokens() * float64(s.Choices.ConcurrentMicrobatches)
			return layers * flops * tokens / (float64(s.StageGPUs()) * s.Choices.EffectiveTFLOPS * 1e12)
		}
		return per(2*s.Arch.AttentionParameters() + s.scoreFLOPs()), per(s.scoreFLOPs())
	}
	n := float64(s.Choices.ConcurrentMicrobatches)
	return all * n, scores * n
}

// operatorSeconds is ForwardSeconds for Compute = OperatorTimes or Roofline.
func (s *Spec) operatorSeconds(v int) float64 {
	_, layers := s.layers(v)
	n, part := s.modelParts(v)
	first, last := s.Choices.Embedding && part == 0, s.Choices.Embedding && part == n-1
	all, _ := s.attentionTime(v)

	if s.Compute == OperatorTimes {
		o, microbatches := &s.Operators, float64(s.Choices.ConcurrentMicrobatches)
		if all += microbatches * layers * o.Network.Seconds(); first {
			all += microbatches * o.Embedding.Seconds()
		}
		if last {
			all += microbatches * o.Head.Seconds()
		}
		return all
	}

	r := s.roofline()
	experts := s.ExpertLayers(v)
	if all += layers*r.norms + (layers-experts)*r.network + experts*r.experts; first {
		all += r.embedding
	}
	if last {
		all += r.head
	}
	return all
}

// rooflineTimes are the times of a GPU's operators in a forward pass, in seconds: per
// layer for norms to experts, per pass for embedding and head.
type rooflineTimes struct{ norms, attention, scores, network, experts, embedding, head float64 }

// roofline returns the times of operators under the roofline model (Williams et al.
// 2009). An operator takes the maximum of two times: its operations at the peak rate, and
// the transfer of its weights, inputs and outputs at the memory bandwidth. Scores stay on
// chip.
func (s *Spec) roofline() (r rooflineTimes) {
	a, gpus, tp := &s.Arch, float64(s.StageGPUs()), float64(s.TP)
	number, h := float64(s.Choices.ActivationBytes), float64(a.Hidden)
	tokens := s.microbatchTokens() * float64(s.Choices.ConcurrentMicrobatches) / gpus // tokens per GPU, as if it computed whole layers
	tensorTokens := tokens * tp                                                       // tokens for which the GPU computes 1/TP of each layer
	// time returns the roofline time of an operator that moves the given count of
	// numbers.
	time := func(flops, numbers float64) float64 {
		return max(flops/(s.Machine.PeakTFLOPS*1e12), 8*number*numbers/float64(s.Machine.Memory))
	}

	width := 2 * float64(a.HeadDim) * float64(a.Heads+a.KVHeads)
	if a.Attention == "mla" {
		width = float64(a.Heads) * float64(2*(a.NopeDim+a.RopeDim)+2*a.ValueDim)
	}
	norm := 4 * h * tensorTokens
	if s.Choices.SequenceParallel {
		norm /= tp
	}
	r.norms = time(0, 2*norm+3*2*h*tokens) // two norms, and two residual additions

	linear, network := a.AttentionParameters(), a.FFNParameters()
	r.attention = time(2*linear*tokens, linear/tp+tensorTokens*(2*h+width/tp))
	r.scores = time(s.scoreFLOPs()*tokens, tensorTokens*width/tp)
	inner := 2 * a.ffnMatrices() // reads and writes of the inner width
	r.network = time(2*network*tokens, network/tp+tensorTokens*(2*h+inner*float64(a.FFN)/tp))

	if a.Experts > 0 {
		activeExperts := float64(a.TopK + a.SharedExperts)
		weights := float64(a.Experts)*a.ExpertParameters()/gpus + float64(a.SharedExperts)*a.ExpertParameters()/tp
		r.experts = time(2*(activeExperts*a.ExpertParameters()+a.RouterParameters())*tokens,
			weights+tokens*activeExperts*(2*h+inner*float64(a.ExpertFFN)))
	}

	table := float64(a.Vocab) * h
	r.embedding = time(0, 2*h*tokens)
	r.head = time(2*table*tokens, table/tp+tokens*(h+float64(a.Vocab)))
	return r
}

// ReadOperators reads measured times in AICB's format. Each operator has a line "NAME:"
// followed by a line "time_gpu_avg: MICROSECONDS". ReadOperators fails on unknown
// operators and malformed lines, and names the line.
func ReadOperators(data []byte) (o Operators, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	var target *engine.Time
	var name string
	hasTime := map[string]bool{}
	for n := 1; lines.Scan(); n++ {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", n, fmt.Sprintf(format, args...))
		}

		line := strings.TrimSpace(lines.Text())
		key, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)

		switch {
		case line == "" || strings.HasPrefix(key, "train_iter") || key == "time_gpu_max" ||
			key == "time_gpu_min":
		case !found:
			return o, fail("neither an operator nor its time; want NAME: or time_gpu_avg: MICROSECONDS")
		case key == "time_gpu_avg":
			us, err := strconv.ParseFloat(value, 64)
			t, rangeErr := engine.FromSeconds(us * 1e-6)
			switch {
			case target == nil:
				return o, fail("a time of no operator; want the line NAME: before it")
			case err != nil || rangeErr != nil || !(us >= 0):
				return o, fail("no time; want microseconds")
			case hasTime[name]:
				return o, fail("a second time of %s; want one", name)
			}
			hasTime[name] = true
			*target += t
		case value != "":
			return o, fail("neither an operator nor its time; want NAME: or time_gpu_avg: MICROSECONDS")
		default:
			name = key
			switch {
			case key == "Emb":
				target = &o.Embedding
			case key == "logit_time" || key == "layernorm_post":
				target = &o.Head
			case key == "param_time":
				target = &o.Optimizer
			case key == "atten_flash" || strings.HasPrefix(key, "atten_core"):
				target = &o.Scores
			case key == "layernorm" || strings.HasPrefix(key, "atten_"):
				target = &o.Attention
			case key == "layernorm2" || strings.HasPrefix(key, "mlp_") || strings.HasPrefix(key, "moe_"):
				target = &o.Network
			default:
				return o, fail("the operator is not known; want Emb, layernorm, atten_*, layernorm2, mlp_*, moe_*, layernorm_post, logit_time or param_time")
			}
		}
	}

	if err := lines.Err(); err != nil {
		return o, err
	}
	if o.Attention+o.Scores == 0 || o.Network == 0 {
		return o, fmt.Errorf("it has no times of atten_* or of mlp_*; want those of a layer")
	}
	return o, nil
}
