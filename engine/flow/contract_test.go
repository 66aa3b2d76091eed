package flow_test

import (
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// TestContractKeepsTimes: engine.Contract does not change any start, end or makespan, under any
// service, with and without link changes. Only transfers that share capacity have to be
// retained.
func TestContractKeepsTimes(t *testing.T) {
	eachService(t, func(t *testing.T, s flow.Service) {
		rapid.Check(t, func(t *rapid.T) {
			in := drawInstance(t, shape{tasks: 12, changes: rapid.Bool().Draw(t, "changing")})
			keep := make([]bool, len(in.g.Tasks))
			for i := range keep {
				k := &in.g.Tasks[i]
				keep[i] = k.Kind == engine.Transfer && k.Bytes > 0 && len(in.r.Of(int32(i))) > 0 || rapid.Bool().Draw(t, "keep")
			}
			small, origin, err := engine.Contract(in.g, func(id int32) bool { return keep[id] }, func(id int32) engine.Time {
				if k := &in.g.Tasks[id]; k.Kind == engine.Compute {
					return k.Duration
				}
				return engine.Time(in.durationAlone(id) + 0.5)
			})
			if err != nil {
				t.Fatal(err)
			}
			routes := &engine.Routes{Start: []int32{0}}
			for _, from := range origin {
				limit := 0.0
				if from >= 0 && keep[from] {
					routes.Uses = append(routes.Uses, in.r.Of(from)...)
					limit = in.r.FlowCap[from]
				}
				routes.Start, routes.FlowCap = append(routes.Start, int32(len(routes.Uses))), append(routes.FlowCap, limit)
			}
			want, got := in.run(t, s), instance{small, in.n, routes}.run(t, s)
			if got.Makespan != want.Makespan {
				t.Fatalf("makespan %d, want %d", got.Makespan, want.Makespan)
			}
			for id, from := range origin {
				if from >= 0 && keep[from] && (got.Start[id] != want.Start[from] || got.End[id] != want.End[from]) {
					t.Fatalf("task %d runs from %d to %d, want %d to %d", from, got.Start[id], got.End[id], want.Start[from], want.End[from])
				}
			}
		})
	})
}
