package scenarios

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// tensorStep is a training step that communicates by tensor-parallel calls only.
const tensorStep = `
[workload]
kind = "training"
sequence = 1024
microbatches = 2
tp = 4
pp = 1
gpus = 4
effective_tflops = 100
collectives = "graph"
packet = "200KB"
[workload.architecture]
layers = 2
hidden = 1024
vocab = 4096
heads = 8
[engine]
level = "packet"
`

// atFlowLevel changes a scenario with the workload tensorStep from level packet to level flow.
func atFlowLevel(text string) string {
	text = strings.Replace(text, "packet = \"200KB\"\n", "", 1)
	return strings.Replace(text, `"packet"`, `"flow"`, 1)
}

// stepFabrics are fabrics on which steps of 4 GPUs run at levels flow and packet.
var stepFabrics = map[string]string{
	"pods": `
[fabric]
kind = "ocs-pods"
gpus_per_pod_per_replica = 2
port_bandwidth = "100Gbps"
ports_per_pod = 2
[policy]
allocators = ["prop-alloc"]
`,
	"tiers of pods": `
[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 2
link_rate = "300Gbps"
link_latency = "1us"
[[fabric.tier]]
kind = "ocs-pods"
gpus_per_pod_per_replica = 2
port_bandwidth = "100Gbps"
ports_per_pod = 2
[policy]
allocators = ["prop-alloc"]
`,
	"torus": `
[fabric]
kind = "torus"
dims = [2, 2]
link_rate = "100Gbps"
[policy]
routers = ["dor"]
`,
	"tiers": `
[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 2
link_rate = "300Gbps"
link_latency = "1us"
[[fabric.tier]]
kind = "electrical"
gpus = 4
link_rate = "100Gbps"
link_latency = "2us"
[policy]
routers = ["shortest"]
`,
}

// TestExposedTimeAtLevels checks the exposed time of a step that communicates by
// tensor-parallel calls only. Without these calls the step would take its compute time. The
// calls therefore expose the makespan minus the compute time, at the level of the row. No tier
// exposes more than all communication.
func TestExposedTimeAtLevels(t *testing.T) {
	for name, fabric := range stepFabrics {
		var ends []float64
		for _, level := range []string{"flow", "packet"} {
			text := tensorStep + fabric
			if level == "flow" {
				text = atFlowLevel(text)
			}
			m := runMetrics(t, text)
			ends = append(ends, m["makespan_s"])
			got, want := m["tp_exposed_s"], m["comm_exposed_s"]
			if got <= 0 || math.Abs(got-want) > 1e-10 {
				t.Errorf("%s at level %s: calls expose %g s, want %g s as all communication",
					name, level, got, want)
			}
			for tier := 1; strings.HasPrefix(name, "tiers") && tier <= 2; tier++ {
				prefix := fmt.Sprintf("tier%d_", tier)
				exposed, doubled := m[prefix+"exposed_s"], m[prefix+"doubled_s"]
				// The outer tier is slower and hides the inner one. Doubling a tier's rate saves at
				// most the time that it exposes.
				if tier == 2 && exposed <= 0 || exposed > m["comm_exposed_s"] ||
					m["makespan_s"]-doubled > exposed+1e-10 {
					t.Errorf("%s at level %s: tier %d exposes %g s, and twice its rate reduces "+
						"the makespan to %g s from %g s, want a smaller reduction",
						name, level, tier, exposed, doubled, m["makespan_s"])
				}
			}
		}

		if ends[1] < ends[0]*1.001 {
			t.Errorf("%s: got %g s with packets of 200 KB and %g s at level flow, want a "+
				"difference that distinguishes the levels", name, ends[1], ends[0])
		}
	}
}

// TestExposedTimeIsNotNegative checks that no tier exposes a negative time, on 12 random
// fabrics of two or three tiers. If a tier takes no time, packets queue in another order, so
// that the calls could take longer.
func TestExposedTimeIsNotNegative(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	for range 12 {
		tier := func(gpus, rate string) string {
			return fmt.Sprintf(`[[fabric.tier]]
kind = "electrical"
gpus = %s
link_rate = %q
link_latency = %q
`, gpus, rate, pick("0ns", "500ns", "2us"))
		}

		text := fmt.Sprintf("[workload]\nkind = %q\nmessage = %q\npacket = %q\n",
			pick("all-gather", "reduce-scatter"), pick("64KB", "100KB"), pick("4KB", "10KB")) +
			"[fabric]\nkind = \"tiers\"\n" + tier("4", "900Gbps") + pick("",
			tier("8", "400Gbps")) + tier("16", pick("100Gbps", "400Gbps")) +
			"[engine]\nlevel = \"packet\"\n" +
			"[policy]\nrouters = [\"shortest\"]\ncollectives = [\"ring\", \"bidirectional-ring\"]\n"

		for _, row := range runText(t, text).Document.Rows {
			for metric, value := range row.Metrics {
				if strings.HasSuffix(metric, "_exposed_s") && value < 0 {
					t.Errorf("%s of %s is %g s, want at least 0, on\n%s",
						metric, row.Policy, value, text)
				}
			}
		}
	}
}
