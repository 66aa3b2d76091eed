package pack

import (
	"fmt"
	"testing"
)

func BenchmarkFit(b *testing.B) {
	for _, k := range []int{1, 2} {
		p := drawDemand(64, k, "random", 8, 1)
		for _, relay := range []bool{true, false} {
			list, err := buildAllSequences(p, nil, nil, relay)
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range []int{2, 8, 31, 63} {
				for _, s := range list {
					if len(s.Topologies) == d {
						b.Run(fmt.Sprintf("k%d/relay=%v/d%d", k, relay, d), func(b *testing.B) {
							var w scheduleWorker
							for b.Loop() {
								r, err := w.bestSchedule(p, s, Options{Relay: relay}, nil)
								if err != nil {
									b.Fatal(err)
								}
								b.ReportMetric(float64(r.Total), "slots")
							}
						})
						break
					}
				}
			}
		}
	}
}

func BenchmarkSequences(b *testing.B) {
	for _, k := range []int{1, 2} {
		p := drawDemand(64, k, "random", 8, 1)
		for _, relay := range []bool{true, false} {
			b.Run(fmt.Sprintf("k%d/relay=%v", k, relay), func(b *testing.B) {
				for b.Loop() {
					if _, err := buildAllSequences(p, nil, nil, relay); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPlan plans unequal demand with relaying, for the numbers of topologies that
// reconfigure-during+ uses.
func BenchmarkPlan(b *testing.B) {
	for _, k := range []int{1, 2} {
		var all, some []int
		for d := 1; d < 62/k+1; d += max(1, d/8) {
			all = append(all, d)
		}
		for d := 1; d < 62/k+1; d += max(1, d/4) {
			some = append(some, d)
		}
		all, some = append(all, 62/k+1), append(some, 62/k+1)
		for _, kind := range []string{"random", "zipf"} {
			p := drawDemand(64, k, kind, 8, 1)
			b.Run(fmt.Sprintf("k%d/%s", k, kind), func(b *testing.B) {
				for b.Loop() {
					list, err := Plan(p, SequenceSpec{Counts: some}, SequenceSpec{Counts: all}, Options{Relay: true})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(list[len(list)-1].Slots), "slots")
				}
			})
		}
	}
}
