package scenarios

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// podStep is a step of a small model with experts. Each pod holds one stage, so that only
// pipeline traffic crosses pods.
const podStep = `
[workload]
kind = "training"
sequence = 2048
microbatches = 3
tp = 2
cp = 2
pp = 2
ep = 4
gpus = 8
effective_tflops = 100
flows = "per-gpu"
pieces = 2
collectives = "graph"
[workload.architecture]
layers = 4
hidden = 1024
vocab = 32000
heads = 8
experts = 8
top_k = 2
expert_ffn = 2048
[fabric]
kind = "ocs-pods"
gpus_per_pod_per_replica = 4
port_bandwidth = "100Gbps"
ports_per_pod = 2
inside_bandwidth = "900Gbps"
[policy]
allocators = ["prop-alloc", "delta-topo", "delta-joint"]
`

// TestCallsInsidePods compares two forms of calls that stay inside pods without contention: as
// transfers of the task graph, and as an inner tier whose calls lengthen passes. The calls
// include the synchronisation of the copies in a stage. Makespans agree up to one tick per
// task, for each algorithm.
func TestCallsInsidePods(t *testing.T) {
	inside := `fabric={kind = "tiers", tier = [{kind = "electrical", gpus = 4, link_rate = "900Gbps", collective = "ALGORITHM"}, {kind = "ocs-pods", gpus_per_pod_per_replica = 4, port_bandwidth = "100Gbps", ports_per_pod = 2}]}`
	contracted := strings.Replace(podStep, "collectives = \"graph\"\n", "", 1)
	for _, algorithm := range []string{"ring", "halving-doubling", "direct"} {
		complete := runText(t, podStep, "policy.collective="+algorithm, "workload.pieces=0").Document
		reduced := runText(t, strings.Replace(contracted, "pieces = 2\n", "", 1),
			strings.Replace(inside, "ALGORITHM", algorithm, 1)).Document
		for i, row := range reduced.Rows {
			m := complete.Rows[i].Metrics
			want, got := row.Metrics["makespan_s"], m["makespan_s"]
			if math.Abs(got-want) > 1e-12*complete.Reference["tasks"] ||
				m["tp_exposed_s"]+m["cp_exposed_s"]+m["ep_exposed_s"] < want/10 {
				t.Errorf("%s, %s: got %v s with calls in the graph, want %v s as with calls that "+
					"lengthen passes, and at least a tenth of it exposed; metrics %v",
					algorithm, row.Policy, got, want, m)
			}
		}
	}
}

// TestCallsAcrossPods checks experts whose all-to-alls cross pods. With half the GPUs per pod
// the expert calls expose more than twice the time, and the tensor-parallel calls the same.
// Levels flow and packet agree. Every combination of algorithms and schedules has an NCT of at
// least 1 and respects its lower bound. In this test each run compares its merged task graph
// with the complete one.
func TestCallsAcrossPods(t *testing.T) {
	t.Parallel()
	exposed := func(set ...string) map[string]float64 {
		t.Helper()
		return runMetrics(t, podStep,
			append(set, "fabric.ports_per_pod=6", "workload.microbatches=2",
				`policy.allocators=["iter-halve"]`)...)
	}

	onePod, twoPods := exposed("workload.gpus=16"),
		exposed("workload.gpus=16", "fabric.gpus_per_pod_per_replica=2")
	if onePod["ep_exposed_s"] <= 0 || twoPods["ep_exposed_s"] <= 2*onePod["ep_exposed_s"] ||
		math.Abs(twoPods["tp_exposed_s"]-onePod["tp_exposed_s"]) > 0.05*onePod["tp_exposed_s"] {
		t.Errorf("got %v with one pod per stage and %v with two, want more than twice the "+
			"ep_exposed_s and tp_exposed_s within 5 %%", onePod, twoPods)
	}
	fluid, packets := exposed(), exposed("engine.level=packet", "workload.packet=4KB")
	if d := packets["makespan_s"] - fluid["makespan_s"]; d < -packets["packet_slack_s"] ||
		d > packets["packet_slack_s"] || d > 0.02*fluid["makespan_s"] {
		t.Errorf("got %v s at level packet and %v s at level flow, want a difference of at most "+
			"%v s and 2 %%", packets["makespan_s"], fluid["makespan_s"], packets["packet_slack_s"])
	}
	for _, set := range []string{"policy.collective=halving-doubling workload.overlap_calls=0.5", "policy.collective=direct workload.expert_sizes=zipf", "policy.collective=hierarchical workload.overlap_sync=true", "workload.gpus=16 fabric.gpus_per_pod_per_replica=8",
		"workload.schedule=interleaved-1f1b workload.virtual_stages=2"} {
		m := exposed(append([]string{"fabric.gpus_per_pod_per_replica=2"}, strings.Fields(set)...)...)
		if m["nct"] < 1 || m["makespan_s"] < m["bound_makespan_s"] {
			t.Errorf("%s: got NCT below 1 or a makespan below its bound: %v", set, m)
		}
	}
}

