package rounds

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/reconfigure/plan"
)

var long = flag.Bool("long", false, "also run the tests that take a minute")

// drawOptions draws options that are valid for the degree.
func drawOptions(t *rapid.T, k int) Options {
	o := Options{
		Schedule:      rapid.SampledFrom([]string{"", ByRound, ByIndex}).Draw(t, "schedule"),
		Base:          rapid.SampledFrom([]string{"", Circulant, GenKautz}).Draw(t, "base"),
		NoRelabelling: rapid.Bool().Draw(t, "no relabelling"),
	}
	if k == 1 {
		o.Base = ""
	}
	return o
}

// drawProblem draws a uniform or unequal problem.
func drawProblem(t *rapid.T, maxGPUs int) *plan.Problem {
	n := rapid.IntRange(2, maxGPUs).Draw(t, "n")
	k := rapid.IntRange(1, min(n-1, 5)).Draw(t, "k")
	p := plan.UniformProblem(n, k, int32(rapid.IntRange(1, 3).Draw(t, "chunks")))
	p.Seed = rapid.Uint64().Draw(t, "seed")
	if rapid.Bool().Draw(t, "unequal") {
		largest := rapid.Int32Range(0, 9).Draw(t, "largest")
		for i, c := range p.Chunks {
			if c > 0 {
				p.Chunks[i] = rapid.Int32Range(0, largest).Draw(t, "chunks")
			}
		}
	}
	return p
}

// Every plan passes its check and has the slots and topologies of its candidate. Plans
// ByRound have no waiting chunks. Slots never increase with the number of topologies.
func TestPlansMatchCandidates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		o := drawOptions(t, p.Degree)
		list, err := Candidates(p, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range list {
			if i == 0 && c.Reconfigurations != 1 || i > 0 && (c.Reconfigurations <= list[i-1].Reconfigurations || c.Slots > list[i-1].Slots) {
				t.Fatalf("candidate %d: d=%d, %d slots, after %+v", i, c.Reconfigurations, c.Slots, list[max(0, i-1)])
			}
			builtPlan, err := c.Build(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := builtPlan.Seal(); err != nil {
				t.Fatalf("%s: %v", c.Origin, err)
			}
			if builtPlan.TotalSlots() != c.Slots || len(builtPlan.Topologies) != c.Reconfigurations || builtPlan.Relay {
				t.Fatalf("%s: %d slots in %d topologies, want %d in %d", c.Origin, builtPlan.TotalSlots(), len(builtPlan.Topologies), c.Slots, c.Reconfigurations)
			}
			if hasWaiting(builtPlan) && !c.Waits {
				t.Fatalf("%s: a chunk waits", c.Origin)
			}
		}
	})
}

// hasWaiting reports whether a chunk skips a slot between its source and its destination.
func hasWaiting(p *plan.Plan) bool {
	type chunk struct{ src, dst, number int32 }
	last := map[chunk]plan.Tx{}
	for _, t := range p.Tx {
		c := chunk{t.Src, t.Dst, t.Chunk}
		if l, on := last[c]; on && (l.Phase != t.Phase || l.Slot+1 != t.Slot) {
			return true
		}
		last[c] = t
	}
	return false
}

// For uniform demand the rounds respect the bound of their model. There is a candidate for
// each number of topologies until all flows take one hop; it then takes one slot per chunk
// and topology.
func TestUniformRounds(t *testing.T) {
	maxGPUs := 20
	if *long {
		maxGPUs = 64
	}
	for n := 2; n <= maxGPUs; n++ {
		for k := 1; k < min(n, 6); k++ {
			list, err := Candidates(plan.UniformProblem(n, k, 2), Options{Schedule: ByRound})
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range list {
				if c.Reconfigurations != i+1 {
					t.Fatalf("n=%d k=%d: candidate %d has d=%d", n, k, i, c.Reconfigurations)
				}
				if b := roundBound(n, k, i+1); c.Slots < 2*b || c.Waits {
					t.Errorf("n=%d k=%d d=%d: %d slots for 2 chunks, below the bound of %d each", n, k, i+1, c.Slots, b)
				}
			}
			d := (n - 2 + k) / k
			if last := list[len(list)-1]; last.Reconfigurations != d || last.Slots != 2*int64(d) {
				t.Errorf("n=%d k=%d: ends with d=%d and %d slots, not d=%d and one slot each", n, k, last.Reconfigurations, last.Slots, d)
			}
		}
	}
}

