package scenarios

import (
	"strings"
	"testing"
)

// TestRecommendationOnPods: circuits carry what exchanges and the ring of reductions send between pods, and a step takes no
// less than any link for what it carries, nor at packets less than as fluid but for what is under way at once.
func TestRecommendationOnPods(t *testing.T) {
	const text = `workload = {kind = "recommendation", gpus = 8, samples = 640, tables = 16, width = 64, dense_parameters = 1_000_000, effective_tflops = 80, pieces = 2}
fabric = {kind = "ocs-pods", pods = 3, gpus_per_pod = 4, port_bandwidth = "100Gbps", inside_bandwidth = "400Gbps"}
policy = {allocators = ["prop-alloc"]}
`
	static, fluid := runText(t, text, "engine.level=static").Document.Rows[0].Metrics, runText(t, text).Document.Rows[0].Metrics
	packets := runText(t, text, "engine.level=packet", "workload.packet=1KB").Document.Rows[0].Metrics
	message, gradients := 640.0*16*64*2/8, 4e6
	if got, want := static["max_circuit_bytes"], (2*16*message+2*gradients*7/8)/4; !isClose(got, want) { // 4 circuits between two pods
		t.Errorf("a circuit carries %g B, want %g", got, want)
	}
	minTime := 8 * (2*4*message + 2*gradients*7/8) / 100e9 // of the interface at the end of a pod
	if !isClose(static["fluid_s"], minTime) || fluid["makespan_s"] < minTime || fluid["ep_exposed_s"] <= 0 || fluid["dp_exposed_s"] <= 0 {
		t.Errorf("a link is busy for %g s, want %g; the step takes %v", static["fluid_s"], minTime, fluid)
	}
	if difference := packets["makespan_s"]/fluid["makespan_s"] - 1; difference < 0 || difference > 0.02 {
		t.Errorf("packets take %g more than the fluid", difference)
	}
	fast := runText(t, text, "fabric.inside_bandwidth=9000Tbps", "fabric.port_bandwidth=9000Tbps").Document
	if got, want := fast.Rows[0].Metrics["makespan_s"], fast.Reference["compute_makespan_s"]; got > want*1.001 {
		t.Errorf("on links that are no matter a step takes %g s, compute %g s", got, want)
	}
}

// TestRecommendationNeedsPorts: every pod exchanges with every other that has GPUs of the step, and needs a port for each.
func TestRecommendationNeedsPorts(t *testing.T) {
	const text = `workload = {kind = "recommendation", gpus = 16, samples = 640, tables = 16, width = 64, dense_parameters = 1_000_000, effective_tflops = 80}
fabric = {kind = "ocs-pods", pods = 4, gpus_per_pod = 4, port_bandwidth = "100Gbps"}
policy = {allocators = ["prop-alloc"]}
`
	if _, err := Parse("ports.toml", []byte(text), []string{"fabric.ports_per_pod=3"}); err != nil {
		t.Error(err)
	}
	if _, err := Parse("ports.toml", []byte(text), []string{"fabric.ports_per_pod=2"}); err == nil || !strings.Contains(err.Error(), "exchanges data with 3 others") {
		t.Errorf("two ports of a pod for three others: got %v, want a refusal", err)
	}
}
