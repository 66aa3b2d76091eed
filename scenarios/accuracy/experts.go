package accuracy

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"sim/scenarios"
	"sim/workloads/collective"
)

// Parts of the model of dispatch and combine.
const (
	expertCopies = "expert-copies" // the copies of a token that a library sends, instead of one per expert
	expertLaunch = "expert-launch" // the time of a call of few bytes
)

// defaultExpertMachine is the profile whose efficiencies and time of a call are used if a profile was
// not fitted to dispatch and combine: its library runs on many machines.
const defaultExpertMachine = "h800"

// expertCall is a dispatch or a combine, as a row describes it.
type expertCall struct {
	gpus, tokens, experts, topK int
	maxNodes                    int    // 0 means no limit
	tokenBytes                  int    // of one copy of a token
	copies                      string // collective.CopyPerExpert and others
}

// maxLowLatencyTokens is the maximum number of tokens per GPU for which libraries that have two
// kinds of kernels are taken to use the kernels of low latency, if a row names none.
const maxLowLatencyTokens = 512

// Bytes of a row that does not state them: the model and its precisions in the benchmarks of the
// libraries.
const (
	defaultHidden  = 7168
	defaultTopK    = 8
	defaultExperts = 256
	// scaleGroup is the number of FP8 or FP4 numbers with a scale of scaleBytes.
	scaleGroup, scaleBytes = 128, 4
	// headerBytes precede a token in the messages of low-latency kernels.
	headerBytes = 16
)

// readExpertCall reads the call of a row.
func readExpertCall(r *Row) (c expertCall, err error) {
	// count reads a count, which may be followed by words, such as "256 (DeepSeek-V3)".
	count := func(missing int, names ...string) int {
		for _, name := range names {
			if number, _, _ := strings.Cut(r.Parameters[name], " "); !unknown(number) {
				n, errNumber := strconv.Atoi(number)
				if errNumber != nil || n < 1 {
					err = cmp.Or(err, fmt.Errorf("the row has %s=%s, not a count", name, r.Parameters[name]))
				}
				return n
			}
		}
		if missing == 0 {
			err = cmp.Or(err, fmt.Errorf("the row does not state %s", names[0]))
		}
		return missing
	}
	c.gpus, c.tokens = count(r.GPUs, "ep"), count(0, "tokens_per_rank", "tokens", "batch")
	c.experts, c.topK = count(defaultExperts, "experts"), count(defaultTopK, "topk", "top_k")
	hidden := count(defaultHidden, "hidden")
	if _, ok := r.Parameters["topk_groups"]; ok {
		c.maxNodes = count(0, "topk_groups")
	}
	if err != nil {
		return c, err
	}
	if rest := c.experts % c.gpus; rest != 0 {
		c.experts += c.gpus - rest // copies of experts fill the GPUs
	}

	// The kernels of a library determine the copies.
	words := wordsOf(r.Parameters["mode"] + " " + r.Parameters["lib"] + " " + r.Parameters["kernel"])
	has := func(text string) bool {
		for _, w := range words {
			if w == text {
				return true
			}
		}
		return false
	}
	isLowLatency := has("ll") || has("low") || has("decode") ||
		!has("normal") && !has("prefill") && c.tokens <= maxLowLatencyTokens
	c.copies = collective.CopyPerNode
	if isLowLatency || has("pplx") {
		c.copies = collective.CopyPerExpert
	}

	// The bytes of a token.
	op := r.Parameters["op"]
	words = append(wordsOf(op), wordsOf(r.Parameters["dtype"]+" "+r.Parameters["precision"])...)
	scales := hidden / scaleGroup * scaleBytes
	isCombine := strings.Contains(op, "combine")
	switch {
	case has("fp4"):
		c.tokenBytes = hidden/2 + scales
	case has("fp8"), !isCombine && !has("bf16"):
		c.tokenBytes = hidden + scales
	default:
		c.tokenBytes = 2 * hidden
	}
	if isLowLatency && !isCombine {
		c.tokenBytes += headerBytes
	}
	return c, nil
}

