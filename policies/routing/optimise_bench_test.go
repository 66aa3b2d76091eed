package routing

import (
	"flag"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

var heavy = flag.Bool("heavy", false, "benchmark the optimiser on large problems too")

// weigh gives every flow of a problem a demand at random, from low to high.
func weigh(p *Problem, low, high float64) *Problem {
	rng := rand.New(rand.NewPCG(1, 2))
	p.Demand = make([]float64, len(p.Flows))
	for i := range p.Demand {
		p.Demand[i] = low + (high-low)*rng.Float64()
	}
	return p
}

// BenchmarkOptimised prints how long choices take, and gaps, of problems with no symmetry: pairs weighed at random, and
// rings of a step each way.
func BenchmarkOptimised(b *testing.B) {
	ring := func(p *Problem, from, to float64) *Problem {
		n := int32(p.Torus.Nodes())
		p.Flows = nil
		for a := range n {
			p.Flows = append(p.Flows, engine.Flow{Src: a, Dst: (a + 1) % n}, engine.Flow{Src: a, Dst: (a + n - 1) % n})
		}
		return weigh(p, from, to)
	}
	for _, c := range []struct {
		name  string
		heavy bool
		make  func() *Problem
	}{
		{"weighed/4x4x4", false, func() *Problem { return weigh(must(b, torus.Faults{}, "", 4, 4, 4), 0, 2) }},
		{"weighed/4x4x8", false, func() *Problem { return weigh(must(b, torus.Faults{}, "tpuv4", 4, 4, 8), 0, 2) }},
		{"weighed/8x8x8", true, func() *Problem { return weigh(must(b, torus.Faults{}, "", 8, 8, 8), 0, 2) }},
		{"fault/4x4x4", false, func() *Problem {
			return weigh(must(b, torus.Faults{Switches: []torus.Switch{{Dim: 0, Index: 3}}}, "", 4, 4, 4), 0.5, 1)
		}},
		{"ring/4x8x4", false, func() *Problem { return ring(must(b, torus.Faults{}, "", 4, 8, 4), 0.999, 1) }},
		{"ring/8x8x8", true, func() *Problem { return ring(must(b, torus.Faults{}, "", 8, 8, 8), 0.999, 1) }},
	} {
		if c.heavy && !*heavy {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			p := c.make()
			for b.Loop() {
				d, err := Optimised{}.Route(b.Context(), p, Options{Seed: 1})
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
