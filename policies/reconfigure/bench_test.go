package reconfigure

import (
	"fmt"
	"testing"

	"sim/engine"
	"sim/policies/reconfigure/plan"
	"sim/workloads/collective"
)

// BenchmarkBest plans for a delay of 1 ms, with two switches of 800 Gb/s and messages of 4
// MB in one chunk on average.
func BenchmarkBest(b *testing.B) {
	const mean, slot = 4_000_000, 40_500 * engine.Nanosecond
	for _, c := range []struct {
		sizes string
		gpus  int
	}{{"uniform", 256}, {"uniform", 1024}, {"zipf", 256}, {"zipf", 512}} {
		b.Run(fmt.Sprintf("%s/%d", c.sizes, c.gpus), func(b *testing.B) {
			sizes, err := collective.UniformSizes(c.gpus, mean)
			if c.sizes == "zipf" {
				sizes, err = collective.ZipfSizes(c.gpus, mean, 0.4, 1)
			}
			if err != nil {
				b.Fatal(err)
			}
			p := &plan.Problem{GPUs: c.gpus, Degree: 2, Seed: 1}
			if p.Chunks, err = collective.Chunks(sizes, mean); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s := newTestSet(b, p, Options{Settings: Settings{Plus: PlusOptions{Relay: true, Others: true}}})
				best, err := s.Best(b.Context(), "reconfigure-during+", func(c *plan.Candidate) engine.Time { return c.Cost(engine.Millisecond, slot) })
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(best.Slots), "slots")
				b.ReportMetric(float64(best.Reconfigurations), "topologies")
			}
		})
	}
}
