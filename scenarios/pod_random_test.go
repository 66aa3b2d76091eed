package scenarios

import (
	"testing"
)

// TestPodRandom: packets to drawn GPUs of other pods take at a low load the time of a packet on each link, three of one
// rate, and arrive at the load at which they are sent, of which circuits and the queues before these take a part at a high one.
func TestPodUniformRandom(t *testing.T) {
	const text = `workload = {kind = "uniform-random"}
fabric = {kind = "ocs-pods", pods = 4, gpus_per_pod = 3, port_bandwidth = "400Gbps"}
policy = {allocators = ["iter-halve"]}
engine = {level = "packet"}
`
	packetTime := 8 * 1000 / 400e9 // a packet on an interface or a circuit, one of which joins two pods
	low := runText(t, text, "workload.load=0.01", "workload.duration=1ms").Document.Rows[0].Metrics
	if d := low["mean_delay_s"]; d < 3*packetTime || d > 3.1*packetTime || low["accepted_load"] < 0.009 || low["accepted_load"] > 0.011 {
		t.Errorf("at a load of 0.01 packets take %g s, want %g, and %g is accepted", d, 3*packetTime, low["accepted_load"])
	}
	high := runText(t, text, "workload.load=0.8", "workload.duration=100us").Document.Rows[0].Metrics
	if d := high["mean_delay_s"]; d < 5*packetTime || high["accepted_load"] < 0.7 || high["accepted_load"] > 0.85 {
		t.Errorf("at a load of 0.8 packets take %g s, and %g is accepted", d, high["accepted_load"])
	}
	if v := runText(t, text, "engine.level=static").Document.Rows[0].Metrics["max_circuit_bytes"]; v != 9*64000 {
		t.Errorf("a circuit carries %g B", v)
	}
}
