package circulant

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"sim/policies/reconfigure/plan"
)

// buildChecked builds, seals and checks the plan of a candidate.
func buildChecked(t *testing.T, c *plan.Candidate, p *plan.Problem, delay int64) *plan.Plan {
	t.Helper()
	b, err := c.Build(delay, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if b.GPUs != p.GPUs || b.Degree != p.Degree || !slices.Equal(b.Chunks, p.Chunks) {
		t.Fatalf("the plan is for %d GPUs of degree %d", b.GPUs, b.Degree)
	}
	return b
}

// checkBounds fails if the candidate beats a lower bound.
func checkBounds(t *testing.T, c *plan.Candidate, p *plan.Problem) {
	t.Helper()
	b, err := boundsOf(p, c.Reconfigurations)
	if err != nil {
		t.Fatal(err)
	}
	bound := b.Circulant
	if c.Relay {
		bound = b.CirculantRelay
	}
	if c.Slots < bound {
		t.Fatalf("%s, %d topologies: %d slots beat the bound of %d", c.Origin, c.Reconfigurations, c.Slots, bound)
	}
}

// forEachProblem runs a test for a set of uniform problems.
func forEachProblem(t *testing.T, test func(t *testing.T, p *plan.Problem)) {
	sizes := []int{2, 3, 5, 8, 10, 12}
	if *long {
		sizes = append(sizes, 6, 7, 9, 11, 13, 16, 18, 24, 32)
	}
	for _, n := range sizes {
		for k := 1; k <= 4 && k < n; k++ {
			for c := int32(1); c <= 3; c++ {
				if c == 2 && !*long {
					continue
				}
				t.Run(fmt.Sprintf("n=%d,k=%d,c=%d", n, k, c), func(t *testing.T) { test(t, plan.UniformProblem(n, k, c)) })
			}
		}
	}
}

// Plans pass their check, have the slots and topologies of their candidates, respect the
// bounds, and use each topology. Each number of topologies has at most one candidate per
// kind.
func TestCandidates(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p *plan.Problem) {
		list, err := Candidates(p, Options{Relay: true})
		if err != nil {
			t.Fatal(err)
		}
		n, k := p.GPUs, p.Degree
		seen := map[[2]int]bool{}
		for i := range list {
			c := &list[i]
			b := buildChecked(t, c, p, 0)
			checkBounds(t, c, p)
			if b.TotalSlots() != c.Slots || len(b.Topologies) != c.Reconfigurations || b.Relay != c.Relay {
				t.Fatalf("%s: %d slots in %d topologies, want %d in %d", c.Origin, b.TotalSlots(), len(b.Topologies), c.Slots, c.Reconfigurations)
			}
			for j, x := range b.Topologies {
				if len(x) != n*k {
					t.Fatalf("%s: topology %d has %d edges, want %d", c.Origin, j, len(x), n*k)
				}
				if b.Slots[j] == 0 {
					t.Fatalf("%s: topology %d has no slots", c.Origin, j)
				}
			}
			kind := 0
			if c.Relay {
				kind = 1
			}
			if seen[[2]int{kind, c.Reconfigurations}] {
				t.Fatalf("%s: two candidates of %d topologies", c.Origin, c.Reconfigurations)
			}
			seen[[2]int{kind, c.Reconfigurations}] = true
		}
		if !seen[[2]int{0, 1}] {
			t.Fatal("no candidate of one topology")
		}
		maxSlots := (n - 2 + k) / k
		if last := slices.MinFunc(list, func(a, b plan.Candidate) int { return int(a.Slots - b.Slots) }); last.Reconfigurations > maxSlots ||
			k == 1 && last.Slots != int64(n-1)*int64(p.Chunks[1]) {
			t.Fatalf("the minimum is %d slots, with %d topologies", last.Slots, last.Reconfigurations)
		}
	})
}

// At degree 1, candidates take the slots of shiftSets, in proportion to the chunks.
func TestDegree1MatchesShiftSets(t *testing.T) {
	for _, n := range []int{2, 7, 8, 64} {
		for _, chunks := range []int32{1, 4} {
			list, err := Candidates(plan.UniformProblem(n, 1, chunks), Options{})
			if err != nil {
				t.Fatal(err)
			}
			slots := greedySlots(n)
			if len(list) != n-1 {
				t.Fatalf("%d GPUs: %d candidates, want %d", n, len(list), n-1)
			}
			for i, c := range list {
				if c.Reconfigurations != i+1 || c.Slots != slots[i]*int64(chunks) {
					t.Errorf("%d GPUs, %d topologies: %d slots for %d chunks, want %d times %d", n, i+1, c.Slots, chunks, chunks, slots[i])
				}
			}
		}
	}
}

// With relaying at degree 1 and 64 GPUs, the slots are at most 436, 266 and 209 for 2 to 4
// topologies. Without relaying no plan beats Theorem 1, which requires 1024 for two.
func TestRelayedSlots(t *testing.T) {
	p := plan.UniformProblem(64, 1, 1)
	list, err := Candidates(p, Options{Relay: true})
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[int]int64{2: 436, 3: 266, 4: 209} {
		i := slices.IndexFunc(list, func(c plan.Candidate) bool { return c.Relay && c.Reconfigurations == d })
		if i < 0 {
			t.Fatalf("no relayed candidate of %d topologies", d)
		}
		if c := &list[i]; c.Slots > want {
			t.Errorf("%d topologies: %d slots, want at most %d", d, c.Slots, want)
		} else if b := buildChecked(t, c, p, 0); b.TotalSlots() != c.Slots || b.Buffer == 0 {
			t.Errorf("%d topologies: a plan of %d slots and a buffer of %d, want %d slots", d, b.TotalSlots(), b.Buffer, c.Slots)
		}
	}
}

