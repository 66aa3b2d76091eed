package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/policies/collective"
)

// callFabrics are small fabrics of every kind that runs collective calls, with their number of
// ranks. The router is empty on pods of circuits. Packets are served in the order of their
// transfers on fabrics with links, and in the order of the flow level on pods.
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

// Relative differences between the completion times at levels packet and flow on fabrics with
// links, for packets of 1 KB. See docs/collectives.md.
const (
	// Each link carries one transfer at a time. Packets are later by the time in which the
	// switches of a chain of transfers store a packet.
	exclusiveTolerance = 0.03
	// Transfers share links. Level flow serves them simultaneously, level packet in their order, so
	// that either level may be earlier.
	sharedTolerance = 0.3
)

// exclusiveAlgorithms are the algorithms that use each link for one transfer at a time.
var exclusiveAlgorithms = []string{"multi-ring", "tree-packing"}

// callNames are the collective calls under test.
var callNames = []string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast",
	"reduce", "send-receive"}

// TestCallLevelsAgree checks each algorithm that serves a call on a fabric. Its completion time
// at level packet agrees with level flow within a tolerance, and neither is below the lower
// bound of the call. Algorithm "best" is at least as fast as all others.
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
			// These calls are the reverse of broadcast and reduce-scatter.
			if !*longTests && (kind == "reduce" || kind == "all-gather") {
				continue
			}
			// These calls are phases of an all-reduce.
			if !*longTests && (kind == "reduce-scatter" || kind == "broadcast") &&
				(i == 1 || i == 2 || f.router == "") {
				continue
			}

			rows := map[string]map[string]map[string]float64{} // metrics, indexed by level and algorithm
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
						t.Errorf("%s by %s on %s: served at one of the levels flow and packet, "+
							"want both or neither", kind, name, f.fabric)
					}
					continue
				}
				served[name]++

				// No level is below the lower bound.
				end, bound, difference := fluid["completion_s"], fluid["bound_completion_s"],
					packets["completion_s"]-fluid["completion_s"]
				if min(end, packets["completion_s"]) < bound*(1-1e-6) {
					t.Errorf("%s by %s on %s: got %g s at level flow and %g s at level packet, "+
						"want at least the bound %g s",
						kind, name, f.fabric, end, packets["completion_s"], bound)
				}

				// The levels agree within the slack of pods, or a part of the completion time.
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
					t.Errorf("%s by %s on %s: got %.4g s at level flow and %.4g s at level "+
						"packet (%+.2f %%), want a difference of at most %.4g s",
						kind, name, f.fabric, end, packets["completion_s"], 100*difference/end,
						slack)
				}
				if name == collective.BestName && end > minCompletion(rows["flow"])*(1+1e-12) {
					t.Errorf("%s on %s: best completes after %g s, want the minimum of all "+
						"algorithms, %g s", kind, f.fabric, end, minCompletion(rows["flow"]))
				}
			}
		}
	}

	t.Logf("fabrics with links: levels differ by up to %.2f %% if each link carries one "+
		"transfer, else by up to %.2f %%", 100*maxDifference[0], 100*maxDifference[1])
	for _, r := range collective.Table {
		needsMachine := r.Name == "nccl" // see TestLibraryCalls
		if served[r.Name] == 0 && !needsMachine {
			t.Errorf("%s serves no call on any fabric, want at least one", r.Name)
		}
	}
}

// quotedAlgorithms returns all algorithms of collective calls as the elements of a TOML list.
func quotedAlgorithms() string {
	var names []string
	for _, name := range choiceNames("collectives") {
		names = append(names, fmt.Sprintf("%q", name))
	}
	return strings.Join(names, ", ")
}

// minCompletion returns the minimum completion time of the policies that serve the call.
func minCompletion(rows map[string]map[string]float64) float64 {
	var ends []float64
	for _, m := range rows {
		if end, ok := m["completion_s"]; ok {
			ends = append(ends, end)
		}
	}
	return slices.Min(ends)
}
