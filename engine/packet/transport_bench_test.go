package packet_test

import (
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

// fatTree returns a fat tree of three levels of switches with the given number of ports: ports^3/4
// hosts, links of 100 Gb/s and 1 us.
func fatTree(ports int32) *engine.Network {
	half := ports / 2
	hosts := ports * half * half
	edge, aggregation, core := hosts, hosts+ports*half, hosts+2*ports*half
	n := &engine.Network{Nodes: core + half*half}
	join := func(a, b int32) {
		for _, l := range [][2]int32{{a, b}, {b, a}} {
			n.Links = append(n.Links, engine.Link{From: l[0], To: l[1], Rate: 100e9, Latency: engine.Microsecond})
		}
	}
	for h := range hosts {
		join(h, edge+h/half)
	}
	for pod := range ports {
		for e := range half {
			for a := range half {
				join(edge+pod*half+e, aggregation+pod*half+a)
			}
		}
		for a := range half {
			for c := range half {
				join(aggregation+pod*half+a, core+a*half+c)
			}
		}
	}
	return n
}

// permutation returns a graph in which each host sends bytes to another one.
func permutation(hosts int32, bytes int64) (*engine.Graph, []engine.Flow) {
	g := &engine.Graph{}
	var flows []engine.Flow
	for h := range hosts {
		to := (h*7919 + 513) % hosts
		if to == h {
			to = (h + 1) % hosts
		}
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: h, Dst: to, Bytes: bytes, Flows: 1})
		flows = append(flows, engine.Flow{Src: h, Dst: to})
	}
	if err := g.Freeze(); err != nil {
		panic(err)
	}
	return g, flows
}

// BenchmarkTransport measures hops of packets per second of processor time of a permutation of 1,024 hosts.
func BenchmarkTransport(b *testing.B) {
	nscc := packet.Transport{
		Kind: "nscc", Header: 64, AckBytes: 64, Entropies: 64, MarkShare: 0.2, BufferShare: 0.125,
		Overflow: "trim", Balance: "reps", NSCC: packet.NSCC{MaxDecay: 0.8},
	}
	dctcp := packet.Transport{
		Kind: "dctcp", Header: 64, AckBytes: 64, Entropies: 64, MarkShare: 0.2, BufferShare: 0.125, DCTCP: packet.DCTCP{Gain: 1. / 16, Alpha: 1},
	}
	carried := nscc
	carried.Acks = "carried"
	for _, c := range []struct {
		name string
		o    packet.Transport
	}{{"nscc-trim-reps", nscc}, {"nscc-trim-reps-carried", carried}, {"dctcp", dctcp}} {
		b.Run(c.name, func(b *testing.B) {
			n := fatTree(16)
			for i := range n.Links {
				n.Links[i].Buffer = 160_000
			}
			paths := spread(n)
			g, flows := permutation(1024, 2_000_000)
			hops := int64(0)
			cpu := cpuTime()
			b.ResetTimer()
			for range b.N {
				_, s, err := packet.RunGraph(g, n, flows, paths, 4160, packet.Options{Transport: &c.o, Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				hops += s.Hops
			}
			b.ReportMetric(float64(hops)/(cpuTime()-cpu).Seconds()/1e6, "Mhops/cpu-s")
		})
	}
}