// With a buffer limit, plans respect it and the bounds, and plans of the unlimited search
// that fit are not missed.
func TestBufferLimit(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p *plan.Problem) {
		if p.GPUs > 8 && !*long {
			t.Skip()
		}
		free, err := Candidates(p, Options{Relay: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int32{1, 2, 5} {
			list, err := Candidates(p, Options{Relay: true, BufferLimit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				t.Fatalf("no candidate with a buffer of %d chunks", limit)
			}
			for i := range list {
				c := &list[i]
				b := buildChecked(t, c, p, 0)
				checkBounds(t, c, p)
				if b.Buffer > limit || b.TotalSlots() != c.Slots {
					t.Fatalf("%s, limit %d: a buffer of %d, %d slots, want %d slots", c.Origin, limit, b.Buffer, b.TotalSlots(), c.Slots)
				}
			}
			// Plans of the unlimited search that fit must be matched.
			for i := range free {
				f := &free[i]
				if buildChecked(t, f, p, 0).Buffer <= limit && !slices.ContainsFunc(list, func(c plan.Candidate) bool {
					return c.Reconfigurations <= f.Reconfigurations && c.Slots <= f.Slots
				}) {
					t.Fatalf("limit %d: %d topologies and %d slots fit but are missing", limit, f.Reconfigurations, f.Slots)
				}
			}
		}
	})
}

// Sequences have the expected numbers of phases and valid offsets. Invalid sizes have none.
func TestSequences(t *testing.T) {
	for k, maxCount := range map[int]int{1: 11, 2: 5, 3: 4} {
		sequences := Sequences(12, k, Options{Relay: true})
		for i, s := range sequences {
			if i < maxCount && len(s) != i+1 || i >= maxCount && (k == 3 || len(s) < 2) {
				t.Errorf("degree %d: sequence %d has %d phases; want 1 to %d, then those with relaying", k, i, len(s), maxCount)
			}
			for _, offsets := range s {
				if len(offsets) != k || slices.Min(offsets) < 1 || slices.Max(offsets) > 11 {
					t.Errorf("sequence %d has offsets %v", i, offsets)
				}
			}
		}
		if len(sequences) < maxCount {
			t.Errorf("degree %d: %d sequences, want %d or more", k, len(sequences), maxCount)
		}
	}
	if Sequences(1, 1, Options{}) != nil || Sequences(4, 4, Options{}) != nil || Sequences(4, 0, Options{}) != nil {
		t.Error("sequences for invalid sizes")
	}
}

// The same problem and seed give the same candidates and plans.
func TestReproducible(t *testing.T) {
	p := plan.UniformProblem(16, 2, 3)
	p.Seed = 7
	buildAll := func() (plans []*plan.Plan, list []plan.Candidate) {
		list, err := Candidates(p, Options{Relay: true, Independent: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			b, err := list[i].Build(3, nil)
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, b)
			list[i].Build = nil
		}
		return plans, list
	}
	a, x := buildAll()
	b, y := buildAll()
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(x, y) {
		t.Error("the plans of the same problem differ")
	}
}

// Unequal and empty demands, and too many switches, return the documented errors.
func TestInvalidProblems(t *testing.T) {
	p := plan.UniformProblem(4, 2, 1)
	p.Chunks[1] = 2
	if _, err := Candidates(p, Options{}); !errors.Is(err, ErrUneven) {
		t.Errorf("an unequal demand: %v", err)
	}
	if _, err := Candidates(plan.UniformProblem(4, 2, 0), Options{}); !errors.Is(err, ErrUneven) {
		t.Errorf("an empty demand: %v", err)
	}
	if _, err := Candidates(plan.UniformProblem(4, 4, 1), Options{}); !errors.Is(err, plan.ErrProblem) {
		t.Errorf("too many switches: %v", err)
	}
}

// At degree 2, one chunk per pair without relaying takes at most the documented slots for 1
// to 8 topologies.
func TestSlotsOfDegree2(t *testing.T) {
	for n, want := range map[int][]int64{16: {23, 17, 13, 11, 11, 9, 8, 8}, 32: {75, 50, 40, 33, 31, 28, 26, 24}} {
		list, err := Candidates(plan.UniformProblem(n, 2, 1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			minimum := int64(math.MaxInt64)
			for _, c := range list {
				if c.Reconfigurations <= i+1 {
					minimum = min(minimum, c.Slots)
				}
			}
			if minimum > w {
				t.Errorf("%d GPUs, %d topologies: %d slots, want at most %d", n, i+1, minimum, w)
			}
		}
	}
}

// boundsOf returns the bounds of a problem for d topologies.
func boundsOf(p *plan.Problem, d int) (plan.Bounds, error) {
	b, err := plan.NewBounder(p, nil)
	if err != nil {
		return plan.Bounds{}, err
	}
	return b.At(d)
}
