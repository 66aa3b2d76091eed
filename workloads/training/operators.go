package training

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/machine"
)

// This file computes the time of a pass from the times of its operators: the parts of a
// transformer layer (attention, feed-forward network, normalisation), the embedding and the
// output head. The times are measured, or follow from a roofline or from the profile of a GPU.

// The values of Spec.Compute: the models of compute time.
const (
	Effective     = "effective" // arithmetic operations at one effective rate
	Roofline      = "roofline"  // for each operator, the maximum of arithmetic and memory time
	OperatorTimes = "operators" // measured time of each operator
	Profile       = "profile"   // kernels of the GPU of a machine (Spec.GPU)
)

// Operators are the times that a GPU takes for the operators of a forward pass of one
// micro-batch, and for the optimizer's step.
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

// Formats are the number formats of the matrix products of a step on the GPU of a profile.
// Normalisation, attention scores and the router compute in BF16.
type Formats struct {
	Precision     string `key:"precision" doc:"number format of the matrix products of layers" default:"bf16" choices:"bf16|fp8|mxfp8|nvfp4" when:"compute=profile"`
	Projections   string `key:"projection_precision" doc:"number format of the projections of attention" else:"precision" choices:"bf16|fp8|mxfp8|nvfp4" when:"compute=profile"`
	Experts       string `key:"expert_precision" doc:"number format of experts" else:"precision" choices:"bf16|fp8|mxfp8|nvfp4" when:"compute=profile"`
	HeadPrecision string `key:"head_precision" doc:"number format of the output head" default:"bf16" choices:"bf16|fp8|mxfp8|nvfp4" when:"compute=profile"`
}

// All returns the number formats that a step may use.
func (f *Formats) All() []machine.Precision {
	all := []machine.Precision{machine.BF16}
	for _, name := range []string{f.Precision, f.Projections, f.Experts, f.HeadPrecision} {
		all = append(all, machine.Precision(name))
	}
	return all
}

// passParts are the times of the parts of a pass of one micro-batch, in seconds.
type passParts struct {
	// Per layer. network is for dense layers, experts for layers with a mixture of experts.
	norms, attention, scores, network, experts float64
	// Per pass.
	embedding, head float64
}

// attentionTime returns the time of attention in a pass of virtual stage v, in seconds, the part of
// it spent on attention scores and weighted values, and the time of the whole pass.
//
// Only a profile has times of backward passes. Otherwise their parts are proportional to the parts
// of the forward pass, and attentionTime returns the times of the forward pass.
func (s *Spec) attentionTime(v int, pass Phase) (all, scores, whole float64) {
	_, layers := s.layers(v)
	switch s.Compute {
	case OperatorTimes:
		microbatches := float64(s.Choices.ConcurrentMicrobatches)
		scores = layers * s.Operators.Scores.Seconds()
		all = scores + layers*s.Operators.Attention.Seconds()
		return all * microbatches, scores * microbatches, s.ForwardSeconds(v)
	case Roofline:
		r := s.roofline()
		return layers * (r.attention + r.scores), layers * r.scores, s.ForwardSeconds(v)
	case Profile:
		p := s.profileParts(pass.callPass())
		return layers * (p.attention + p.scores), layers * p.scores, s.sum(v, p)
	}

	// Effective: each parameter takes a multiplication and an addition per token.
	tokens := s.microbatchTokens() * float64(s.Choices.ConcurrentMicrobatches)
	seconds := func(flopsPerToken float64) float64 {
		return layers * flopsPerToken * tokens / (float64(s.StageGPUs()) * s.Choices.EffectiveTFLOPS * 1e12)
	}
	return seconds(2*s.Arch.AttentionParameters() + s.scoreFLOPs()), seconds(s.scoreFLOPs()), s.ForwardSeconds(v)
}

// operatorSeconds is ForwardSeconds for all values of Compute but Effective.
func (s *Spec) operatorSeconds(v int) float64 {
	switch s.Compute {
	case Roofline:
		return s.sum(v, s.roofline())
	case Profile:
		return s.sum(v, s.profileParts(Forward))
	}
	o := &s.Operators
	return float64(s.Choices.ConcurrentMicrobatches) * s.sum(v, passParts{
		attention: o.Attention.Seconds(), scores: o.Scores.Seconds(), network: o.Network.Seconds(),
		experts: o.Network.Seconds(), embedding: o.Embedding.Seconds(), head: o.Head.Seconds(),
	})
}

// sum returns the time of a pass of virtual stage v with the parts p.
func (s *Spec) sum(v int, p passParts) float64 {
	_, layers := s.layers(v)
	numParts, modelPart := s.modelParts(v)
	experts := s.ExpertLayers(v)
	sum := layers*(p.norms+p.attention+p.scores) + (layers-experts)*p.network + experts*p.experts
	if s.Choices.Embedding && modelPart == 0 {
		sum += p.embedding
	}
	if s.Choices.Embedding && modelPart == numParts-1 {
		sum += p.head
	}
	return sum
}

