package scenarios

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// timeBuild returns the time to prepare a scenario, including its references, and to simulate
// it with the topology of prop-alloc.
func timeBuild(b *testing.B, name string, overrides ...string) time.Duration {
	b.Helper()
	s, err := Load(name, overrides)
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	p, err := Prepare(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	if _, _, err := p.Decide(b.Context(), "prop-alloc", 1); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// measureScaling reports the exponent with which the time grows from the smallest to the
// largest size. For each size it uses the minimum of five measurements.
func measureScaling(b *testing.B, name string, sizes []int, overrides func(n int) []string) {
	for b.Loop() {
		var first, last time.Duration
		for _, n := range sizes {
			best := time.Duration(math.MaxInt64)
			for range 5 {
				best = min(best, timeBuild(b, name, overrides(n)...))
			}
			b.Logf("%6d: %v", n, best.Round(10*time.Microsecond))
			if n == sizes[0] {
				first = best
			}
			last = best
		}
		ratio := float64(sizes[len(sizes)-1]) / float64(sizes[0])
		b.ReportMetric(math.Log(last.Seconds()/first.Seconds())/math.Log(ratio), "exponent")
	}
}

// BenchmarkScaling reports how the time to prepare and simulate an iteration grows with
// micro-batches, pods and GPUs.
func BenchmarkScaling(b *testing.B) {
	b.Run("microbatches", func(b *testing.B) {
		measureScaling(b, "deepseek671b", []int{64, 256, 1024, 2048}, func(n int) []string {
			return []string{fmt.Sprintf("workload.microbatches=%d", n)}
		})
	})

	b.Run("pods", func(b *testing.B) {
		// one stage per pod
		measureScaling(b, "megatron462b", []int{4, 16, 32, 64}, func(n int) []string {
			return []string{fmt.Sprintf("workload.pp=%d", n), fmt.Sprintf("workload.gpus=%d", 16*n),
				"fabric.gpus_per_pod_per_replica=8"}
		})
	})

	b.Run("gpus-unreduced", func(b *testing.B) {
		measureScaling(b, "deepseek671b", []int{512, 2048, 8192}, func(n int) []string {
			return []string{fmt.Sprintf("workload.gpus=%d", n), "workload.replicas=all"}
		})
	})

	b.Run("gpus-unreduced-per-gpu", func(b *testing.B) {
		measureScaling(b, "deepseek671b", []int{512, 2048, 8192}, func(n int) []string {
			return []string{fmt.Sprintf("workload.gpus=%d", n), "workload.replicas=all",
				"workload.flows=per-gpu", "workload.microbatches=16"}
		})
	})
}
