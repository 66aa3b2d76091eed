package collective

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/reconfigure/plan"
)

// TestCirculants: two offsets have the minimum diameter over all pairs, three at most one more,
// and the links of each step are evenly loaded.
func TestCirculants(t *testing.T) {
	late := 0
	for k := 2; k <= 3; k++ {
		for q := k + 2; q <= 64; q++ {
			if k == 3 && q > 40 {
				break
			}
			minimum := math.MaxInt
			for _, s := range multisets(q, k) {
				minimum = min(minimum, int(slices.Max(plan.Reach(q, s))))
			}
			offsets := searchCirculant(q, k, nil)
			s := newStage(q, int32(k), "", broadcastPhase{offsets, q, q})
			if k == 2 && s.steps != minimum || s.steps > minimum+1 {
				t.Errorf("k=%d q=%d: %v takes %d steps, %d do", k, q, offsets, s.steps, minimum)
			}
			if s.steps > minimum {
				late++
			}
			if s.parts != int64(q-1) {
				t.Errorf("k=%d q=%d: %v has the fullest link carry %d/%d of a shard; %d/%d would be even", k, q, offsets, s.parts, k, q-1, k)
			}
		}
	}
	t.Logf("one step above the least: %d", late)
}

// TestStampBases: stamp bases reach the known optima of the postage stamp problem:
// floor((s^2+6s+1)/4) for two stamps (Stöhr), and 3, 8, 15, 26, 35, 52 for three (Hofmeister).
// All sums up to the reach exist.
func TestStampBases(t *testing.T) {
	for s := 1; s <= 12; s++ {
		if got, want := searchStampBasis(2, s, 1000).reach, (s*s+6*s+1)/4+1; got != want {
			t.Errorf("2 stamps, %d terms: %d sums, want %d", s, got, want)
		}
	}
	for i, want := range []int{3, 8, 15, 26, 35, 52} {
		if got := searchStampBasis(3, i+1, 1000).reach; got != want+1 {
			t.Errorf("3 stamps, %d terms: %d sums, want %d", i+1, got, want+1)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		k, s := rapid.IntRange(1, 4).Draw(t, "k"), rapid.IntRange(1, 5).Draw(t, "s")
		q := rapid.IntRange(2, 200).Draw(t, "q")
		b := searchStampBasis(k, s, q)
		sums := map[int]bool{0: true}
		for range s {
			next := map[int]bool{}
			for v := range sums {
				next[v] = true
				for _, c := range b.numbers {
					next[v+int(c)] = true
				}
			}
			sums = next
		}
		for v := range b.reach {
			if !sums[v] {
				t.Fatalf("%v does not make %d of %d", b.numbers, v, b.reach)
			}
		}
		if b.reach < min(q, k*s+1) && b.reach < s+1 || b.reach > q {
			t.Fatalf("%v reaches %d", b.numbers, b.reach)
		}
	})
}
