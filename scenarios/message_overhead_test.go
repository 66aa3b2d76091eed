package scenarios

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// overheadFabrics are fabrics of 8 GPUs that run collective calls.
var overheadFabrics = map[string]string{
	"switch": `[fabric]
kind = "electrical"
gpus = 8
link_rate = "400Gbps"
link_latency = "1us"
`,
	"torus": `[fabric]
kind = "torus"
dims = [4, 2]
link_rate = "400Gbps"
link_latency = "1us"
`,
	"scale-up": `[fabric]
kind = "scaleup"
gpus = 8
switches = 4
link_rate = "400Gbps"
link_latency = "1us"
topology = "static-ring"
`,
	"tiers": `[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 4
link_rate = "900Gbps"
link_latency = "1us"
` +
		`[[fabric.tier]]
kind = "electrical"
gpus = 8
link_rate = "400Gbps"
link_latency = "1us"
`,
	"pods": `[fabric]
kind = "ocs-pods"
pods = 2
gpus_per_pod = 4
port_bandwidth = "400Gbps"
`,
}

// callTimes returns the completion time of a collective call in seconds, indexed by algorithm.
func callTimes(t *testing.T, kind, fabric, level, overhead string, algorithms ...string) map[string]float64 {
	t.Helper()
	text := fmt.Sprintf(`[workload]
kind = %q
message = "800B"
%s[policy]
collectives = ["%s"]
[engine]
level = %q
message_overhead = %q
`,
		kind, fabric, strings.Join(algorithms, "\", \""), level, overhead)
	ends := map[string]float64{}
	for _, row := range runText(t, text).Document.Rows {
		ends[row.Policy] = row.Metrics["completion_s"]
	}
	return ends
}

// TestMessageOverheadOfCalls checks an all-reduce of n ranks whose messages take much less time
// than their overhead. It takes one overhead for each message that a rank starts after another.
// These are 2(n-1) messages for algorithms ring and direct, and 2 log2 n for halving-doubling.
// Algorithm "best" selects the minimum. This holds on every fabric, at levels flow and packet.
func TestMessageOverheadOfCalls(t *testing.T) {
	const overhead = 1e-3
	for name, fabric := range overheadFabrics {
		for _, level := range []string{"flow", "packet"} {
			with := callTimes(t, "all-reduce", fabric, level, "1ms", "ring", "direct",
				"halving-doubling", "best")
			for algorithm, messages := range map[string]float64{
				"ring":             14,
				"direct":           14,
				"halving-doubling": 6,
				"best":             6,
			} {
				end, ok := with[algorithm]
				if !ok {
					t.Fatalf("%s, level %s: got no row of %s", name, level, algorithm)
				}
				if end == 0 && algorithm != "best" { // not served on this fabric
					continue
				}
				got := end / overhead
				if got < messages-1e-9 && algorithm != "best" || got > messages*1.01 {
					t.Errorf("%s, level %s: %s takes the time of %g overheads, want %g",
						name, level, algorithm, got, messages)
				}
			}

			without := callTimes(t, "all-reduce", fabric, level, "0s", "ring", "direct",
				"halving-doubling", "best")
			if without["best"] > without["direct"] || without["best"] >= with["best"] {
				t.Errorf("%s, level %s: without overhead best takes %g s and direct %g s, with "+
					"overhead best takes %g s; want best to be at most direct and less than with "+
					"overhead", name, level, without["best"], without["direct"], with["best"])
			}
		}
	}
}

// TestMessageOverheadOfSteps checks a pipeline of 4 stages with one micro-batch. The step is
// longer by one overhead for each of the 6 messages on its critical path, on pods, tori and
// tiers, at levels flow and packet. The compute makespan does not change.
func TestMessageOverheadOfSteps(t *testing.T) {
	step := strings.NewReplacer("tp = 4\npp = 1\n", "tp = 1\npp = 4\n",
		"microbatches = 2", "microbatches = 1", "layers = 2", "layers = 4").Replace(tensorStep)
	for _, name := range []string{"pods", "torus", "tiers"} {
		for _, level := range []string{"flow", "packet"} {
			text := step + stepFabrics[name]
			if level == "flow" {
				text = atFlowLevel(text)
			}
			if name == "pods" {
				text = strings.Replace(text, "gpus_per_pod_per_replica = 2",
					"gpus_per_pod_per_replica = 1", 1)
			}
			without := runText(t, text).Document
			with := runText(t, text, "engine.message_overhead=10ms").Document
			a, b := without.Rows[0].Metrics["makespan_s"], with.Rows[0].Metrics["makespan_s"]
			// One micro-batch passes through 4 stages forward and backward: 6 messages.
			if got := (b - a) / 10e-3; math.Abs(got-6) > 1e-6 {
				t.Errorf("%s, level %s: a step takes %g s, and %g s with an overhead of 10 ms; "+
					"got an increase by %g overheads, want 6", name, level, a, b, got)
			}
			if a, b := without.Reference["compute_makespan_s"], with.Reference["compute_makespan_s"]; a != b {
				t.Errorf("%s, level %s: the compute makespan is %g s, and %g s with an overhead; "+
					"want equal times", name, level, a, b)
			}
		}
	}
}

// TestMessageOverheadOfInnerTiers checks the default algorithm of calls inside a tier that
// lengthen passes. It is "direct" without message overhead. With overhead it is the algorithm
// with the minimum number of messages that a rank starts one after another.
func TestMessageOverheadOfInnerTiers(t *testing.T) {
	text := atFlowLevel(strings.NewReplacer("collectives = \"graph\"\n", "",
		"tp = 4\npp = 1\ngpus = 4", "tp = 8\npp = 2\ngpus = 16",
		"hidden = 1024", "hidden = 64", "sequence = 1024", "sequence = 64").Replace(tensorStep)) + `
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

	for overhead, want := range map[string]string{
		"0s":   "tp reduce-scatter by direct, tp all-gather by direct",
		"50us": "tp reduce-scatter by halving-doubling, tp all-gather by halving-doubling",
	} {
		got := runText(t, text, "engine.message_overhead="+overhead).Document.Rows[0].Labels["tier_calls"]
		if got != want {
			t.Errorf("overhead %s: got %s, want %s", overhead, got, want)
		}
	}
}

// TestMessageOverheadRejected checks that the key is rejected for traffic without dependencies,
// for level static, and for plans in slots.
func TestMessageOverheadRejected(t *testing.T) {
	for _, text := range []string{
		`[workload]
kind = "all-to-all"
[fabric]
kind = "torus"
dims = [2, 2]
link_rate = "400Gbps"
`,
		`[workload]
kind = "all-reduce"
[fabric]
kind = "torus"
dims = [2, 2]
link_rate = "400Gbps"
[engine]
level = "static"
`,
		`[workload]
kind = "all-reduce"
[fabric]
kind = "scaleup"
gpus = 8
switches = 2
link_rate = "400Gbps"
reconfiguration_delay = "1us"
`,
		`[workload]
kind = "all-to-all"
[fabric]
kind = "ocs-pods"
pods = 4
gpus_per_pod = 4
port_bandwidth = "400Gbps"
`,
	} {
		_, err := Parse("text.toml", []byte(text), []string{"engine.message_overhead=1us"})
		checkError(t, err, "message_overhead", text)
	}
}
