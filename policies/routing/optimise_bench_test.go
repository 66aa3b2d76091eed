package routing

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

var heavy = flag.Bool("heavy", false, "benchmark the optimiser on large problems too")

// setRandomDemands sets random demands between low and high.
func setRandomDemands(p *Problem, low, high float64) *Problem {
	rng := rand.New(rand.NewPCG(1, 2))
	p.Demand = make([]float64, len(p.Flows))
	for i := range p.Demand {
		p.Demand[i] = low + (high-low)*rng.Float64()
	}
	return p
}

// BenchmarkOptimised reports the time and the gap of problems without symmetry: random demands,
// and rings of one step in each direction.
func BenchmarkOptimised(b *testing.B) {
	ring := func(p *Problem, from, to float64) *Problem {
		n := int32(p.Torus.Nodes())
		p.Flows = nil
		for a := range n {
			p.Flows = append(p.Flows, engine.Flow{Src: a, Dst: (a + 1) % n}, engine.Flow{Src: a, Dst: (a + n - 1) % n})
		}
		return setRandomDemands(p, from, to)
	}
	for _, c := range []struct {
		name  string
		heavy bool
		make  func() *Problem
	}{
		{"weighed/4x4x4", false, func() *Problem { return setRandomDemands(torusProblem(b, torus.Faults{}, "", 4, 4, 4), 0, 2) }},
		{"weighed/4x4x8", false, func() *Problem { return setRandomDemands(torusProblem(b, torus.Faults{}, "tpuv4", 4, 4, 8), 0, 2) }},
		{"weighed/8x8x8", true, func() *Problem { return setRandomDemands(torusProblem(b, torus.Faults{}, "", 8, 8, 8), 0, 2) }},
		{"fault/4x4x4", false, func() *Problem {
			return setRandomDemands(torusProblem(b, torus.Faults{Switches: []torus.Switch{{Dim: 0, Index: 3}}}, "", 4, 4, 4), 0.5, 1)
		}},
		{"ring/4x8x4", false, func() *Problem { return ring(torusProblem(b, torus.Faults{}, "", 4, 8, 4), 0.999, 1) }},
		{"ring/8x8x8", true, func() *Problem { return ring(torusProblem(b, torus.Faults{}, "", 8, 8, 8), 0.999, 1) }},
	} {
		if c.heavy && !*heavy {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			p := c.make()
			for b.Loop() {
				d, err := OptimisedRouter{}.Route(b.Context(), p, Options{Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(100*d.Metrics["gap"], "%gap")
				b.ReportMetric(d.Metrics["max_link_load"], "load")
				b.ReportMetric(d.Bound, "bound")
			}
		})
	}
}

// randomGraph returns a random tree with as many additional pairs as nodes, all joined in both
// directions. Every node sends between low and high to four others.
func randomGraph(nodes int32, low, high float64) *Problem {
	rng := rand.New(rand.NewPCG(3, uint64(nodes)))
	var links, flows [][2]int32
	join := func(a, b int32) { links = append(links, [2]int32{a, b}, [2]int32{b, a}) }
	for a := int32(1); a < nodes; a++ {
		join(rng.Int32N(a), a)
	}
	for range nodes {
		if a, b := rng.Int32N(nodes), rng.Int32N(nodes); a != b {
			join(a, b)
		}
	}
	for a := range nodes {
		for range 4 {
			if b := rng.Int32N(nodes); b != a {
				flows = append(flows, [2]int32{a, b})
			}
		}
	}
	p := digraph(nodes, equalRate, links, flows)
	for k := range p.Network.Links {
		p.Network.Links[k].Channels = 2
	}
	return setRandomDemands(p, low, high)
}

// BenchmarkOptimisedGraphs reports time and gap for random sparse graphs of growing size.
func BenchmarkOptimisedGraphs(b *testing.B) {
	for _, n := range []int32{256, 1024, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := randomGraph(n, 0, 2)
			for b.Loop() {
				d, err := OptimisedRouter{}.Route(b.Context(), p, Options{Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(100*d.Metrics["gap"], "%gap")
				b.ReportMetric(100*(d.Metrics["unconstrained_max_link_load"]/d.Bound-1), "%gap-any")
			}
		})
	}
}
