package fleets

import (
	"fmt"
	"testing"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

// BenchmarkGrowth simulates a month of a pod, and a month with a multiple of the
// pods, of the jobs at the same load, or of the failures.
func BenchmarkGrowth(b *testing.B) {
	for _, growing := range []string{"pods", "jobs", "failures"} {
		for _, factor := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("%s-%d", growing, factor), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					c := paperPod(0.8)
					d := &fleet.Demand{
						Pod: *torus.TPUv4Pod(), Seed: 1, Mix: fleet.Mixes()["tpuv4-2022"], Until: 30 * fleet.Day,
						Chips: 4096, Load: 0.8, PerDay: 139.2,
						Durations: fleet.Lognormal, Sigma: 1.5,
						Bands: [fleet.NumBands]float64{2, 5, 3}, FaultRoutingShare: 0.95,
						EstimateFactor: 1,
					}
					switch growing {
					case "pods":
						c.Pods, d.Chips, d.PerDay = factor, factor*d.Chips,
							float64(factor)*d.PerDay
					case "jobs":
						d.PerDay *= float64(factor)
					default:
						for i := range c.Rates { // repairs are faster by the same factor
							c.Rates[i].PerDay *= float64(factor)
							c.Rates[i].Repair.Mean /= fleet.Time(factor)
						}
					}
					c.Jobs, c.End = d.Jobs, d.Until
					simulate(b, c, "reconfigurable")
				}
			})
		}
	}
}

// BenchmarkPodYear simulates a year of a pod for each placement, and with
// preemption and defragmentation.
func BenchmarkPodYear(b *testing.B) {
	year := func(b *testing.B, name string, movesJobs bool) {
		b.ReportAllocs()
		for range b.N {
			c := paperPod(0.8)
			d := &fleet.Demand{
				Pod: *torus.TPUv4Pod(), Seed: 1, Mix: fleet.Mixes()["tpuv4-2022"], ByDay: fleet.Fig13(),
				Until: 365 * fleet.Day, Chips: 4096, Load: 0.8,
				Durations: fleet.Lognormal, Sigma: 1.5,
				Bands:             [fleet.NumBands]float64{2, 5, 3},
				FaultRoutingShare: 0.95, EstimateFactor: 1,
			}

			c.Jobs, c.End, c.Preemption, c.Defragment, c.Times.Notice = d.Jobs, d.Until,
				movesJobs, movesJobs,
				10*fleet.Minute
			simulate(b, c, name)
		}
	}

	for _, name := range []string{"reconfigurable", "static-first-fit", "static-best-fit"} {
		b.Run(name, func(b *testing.B) { year(b, name, false) })
	}
	b.Run("preemption and defragmentation",
		func(b *testing.B) { year(b, "reconfigurable", true) })
}
