package scenarios

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// overheadFabrics are fabrics of 8 GPUs on which collective calls run, with the key of their policies.
var overheadFabrics = map[string]string{
	"switch":   "[fabric]\nkind = \"electrical\"\ngpus = 8\nlink_rate = \"400Gbps\"\nlink_latency = \"1us\"\n",
	"torus":    "[fabric]\nkind = \"torus\"\ndims = [4, 2]\nlink_rate = \"400Gbps\"\nlink_latency = \"1us\"\n",
	"scale-up": "[fabric]\nkind = \"scaleup\"\ngpus = 8\nswitches = 4\nlink_rate = \"400Gbps\"\nlink_latency = \"1us\"\ntopology = \"static-ring\"\n",
	"tiers": "[fabric]\nkind = \"tiers\"\n[[fabric.tier]]\nkind = \"electrical\"\ngpus = 4\nlink_rate = \"900Gbps\"\nlink_latency = \"1us\"\n" +
		"[[fabric.tier]]\nkind = \"electrical\"\ngpus = 8\nlink_rate = \"400Gbps\"\nlink_latency = \"1us\"\n",
	"pods": "[fabric]\nkind = \"ocs-pods\"\npods = 2\ngpus_per_pod = 4\nport_bandwidth = \"400Gbps\"\n",
}

// callTimes returns when a call ends, by algorithm.
func callTimes(t *testing.T, kind, fabric, level, overhead string, algorithms ...string) map[string]float64 {
	t.Helper()
	text := fmt.Sprintf("[workload]\nkind = %q\nmessage = \"800B\"\n%s[policy]\ncollectives = [\"%s\"]\n[engine]\nlevel = %q\nmessage_overhead = %q\n",
		kind, fabric, strings.Join(algorithms, "\", \""), level, overhead)
	ends := map[string]float64{}
	for _, row := range runText(t, text).Document.Rows {
		ends[row.Policy] = row.Metrics["completion_s"]
	}
	return ends
}

// TestMessageOverheadOfCalls: if messages take next to no time beside what starting them takes, an all-reduce among n ranks
// takes as many overheads as a rank starts messages one after the other: 2(n-1) around a ring and directly, 2 log2 n by
// halving and doubling. It does so on every fabric at both levels, and the best algorithm is the one with the fewest.
func TestMessageOverheadOfCalls(t *testing.T) {
	const overhead = 1e-3
	for name, fabric := range overheadFabrics {
		for _, level := range []string{"flow", "packet"} {
			with := callTimes(t, "all-reduce", fabric, level, "1ms", "ring", "direct", "halving-doubling", "best")
			for algorithm, messages := range map[string]float64{"ring": 14, "direct": 14, "halving-doubling": 6, "best": 6} {
				end, ok := with[algorithm]
				if !ok {
					t.Fatalf("%s, level %s: no row of %s", name, level, algorithm)
				}
				if end == 0 && algorithm != "best" { // the fabric does not serve it
					continue
				}
				if got := end / overhead; got < messages-1e-9 && algorithm != "best" || got > messages*1.01 {
					t.Errorf("%s, level %s: %s takes %g overheads, want %g", name, level, algorithm, got, messages)
				}
			}
			without := callTimes(t, "all-reduce", fabric, level, "0s", "ring", "direct", "halving-doubling", "best")
			if without["best"] > without["direct"] || without["best"] >= with["best"] {
				t.Errorf("%s, level %s: without overhead best takes %g s, direct %g s; with it best takes %g s", name, level, without["best"], without["direct"], with["best"])
			}
		}
	}
}

