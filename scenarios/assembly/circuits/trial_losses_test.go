package circuits

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLose: exactly as many circuits are lost as are asked for, of no bundle more than it has, at times in the
// iteration, and the same for the same seed.
func TestDrawLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 6).Draw(t, "circuits")
		n, seed := rapid.IntRange(0, total(x)).Draw(t, "lost"), rapid.Uint64().Draw(t, "seed")
		lost := drawLost(x, n, seed)
		remaining := slices.Clone(x)
		for _, c := range lost {
			if remaining[c.bundle]--; remaining[c.bundle] < 0 || !(c.when >= 0 && c.when < 1) {
				t.Fatalf("%v of %v are lost", lost, x)
			}
		}
		if len(lost) != n || !slices.Equal(lost, drawLost(x, n, seed)) {
			t.Fatalf("%d are lost, then %v, want %d", len(lost), drawLost(x, n, seed), n)
		}
	})
}

// TestLoseMatched: what a topology loses and another has as well, that one loses too, unless it loses one that the
// first has not.
func TestDrawLostMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bundles := rapid.IntRange(1, 5).Draw(t, "bundles")
		draw := func(name string) []int { return rapid.SliceOfN(rapid.IntRange(1, 6), bundles, bundles).Draw(t, name) }
		a, b, seed := draw("a"), draw("b"), rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(1, min(total(a), total(b))).Draw(t, "lost")
		la, lb := drawLost(a, n, seed), drawLost(b, n, seed)
		rank := func(l []circuit) uint64 {
			return slices.MaxFunc(l, func(a, b circuit) int { return cmp.Compare(a.rank, b.rank) }).rank
		}
		in := func(x []int, c circuit) bool { return slices.Contains(drawLost(x, total(x), seed), c) }
		for _, c := range la {
			if in(b, c) && !slices.Contains(lb, c) && c.rank < rank(lb) {
				t.Fatalf("%v is lost of %v, not of %v, which loses %v", c, a, b, lb)
			}
		}
		if slices.Equal(a, b) && !slices.Equal(la, lb) {
			t.Fatal("equal topologies lose other circuits")
		}
	})
}

// TestLoseUniform: each circuit is as likely to be lost as any other, and so is each pair.
func TestDrawLostIsUniform(t *testing.T) {
	x := []int{1, 4, 2}
	const draws = 20_000
	single, pairCounts := make([]int, len(x)), map[[2]int]int{}
	when := 0.0
	for seed := range uint64(draws) {
		c := drawLost(x, 2, seed)
		single[c[0].bundle]++
		when += c[0].when
		pairCounts[[2]int{min(c[0].bundle, c[1].bundle), max(c[0].bundle, c[1].bundle)}]++
	}
	checkCount := func(got int, p float64, what ...int) {
		t.Helper()
		if math.Abs(float64(got)-p*draws) > 5*math.Sqrt(draws*p*(1-p)) {
			t.Errorf("bundles %v: %d times of %d, want about %.0f", what, got, draws, p*draws)
		}
	}
	for b, n := range single {
		checkCount(n, float64(x[b])/7, b)
	}
	for pair, pairs := range map[[2]int]float64{{0, 1}: 4, {0, 2}: 2, {1, 1}: 6, {1, 2}: 8, {2, 2}: 1} {
		checkCount(pairCounts[pair], pairs/21, pair[0], pair[1])
	}
	if mean := when / draws; math.Abs(mean-0.5) > 5/math.Sqrt(12*draws) {
		t.Errorf("circuits are lost at %v of the iteration on average", mean)
	}
}
