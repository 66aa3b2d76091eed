package fleets

import (
	"fmt"
	"testing"

	"sim/workloads/fleet"
)

// BenchmarkPods simulates ten days of many pods: the time a pod must hardly grow with their number.
func BenchmarkPods(b *testing.B) {
	for _, pods := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(pods), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				c := pod60(0.8)
				d := &fleet.Demand{
					Seed: 1, Mix: fleet.Mixes()["tpuv4-2022"], Until: 10 * fleet.Day, Chips: pods * 4096, Load: 0.8, PerDay: 139.2 * float64(pods),
					Durations: fleet.Lognormal, Sigma: 1.5, Bands: [fleet.Bands]float64{2, 5, 3}, Routes: 0.95, Factor: 1,
				}
				c.Pods, c.Jobs, c.Until = pods, d.Jobs, d.Until
				simulate(b, c, "reconfigurable")
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(pods*10), "µs/pod-day")
		})
	}
}
