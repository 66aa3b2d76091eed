package circulant

import (
	"slices"
	"testing"

	"sim/engine"
	"sim/policies/reconfigure/plan"
)

// checkDownTime verifies for each switch that its permutation changes only after it was
// down for delay slots, also initially. It uses only the topologies, without the assignment
// of edges to switches.
func checkDownTime(t *testing.T, b *plan.Plan, loads []plan.SwitchLoad, delay int64) {
	t.Helper()
	n := b.GPUs
	// The offsets in each slot, from the topologies.
	var offsetsOf [][]int
	for i, x := range b.Topologies {
		if len(x)%n != 0 {
			t.Fatalf("topology %d has %d edges for %d GPUs", i, len(x), n)
		}
		var offsets []int
		for j := range len(x) / n {
			offsets = append(offsets, (int(x[j].To)-int(x[j].From)+n)%n)
		}
		slices.Sort(offsets)
		for range b.Slots[i] {
			offsetsOf = append(offsetsOf, offsets)
		}
	}
	// Assign the offsets to switches. An offset that continues stays on its switch. A new
	// one goes to a switch that was down for exactly the delay.
	// Offset, 0 while down; first slot of the down time.
	offsetOf, downSince := make([]int, len(loads)), make([]int, len(loads))
	setups := make([]int, len(loads))
	for slot, offsets := range offsetsOf {
		rest := slices.Clone(offsets)
		for j, h := range offsetOf {
			if h == 0 {
				continue
			}
			if i := slices.Index(rest, h); i >= 0 {
				rest = slices.Delete(rest, i, i+1)
			} else {
				offsetOf[j], downSince[j] = 0, slot
			}
		}
		for _, a := range rest {
			j := -1
			for i, h := range offsetOf {
				// The switch must have been down for exactly the delay.
				if h == 0 && int64(slot-downSince[i]) == delay {
					j = i
				}
			}
			if j < 0 {
				t.Fatalf("slot %d: offset %d is set up on no switch that was down for %d slots", slot, a, delay)
			}
			offsetOf[j] = a
			setups[j]++
		}
	}
	sum, want := 0, 0
	for j := range loads {
		sum += setups[j]
		want += loads[j].Reconfigurations
	}
	if sum != want {
		t.Fatalf("permutations were set up %d times, want %d", sum, want)
	}
}

// Plans with independent switches take the slots of their candidates at each delay, and
// their switches are down during each change.
func TestIndependent(t *testing.T) {
	seen := false
	forEachProblem(t, func(t *testing.T, p *plan.Problem) {
		if p.GPUs > 10 && !*long {
			t.Skip()
		}
		for _, relay := range []bool{false, true} {
			list, err := Candidates(p, Options{Relay: relay, Independent: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				c := &list[i]
				if c.Switches == nil {
					continue
				}
				seen = true
				if c.Relay && !relay {
					t.Fatalf("%s relays", c.Origin)
				}
				for _, delay := range []int64{0, 1, 5, 40} {
					b := buildChecked(t, c, p, delay)
					if got, want := b.TotalSlots(), int64(c.Cost(engine.Time(delay), 1)); got != want {
						t.Fatalf("%s %v, delay %d: %d slots, want %d", c.Origin, c.Switches, delay, got, want)
					}
					if delay > 0 {
						checkDownTime(t, b, c.Switches, delay)
					}
				}
			}
		}
	})
	if !seen {
		t.Error("no problem had a candidate with independent switches")
	}
}

// Chunks that use several switches never collide, at any delay. Without exchanges of slots
// they would.
func TestScheduleEpochs(t *testing.T) {
	shared := 0
	for _, n := range []int{6, 9, 12, 16, 21} {
		for k := 2; k <= 4; k++ {
			chunks := int32(1 + n%2)
			p := plan.UniformProblem(n, k, chunks)
			l := newPlanner(n, k, chunks, Options{Relay: true}, 0)
			sets := generatorSets(n, n-1, l.random("generators", 0), nil)
			for m := k; m < n && m <= 5*k; m++ {
				e := l.scheduleEpochs(slices.Collect(slices.Chunk(sets[m-1], 1)), int64(m%2*7), false)
				if e == nil {
					continue
				}
				for q, c := range e.pathChunks {
					if from, to := e.paths.pathStart[q], e.paths.pathStart[q+1]; c > 0 {
						for _, g := range e.paths.gen[from:to] {
							if e.switchOf[g] != e.switchOf[e.paths.gen[from]] {
								shared++
							}
						}
					}
				}
				c := e.candidate("")
				for delay := range int64(6) {
					b := buildChecked(t, &c, p, delay*delay)
					if got, want := b.TotalSlots(), int64(c.Cost(engine.Time(delay*delay), 1)); got != want {
						t.Fatalf("%d GPUs, %v, delay %d: %d slots, want %d", n, c.Switches, delay*delay, got, want)
					}
				}
			}
		}
	}
	if shared < 100 {
		t.Errorf("only %d hops of chunks that use several switches", shared)
	}
}
