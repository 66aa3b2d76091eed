package baselines

import (
	"fmt"
	"slices"
	"testing"

	"sim/policies/reconfigure/plan"
)

// demands are those of the paper's Fig. 11: flows of 8 chunks on average.
var demands = []struct {
	name string
	make func(n, k int) *plan.Problem
}{
	{"uniform", func(n, k int) *plan.Problem { return plan.UniformProblem(n, k, 8) }},
	{"random", func(n, k int) *plan.Problem { return random(n, k, 8, 1) }},
	{"zipf", func(n, k int) *plan.Problem { return skewed(n, k, 8, 1) }},
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{64, 256} {
		for _, d := range demands {
			p := d.make(n, 2)
			planners := slices.Concat(statics(Packed), others())
			if n == 64 {
				planners = append(planners, statics(Strongest)[1:]...)
			}
			for i, planner := range planners {
				name := planner.name
				if i >= len(planners)-4 && n == 64 {
					name += "-strongest"
				}
				b.Run(fmt.Sprintf("n=%d/%s/%s", n, d.name, name), func(b *testing.B) {
					for b.Loop() {
						list, err := planner.plan(p)
						if err != nil {
							b.Fatal(err)
						}
						few, many := list[0], list[0]
						for _, c := range list {
							if work(&c) < work(&many) {
								many = c
							}
							if c.Reconfigurations == few.Reconfigurations && work(&c) < work(&few) {
								few = c
							}
						}
						b.ReportMetric(float64(few.Reconfigurations), "least-d")
						b.ReportMetric(work(&few), "slots-at-least-d")
						b.ReportMetric(float64(many.Reconfigurations), "d-of-least-slots")
						b.ReportMetric(work(&many), "least-slots")
					}
				})
			}
		}
	}
}
