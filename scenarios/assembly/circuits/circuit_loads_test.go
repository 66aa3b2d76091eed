package circuits

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric"
)

// TestMinCircuitLoad compares the minimum load of the busiest circuit with an enumeration of
// all topologies that fit the ports, on random pods. The bytes per circuit are compared with a
// sum over transfers.
func TestMinCircuitLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	compared := 0
	for range 300 {
		n := 2 + rng.IntN(3)
		pods, g := &fabric.Pods{Copies: 1}, &engine.Graph{}
		for pod := range n {
			pods.Pods = append(pods.Pods,
				fabric.Pod{Name: fmt.Sprint("pod ", pod), Ports: 1 + rng.IntN(6),
					Rate: units.Rate(1e9 * (1 + rng.IntN(2)))})
			pods.NICs = append(pods.NICs, fabric.NIC{Name: fmt.Sprint("NIC ", pod), Rate: 1e9})
			pods.Nodes = append(pods.Nodes, fabric.Node{Pod: int32(pod), GPUs: 1, NICs: []int32{int32(pod)}})
		}

		sent := map[[2]int32]float64{}
		for range 1 + rng.IntN(8) {
			a, b := int32(rng.IntN(n)), int32(rng.IntN(n))
			if a == b {
				continue
			}
			bytes := int64(1 + rng.IntN(1000))
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: a, Dst: b, Flows: 1, Bytes: bytes})
			sent[[2]int32{a, b}] += float64(bytes)
		}

		if len(sent) == 0 {
			continue
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		o, err := pods.Connect(g)
		if err != nil {
			t.Fatal(err)
		}
		sys := &circuitSystem{graph: g, pods: pods, optical: o}
		bytes := sys.bytesByResource()
		for _, b := range o.Bundles {
			for _, l := range b.Links {
				k := o.Network.Links[l]
				if want := sent[[2]int32{k.From, k.To}]; bytes[l] != want {
					t.Fatalf("circuits from pod %d to %d carry %v B, want %v B",
						k.From, k.To, bytes[l], want)
				}
			}
		}

		minLoad := math.Inf(1)
		x := make([]int, len(o.Bundles))
		var enumerate func(e int)
		enumerate = func(e int) {
			if e < len(x) {
				for x[e] = 1; x[e] <= o.Pods[o.Bundles[e].A].Ports; x[e]++ {
					enumerate(e + 1)
				}
				return
			}

			for i, used := range o.Ports(x) {
				if used > o.Pods[i].Ports {
					return
				}
			}

			load := 0.0
			for e, b := range o.Bundles {
				for _, l := range b.Links {
					load = max(load, 8*bytes[l]/o.Rate(e)/float64(x[e]))
				}
			}

			minLoad = min(minLoad, load)
		}

		if enumerate(0); math.IsInf(minLoad, 1) {
			continue // too few ports
		}
		compared++
		if got := sys.minBottleneckSeconds(bytes); math.Abs(got-minLoad) > 1e-9*minLoad {
			t.Errorf("%[3]d bundles: got a minimum load of %[1]v s, want %[2]v s",
				got, minLoad, len(o.Bundles))
		}
	}

	if compared < 50 {
		t.Errorf("compared %d topologies with an enumeration, want at least 50", compared)
	}
}
