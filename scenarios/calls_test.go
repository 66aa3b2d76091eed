package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/policies/collective"
)

// callFabrics are small fabrics of every kind that takes collective calls, with as many ranks. On those of links packets
// are served in the order of their transfers, on pods in that of the fluid.
var callFabrics = []struct {
	fabric, router string
	ranks          int
}{
	{`kind = "torus", dims = [4, 4], link_latency = "500ns"`, "shortest", 16},
	{`kind = "torus", dims = [2, 2, 4], twist = "tpuv4"`, "shortest", 16},
	{`kind = "torus", dims = [4, 4], failed_links = ["3 x+"]`, "shortest", 16},
	{`kind = "graph", generator = "fat-tree", switch_ports = 4, link_latency = "100ns"`, "shortest", 16},
	{`kind = "graph", generator = "full-mesh", nodes = 6`, "shortest", 6},
	{`kind = "electrical", gpus = 8, link_rate = "400Gbps"`, "shortest", 8},
	{`kind = "ocs-pods", pods = 4, gpus_per_pod = 2, ports_per_pod = 4, port_bandwidth = "400Gbps"`, "", 8},
}

// How far packets of 1 KB may be from the fluid on links: where a schedule has each link carry one transfer at a time,
// it is what the transfers of a chain store; where transfers share links, a fluid serves them together, and packets in
// their order, so that either may be earlier (docs/collectives.md).
const (
	exclusiveTolerance = 0.03
	sharedTolerance    = 0.3
)

// exclusiveAlgorithms are the algorithms whose links carry one transfer at a time.
var exclusiveAlgorithms = []string{"multi-ring", "tree-packing"}

// callNames are the calls, each with a message that makes transfers of packets enough.
var callNames = []string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "send-receive"}

// TestCallsLevelsAgree: every algorithm that serves a call ends, as packets, as late as fluid to within a bound, and on
// no fabric before the bound on the call.
func TestCallLevelsAgree(t *testing.T) {
	t.Parallel()
	var maxDifference [2]float64
	served := map[string]int{}
	for i, f := range callFabrics {
		for _, kind := range callNames {
			message := "1600KB"
			if kind == "all-to-all" {
				message = "100KB"
			}
			if !*longTests && (kind == "reduce" || kind == "all-gather") { // like others from the other side
				continue
			}
			if !*longTests && (kind == "reduce-scatter" || kind == "broadcast") && (i == 1 || i == 2 || f.router == "") { // parts of all-reduce
				continue
			}
			rows := map[string]map[string]map[string]float64{} // by level and algorithm
			for _, level := range []string{"flow", "packet"} {
				text := fmt.Sprintf("[workload]\nkind = %q\nmessage = %q\n[engine]\nlevel = %q\n[policy]\ncollectives = [%s]\n", kind, message, level, quotedAlgorithms())
				if f.router != "" {
					text += fmt.Sprintf("routers = [%q]\n", f.router)
				}
				if level == "packet" {
					text = strings.Replace(text, "message", "packet = \"1KB\"\nmessage", 1)
				}
				if kind == "send-receive" {
					text = strings.Replace(text, "message", fmt.Sprintf("peer = %d\nmessage", f.ranks-1), 1)
				}
				o := runText(t, text, "fabric={"+f.fabric+"}")
				rows[level] = map[string]map[string]float64{}
				for _, r := range o.Document.Rows {
					rows[level][r.Policy] = r.Metrics
				}
			}
			for name, fluid := range rows["flow"] {
				packets := rows["packet"][name]
				if len(fluid) == 0 || len(packets) == 0 {
					if len(fluid) != len(packets) {
						t.Errorf("%s by %s on %s: served at one level alone", kind, name, f.fabric)
					}
					continue
				}
				served[name]++
				end, bound, difference := fluid["completion_s"], fluid["bound_completion_s"], packets["completion_s"]-fluid["completion_s"]
				if min(end, packets["completion_s"]) < bound*(1-1e-6) {
					t.Errorf("%s by %s on %s: %g s as fluid, %g s in packets; want at least %g s", kind, name, f.fabric, end, packets["completion_s"], bound)
				}
				slack := sharedTolerance * end
				switch s, pods := packets["packet_slack_s"]; {
				case pods:
					slack = s
				case slices.Contains(exclusiveAlgorithms, name):
					slack = exclusiveTolerance * end
					maxDifference[0] = max(maxDifference[0], difference/end, -difference/end)
				default:
					maxDifference[1] = max(maxDifference[1], difference/end, -difference/end)
				}
				if difference > slack || difference < -slack {
					t.Errorf("%s by %s on %s: %.4g s as fluid and %.4g s in packets, %.2f %% more; want within %.4g s", kind, name, f.fabric, end, packets["completion_s"], 100*difference/end, slack)
				}
				if name == collective.BestName && end > minCompletion(rows["flow"])*(1+1e-12) {
					t.Errorf("%s on %s: best ends at %g s, another at %g s", kind, f.fabric, end, minCompletion(rows["flow"]))
				}
			}
		}
	}
	t.Logf("on links packets are within %.2f %% of the fluid, and %.2f %% where transfers share links", 100*maxDifference[0], 100*maxDifference[1])
	for _, r := range collective.Table {
		if served[r.Name] == 0 {
			t.Errorf("%s serves nothing", r.Name)
		}
	}
}

func quotedAlgorithms() string {
	var names []string
	for _, name := range choiceNames("collectives") {
		names = append(names, fmt.Sprintf("%q", name))
	}
	return strings.Join(names, ", ")
}

func minCompletion(rows map[string]map[string]float64) float64 {
	var ends []float64
	for _, m := range rows {
		if end, ok := m["completion_s"]; ok {
			ends = append(ends, end)
		}
	}
	return slices.Min(ends)
}