// predictExperts poses a row as the traffic of a dispatch or combine on the nodes of a machine.
func predictExperts(ctx context.Context, r *Row, name string, opt *Options) (float64, error) {
	c, err := readExpertCall(r)
	if err != nil {
		return 0, err
	}
	p, err := profileOf(name)
	if err != nil {
		return 0, err
	}
	// Kernels of experts reach other shares of the rates than collective calls do.
	fitted, reached := p, *p
	if p.Experts.Launch == 0 {
		fitted = scenarios.Machine(defaultExpertMachine)
		reached.ScaleUp.Efficiency, reached.ScaleOut.Efficiency = fitted.ScaleUp.Efficiency, fitted.ScaleOut.Efficiency
	}
	perNode := min(c.gpus, p.GPUsPerNode)
	if c.gpus%perNode != 0 {
		return 0, fmt.Errorf("%d GPUs do not fill nodes of %d", c.gpus, perNode)
	}
	copies := c.copies
	if opt.Omits(expertCopies) {
		copies = collective.CopyPerExpert
	}

	hosts := c.gpus / perNode
	text := fmt.Sprintf("[workload]\nkind = \"experts\"\nmessage = \"%dB\"\ntokens = %d\nexperts = %d\ntop_k = %d\nexpert_copies = %q\n",
		c.tokenBytes, c.tokens, c.experts, c.topK, copies)
	if copies == collective.CopyPerNode {
		text += fmt.Sprintf("node_gpus = %d\nexpert_nodes = %d\n", perNode, min(c.maxNodes, hosts))
	}
	if hosts > 1 {
		text = fmt.Sprintf("machine = %q\n", name) + text + fmt.Sprintf("[fabric]\nkind = \"cluster\"\nhosts = %d\ngpus_per_host = %d\nhosts_per_pod = %[1]d\nhost_bandwidth = %[3]q\nnic_bandwidth = %[4]q\n",
			hosts, perNode, reached.HostBandwidth(), reached.NICBandwidth())
	} else {
		text += fmt.Sprintf("[fabric]\nkind = \"electrical\"\ngpus = %d\nlink_rate = %q\n", perNode, reached.HostBandwidth())
	}
	text += "[policy]\nrouters = [\"ecmp\"]\n"
	row, err := run(ctx, r, text)
	if err != nil {
		return 0, err
	}
	seconds := row.Metrics["completion_s"]
	if !opt.Omits(expertLaunch) {
		launch, err := fitted.ExpertLaunch()
		if err != nil {
			return 0, err
		}
		seconds += launch.Seconds()
	}
	return c.value(r, perNode, seconds)
}

// value returns the time of a call in the metric and the unit of a row. Libraries divide bytes by
// the time. They count copies for the node or the GPU of the sender too.
func (c *expertCall) value(r *Row, perNode int, seconds float64) (float64, error) {
	switch r.Unit {
	case "s":
		return seconds, nil
	case "ms":
		return seconds * 1e3, nil
	case "us", "µs", "μs":
		return seconds * 1e6, nil
	case "GB/s":
	default:
		return 0, fmt.Errorf("the row is in %s; sim predicts s, ms, us and GB/s", r.Unit)
	}
	if strings.Contains(r.Metric, "bus") {
		return 0, fmt.Errorf("the row does not state how %s counts bytes", r.Metric)
	}
	tokens := float64(c.topK)
	if c.copies != collective.CopyPerExpert {
		routing := collective.ExpertRouting{
			Experts: c.experts, TopK: c.topK, Ranks: c.gpus, Nodes: c.gpus / perNode, MaxNodes: c.maxNodes,
		}
		ranks, nodes := routing.Expected()
		tokens = ranks
		if strings.EqualFold(r.Parameters["link"], "rdma") {
			tokens = nodes
		}
	}
	return tokens * float64(c.tokens) * float64(c.tokenBytes) / seconds / 1e9, nil
}
