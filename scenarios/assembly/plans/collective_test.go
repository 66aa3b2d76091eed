package plans

import (
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/policies/collective"
	stepplan "sim/policies/reconfigure/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/result"
)

// TestCollectiveSchedule compares the schedules for figures with their plans. The
// steps must add up to the cost of the plan. The circuits must equal the circuits
// of its topologies, and the bytes of steps the bytes of the longest messages.
func TestCollectiveSchedule(t *testing.T) {
	kinds := map[string]bool{}
	reused := 0
	for _, op := range []collective.Kind{collective.AllReduce, collective.AllGather, collective.ReduceScatter} {
		for _, c := range []struct {
			gpus, degree int
			bytes        int64
		}{{8, 1, 1e6}, {8, 2, 64e3}, {12, 2, 8e3}, {16, 3, 1e5}, {24, 2, 4e3}} {
			problem := &plan.Collective{
				GPUs: c.gpus, Degree: c.degree, Op: op, Bytes: c.bytes, Rate: 8e11,
				Latency: 500 * engine.Nanosecond, Delay: 10 * engine.Microsecond,
			}
			plans, err := stepplan.Candidates(problem)
			if err != nil {
				t.Fatal(err)
			}
			for i := range plans {
				pl, err := plans[i].Build(0, nil)
				if err != nil {
					t.Fatal(err)
				}

				s := collectiveSchedule(pl)
				if s.Reconfigurations() != pl.Reconfigurations() ||
					len(s.Phases) != len(pl.Topologies) || !s.InSteps() {
					t.Fatalf("%s: got %d topologies in %d phases, want those of the plan", pl.Name, s.Reconfigurations(),
						len(s.Phases))
				}

				// end adds up the delays and the steps.
				end := float64(s.Reconfigurations()) * s.DelayS
				for i := range s.Phases {
					f := &s.Phases[i]
					kinds[f.Kind] = true
					_, _, took := f.Totals()
					end += took

					// The bytes of a step are the bytes of its longest message.
					longest := make([]int64, len(pl.Steps.Phases[i].MaxMessageBytes))
					for _, x := range pl.Steps.Phases[i].Messages() {
						sum := int64(0)
						for _, p := range x.Pieces {
							sum += pieceBytes(pl, &p)
						}
						longest[x.Step] = max(longest[x.Step], sum)
					}
					if got := stepBytes(f.Steps); !slices.Equal(got, longest) {
						t.Fatalf("%s, phase %d: longest messages %v, want %v", pl.Name,
							i, got, longest)
					}

					// A phase lists the circuits of its topology, unless it reuses
					// it.
					want := [][2]int{}
					for _, e := range pl.Topologies[i] {
						want = append(want, [2]int{int(e.From), int(e.To)})
					}
					if f.Reused {
						reused++
						want = nil
					}
					if !slices.Equal(f.Edges, want) || f.Links != 0 {
						t.Fatalf("%s, phase %d: links %v, want %v", pl.Name, i, f.Edges, want)
					}
				}

				if math.Abs(end-pl.Cost(problem.Delay, 0).Seconds()) > 1e-15 {
					t.Errorf("%s: the steps take %g s, want %v", pl.Name, end, pl.Cost(problem.Delay, 0))
				}
			}
		}
	}

	if len(kinds) != 4 || reused == 0 {
		t.Errorf("plans have phases of the kinds %v, %d reuse a topology; want 4 kinds and some reuse", kinds, reused)
	}
}

// pieceBytes returns the size of a piece. Bytes are divided into shards, and
// shards into parts, so that the first ones may have one byte more.
func pieceBytes(pl *plan.Plan, p *plan.Piece) int64 {
	even := func(bytes int64, k, n int64) int64 { return bytes/n*k + min(k, bytes%n) }
	n := int64(pl.GPUs)
	shard := even(pl.Steps.Bytes, int64(p.Shard)+1, n) - even(pl.Steps.Bytes,
		int64(p.Shard), n)
	return even(shard, int64(p.To), int64(pl.Steps.Parts)) - even(shard, int64(p.From),
		int64(pl.Steps.Parts))
}

// stepBytes returns the bytes of each step of some runs.
func stepBytes(runs []result.ScheduleRun) []int64 {
	list := []int64{}
	for _, r := range runs {
		for range r.Count {
			list = append(list, r.Bytes)
		}
	}
	return list
}

// TestLargeCollectiveSchedule checks that the schedule of a large plan lists the
// circuits of as many topologies as the limit allows, and that thousands of equal
// steps are few runs.
func TestLargeCollectiveSchedule(t *testing.T) {
	p := &plan.Collective{
		GPUs: 4096, Degree: 4, Op: collective.AllGather, Bytes: 4096 * 4096,
		Rate: 8e11, Latency: 500 * engine.Nanosecond,
	}

	// cheapest returns the plan with the lowest cost.
	cheapest := func(list []plan.Candidate, err error) *plan.Plan {
		t.Helper()
		var best *plan.Candidate
		var built *plan.Plan
		if err == nil {
			best, err = plan.Best(list,
				func(c *plan.Candidate) engine.Time { return c.Cost(p.Delay, 0) })
		}
		if err == nil {
			built, err = best.Build(0, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return built
	}

	// Count the listed circuits, all circuits, and the topologies.
	best := cheapest(stepplan.Candidates(p))
	s := collectiveSchedule(best)
	edges, all, topologies := 0, 0, 0
	for i := range s.Phases {
		f := &s.Phases[i]
		edges += len(f.Edges)
		if all += len(f.Edges) + f.Links; f.Reused {
			continue
		}
		topologies++
		if len(f.Offsets) != 4 || len(f.Edges)+f.Links != 4*4096 {
			t.Errorf("phase %d has %d links, %d omitted ones and offsets %v; want 4 links per GPU", i,
				len(f.Edges), f.Links,
				f.Offsets)
		}
	}

	// The limit allows the circuits of three topologies.
	if want := min(3, topologies) * 4 * 4096; edges != want || all != topologies*4*4096 ||
		topologies < 4 {
		t.Errorf("%d links of %d are listed, want %d; %d topologies", edges, all,
			want, topologies)
	}

	// Thousands of steps of a ring are few runs.
	ring := cheapest(stepplan.StaticRings(p))
	if s := collectiveSchedule(ring); len(s.Phases) != 1 || len(s.Phases[0].Steps) > 3 ||
		len(stepBytes(s.Phases[0].Steps)) < 1000 {
		t.Errorf("the steps of a ring are %d runs, want at most 3", len(s.Phases[0].Steps))
	}
}
