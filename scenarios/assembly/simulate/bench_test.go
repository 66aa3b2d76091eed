package simulate_test

import (
	"context"
	"testing"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/simulate"
)

// benchmark measures the hops per second of a simulation of about 1 million hops.
func benchmark(b *testing.B, run func(d *scaleup.Domain, p *plan.Plan) error) {
	p := ring(64, 8) // 63 x 32 hops per GPU and chunk: 1.03 million
	d := domain(64, 1)
	b.ResetTimer()
	for b.Loop() {
		if err := run(d, p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(p.Tx)*b.N)/b.Elapsed().Seconds(), "hops/s")
}

func BenchmarkSynchronised(b *testing.B) {
	benchmark(b, func(d *scaleup.Domain, p *plan.Plan) error {
		_, err := simulate.Synchronised(context.Background(), d, p, chunk)
		return err
	})
}

func BenchmarkFree(b *testing.B) {
	benchmark(b, func(d *scaleup.Domain, p *plan.Plan) error {
		_, err := simulate.Free(context.Background(), d, p, chunk)
		return err
	})
}

func BenchmarkFluid(b *testing.B) {
	benchmark(b, func(d *scaleup.Domain, p *plan.Plan) error {
		_, err := simulate.Fluid(context.Background(), d, p, chunk)
		return err
	})
}