// roundBound is the sum over h of max(0, ceil((n-1)/k) - d (1 + k + .. + k^(h-1))), which
// is Theorem 1 at k = 1.
func roundBound(n, k, d int) int64 {
	var sum int64
	for reach, power := 0, 1; ; reach, power = reach+power, power*k {
		remaining := (n-2+k)/k - d*reach
		if remaining <= 0 {
			return sum
		}
		sum += int64(remaining)
	}
}

// At degree 1, the slots of 1, 2 and 7 topologies on 8 GPUs equal the worked example of
// Sec. 2.3. All slots equal the sum of the minimum hops over any shift, counted step by
// step.
func TestShifts(t *testing.T) {
	got := ShiftSlots(8)
	if got[0] != 28 || got[1] != 16 || got[6] != 7 {
		t.Errorf("n=8: %v, want 28, 16, .., 7", got)
	}
	for n := 2; n <= 40; n++ {
		order := ShiftOrder(n)
		visited := make([]bool, n)
		for _, s := range order {
			if s < 1 || s >= n || visited[s] {
				t.Fatalf("n=%d: order %v", n, order)
			}
			visited[s] = true
		}
		if len(order) != n-1 {
			t.Fatalf("n=%d: order %v", n, order)
		}
		for d := 1; d < n; d++ {
			var want int64
			for to := 1; to < n; to++ {
				minHops := n
				for _, s := range order[:d] {
					for h := 1; h < n; h++ {
						if h*s%n == to {
							minHops = min(minHops, h)
						}
					}
				}
				want += int64(minHops)
			}
			if got := ShiftSlots(n)[d-1]; got != want {
				t.Fatalf("n=%d d=%d: %d slots, want %d", n, d, got, want)
			}
		}
	}
}

// The largest ratio to Theorem 1 over all numbers of topologies equals the documented
// ratio.
func TestShiftRatios(t *testing.T) {
	for n, want := range map[int]float64{8: 1.200, 16: 1.455, 32: 1.739, 64: 2.043, 4096: 4.001} {
		worst := 0.0
		for i, s := range ShiftSlots(n) {
			worst = max(worst, float64(s)/float64(roundBound(n, 1, i+1)))
		}
		if worst < want-0.0005 || worst > want+0.0005 {
			t.Errorf("n=%d: %.4f, want %.3f", n, worst, want)
		}
	}
}

// The same problem gives the same candidates and plans.
func TestDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 10)
		o := drawOptions(t, p.Degree)
		var first []*plan.Plan
		for i := range 2 {
			list, err := Candidates(p, o)
			if err != nil {
				t.Fatal(err)
			}
			for j, c := range list {
				builtPlan, err := c.Build(0, nil)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					first = append(first, builtPlan)
				} else if !reflect.DeepEqual(builtPlan, first[j]) {
					t.Fatalf("%s: the plans differ", c.Origin)
				}
			}
		}
	})
}

// Invalid problems, options and sizes return the documented errors.
func TestInvalidInput(t *testing.T) {
	for _, c := range []struct {
		p    *plan.Problem
		o    Options
		want error
	}{
		{plan.UniformProblem(4, 4, 1), Options{}, plan.ErrProblem},
		{plan.UniformProblem(4, 2, 1), Options{Schedule: "round"}, ErrOptions},
		{plan.UniformProblem(4, 2, 1), Options{Base: "ring"}, ErrOptions},
		{plan.UniformProblem(4, 1, 1), Options{Base: GenKautz}, ErrOptions},
	} {
		if _, err := Candidates(c.p, c.o); !errors.Is(err, c.want) {
			t.Errorf("%v: %v", c.o, err)
		}
	}
	if _, err := Describe(plan.UniformProblem(8, 1, 1), Options{}, 8); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := GenKautzRounds(8, 1); !errors.Is(err, plan.ErrProblem) {
		t.Error(err)
	}
}

// With Options.Below, the candidates are the candidates without it that are below the
// limits.
func TestSlotLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		o := drawOptions(t, p.Degree)
		all, err := Candidates(p, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Below = []int64{1 << 40}
		for range rapid.IntRange(1, p.GPUs).Draw(t, "limits") {
			last := o.Below[len(o.Below)-1]
			o.Below = append(o.Below, rapid.Int64Range(0, min(last, all[0].Slots+2)).Draw(t, "below"))
		}
		var want []string
		for _, c := range all {
			if c.Slots < o.slotLimit(c.Reconfigurations) {
				want = append(want, fmt.Sprint(c.Reconfigurations, c.Slots, c.Origin))
			}
		}
		some, err := Candidates(p, o)
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, c := range some {
			have = append(have, fmt.Sprint(c.Reconfigurations, c.Slots, c.Origin))
		}
		if !slices.Equal(have, want) {
			t.Fatalf("%v below %v, want %v of %d", have, o.Below, want, len(all))
		}
	})
}
