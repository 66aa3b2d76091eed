package scenarios

import (
	"fmt"

	"testing"
)

// TestRecommendationOnPods checks a recommendation step on pods against closed forms. Circuits
// carry the bytes of the exchanges and of the ring reductions. A step takes at least the busy
// time of each link, and its compute time on very fast links. Level packet takes up to 2 %
// longer than level flow.
func TestRecommendationOnPods(t *testing.T) {
	const text = `workload = {kind = "recommendation", gpus = 8, samples = 640, tables = 16, width = 64, dense_parameters = 1_000_000, effective_tflops = 80, pieces = 2}
fabric = {kind = "ocs-pods", pods = 3, gpus_per_pod = 4, port_bandwidth = "100Gbps", inside_bandwidth = "400Gbps"}
policy = {allocators = ["prop-alloc"]}
`
	static, fluid := runMetrics(t, text, "engine.level=static"), runMetrics(t, text)
	packets := runMetrics(t, text, "engine.level=packet", "workload.packet=1KB")
	message, gradients := 640.0*16*64*2/8, 4e6
	// Two pods are joined by 4 circuits.
	if got, want := static["max_circuit_bytes"], (2*16*message+2*gradients*7/8)/4; !isClose(got, want) {
		t.Errorf("a circuit carries %g B, want %g", got, want)
	}
	// minTime is the busy time of the network interface to another pod.
	minTime := 8 * (2*4*message + 2*gradients*7/8) / 100e9
	if !isClose(static["fluid_s"], minTime) || fluid["makespan_s"] < minTime ||
		fluid["ep_exposed_s"] <= 0 || fluid["dp_exposed_s"] <= 0 {
		t.Errorf("a link is busy for %g s, want %g s; want a longer makespan with exposed "+
			"exchanges and reductions in %v", static["fluid_s"], minTime, fluid)
	}
	difference := packets["makespan_s"]/fluid["makespan_s"] - 1
	if difference < 0 || difference > 0.02 {
		t.Errorf("level packet takes longer by %g of level flow, want 0 to 0.02", difference)
	}
	fast := runText(t, text, "fabric.inside_bandwidth=9000Tbps", "fabric.port_bandwidth=9000Tbps").Document
	if got, want := fast.Rows[0].Metrics["makespan_s"], fast.Reference["compute_makespan_s"]; got > want*1.001 {
		t.Errorf("on very fast links a step takes %g s, want its compute time, %g s", got, want)
	}
}

// TestRecommendationNeedsPorts checks that each pod requires one port per other pod with GPUs
// of the step, because all of them exchange embeddings.
func TestRecommendationNeedsPorts(t *testing.T) {
	const text = `workload = {kind = "recommendation", gpus = 16, samples = 640, tables = 16, width = 64, dense_parameters = 1_000_000, effective_tflops = 80}
fabric = {kind = "ocs-pods", pods = 4, gpus_per_pod = 4, port_bandwidth = "100Gbps"}
policy = {allocators = ["prop-alloc"]}
`
	for ports, want := range map[int]string{3: "", 2: "exchanges data with 3 others"} {
		set := fmt.Sprint("fabric.ports_per_pod=", ports)
		_, err := Parse("ports.toml", []byte(text), []string{set})
		checkError(t, err, want, set)
	}
}
