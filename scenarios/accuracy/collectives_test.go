package accuracy

import (
	"fmt"
	"testing"

	"sim/engine/units"
)

// TestCallRows: calls of all kinds on parts of nodes, on whole nodes and on several nodes of machines
// without measurements are predicted, in a time that grows with the size.
func TestCallRows(t *testing.T) {
	for _, z := range []struct {
		hardware    string
		gpus, nodes int
	}{
		{"GB200 NVL72", 8, 2}, {"GB200 NVL72", 144, 36}, {"H800", 16, 2}, {"MI300X", 4, 1}, {"H100 IB", 4, 4}, {"A100 p4d EFA", 32, 4},
	} {
		for _, kind := range []string{"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv", "broadcast", "reduce"} {
			last := 0.0
			for _, bytes := range []int{1 << 10, 1 << 20, 1 << 28} {
				r := &Row{
					ID: "row", Hardware: z.hardware, GPUs: z.gpus, Nodes: z.nodes, Metric: "time", Unit: "us", Value: 1e5,
					Parameters: Parameters{"collective": kind, "size_bytes": fmt.Sprint(bytes)},
				}
				p := predictRow(t.Context(), r, &Options{})
				if p.Reason != "" || p.Value < last {
					t.Errorf("%s of %d B on %d GPUs of %s takes %g us after %g, reason %q", kind, bytes, z.gpus, z.hardware, p.Value, last, p.Reason)
				}
				last = p.Value
			}
		}
	}
}

// TestNetworkRate parses the descriptions of networks in the ledger.
func TestNetworkRate(t *testing.T) {
	for text, want := range map[string]units.Rate{
		"H100-SXM 80GB (HGX), NVLink4, 8x CX7 IB 400 Gb/s":                              3200e9,
		"B200-SXM, NVLink5 900 GB/s/dir, IB 8x400 Gb/s":                                 3200e9,
		"A100-SXM4-40GB, RoCE 16x100G (shape BM.GPU4.8)":                                1600e9,
		"p5, EFA 3200G/node":                                                            3200e9,
		"H100-SXM (GCP A3 Mega), TCPXO 1.8 Tb/s a node":                                 1800e9,
		"MI300X one node":                                                               0,
		"A100-SXM 80GB node, NVLink3 300 GB/s/dir":                                      0,
		"B200-SXM (HGX), NVLink5 900 GB/s/dir, 8x NDR 400 Gb/s (39.5..45.1 GB/s a NIC)": 3200e9,
	} {
		if got := networkRate(&Row{Hardware: text}); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
