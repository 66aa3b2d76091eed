package circulant

import (
	"flag"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
)

var long = flag.Bool("long", false, "also run the tests that take a minute")

// theorem1 is the bound of the paper's Theorem 1.
func theorem1(n, d int) int64 {
	q, u := int64((n-1)/d), int64((n-1)%d)
	return int64(d)*q*(q+1)/2 + u*(q+1)
}

// shiftHopsCache has the hops over one shift to each offset, by number of GPUs and shift.
var shiftHopsCache = map[[2]int][]int64{}

// shiftHops returns the hops over one shift to each offset, math.MaxInt64 if it does not
// reach the offset.
func shiftHops(n, shift int) []int64 {
	hops := shiftHopsCache[[2]int{n, shift}]
	if hops == nil {
		hops = slices.Repeat([]int64{math.MaxInt64}, n)
		for h, at := int64(1), shift%n; hops[at] == math.MaxInt64; h, at = h+1, (at+shift)%n {
			hops[at] = h
		}
		shiftHopsCache[[2]int{n, shift}] = hops
	}
	return hops
}

// hopSum returns the sum of the minimum hops to each offset within one of the shifts, from
// its definition.
func hopSum(n int, shifts []int) (sum int64) {
	minHops := slices.Repeat([]int64{math.MaxInt64}, n)
	for _, s := range shifts {
		for o, h := range shiftHops(n, s) {
			minHops[o] = min(minHops[o], h)
		}
	}
	for _, h := range minHops[1:] {
		if h == math.MaxInt64 {
			return h
		}
		sum += h
	}
	return sum
}

// The ratio of slots to Theorem 1 over all numbers of topologies: the paper's order has the
// documented ratios, and shiftSets has at most the documented ratios.
func TestRatiosToTheorem1(t *testing.T) {
	maxRatio := func(n int, slots []int64) (ratio float64) {
		if len(slots) != n-1 {
			t.Fatalf("%d GPUs: slots for %d numbers of topologies, want %d", n, len(slots), n-1)
		}
		b, err := plan.NewBounder(plan.UniformProblem(n, 1, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range slots {
			bound, err := b.At(i + 1)
			if err != nil {
				t.Fatal(err)
			}
			if bound.Round != theorem1(n, i+1) {
				t.Fatalf("%d GPUs, %d topologies: bound %d, Theorem 1 gives %d", n, i+1, bound.Round, theorem1(n, i+1))
			}
			if x < bound.Round {
				t.Fatalf("%d GPUs, %d topologies: %d slots beat the bound of %d", n, i+1, x, bound.Round)
			}
			ratio = max(ratio, float64(x)/float64(bound.Round))
		}
		return ratio
	}
	maxGPUs := 512
	if *long {
		maxGPUs = 4096 // the largest size of the paper's claim
	}
	for _, c := range []struct {
		n             int
		paper, greedy float64
	}{{8, 1.200, 1.100}, {16, 1.455, 1.195}, {32, 1.739, 1.273}, {64, 2.043, 1.338}, {4096, 4.001, 1.592}} {
		if c.n > maxGPUs {
			continue
		}
		paper, ours := maxRatio(c.n, rounds.ShiftSlots(c.n)), maxRatio(c.n, greedySlots(c.n))
		if math.Abs(paper-c.paper) > 0.0006 {
			t.Errorf("%d GPUs: the paper's order reaches %.4f times Theorem 1, want %.3f", c.n, paper, c.paper)
		}
		if ours > c.greedy+0.0006 {
			t.Errorf("%d GPUs: ours reaches %.4f times Theorem 1, want at most %.3f", c.n, ours, c.greedy)
		}
		t.Logf("%d GPUs: times Theorem 1 the paper's order at most %.3f, ours %.3f", c.n, paper, ours)
	}
	for n := 128; n < 4096 && n <= maxGPUs; n *= 2 {
		if paper, ours := maxRatio(n, rounds.ShiftSlots(n)), maxRatio(n, greedySlots(n)); paper > 4.54 || ours > 1.60 {
			t.Errorf("%d GPUs: times Theorem 1 the paper's order reaches %.4f, ours %.4f; want at most 4.54, 1.60", n, paper, ours)
		}
	}
}

// The slots of the paper's order and of shiftSets equal hopSum.
func TestSlotsAreHops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		paper, order := rounds.ShiftSlots(n), rounds.ShiftOrder(n)
		sets, slots := shiftSets(n, n-1, nil)
		for d := 1; d < n; d++ {
			if got, want := paper[d-1], hopSum(n, order[:d]); got != want {
				t.Fatalf("the first %d shifts of the paper: %d slots, want %d", d, got, want)
			}
			if got, want := slots[d-1], hopSum(n, slices.Concat(sets[d-1]...)); got != want || len(sets[d-1]) != d {
				t.Fatalf("shifts %v: %d slots, want %d", sets[d-1], got, want)
			}
		}
	})
}

// Each shift of the greedy order saves at least as many slots as any other shift, and the
// order contains all shifts.
func TestGreedyShiftsAreGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(maxGPUsForExchanges+1, maxGPUsForExchanges+16).Draw(t, "n")
		order := greedyShifts(n)
		for d := 1; d < len(order); d += rapid.IntRange(4, 40).Draw(t, "step") {
			taken := hopSum(n, order[:d+1])
			for s := 1; s < n; s++ {
				sum := hopSum(n, append(slices.Clone(order[:d]), s))
				if sum < taken || sum == taken && s < order[d] && !slices.Contains(order[:d], s) {
					t.Fatalf("after %v came %d (%d slots), but %d takes %d", order[:d], order[d], taken, s, sum)
				}
			}
		}
		sorted := slices.Sorted(slices.Values(order))
		for i, s := range sorted {
			if s != i+1 {
				t.Fatalf("%v does not contain all shifts", order)
			}
		}
	})
}

// shiftSets is optimal for up to 12 GPUs, compared with all sets of shifts. No 3 shifts on
// 8 GPUs take 12 slots, the bound.
func TestBestShiftSets(t *testing.T) {
	for n := 3; n <= 12; n++ {
		best := make([]int64, n)
		for i := range best {
			best[i] = math.MaxInt64
		}
		for set := 1; set < 1<<(n-1); set++ {
			var shifts []int
			for s := 1; s < n; s++ {
				if set>>(s-1)&1 == 1 {
					shifts = append(shifts, s)
				}
			}
			d := bits.OnesCount(uint(set))
			best[d] = min(best[d], hopSum(n, shifts))
		}
		for i, x := range greedySlots(n) {
			if x != best[i+1] {
				t.Errorf("%d GPUs, %d topologies: %d slots, the best shifts take %d", n, i+1, x, best[i+1])
			}
		}
		if n == 8 && (best[3] != 13 || theorem1(8, 3) != 12 || best[2] != 16) {
			t.Errorf("8 GPUs: %v, want 16 slots with 2 shifts and 13 with 3", best)
		}
	}
}

// greedySlots returns the slots of shiftSets for all numbers of shifts.
func greedySlots(n int) []int64 {
	_, slots := shiftSets(n, max(0, n-1), nil)
	return slots
}

// greedyShifts returns the greedy order of shifts. It requires more than
// maxGPUsForExchanges GPUs.
func greedyShifts(n int) []int {
	sets, _ := shiftSets(n, n-1, nil)
	return slices.Concat(sets[n-2]...)
}
