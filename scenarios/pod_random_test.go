package scenarios

import (
	"testing"
)

// TestPodUniformRandom checks packets to random GPUs of other pods. At low load the mean delay
// is the time of a packet on three links of equal rate, and the accepted load is the offered
// one. At high load queues add to the delay, and the accepted load stays near the offered one.
func TestPodUniformRandom(t *testing.T) {
	const text = `workload = {kind = "uniform-random"}
fabric = {kind = "ocs-pods", pods = 4, gpus_per_pod = 3, port_bandwidth = "400Gbps"}
policy = {allocators = ["iter-halve"]}
engine = {level = "packet"}
`

	packetTime := 8 * 1000 / 400e9 // seconds per packet on a network interface or a circuit
	low := runMetrics(t, text, "workload.load=0.01", "workload.duration=1ms")
	if d := low["mean_delay_s"]; d < 3*packetTime || d > 3.1*packetTime ||
		low["accepted_load"] < 0.009 || low["accepted_load"] > 0.011 {
		t.Errorf("load 0.01: got a mean delay of %g s, want %g s, and an accepted load of %g",
			d, 3*packetTime, low["accepted_load"])
	}

	high := runMetrics(t, text, "workload.load=0.8", "workload.duration=100us")
	if d := high["mean_delay_s"]; d < 5*packetTime || high["accepted_load"] < 0.7 ||
		high["accepted_load"] > 0.85 {
		t.Errorf("load 0.8: got a mean delay of %g s and an accepted load of %g, want more than "+
			"5 packet times and 0.7 to 0.85", d, high["accepted_load"])
	}
	if v := runMetrics(t, text, "engine.level=static")["max_circuit_bytes"]; v != 9*64000 {
		t.Errorf("the busiest circuit carries %g B, want %d B", v, 9*64000)
	}
}
