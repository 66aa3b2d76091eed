package collective

import (
	"fmt"
	"testing"

	"sim/policies/collective"
)

func BenchmarkPlans(b *testing.B) {
	for _, n := range []int{64, 1024, 1021, 2520, 4096} {
		for _, k := range []int{1, 2, 4, 8} {
			for _, op := range []collective.Kind{collective.AllGather, collective.AllReduce} {
				b.Run(fmt.Sprintf("%s/n=%d/k=%d", op, n, k), func(b *testing.B) {
					p := problem(n, k, op, 64<<20, 8e11, us/2, us)
					for b.Loop() {
						plans, err := frontierPlans(p)
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(float64(len(plans)), "plans")
					}
				})
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{64, 256, 1024} {
		for _, op := range []collective.Kind{collective.AllGather, collective.AllReduce} {
			b.Run(fmt.Sprintf("%s/n=%d", op, n), func(b *testing.B) {
				pl, err := best(problem(n, 2, op, 64<<20, 8e11, us/2, us))
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := pl.toPlan().Check(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
