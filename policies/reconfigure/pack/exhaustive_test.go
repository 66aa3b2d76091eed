package pack

import (
	"math/rand/v2"
	"testing"

	"sim/policies/reconfigure/plan"
)

// For random small demands, plans pass their check, have the slots of their candidates,
// respect the bounds and beat the known candidates. If these plans are known, no better
// ones are found.
func TestExhaustivePlans(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	plans := 0
	for range 200 {
		n := 3 + r.IntN(3)
		p := &plan.Problem{GPUs: n, Degree: 1 + r.IntN(n-1), Chunks: make([]int32, n*n)}
		for range 2 + r.IntN(5) {
			if u, v := r.IntN(n), r.IntN(n); u != v {
				p.Chunks[u*n+v] = 1 + r.Int32N(3)
			}
		}
		if !Exhaustible(p) {
			continue
		}
		relay := r.IntN(2) == 0
		list, err := Exhaustive(p, relay, nil, nil)
		if err != nil || len(list) == 0 {
			t.Fatalf("%+v: %d plans, %v", p, len(list), err)
		}
		for i, c := range list {
			q, err := c.Build(0, nil)
			if err == nil {
				err = q.Seal()
			}
			if err == nil {
				err = q.Check()
			}
			b, err2 := boundsOf(p, c.Reconfigurations)
			if err != nil || err2 != nil || q.TotalSlots() != c.Slots || len(q.Topologies) != c.Reconfigurations || q.Relay != c.Relay || c.Relay && !relay {
				t.Fatalf("%+v: candidate %+v of plan %+v: %v, %v", p, c, q, err, err2)
			}
			if c.Slots < b.Relay || !c.Relay && c.Slots < b.Forward || i > 0 && c.Slots >= list[i-1].Slots {
				t.Fatalf("%+v: %d slots on %d topologies; bounds %+v", p, c.Slots, c.Reconfigurations, b)
			}
			plans++
		}
		if again, err := Exhaustive(p, relay, list, nil); err != nil || len(again) > 0 {
			t.Fatalf("%+v: %d plans better than the best, %v", p, len(again), err)
		}
	}
	if plans < 200 {
		t.Errorf("only %d plans", plans)
	}
}
