package circulant

import (
	"fmt"
	"testing"

	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

// BenchmarkSlots computes both tables of degree 1 for 8 to 4096 GPUs.
func BenchmarkSlots(b *testing.B) {
	for b.Loop() {
		for n := 8; n <= 4096; n *= 2 {
			rounds.ShiftSlots(n)
			greedySlots(n)
		}
	}
}

func BenchmarkCandidates(b *testing.B) {
	for _, c := range []struct {
		n, k        int
		chunks      int32
		independent bool
	}{{64, 1, 8, false}, {64, 2, 1, false}, {64, 2, 8, false}, {64, 2, 8, true}, {64, 3, 8, false}, {64, 4, 8, false},
		{256, 2, 8, false}, {256, 4, 8, false}, {1024, 2, 8, false}} {
		b.Run(fmt.Sprintf("n=%d,k=%d,c=%d,independent=%v", c.n, c.k, c.chunks, c.independent), func(b *testing.B) {
			p := plan.UniformProblem(c.n, c.k, c.chunks)
			for b.Loop() {
				if _, err := Candidates(p, Options{Relay: true, Independent: c.independent}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	list, err := Candidates(plan.UniformProblem(64, 2, 8), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := list[0].Build(0, nil); err != nil {
			b.Fatal(err)
		}
	}
}
