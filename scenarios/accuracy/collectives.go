package accuracy

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sim/engine/units"
	"sim/fabric/machine"
)

// callLibrary is the part of the model of collective calls that can be left out: the algorithms of
// the library with its latencies, instead of a ring or of rings inside and across nodes.
const callLibrary = "call-library"

// libraryAlgorithms maps names of algorithms in rows, in lower case, to values of
// policy.nccl_algorithm.
var libraryAlgorithms = map[string]string{"ring": "ring", "tree": "tree", "nvls": "nvls", "nvlstree": "nvls-tree"}

// predictCall poses a row as a collective call among the nodes of a machine.
func predictCall(ctx context.Context, r *Row, name string, opt *Options) (float64, error) {
	p, err := profileOf(name)
	if err != nil {
		return 0, err
	}
	nodes, perNode, err := nodesOf(r, p)
	if err != nil {
		return 0, err
	}

	// The call. nccl-tests counts all that a rank sends in an all-to-all; sim counts each message.
	kind, message := r.Parameters["collective"], callBytes(r)
	switch kind {
	case "all-to-all":
		message /= float64(r.GPUs)
	case "send-recv":
		kind = "send-receive"
	}
	if message = max(1, message); message > 1e15 {
		return 0, fmt.Errorf("a call of %g bytes is larger than sim accepts", message)
	}
	text := fmt.Sprintf("machine = %q\n[workload]\nkind = %q\nmessage = \"%.0fB\"\n", name, kind, message)
	gpusPerHost, hostRate := max(perNode, p.GPUsPerNode), float64(p.HostBandwidth())
	if kind == "all-to-all" { // it has no group; on a mesh, only some links of a GPU lead to the others
		if p.ScaleUp.Mesh {
			hostRate *= min(1, max(1, float64(perNode-1))/float64(p.GPUsPerNode-1))
		}
		gpusPerHost = perNode
	} else if perNode < gpusPerHost {
		var group []string
		for node := range nodes {
			for gpu := range perNode {
				group = append(group, strconv.Itoa(node*gpusPerHost+gpu))
			}
		}
		text += "group = [" + strings.Join(group, ", ") + "]\n"
	}
	if kind == "send-receive" && nodes > 1 { // between two nodes
		text += fmt.Sprintf("root = %d\npeer = %d\n", perNode-1, perNode)
	}

	text += fmt.Sprintf("[fabric]\nkind = \"cluster\"\nhosts = %d\nhosts_per_pod = %[1]d\ngpus_per_host = %d\nhost_bandwidth = %q\n", nodes, gpusPerHost, units.Rate(hostRate))
	// Profiles of a transport describe the interfaces of an instance. Totals of its vendor include
	// interfaces for other traffic.
	if rate := networkRate(r); rate > 0 && p.ScaleOut.Latency == 0 {
		text += fmt.Sprintf("nic_bandwidth = %q\n", units.Rate(float64(rate)/float64(p.GPUsPerNode)*p.ScaleOut.Efficiency))
	}
	algorithm := "nccl"
	if opt.Omits(callLibrary) {
		switch {
		case kind == "all-to-all" || kind == "send-receive":
			algorithm = "direct"
		case nodes > 1:
			algorithm = "hierarchical"
		default:
			algorithm = "ring"
		}
	}
	text += fmt.Sprintf("[policy]\nrouters = [\"ecmp\"]\ncollective = %q\n", algorithm)
	forced := libraryAlgorithms[strings.ToLower(r.Parameters["algo"])]
	if forced != "" && algorithm == "nccl" {
		text += fmt.Sprintf("nccl_algorithm = %q\n", forced)
	}

	row, err := run(ctx, r, text)
	if err != nil {
		return 0, err
	}
	return callValue(r, row.Metrics["completion_s"])
}

// maxCallGPUs limits the GPUs of a call, so that its prediction takes seconds.
const maxCallGPUs = 1 << 14

// nodesOf returns the number of nodes of a row, and of the GPUs of each that take part. Domains of
// more than maxHostGPUs GPUs span several hosts, which rows count as nodes.
func nodesOf(r *Row, p *machine.Profile) (nodes, perNode int, err error) {
	const maxHostGPUs = 16
	if r.GPUs < 2 {
		return 0, 0, fmt.Errorf("the row does not state at least 2 GPUs")
	}
	if nodes = r.Nodes; nodes == 0 || p.GPUsPerNode > maxHostGPUs {
		nodes = (r.GPUs + p.GPUsPerNode - 1) / p.GPUsPerNode
	}
	if r.GPUs > maxCallGPUs || nodes > r.GPUs {
		return 0, 0, fmt.Errorf("%d GPUs on %d nodes; sim predicts calls of at most %d GPUs", r.GPUs, nodes, maxCallGPUs)
	}
	if r.GPUs%nodes != 0 {
		return 0, 0, fmt.Errorf("%d GPUs are not divided evenly among %d nodes", r.GPUs, nodes)
	}
	return nodes, r.GPUs / nodes, nil
}

// Descriptions of the network of a node: a number of interfaces and their rate, such as "8x400 Gb/s"
// and "8x CX7 IB 400 Gb/s", or a total, such as "3200G/node" and "1.8 Tb/s a node".
var (
	interfaceText = regexp.MustCompile(`\b(\d+) ?x ?(?:[A-Za-z]\w* )*(\d+) ?G(?:b|\b)`)
	gigabitText   = regexp.MustCompile(`\b(\d+) ?G(?:b/s|bps)? ?(?:/| a | per )node`)
	terabitText   = regexp.MustCompile(`\b(\d+(?:\.\d+)?) ?Tb/s`)
)

// networkRate returns the rate of all network interfaces of a node that a row states, or 0.
func networkRate(r *Row) units.Rate {
	text := r.Hardware + ", " + r.Parameters["net"]
	number := func(text string) float64 {
		v, _ := strconv.ParseFloat(text, 64) // digits match
		return v
	}
	if m := interfaceText.FindStringSubmatch(text); m != nil {
		return units.Rate(number(m[1]) * number(m[2]) * 1e9)
	}
	if m := gigabitText.FindStringSubmatch(text); m != nil {
		return units.Rate(number(m[1]) * 1e9)
	}
	if m := terabitText.FindStringSubmatch(text); m != nil {
		return units.Rate(number(m[1]) * 1e12)
	}
	return 0
}

// callValue returns the time of a call in the metric and the unit of a row.
func callValue(r *Row, seconds float64) (float64, error) {
	switch r.Unit {
	case "s":
		return seconds, nil
	case "ms":
		return seconds * 1e3, nil
	case "us", "µs", "μs":
		return seconds * 1e6, nil
	case "GB/s":
		rate := callBytes(r) / seconds / 1e9
		if strings.Contains(r.Metric, "bus") {
			rate *= busFactor(r)
		}
		return rate, nil
	}
	return 0, fmt.Errorf("the row is in %s; sim predicts s, ms, us and GB/s", r.Unit)
}
