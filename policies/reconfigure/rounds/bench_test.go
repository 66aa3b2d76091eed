package rounds

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sim/policies/reconfigure/plan"
)

// drawUnequal draws 1 .. 2*mean-1 chunks per pair, uniformly.
func drawUnequal(n, k, mean int, seed uint64) *plan.Problem {
	p := plan.UniformProblem(n, k, 1)
	r := rand.New(rand.NewPCG(seed, 1))
	for i, c := range p.Chunks {
		if c > 0 {
			p.Chunks[i] = 1 + int32(r.IntN(2*mean-1))
		}
	}
	return p
}

func BenchmarkCandidates(b *testing.B) {
	for _, c := range []struct{ n, k int }{{64, 1}, {64, 2}, {256, 2}, {256, 3}, {256, 4}, {1024, 2}} {
		b.Run(fmt.Sprintf("uniform/n=%d/k=%d", c.n, c.k), func(b *testing.B) {
			p := plan.UniformProblem(c.n, c.k, 8)
			for b.Loop() {
				if _, err := Candidates(p, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("unequal/n=%d/k=%d", c.n, c.k), func(b *testing.B) {
			p := drawUnequal(c.n, c.k, 8, 1)
			for b.Loop() {
				if _, err := Candidates(p, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkShiftSlots(b *testing.B) {
	for b.Loop() {
		ShiftSlots(4096)
	}
}
