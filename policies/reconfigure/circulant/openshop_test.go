package circulant

import (
	"testing"

	"pgregory.net/rapid"
)

// Random open shops of unit tasks take at most as many slots as König's theorem states, and
// use no chunk and no generator twice in a slot.
func TestOpenShop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 4).Draw(t, "k")
		numPaths := rapid.IntRange(1, 8).Draw(t, "ways")
		// Small numbers of hops leave a slot few chunks to select from.
		maxHops := rapid.Int32Range(1, 4).Draw(t, "most")
		maxIdentical := rapid.IntRange(1, 6).Draw(t, "most alike")
		var hopsOf, after, pathOf []int32
		var started []bool
		for w := range numPaths {
			hops := rapid.SliceOfN(rapid.Int32Range(0, maxHops), k, k).Draw(t, "hops")
			sum := int32(0)
			for _, h := range hops {
				sum += h
			}
			if sum == 0 {
				hops[0] = 1
			}
			rest, begun := rapid.Int32Range(0, 1).Draw(t, "after"), rapid.Bool().Draw(t, "started")
			for range rapid.IntRange(1, maxIdentical).Draw(t, "alike") {
				hopsOf = append(hopsOf, hops...)
				after, pathOf, started = append(after, rest), append(pathOf, int32(w)), append(started, begun)
			}
		}
		numChunks := len(after)
		slots := int32(0)
		load := make([]int32, k)
		transit, want := int32(0), int32(0)
		for i := range numChunks {
			sum := int32(0)
			for j := range k {
				load[j] += hopsOf[i*k+j]
				slots = max(slots, load[j])
				sum += hopsOf[i*k+j]
			}
			slots = max(slots, sum)
			if started[i] {
				transit++
			}
			if after[i] > 0 {
				want++
			}
		}
		remaining := append([]int32(nil), hopsOf...)
		s := newOpenShop(k, hopsOf, after, pathOf, started)
		for slot := range slots {
			s.matchSlot(slots - slot)
			used := map[int32]bool{}
			for j, i := range s.matched {
				if i < 0 {
					continue
				}
				if used[i] {
					t.Fatalf("slot %d: chunk %d on two generators", slot, i)
				}
				used[i] = true
				if remaining[int(i)*k+j]--; remaining[int(i)*k+j] < 0 {
					t.Fatalf("slot %d: chunk %d has no hop left on generator %d", slot, i, j)
				}
			}
			transit += s.commitSlot()
		}
		for i, x := range remaining {
			if x > 0 {
				t.Fatalf("after %d slots chunk %d has %d hops left on generator %d", slots, i/k, x, i%k)
			}
		}
		if transit != want {
			t.Fatalf("%d chunks in transit at the end, want %d", transit, want)
		}
	})
}
