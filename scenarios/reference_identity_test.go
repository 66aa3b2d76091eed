package scenarios

import (
	"testing"

	"sim/scenarios/result"
)

// stagedStep is a small training step of four stages. On stagesInPods two stages share a pod, so that
// some of its transfers stay inside a pod.
const stagedStep = `
workload = {kind = "training", sequence = 256, microbatches = 4, pp = 4, tp = 2, gpus = 16, architecture = {layers = 8, hidden = 256, heads = 4, ffn = 1024, vocab = 1024, effective_tflops = 10}}
`
const stagesInPods = stagedStep + `
fabric = {kind = "ocs-pods", gpus_per_pod_per_replica = 4, port_bandwidth = "10Gbps"}
policy.allocators = ["prop-alloc", "delta-joint"]
`

// TestReferences: every result of a training step states the interfaces of its ideal fabric, and
// the traffic that does not use them: on pods, traffic inside a pod. With
// fabric.reference = "interfaces" all traffic counts, and the reference equals the one of a fat
// tree and of pods of one stage, which do not have such traffic. Only NCTs depend on the key.
func TestReferences(t *testing.T) {
	pods := runText(t, stagesInPods).Document
	all := runText(t, stagesInPods, "fabric.reference=interfaces").Document
	single := runText(t, stagesInPods, "fabric.gpus_per_pod_per_replica=2", "fabric.ports_per_pod=4").Document
	tree := runText(t, stagedStep+`
fabric = {kind = "graph", generator = "fat-tree", levels = 2, switch_ports = 8, oversubscription = 1, link_rate = "10Gbps", link_latency = "0s"}
engine.level = "flow"
`).Document
	for _, c := range []struct {
		name string
		doc  result.Document
		free bool
	}{{"pods", pods, true}, {"interfaces", all, false}, {"pods of one stage", single, false}, {"fat tree", tree, false}} {
		if r := c.doc.Reference; r[result.InterfaceRate] != 10e9 || (r[result.FreeBytes] > 0) != c.free {
			t.Errorf("%s: interfaces of %g b/s, %g bytes free; want 10e9, and some free: %v",
				c.name, r[result.InterfaceRate], r[result.FreeBytes], c.free)
		}
		if same := result.SameReference(c.doc.Reference, tree.Reference); same == c.free {
			t.Errorf("%s: the ideal fabric takes %g s, that of the fat tree %g s; want equal times: %v",
				c.name, c.doc.Reference["makespan_s"], tree.Reference["makespan_s"], !c.free)
		}
	}
	// Calls in the graph use the network inside a pod, which is no interface either.
	if r := runText(t, stagesInPods, "workload.collectives=graph").Document.Reference; !(r[result.FreeBytes] > 0) {
		t.Errorf("calls inside pods: %g bytes free, want some", r[result.FreeBytes])
	}
	for i := range pods.Rows {
		before, after := pods.Rows[i].Metrics, all.Rows[i].Metrics
		if before["makespan_s"] != after["makespan_s"] || before["nct"] <= after["nct"] {
			t.Errorf("%s: with all traffic counted, the iteration takes %g s (NCT %g), before %g s (%g); want equal times and a lower NCT",
				pods.Rows[i].Policy, after["makespan_s"], after["nct"], before["makespan_s"], before["nct"])
		}
	}
}
