package scenarios

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sim/policies/collective"
	"sim/scenarios/result"
)

// levelFabrics are small fabrics of 16 GPUs by kind.
var levelFabrics = map[string][]string{
	"torus": {
		"dims = [4, 4]\nlink_latency = \"500ns\"",
		"dims = [2, 2, 4]\ntwist = \"tpuv4\"",
		"dims = [4, 4]\nfailed_links = [\"3 x+\"]",
	},
	"graph":      {"generator = \"fat-tree\"\nswitch_ports = 4\nlink_latency = \"100ns\"", "generator = \"ring\"\nnodes = 16"},
	"scaleup":    {"gpus = 16\nswitches = 4\ntopology = \"topoopt\""},
	"electrical": {"gpus = 16\nlink_rate = \"400Gbps\"\nlink_latency = \"200ns\""},
	"ocs-pods":   {"port_bandwidth = \"400Gbps\"\npods = 4\ngpus_per_pod = 4"},
	"tiers": {`
[[fabric.tier]]
kind = "electrical"
gpus = 2
link_rate = "800Gbps"
[[fabric.tier]]
kind = "electrical"
gpus = 16
link_rate = "400Gbps"
`, `
[[fabric.tier]]
kind = "electrical"
gpus = 2
link_rate = "800Gbps"
[[fabric.tier]]
kind = "ocs-pods"
gpus_per_pod_per_replica = 2
ports_per_pod = 4
port_bandwidth = "400Gbps"
`},
}

// levelWorkload is a workload whose messages have some bytes.
func levelWorkload(kind, fabric string, message int) string {
	text := "kind = \"" + kind + "\"\n"
	switch {
	case kind == "training":
		moe := ""
		text += fmt.Sprintf("sequence = %d\nmicrobatches = 3\ntp = 2\npp = 4\ngpus = 16\neffective_tflops = 20\n", message/256)
		if fabric == "tiers" {
			text += "ep = 2\netp = 1\n"
			moe = "experts = 4\ntop_k = 1\nexpert_ffn = 64\n"
		}
		return text + "[workload.architecture]\nlayers = 4\nhidden = 64\nvocab = 100\nheads = 4\nffn = 256\n" + moe
	case kind == "matrix":
		const nodes = 16
		var rows []string
		for i := range nodes {
			row := make([]int, nodes)
			for j := range row {
				if i != j {
					row[j] = (i*7 + j*13) % 5 * message / 4
				}
			}
			rows = append(rows, strings.ReplaceAll(fmt.Sprint(row), " ", ", "))
		}
		return text + "matrix = [" + strings.Join(rows, ", ") + "]\n"
	case kind == "send-receive":
		text += "peer = 15\n"
	}
	return text + fmt.Sprintf("message = \"%dB\"\n", message)
}

// openLoop are the workloads whose packets have times of their own, which level flow refuses.
var openLoop = []string{"uniform-random", "data-tensor"}

