package baselines

import (
	"fmt"
	"slices"
	"testing"

	"sim/policies/reconfigure/plan"
)

// demands are the demands of the paper's Fig. 11, with 8 chunks per flow on average.
var demands = []struct {
	name string
	make func(n, k int) *plan.Problem
}{
	{"uniform", func(n, k int) *plan.Problem { return plan.UniformProblem(n, k, 8) }},
	{"random", func(n, k int) *plan.Problem { return randomProblem(n, k, 8, 1) }},
	{"zipf", func(n, k int) *plan.Problem { return zipfProblem(n, k, 8, 1) }},
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{64, 256} {
		for _, d := range demands {
			p := d.make(n, 2)
			planners := slices.Concat(staticPlanners(SchedulePacked), otherPlanners())
			if n == 64 {
				planners = append(planners, staticPlanners(ScheduleStrongest)[1:]...)
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
							if candidateSlots(&c) < candidateSlots(&many) {
								many = c
							}
							if c.Reconfigurations == few.Reconfigurations && candidateSlots(&c) < candidateSlots(&few) {
								few = c
							}
						}
						b.ReportMetric(float64(few.Reconfigurations), "least-d")
						b.ReportMetric(candidateSlots(&few), "slots-at-least-d")
						b.ReportMetric(float64(many.Reconfigurations), "d-of-least-slots")
						b.ReportMetric(candidateSlots(&many), "least-slots")
					}
				})
			}
		}
	}
}