// TestMessageOverheadOfSteps: a pipeline of 4 stages with one micro-batch is longer by an overhead for each message on its
// critical path, on pods, tori and tiers at both levels, while computing alone takes as long as before.
func TestMessageOverheadOfSteps(t *testing.T) {
	step := strings.Replace(tensorStep, "tp = 4\npp = 1\n", "tp = 1\npp = 4\n", 1)
	step = strings.Replace(strings.Replace(step, "microbatches = 2", "microbatches = 1", 1), "layers = 2", "layers = 4", 1)
	for _, name := range []string{"pods", "torus", "tiers"} {
		for _, level := range []string{"flow", "packet"} {
			text := step + stepFabrics[name]
			if level == "flow" {
				text = strings.Replace(strings.Replace(text, "packet = \"200KB\"\n", "", 1), `"packet"`, `"flow"`, 1)
			}
			if name == "pods" {
				text = strings.Replace(text, "gpus_per_pod_per_replica = 2", "gpus_per_pod_per_replica = 1", 1)
			}
			without := runText(t, text).Document
			with := runText(t, text, "engine.message_overhead=10ms").Document
			a, b := without.Rows[0].Metrics["makespan_s"], with.Rows[0].Metrics["makespan_s"]
			// one micro-batch goes through 4 stages and back: 6 messages
			if got := (b - a) / 10e-3; math.Abs(got-6) > 1e-6 {
				t.Errorf("%s, level %s: a step takes %g s, and %g s with an overhead of 10 ms: %g messages, want 6", name, level, a, b, got)
			}
			if a, b := without.Reference["compute_makespan_s"], with.Reference["compute_makespan_s"]; a != b {
				t.Errorf("%s, level %s: computing alone takes %g s, and %g s with an overhead", name, level, a, b)
			}
		}
	}
}

// TestMessageOverheadOfInnerTiers: by default a contracted inner tier carries calls directly if starting messages costs
// nothing, and if it does by the algorithm that starts fewest one after the other.
func TestMessageOverheadOfInnerTiers(t *testing.T) {
	text := strings.Replace(tensorStep, "collectives = \"graph\"\n", "", 1)
	text = strings.Replace(strings.Replace(text, "tp = 4\npp = 1\ngpus = 4", "tp = 8\npp = 2\ngpus = 16", 1), "hidden = 1024", "hidden = 64", 1)
	text = strings.Replace(strings.Replace(text, "sequence = 1024", "sequence = 64", 1), "packet = \"200KB\"\n", "", 1)
	text = strings.Replace(text, `"packet"`, `"flow"`, 1) + `
[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 8
link_rate = "900Gbps"
link_latency = "1us"
[[fabric.tier]]
kind = "ocs-pods"
gpus_per_pod_per_replica = 8
port_bandwidth = "400Gbps"
[policy]
allocators = ["prop-alloc"]
`
	for overhead, want := range map[string]string{"0s": "tp reduce-scatter by direct, tp all-gather by direct", "50us": "tp reduce-scatter by halving-doubling, tp all-gather by halving-doubling"} {
		if got := runText(t, text, "engine.message_overhead="+overhead).Document.Rows[0].Labels["tier_calls"]; got != want {
			t.Errorf("with an overhead of %s: %s, want %s", overhead, got, want)
		}
	}
}

// TestMessageOverheadRefused: work without messages that wait for each other, levels without times, and plans in slots
// refuse the key.
func TestMessageOverheadRejected(t *testing.T) {
	for text, want := range map[string]string{
		"[workload]\nkind = \"all-to-all\"\n[fabric]\nkind = \"torus\"\ndims = [2, 2]\nlink_rate = \"400Gbps\"\n":                                             "message_overhead",
		"[workload]\nkind = \"all-reduce\"\n[fabric]\nkind = \"torus\"\ndims = [2, 2]\nlink_rate = \"400Gbps\"\n[engine]\nlevel = \"static\"\n":               "message_overhead",
		"[workload]\nkind = \"all-reduce\"\n[fabric]\nkind = \"scaleup\"\ngpus = 8\nswitches = 2\nlink_rate = \"400Gbps\"\nreconfiguration_delay = \"1us\"\n": "message_overhead",
		"[workload]\nkind = \"all-to-all\"\n[fabric]\nkind = \"ocs-pods\"\npods = 4\ngpus_per_pod = 4\nport_bandwidth = \"400Gbps\"\n":                        "message_overhead",
	} {
		_, err := Parse("text.toml", []byte(text), []string{"engine.message_overhead=1us"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q with engine.message_overhead: %v", text, err)
		} else {
			t.Log(err)
		}
	}
}