// TestLevelsAgree: every workload on every fabric that has both levels ends in packets between the bounds of
// docs/model.md, "Two levels", and as fluid too; an algorithm serves a call at both levels or at none, and the best one as
// fluid ends first.
func TestLevelsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 6))
	served, most, unbounded := map[string]int{}, map[string]float64{}, 0
	try := func(kind, fabric string, set ...string) {
		calls := findKind("workload", kind).calls || strings.Contains(fmt.Sprint(set), "policy.collectives")
		if fabric == "ocs-pods" {
			only := `policy.allocators=["prop-alloc"]`
			if calls {
				only = `policy.collectives=["ring", "direct", "hierarchical"]`
			}
			set = append(set, only)
		} else if !calls && fabric != "tiers" {
			set = append(set, `policy.routers=["shortest", "ecmp", "multipath"]`)
		}
		for _, f := range levelFabrics[fabric] {
			text := fmt.Sprintf("[workload]\npacket = \"%dB\"\n%s[fabric]\nkind = %q\n%s\n", 256<<rng.IntN(4), levelWorkload(kind, fabric, 64<<(10+rng.IntN(3))), fabric, f)
			source := []string{}
			if w := findKind("workload", kind); fabric != "ocs-pods" && !w.trains && !w.calls && !calls && !slices.Contains(openLoop, kind) && !strings.HasPrefix(kind, "ring-") {
				source = append(source, "workload.source="+[]string{"paced", "greedy"}[rng.IntN(2)])
			}
			_, err := Parse("text.toml", []byte(text), append([]string{"engine.level=packet"}, append(source, set...)...))
			if err != nil {
				if strings.Contains(err.Error(), "workload.kind") || slices.Contains(openLoop, kind) {
					continue // it cannot be there
				}
				t.Errorf("%s: %v", text, err)
				continue
			}
			name := kind + " on " + fabric
			if len(set) > 0 && !strings.HasPrefix(set[0], "policy") {
				name = "training with calls on " + fabric
			}
			fluid := runText(t, text, append(set, "engine.level=flow")...).Document
			packets := runText(t, text, append([]string{"engine.level=packet"}, append(source, set...)...)...).Document
			for i, row := range packets.Rows {
				f, p := fluid.Rows[i].Metrics, row.Metrics
				end, was := p["makespan_s"]+p["completion_s"], f["makespan_s"]+f["completion_s"]
				if (end == 0) != (was == 0) {
					t.Errorf("%s by %s: %g s as fluid, %g s in packets: served at one level alone\n%s", name, row.Policy, was, end, text)
				}
				if end == 0 {
					continue
				}
				served[row.Policy]++
				served[name]++
				most[name] = max(most[name], math.Abs(end/was-1))
				if slack, pods := p["packet_slack_s"]; pods {
					if late := end - p["fluid_s"]; late > slack || end < p["bound_makespan_s"]+p["bound_completion_s"] {
						t.Errorf("%s by %s: %g s after the fluid, at most %g s\n%s", name, row.Policy, late, slack, text)
					}
					continue
				}
				earliest, latest := p["earliest_s"], p["latest_s"]
				if latest == 0 { // chunks too many for a bound to be sought
					unbounded++
					continue
				}
				if end < earliest*(1-1e-9) || end > latest {
					t.Errorf("%s by %s: %g s in packets, want %g to %g s\n%s", name, row.Policy, end, earliest, latest, text)
				}
				// in the order of a schedule some end before they may in any other; passes of tiers take other times, and
				// sources send whole packets
				if was > latest && !calls || was < earliest*(1-1e-9) && fabric != "tiers" && len(source) == 0 {
					t.Errorf("%s by %s: %g s as fluid, want %g to %g s\n%s", name, row.Policy, was, earliest, latest, text)
				}
				if row.Policy == collective.BestName && was > minEnd(fluid.Rows)*(1+1e-12) {
					t.Errorf("%s: best ends at %g s, another at %g s", name, was, minEnd(fluid.Rows))
				}
			}
		}
	}
	for _, k := range kinds() {
		if k.section != "workload" || k.on != "" {
			continue
		}
		for _, fabric := range k.playedOn() {
			try(k.name, fabric)
		}
	}
	algorithms := []string{}
	for _, name := range namesOf("collectives") {
		algorithms = append(algorithms, fmt.Sprintf("%q", name))
	}
	try("training", "tiers")
	for _, fabric := range []string{"torus", "graph", "electrical"} {
		try("all-to-all", fabric, "policy.collectives=["+strings.Join(algorithms, ",")+"]")
		try("training", fabric, "workload.collectives=graph")
	}
	for _, name := range slices.Sorted(maps.Keys(most)) {
		t.Logf("%s: levels differ by %.2f %% at most, %d times", name, 100*most[name], served[name])
	}
	if unbounded > 4 {
		t.Errorf("%d rows have no bound", unbounded)
	}
	for _, r := range collective.Table {
		if served[r.Name] == 0 {
			t.Errorf("%s serves nothing", r.Name)
		}
	}
}

func minEnd(rows []result.Row) float64 {
	least := math.Inf(1)
	for _, r := range rows {
		if end, ok := r.Metrics["completion_s"]; ok {
			least = min(least, end)
		}
	}
	return least
}
