package scenarios

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPodLoads checks the link loads of random traffic matrices on pods. The bytes per circuit
// follow from the matrix. The bound on the busiest circuit equals the minimum over all
// topologies that fit the ports, found by enumeration. No run ends before its busiest link has
// sent its bytes.
func TestPodLoads(t *testing.T) {
	const pods, gpus, ports, rate = 4, 2, 7, 400e9
	draw := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		var sizes [pods * gpus][pods * gpus]int // bytes, indexed by source and destination GPU
		var between [pods][pods]float64         // bytes between pods
		for a := range sizes {
			for b := range sizes {
				if a/gpus != b/gpus {
					sizes[a][b] = 1 + draw.IntN(1<<20)
					between[a/gpus][b/gpus] += float64(sizes[a][b])
				}
			}
		}

		text := "workload = {kind = \"matrix\", matrix = " + strings.ReplaceAll(fmt.Sprint(sizes),
			" ", ", ") + "}\n" +
			fmt.Sprintf("fabric = {kind = \"ocs-pods\", pods = %d, gpus_per_pod = %d, ports_per_pod = %d, port_bandwidth = \"400Gbps\"}\n", pods, gpus, ports) +
			"policy = {allocators = [\"prop-alloc\", \"iter-halve\", \"delta-fast\"]}\n"
		got, fluid := runText(t, text+"engine = {level = \"static\"}\n"), runText(t, text)

		// Enumerate the topologies that fit the ports.
		optimum := math.Inf(1)
		var circuits [pods][pods]int
		var enumerate func(a, b int, free [pods]int)
		enumerate = func(a, b int, free [pods]int) {
			if b == pods {
				a, b = a+1, a+2
			}
			if a == pods-1 {
				optimum = min(optimum, maxCircuitBytes(&between, &circuits))
				return
			}
			for n := 1; n <= min(free[a], free[b]); n++ {
				circuits[a][b] = n
				remaining := free
				remaining[a] -= n
				remaining[b] -= n
				enumerate(a, b+1, remaining)
			}
		}

		enumerate(0, 1, [pods]int{ports, ports, ports, ports})
		for i, row := range got.Document.Rows {
			clear(circuits[:])
			for _, p := range got.Detail.Policies[i].Topology.Pairs {
				circuits[p.A][p.B] = p.Circuits
			}

			v, maxBytes := row.Metrics, maxCircuitBytes(&between, &circuits)
			if v["max_circuit_bytes"] != maxBytes ||
				!isClose(v["max_circuit_s"], 8*maxBytes/rate) ||
				!isClose(v["bound_max_circuit_s"], 8*optimum/rate) {
				t.Errorf("%s: got %v, want a busiest circuit of %g B and a bound of %g B",
					row.Policy, v, maxBytes, optimum)
			}

			if end := fluid.Document.Rows[i].Metrics["completion_s"]; end < v["fluid_s"]*(1-1e-9) ||
				end > 3*v["fluid_s"] {
				t.Errorf("%s completes after %g s, want at least the busy time of a link, %g s, "+
					"and at most three times that", row.Policy, end, v["fluid_s"])
			}
		}
	}
}

// maxCircuitBytes returns the maximum of the bytes per circuit between pods, in either
// direction. bytes and circuits are indexed by pod; circuits has entries for a < b only.
func maxCircuitBytes(bytes *[4][4]float64, circuits *[4][4]int) float64 {
	maxBytes := 0.0
	for a := range circuits {
		for b := a + 1; b < len(circuits); b++ {
			maxBytes = max(maxBytes, max(bytes[a][b], bytes[b][a])/float64(circuits[a][b]))
		}
	}
	return maxBytes
}
