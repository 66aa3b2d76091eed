package accuracy

import (
	"context"
	"math"
	"slices"
	"strings"

	"sim/fabric/machine"
)

// class is a set of rows with one predictor and one summary.
type class struct {
	name  string
	title string
	// contains reports whether a row belongs to the class. A row belongs to the first class of
	// the table classes that contains it.
	contains func(*Row) bool
	// predict returns the predicted value of a row on a machine, in the unit of the row. The
	// machine is the name of a profile or a file. An error is the reason why the row cannot be
	// posed.
	predict func(ctx context.Context, r *Row, machine string, opt *Options) (float64, error)
	// reason is why no row of the class can be posed, if predict is nil.
	reason string
	// estimate is predict by formulas, without a scenario; nil if the class has no formulas.
	estimate func(ctx context.Context, r *Row, p *machine.Profile) (float64, error)
	// parts are the parts of the model that predict can leave out, see Options.Without.
	parts []string
}

// Sizes that separate the classes of collective calls, in bytes.
const (
	minSmallCall = 16 << 10
	minLargeCall = 64 << 20
)

// classes lists all classes.
var classes = []class{
	{
		name: "collectives-large", title: "collectives, 64 MiB and more",
		contains: func(r *Row) bool { return isCollective(r) && callBytes(r) >= minLargeCall },
		predict:  predictCall, parts: []string{callLibrary}, estimate: estimateCall,
	},
	{
		name: "collectives-small", title: "collectives, 16 KiB to 64 MiB",
		contains: func(r *Row) bool { return isCollective(r) && callBytes(r) >= minSmallCall },
		predict:  predictCall, parts: []string{callLibrary}, estimate: estimateCall,
	},
	{
		name: "collectives-tiny", title: "collectives, below 16 KiB",
		contains: isCollective,
		predict:  predictCall, parts: []string{callLibrary}, estimate: estimateCall,
	},
	{
		name: "experts", title: "dispatch and combine of experts",
		contains: isExpertCall,
		predict:  predictExperts, parts: []string{expertCopies, expertLaunch},
	},
	{
		name: "gemm", title: "matrix products",
		contains: func(r *Row) bool { return r.Parameters["op"] == "gemm" },
		predict:  predictGEMM, parts: []string{gemmWaves}, estimate: estimateKernel(predictGEMM),
	},
	{
		name: "kernels", title: "attention, memory and other operators",
		contains: func(r *Row) bool { return r.Parameters["op"] != "" },
		predict:  predictKernel, parts: []string{attentionRate}, estimate: estimateKernel(predictKernel),
	},
	{
		name: "training-moe", title: "training of models with experts",
		contains: func(r *Row) bool { return isTraining(r) && trainsExperts(r) },
		predict:  predictTraining, parts: expertStepParts,
	},
	{
		name: "training-dense", title: "training of dense models",
		contains: isTraining,
		predict:  predictTraining, parts: stepParts,
	},
	{
		name: "tpu", title: "all-to-all on TPU v4",
		contains: isTorusExchange,
		predict:  predictTorus,
	},
	{
		name: "inference", title: "inference",
		contains: func(r *Row) bool { return r.Parameters["model"] != "" && slices.Contains(inferenceMetrics, r.Metric) },
		reason:   "the row does not state the schedule of the server, its cache and its arrivals, which determine the value",
	},
	{
		name: "other", title: "failures of fleets, and times of circuit switches",
		contains: func(*Row) bool { return true },
		reason:   "the value is an input of sim, not a result",
	},
}

// inferenceMetrics are the metrics of inference servers.
var inferenceMetrics = []string{
	"output_throughput", "output_throughput_per_gpu", "output_throughput_per_node", "input_throughput_per_node",
	"median_ttft", "median_tpot", "mean_ttft", "mean_tpot", "elapsed", "throughput",
}

// isTorusExchange reports whether the row is the rate per chip of an all-to-all on a torus.
func isTorusExchange(r *Row) bool { return r.Metric == "all_to_all" }

// isCollective reports whether the row is the time or the rate of a collective call.
func isCollective(r *Row) bool { return r.Parameters["collective"] != "" && !isTorusExchange(r) }

// isExpertCall reports whether the row is the time or the rate of dispatching tokens to experts or of
// combining their results.
func isExpertCall(r *Row) bool {
	op := r.Parameters["op"]
	return strings.HasPrefix(op, "dispatch") || strings.HasPrefix(op, "combine") || op != "" && r.Parameters["ep"] != ""
}

// callBytes returns the size of a collective call as nccl-tests counts it, in bytes, or 0 if the
// row does not state it: the complete output of an all-gather, the complete input of the other
// calls, and the message of send-recv. Without a size in bytes it follows from the bus bandwidth
// and the time.
func callBytes(r *Row) float64 {
	if bytes, err := r.Parameters.Number("size_bytes"); err == nil {
		return bytes
	}
	busGBps, err := r.Parameters.Number("busbw_GBps")
	if factor := busFactor(r); err == nil && factor > 0 && r.Unit == "us" && r.Value > 0 {
		return math.Round(busGBps * 1e3 * r.Value / factor)
	}
	return 0
}

// busFactor returns BusFactor of a row, or 0 if its call has fewer than two ranks.
func busFactor(r *Row) float64 {
	if r.GPUs < 2 {
		return 0
	}
	return BusFactor(r.Parameters["collective"], r.GPUs)
}

// BusFactor returns the bus bandwidth of nccl-tests divided by size over time.
func BusFactor(collective string, ranks int) float64 {
	share := float64(ranks-1) / float64(ranks)
	switch collective {
	case "all-reduce":
		return 2 * share
	case "all-gather", "reduce-scatter", "all-to-all", "gather", "scatter":
		return share
	}
	return 1
}

// isTraining reports whether the row is the speed of training steps.
func isTraining(r *Row) bool {
	return slices.Contains([]string{"throughput", "iteration_time", "step_time", "MFU", "HFU"}, r.Metric) &&
		!slices.ContainsFunc([]string{"op", "collective", "input_len", "output_len", "mapping", "engine", "phase"},
			func(name string) bool { return r.Parameters[name] != "" })
}

// expertModels are parts of names of models with experts.
var expertModels = []string{"deepseek", "_a3b", "_a22b", "-a3b", "-a22b", "gpt oss", "gpt-oss", "mixtral", "moe", "kimi", "8x7b", "8x22b", "qwen3-next", "glm", "maverick", "scout"}

// trainsExperts reports whether the model of a row has experts.
func trainsExperts(r *Row) bool {
	model := strings.ToLower(r.Parameters["model"])
	if ep, _ := r.Parameters.Count("ep", 1); ep > 1 {
		return true
	}
	return slices.ContainsFunc(expertModels, func(part string) bool { return strings.Contains(model, part) })
}

// classOf returns the class of a row.
func classOf(r *Row) *class {
	i := slices.IndexFunc(classes, func(c class) bool { return c.contains(r) })
	return &classes[i] // the last class contains all rows
}

// ClassName returns the name of the class of a row.
func ClassName(r *Row) string { return classOf(r).name }

// ClassNames returns the names of all classes in order.
func ClassNames() []string {
	names := make([]string, len(classes))
	for i := range classes {
		names[i] = classes[i].name
	}
	return names
}
