package flow_test

import (
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// withComputes adds a compute task of the given duration after each transfer of in.
func (in instance) withComputes(durations ...engine.Time) instance {
	for i, d := range durations {
		id := in.g.AddTask(engine.Task{Duration: d})
		in.g.AddEdge(int32(i), id, 0)
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
	}
	if err := in.g.Freeze(); err != nil {
		panic(err)
	}
	return in
}

// TestEqualLevelsFallTogether: two transfers of equal level on one link keep equal levels,
// whatever their numbers of flows. The first moves 10 us of data and ends the graph. The second
// moves 5 us of data and is followed by 5 us of compute. If they share equally, the makespan is
// 15 us. If they shared by flows, 5 us of compute would remain.
func TestEqualLevelsFallTogether(t *testing.T) {
	in := twoTransfers(800e9, 1_000_000, 500_000).withComputes(0, 5*engine.Microsecond)
	for _, flows := range [][2]int32{{1, 1}, {2, 1}, {1, 2}, {8, 1}} {
		in.g.Tasks[0].Flows, in.g.Tasks[1].Flows = flows[0], flows[1]
		if c := in.run(t, flow.LevelPriority).Makespan; c != 15*engine.Microsecond {
			t.Errorf("flows %v: makespan %v, want 15 us", flows, c)
		}
	}
}

// TestLevelsCross: the longer of two transfers is served alone until its level has fallen
// to the other's level; then they share. They move 10 us and 4 us of data on one link, and
// 3 us of compute follow the second. The levels 10 and 7 meet at 3 us. From then on both run
// at half the rate until the second ends at 11 us. The first moves its last 3 us until 14 us.
func TestLevelsCross(t *testing.T) {
	in := twoTransfers(800e9, 1_000_000, 400_000).withComputes(0, 3*engine.Microsecond)
	tr := in.run(t, flow.LevelPriority)
	us := engine.Microsecond
	if tr.End[0] != 14*us || tr.End[1] != 11*us || tr.Makespan != 14*us {
		t.Fatalf("ends %v and %v, makespan %v, want 14, 11 and 14 us", tr.End[0], tr.End[1], tr.Makespan)
	}
	want := [][]engine.RateStep{
		{{At: 0, Rate: 800e9}, {At: 3 * us, Rate: 400e9}, {At: 11 * us, Rate: 800e9}, {At: 14 * us}},
		{{At: 0}, {At: 3 * us, Rate: 400e9}, {At: 11 * us}},
	}
	for id, steps := range want {
		got := compactSteps(tr.Rates(int32(id)))
		if len(got) != len(steps) {
			t.Fatalf("task %d: rates %v, want %v", id, got, steps)
		}
		for k, s := range steps {
			if distance(got[k].At, s.At) > 32 || got[k].Rate != s.Rate {
				t.Errorf("task %d: step %v, want %v", id, got[k], s)
			}
		}
	}
}

// compactSteps omits steps that do not change the rate and steps that are followed by another
// one at the same time.
func compactSteps(steps []engine.RateStep) []engine.RateStep {
	var compact []engine.RateStep
	for i, s := range steps {
		if i+1 < len(steps) && steps[i+1].At == s.At {
			continue
		}
		if len(compact) > 0 && compact[len(compact)-1].Rate == s.Rate {
			continue
		}
		compact = append(compact, s)
	}
	return compact
}

// onTwoLinks returns transfers on two links of 100 bytes per nanosecond. They also share a wide
// group, so that they form one component.
func onTwoLinks(links []int32, bytes []int64) instance {
	in := instance{g: &engine.Graph{}, r: &engine.Routes{Start: []int32{0}}, n: &engine.Network{
		Links: []engine.Link{{Rate: 800e9}, {Rate: 800e9}}, Groups: []engine.Group{{Rate: 3200e9}},
	}}
	for i, l := range links {
		in.g.AddTask(engine.Task{Kind: engine.Transfer, Flows: 1, Bytes: bytes[i]})
		in.r.Uses = append(in.r.Uses, engine.Use{Resource: l, Weight: 1}, engine.Use{Resource: 2, Weight: 1})
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
	}
	return in
}

// TestFastOneOfEqualsCrosses: of three transfers of equal level, two share a link. The third is
// alone on another link, so its level falls twice as fast. It must meet the lower transfer on
// that link in time. x moves 10 us of data; z moves 4 us and 1 us of compute follows. Their
// levels meet at 5 us, z ends at 13 us at half rate, and x moves its last microsecond until 14 us.
func TestFastOneOfEqualsCrosses(t *testing.T) {
	const x, z = 0, 3
	us := engine.Microsecond
	in := onTwoLinks([]int32{0, 1, 1, 0}, []int64{1_000_000, 1_000_000, 1_000_000, 400_000}).withComputes(0, 0, 0, us)
	tr := in.run(t, flow.LevelPriority)
	if distance(tr.End[z], 13*us) > 32 || tr.End[x] != 14*us {
		t.Errorf("x ends at %v, z at %v, want 14 and 13 us", tr.End[x], tr.End[z])
	}
}

// TestSlowOneOfEqualsIsCrossed: as before, but other transfers of the lower level are also
// served, and their levels fall half as fast as the level of x. x first meets the transfer
// that is not served.
func TestSlowOneOfEqualsIsCrossed(t *testing.T) {
	const x, z = 0, 1
	us := engine.Microsecond
	in := onTwoLinks([]int32{0, 0, 1, 1}, []int64{1_000_000, 400_000, 500_000, 500_000}).withComputes(0, us, 0, 0)
	tr := in.run(t, flow.LevelPriority)
	if distance(tr.End[z], 13*us) > 32 || tr.End[x] != 14*us {
		t.Errorf("x ends at %v, z at %v, want 14 and 13 us", tr.End[x], tr.End[z])
	}
}

func distance(a, b engine.Time) engine.Time { return max(a-b, b-a) }