// TestPacketSlackOfCycles checks calls at level packet on rings of GPUs inside pods. Links of a ring
// of 4 do not follow each other in a cycle, and the slack bounds the difference from level flow.
// Links of a ring of 8 do, so no slack is known.
func TestPacketSlackOfCycles(t *testing.T) {
	t.Parallel()
	for gpus, isKnown := range map[int]bool{4: true, 8: false} {
		fabric := fmt.Sprintf(`fabric={kind = "tiers", tier = [{kind = "torus", dims = [%d], link_rate = "900Gbps"}, {kind = "ocs-pods", gpus_per_pod_per_replica = %d, port_bandwidth = "100Gbps", ports_per_pod = 2}]}`, gpus, gpus)
		o := runText(t, podStep, fabric, fmt.Sprintf("workload.ep=%d", gpus), fmt.Sprintf("workload.cp=%d", gpus/2), fmt.Sprintf("workload.gpus=%d", 2*gpus),
			"engine.level=packet", "workload.packet=64KB", "policy.collective=direct", `policy.allocators=["iter-halve"]`)
		row := o.Document.Rows[0]
		slack, ok := row.Metrics["packet_slack_s"]
		if ok != isKnown || (row.Labels["packet_slack_s"] == "") != isKnown {
			t.Errorf("rings of %d: got a slack of %v, label %q, want one: %t", gpus, slack, row.Labels["packet_slack_s"], isKnown)
		}
		if d := row.Metrics["makespan_s"] - row.Metrics["fluid_s"]; isKnown && (d > slack || d < -slack) {
			t.Errorf("rings of %d: level packet ends %v s after level flow, want at most %v s", gpus, d, slack)
		}
	}
}

// TestPodCallDiagnostics checks that calls that pods cannot carry are rejected, with the keys
// to change.
func TestPodCallDiagnostics(t *testing.T) {
	for set, want := range map[string]string{
		"fabric.gpus_per_pod_per_replica=3": "fabric.gpus_per_pod_per_replica: a stage of 4 GPUs is not a multiple of a pod of 3 GPUs",
		"fabric.gpus_per_pod_per_replica=1": "U_p = 2 is too small to connect: with its collective calls a pod exchanges data with 4 others",
		"policy.collective=bucket":          "policy.collective: bucket does not serve the",
		"workload.replicas=single":          "workload.replicas: calls in the graph are among the GPUs of all replicas",
		"workload.tp=3 workload.cp=1 workload.ep=6 workload.gpus=12 fabric.gpus_per_pod_per_replica=6 policy.collective=halving-doubling workload.architecture.experts=6": "policy.collective: halving-doubling does not serve the tp calls of the step: all-gather among 3 ranks",
	} {
		_, err := Parse("text.toml", []byte(podStep), strings.Fields(set))
		checkError(t, err, want, set)
	}
}
