package scenarios

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// timeBuild builds a scenario, from its keys to its references, and plays it on the circuits of prop-alloc.
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

// measureScaling reports the exponent with which time grows between the smallest and the largest size, the best of five at
// each.
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

// BenchmarkScaling prints how the time to build and play an iteration grows.
func BenchmarkScaling(b *testing.B) {
	b.Run("microbatches", func(b *testing.B) {
		measureScaling(b, "deepseek671b", []int{64, 256, 1024, 2048}, func(n int) []string {
			return []string{fmt.Sprintf("workload.microbatches=%d", n)}
		})
	})
	b.Run("pods", func(b *testing.B) {
		// a stage a pod
		measureScaling(b, "megatron462b", []int{4, 16, 32, 64}, func(n int) []string {
			return []string{fmt.Sprintf("workload.pp=%d", n), fmt.Sprintf("workload.gpus=%d", 16*n), "fabric.gpus_per_pod_per_replica=8"}
		})
	})
	b.Run("gpus-unreduced", func(b *testing.B) {
		measureScaling(b, "deepseek671b", []int{512, 2048, 8192}, func(n int) []string {
			return []string{fmt.Sprintf("workload.gpus=%d", n), "workload.replicas=all"}
		})
	})
	b.Run("gpus-unreduced-per-gpu", func(b *testing.B) {
		measureScaling(b, "deepseek671b", []int{512, 2048, 8192}, func(n int) []string {
			return []string{fmt.Sprintf("workload.gpus=%d", n), "workload.replicas=all", "workload.flows=per-gpu", "workload.microbatches=16"}
		})
	})
}
