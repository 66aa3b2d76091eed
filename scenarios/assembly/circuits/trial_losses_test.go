package circuits

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDrawLost checks the circuits that a trial loses. Their number is the requested one, no
// bundle loses more circuits than it has, and times are within the iteration. The same seed
// draws the same circuits.
func TestDrawLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 6).Draw(t, "circuits")
		n, seed := rapid.IntRange(0, countCircuits(x)).Draw(t, "lost"), rapid.Uint64().Draw(t, "seed")
		lost := drawLosses(x, n, seed)
		remaining := slices.Clone(x)
		for _, c := range lost {
			if remaining[c.bundle]--; remaining[c.bundle] < 0 || !(c.time >= 0 && c.time < 1) {
				t.Fatalf("got losses %v of circuits %v, want at most those of each bundle, at "+
					"times from 0 to 1", lost, x)
			}
		}
		if len(lost) != n || !slices.Equal(lost, drawLosses(x, n, seed)) {
			t.Fatalf("got %d losses, then %v, want %d and the same again",
				len(lost), drawLosses(x, n, seed), n)
		}
	})
}

// TestDrawLostMatches compares the losses of two topologies with the same seed. A circuit that
// both have and one loses is also lost by the other, unless the latter loses a circuit of lower
// rank instead.
func TestDrawLostMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bundles := rapid.IntRange(1, 5).Draw(t, "bundles")
		draw := func(name string) []int { return rapid.SliceOfN(rapid.IntRange(1, 6), bundles, bundles).Draw(t, name) }
		a, b, seed := draw("a"), draw("b"), rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(1, min(countCircuits(a), countCircuits(b))).Draw(t, "lost")
		la, lb := drawLosses(a, n, seed), drawLosses(b, n, seed)
		rank := func(l []circuitLoss) uint64 {
			return slices.MaxFunc(l, func(a, b circuitLoss) int { return cmp.Compare(a.rank, b.rank) }).rank
		}
		sys := func(x []int, c circuitLoss) bool { return slices.Contains(drawLosses(x, countCircuits(x), seed), c) }
		for _, c := range la {
			if sys(b, c) && !slices.Contains(lb, c) && c.rank < rank(lb) {
				t.Fatalf("circuit %v is lost in %v but not in %v, want it among the losses %v", c, a, b, lb)
			}
		}

		if slices.Equal(a, b) && !slices.Equal(la, lb) {
			t.Fatal("got different losses in equal topologies")
		}
	})
}

// TestDrawLostIsUniform checks that each circuit, each pair of circuits and each time is
// equally likely, within five standard deviations.
func TestDrawLostIsUniform(t *testing.T) {
	x := []int{1, 4, 2}
	const draws = 20_000
	single, pairCounts := make([]int, len(x)), map[[2]int]int{}
	when := 0.0
	for seed := range uint64(draws) {
		c := drawLosses(x, 2, seed)
		single[c[0].bundle]++
		when += c[0].time
		pairCounts[[2]int{min(c[0].bundle, c[1].bundle), max(c[0].bundle, c[1].bundle)}]++
	}

	checkCount := func(got int, p float64, what ...int) {
		t.Helper()
		if math.Abs(float64(got)-p*draws) > 5*math.Sqrt(draws*p*(1-p)) {
			t.Errorf("bundles %v: lost in %d of %d draws, want about %.0f", what, got, draws, p*draws)
		}
	}

	for b, n := range single {
		checkCount(n, float64(x[b])/7, b)
	}
	for pair, pairs := range map[[2]int]float64{{0, 1}: 4, {0, 2}: 2, {1, 1}: 6, {1, 2}: 8, {2, 2}: 1} {
		checkCount(pairCounts[pair], pairs/21, pair[0], pair[1])
	}
	if mean := when / draws; math.Abs(mean-0.5) > 5/math.Sqrt(12*draws) {
		t.Errorf("circuits are lost after %v of the iteration on average, want about 0.5", mean)
	}
}
