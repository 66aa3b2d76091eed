package links

import (
	"testing"

	"sim/engine"
)

// TestSwitchedDomain checks switches of one and of two stages. Each GPU has one link in and one out,
// with the default rate and latency. No node has more outputs than a path can name. Links inside a
// switch have the total rate of the outputs behind them, and no latency.
func TestSwitchedDomain(t *testing.T) {
	const rate, latency = 4e11, engine.Microsecond
	for gpus, nodes := range map[int]int{8: 9, 4096: 4097, 4097: 4097 + 1 + 64, 16384: 16384 + 1 + 128} {
		l := &Links{Domain: Domain{GPUs: gpus}}
		l.LinkRate = rate
		l.BuildSwitchedDomain()
		n := l.Graph(engine.Link{Rate: rate, Latency: latency})
		if int(n.Nodes) != nodes || len(l.Names) != nodes || l.Switches.From != gpus {
			t.Errorf("%d GPUs: %d nodes and %d names, want %d", gpus, n.Nodes, len(l.Names), nodes)
		}
		out, in, inRate, outRate := make([]int, nodes), make([]int, nodes), make([]float64, nodes), make([]float64, nodes)
		for _, k := range n.Links {
			out[k.From]++
			in[k.To]++
			outRate[k.From] += k.Rate
			inRate[k.To] += k.Rate
			isInside := int(k.From) >= gpus && int(k.To) >= gpus
			if isInside != (k.Latency == 0) || !isInside && k.Rate != rate {
				t.Fatalf("%d GPUs: link %v", gpus, k)
			}
		}
		for v := range nodes {
			switch {
			case v < gpus && (in[v] != 1 || out[v] != 1):
				t.Fatalf("GPU %d of %d has %d links in and %d out", v, gpus, in[v], out[v])
			case v >= gpus && (out[v] > engine.MaxPort+1 || inRate[v] != outRate[v]):
				t.Fatalf("switch node %d of %d GPUs has %d outputs, %g b/s in and %g out", v-gpus, gpus, out[v], inRate[v], outRate[v])
			}
		}
	}
}
