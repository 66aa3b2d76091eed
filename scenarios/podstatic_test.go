package scenarios

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPodLoads: what circuits carry is what the matrix of traffic says, the bound on the most loaded one is the best of
// all circuits that fit the ports, and nothing ends before the link that takes longest has carried its bytes.
func TestPodLoads(t *testing.T) {
	const pods, gpus, ports, rate = 4, 2, 7, 400e9
	draw := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		var m [pods * gpus][pods * gpus]int
		var between [pods][pods]float64
		for a := range m {
			for b := range m {
				if a/gpus != b/gpus {
					m[a][b] = 1 + draw.IntN(1<<20)
					between[a/gpus][b/gpus] += float64(m[a][b])
				}
			}
		}
		text := "workload = {kind = \"matrix\", matrix = " + strings.ReplaceAll(fmt.Sprint(m), " ", ", ") + "}\n" +
			fmt.Sprintf("fabric = {kind = \"ocs-pods\", pods = %d, gpus_per_pod = %d, ports_per_pod = %d, port_bandwidth = \"400Gbps\"}\n", pods, gpus, ports) +
			"policy = {allocators = [\"prop-alloc\", \"iter-halve\", \"delta-fast\"]}\n"
		got, fluid := runText(t, text+"engine = {level = \"static\"}\n"), runText(t, text)
		best := math.Inf(1)
		var circuits [pods][pods]int
		var try func(a, b int, free [pods]int)
		try = func(a, b int, free [pods]int) {
			if b == pods {
				a, b = a+1, a+2
			}
			if a == pods-1 {
				best = min(best, mostLoaded(&between, &circuits))
				return
			}
			for n := 1; n <= min(free[a], free[b]); n++ {
				circuits[a][b] = n
				left := free
				left[a] -= n
				left[b] -= n
				try(a, b+1, left)
			}
		}
		try(0, 1, [pods]int{ports, ports, ports, ports})
		for i, row := range got.Document.Rows {
			clear(circuits[:])
			for _, p := range got.Detail.Policies[i].Topology.Pairs {
				circuits[p.A][p.B] = p.Circuits
			}
			v, top := row.Metrics, mostLoaded(&between, &circuits)
			if v["max_circuit_bytes"] != top || !near(v["max_circuit_s"], 8*top/rate) || !near(v["bound_max_circuit_s"], 8*best/rate) {
				t.Errorf("%s: %v, want at most %g and no less than %g", row.Policy, v, top, best)
			}
			if end := fluid.Document.Rows[i].Metrics["completion_s"]; end < v["fluid_s"]*(1-1e-9) || end > 3*v["fluid_s"] {
				t.Errorf("%s ends at %g s, and a link is busy for %g s", row.Policy, end, v["fluid_s"])
			}
		}
	}
}

// mostLoaded returns the bytes of the most loaded circuit between pods, of which a < b have some.
func mostLoaded(bytes *[4][4]float64, circuits *[4][4]int) float64 {
	top := 0.0
	for a := range circuits {
		for b := a + 1; b < len(circuits); b++ {
			top = max(top, max(bytes[a][b], bytes[b][a])/float64(circuits[a][b]))
		}
	}
	return top
}
