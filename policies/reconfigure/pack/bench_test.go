package pack

import (
	"fmt"
	"testing"
)

func BenchmarkFit(b *testing.B) {
	for _, k := range []int{1, 2} {
		p := demand(64, k, "random", 8, 1)
		for _, relay := range []bool{true, false} {
			list, err := Sequences(p, nil, nil, relay)
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range []int{2, 8, 31, 63} {
				for _, s := range list {
					if len(s.Topologies) == d {
						b.Run(fmt.Sprintf("k%d/relay=%v/d%d", k, relay, d), func(b *testing.B) {
							var w worker
							for b.Loop() {
								r, err := w.fit(p, s, Options{Relay: relay})
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
		p := demand(64, k, "random", 8, 1)
		for _, relay := range []bool{true, false} {
			b.Run(fmt.Sprintf("k%d/relay=%v", k, relay), func(b *testing.B) {
				for b.Loop() {
					if _, err := Sequences(p, nil, nil, relay); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