// roofline returns the times of a forward pass under the roofline model (Williams et al.,
// "Roofline: An Insightful Visual Performance Model", CACM 2009). A part takes the
// maximum of two times: its arithmetic operations at the peak rate, and the transfer of its
// weights, inputs and outputs at the memory bandwidth. The attention scores
// stay on chip and cause no transfers.
//
// Numbers that are read and written are counted per operator, in units of
// Choices.ActivationBytes. With tensor parallelism, a GPU computes 1/tp of each matrix for
// tensorTokens tokens.
func (s *Spec) roofline() (r passParts) {
	a, gpus, tp := &s.Arch, float64(s.StageGPUs()), float64(s.TP)
	bytesPerNumber, hidden := float64(s.Choices.ActivationBytes), float64(a.Hidden)
	tokens := s.gpuTokens()
	tensorTokens := tokens * tp

	// time returns the roofline time of an operator that moves the given count of numbers.
	time := func(flops, numbers float64) float64 {
		return max(flops/(s.Machine.PeakTFLOPS*1e12), 8*bytesPerNumber*numbers/float64(s.Machine.Memory))
	}
	// products is time for matrix products.
	products := func(p []machine.Product, numbers float64) float64 {
		flops := 0.0
		for i := range p {
			flops += p[i].FLOPs()
		}
		return time(flops, numbers)
	}

	// A layer has two normalisations and two residual additions. A normalisation is modelled as
	// four transfers of the hidden vector. Without sequence parallelism, all tensor-parallel GPUs
	// repeat it. A residual addition reads two hidden vectors and writes one.
	norm := 4 * hidden * tensorTokens
	if s.Choices.SequenceParallel {
		norm /= tp
	}
	const noFLOPs = 0 // the memory limits it in any case
	residual := 3 * hidden * tokens
	r.norms = time(noFLOPs, 2*norm+2*residual)

	attentionWidth := a.vectorWidth()
	attention := a.AttentionParameters()
	r.attention = products(s.projections(), attention/tp+tensorTokens*(2*hidden+attentionWidth/tp))
	r.scores = time(s.scoreFLOPs()*tokens, tensorTokens*attentionWidth/tp)

	// A feed-forward network reads and writes one hidden vector per token. Its intermediate
	// results have the inner width and are each written and read once. A plain network has two:
	// the product with the first matrix, and its activation. A gated network has two products,
	// and the gated product. In both cases there are as many as matrices.
	innerVectors := 2 * a.ffnMatrices()
	r.network = products(s.network(a.FFN, s.Formats.Precision),
		a.FFNParameters()/tp+tensorTokens*(2*hidden+innerVectors*float64(a.FFN)/tp))

	if a.Experts > 0 {
		// The routed experts are divided among all GPUs of the stage. Shared experts are
		// divided among the tensor-parallel GPUs. A token passes through activeExperts.
		activeExperts := float64(a.TopK + a.SharedExperts)
		weights := float64(a.Experts)*a.ExpertParameters()/gpus + float64(a.SharedExperts)*a.ExpertParameters()/tp
		r.experts = products(s.experts(), weights+tokens*activeExperts*(2*hidden+innerVectors*float64(a.ExpertFFN)))
	}

	// The embedding copies a row of the table per token. The head multiplies the hidden vector
	// by the table, which gives a number per word of the vocabulary.
	table := float64(a.Vocab) * hidden
	r.embedding = time(noFLOPs, 2*hidden*tokens)
	r.head = products(s.head(), table/tp+tokens*(hidden+float64(a.Vocab)))
	return r
}

// ReadOperators adds up the times of operators that AICB measured (ReadOperatorTimes) to times of
// the parts of a layer and a stage.
func ReadOperators(data []byte) (o Operators, err error) {
	times, err := ReadOperatorTimes(data)
	if err != nil {
		return o, err
	}
	for _, t := range times {
		*o.part(t.Name) += t.Time
	}
	if o.Attention+o.Scores == 0 || o.Network == 0 {
		return o, fmt.Errorf("it has no times of atten_* or of mlp_*; want those of a layer")
	}
	return o, nil
}

// part returns the field that contains an operator of AICB, or nil if the operator is not known.
func (o *Operators) part(name string) *engine.Time {
	switch {
	case name == "Emb":
		return &o.Embedding
	case name == "logit_time" || name == "layernorm_post":
		return &o.Head
	case name == "param_time":
		return &o.Optimizer
	case name == "atten_flash" || strings.HasPrefix(name, "atten_core"):
		return &o.Scores
	case name == "layernorm" || strings.HasPrefix(name, "atten_"):
		return &o.Attention
	case name == "layernorm2" || strings.HasPrefix(name, "mlp_") || strings.HasPrefix(name, "moe_"):
		return &o.Network
	}
	return nil
}

// OperatorTime is the mean time of an operator in a forward pass.
type OperatorTime struct {
	Name string // AICB's name, such as atten_qkv
	Time engine.Time
	Line int // of the time in the file
}

// ReadOperatorTimes reads measured times in the format of AICB, Alibaba's benchmark of AI
// workloads. Each operator has a line "NAME:" followed by a line "time_gpu_avg: MICROSECONDS".
// ReadOperatorTimes fails on unknown operators and malformed lines, and names the line.
func ReadOperatorTimes(data []byte) (times []OperatorTime, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))

	var name string              // of the current operator; "" before the first
	hasTime := map[string]bool{} // indexed by name
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
			// Lines without information on an operator's mean time.
		case !found:
			return nil, fail("neither an operator nor its time; want NAME: or time_gpu_avg: MICROSECONDS")
		case key == "time_gpu_avg":
			us, err := strconv.ParseFloat(value, 64)
			t, rangeErr := engine.FromSeconds(us * 1e-6)
			switch {
			case name == "":
				return nil, fail("a time of no operator; want the line NAME: before it")
			case err != nil || rangeErr != nil || us < 0 || math.IsNaN(us):
				return nil, fail("no time; want microseconds")
			case hasTime[name]:
				return nil, fail("a second time of %s; want one", name)
			}
			hasTime[name] = true
			times = append(times, OperatorTime{name, t, n})
		case value != "":
			return nil, fail("neither an operator nor its time; want NAME: or time_gpu_avg: MICROSECONDS")
		default:
			if name = key; new(Operators).part(name) == nil {
				return nil, fail("the operator is not known; want Emb, layernorm, atten_*, layernorm2, mlp_*, moe_*, layernorm_post, logit_time or param_time")
			}
		}
	}
	return times, lines.Err()
}
