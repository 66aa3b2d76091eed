package reconfigure

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sim/policies/reconfigure/plan"
)

// For many GPUs "reconfigure-during+" computes only the plans of the paper that are better
// than others. Its result is the same as with all of them.
func TestPaperOfManyGPUs(t *testing.T) {
	defer func(was int) { maxGPUsForAllPaperPlans = was }(maxGPUsForAllPaperPlans)
	r := rand.New(rand.NewPCG(11, 12))
	paper := 0
	for i := range 24 {
		n := 6 + r.IntN(4)
		p := plan.UniformProblem(n, 1+r.IntN(3), 1+r.Int32N(2))
		if i%2 == 0 {
			for f, c := range p.Chunks {
				if c > 0 {
					p.Chunks[f] = r.Int32N(6)
				}
			}
		}
		var o Options
		o.Plus.Relay, o.Plus.Others, o.Plus.Buffer = i%4 < 2, true, i%3
		var want string
		for _, maxGPUsForAllPaperPlans = range []int{128, 4} {
			s := newTestSet(t, p, o)
			list, err := s.Candidates(t.Context(), "reconfigure-during+")
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, c := range list {
				text += fmt.Sprintf("%s: %d topologies, %d slots\n", c.Origin, c.Reconfigurations, c.Slots)
				if strings.HasPrefix(c.Origin, paperPlanner+":") {
					paper++
				}
			}
			if maxGPUsForAllPaperPlans == 128 {
				want = text
			} else if text != want {
				t.Errorf("%d GPUs of degree %d, chunks %v:\n%swant\n%s", n, p.Degree, p.Chunks, text, want)
			}
		}
	}
	if paper == 0 {
		t.Error("no plan is the paper's")
	}
}
