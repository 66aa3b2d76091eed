package pack

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
)

// referenceSchedule schedules paths by the definition: in each slot, each link compares all
// paths.
func referenceSchedule(links int, w *Paths, order Order) (int, []int32) {
	slotOf := make([]int32, len(w.Link))
	done := make([]int32, w.Len())
	rank := func(i int) int32 {
		if len(w.Rank) == 0 {
			return 0
		}
		return w.Rank[i]
	}
	remaining := len(w.Link)
	slot := int32(0)
	for ; remaining > 0; slot++ {
		var move []int
		for l := range int32(links) {
			best := -1
			for i := range w.Len() {
				if w.Start[i]+done[i] == w.Start[i+1] || w.Link[w.Start[i]+done[i]] != l {
					continue
				}
				if best >= 0 {
					a, b := w.Start[i+1]-w.Start[i]-done[i], w.Start[best+1]-w.Start[best]-done[best]
					if order == Farthest && a != b {
						if a < b {
							continue
						}
					} else if rank(i) >= rank(best) {
						continue
					}
				}
				best = i
			}
			if best >= 0 {
				move = append(move, best)
			}
		}
		for _, i := range move {
			slotOf[w.Start[i]+done[i]] = slot
			done[i]++
			remaining--
		}
	}
	return int(slot), slotOf
}

// drawPaths draws paths over up to eight links.
func drawPaths(t *rapid.T) (int, *Paths) {
	links := rapid.IntRange(1, 8).Draw(t, "links")
	w := new(Paths)
	for range rapid.IntRange(0, 150).Draw(t, "walks") {
		w.Append(rapid.SliceOfN(rapid.Int32Range(0, int32(links-1)), 0, 6).Draw(t, "walk")...)
	}
	if rapid.Bool().Draw(t, "ranked") {
		w.Rank = rapid.SliceOfN(rapid.Int32Range(-3, 3), w.Len(), w.Len()).Draw(t, "rank")
	}
	return links, w
}

// Schedule and Slots agree with the reference for all orders, ranks and limits, and with
// the bound.
func TestScheduleMatchesReference(t *testing.T) {
	var p Scheduler
	rapid.Check(t, func(t *rapid.T) {
		links, w := drawPaths(t)
		order := Order(rapid.IntRange(0, int(Orders)-1).Draw(t, "order"))
		slots, at := referenceSchedule(links, w, order)
		got := make([]int32, len(w.Link))
		if s := p.Schedule(links, w, order, got); s != slots || !slices.Equal(got, at) {
			t.Fatalf("%d slots at %v, want %d at %v", s, got, slots, at)
		}
		for limit := max(0, slots-2); limit <= slots+1; limit++ {
			s, ok := p.Slots(links, w, order, limit)
			if ok != (slots <= limit) || ok && s != slots || !ok && (s <= limit || s > slots) {
				t.Fatalf("limit %d of %d: %d, %v", limit, slots, s, ok)
			}
		}
		if slots < w.Bound(links) {
			t.Fatalf("%d slots, below the bound %d", slots, w.Bound(links))
		}
	})
}

// ring returns the paths of a uniform all-to-all on a directed ring.
func ring(n, chunks int) *Paths {
	w := new(Paths)
	for u := range n {
		for d := 1; d < n; d++ {
			var path []int32
			for h := range d {
				path = append(path, int32((u+h)%n))
			}
			for range chunks {
				w.Append(path...)
			}
		}
	}
	return w
}

// Farthest first schedules a uniform all-to-all on a ring in as many slots as each link has
// crossings: n (n-1) / 2 per chunk, which is 28 for n = 8.
func TestFarthestIsOptimalOnRings(t *testing.T) {
	for n := 2; n <= 20; n++ {
		for c := 1; c <= 3; c++ {
			if s, _ := scheduleOnce(n, ring(n, c), Farthest); s != c*n*(n-1)/2 {
				t.Errorf("n = %d, %d chunks: %d slots, want %d", n, c, s, c*n*(n-1)/2)
			}
		}
	}
}

func BenchmarkPlay(b *testing.B) {
	r := scaleup.Circulant(64, 5, 6)
	w, _ := Shortest(r, 64, nil).Paths(uniform(64, 32), false)
	for name, w := range map[string]*Paths{"ring": ring(64, 8), "circulant": w} {
		for _, o := range []Order{ByRank, Farthest} {
			b.Run(name+[]string{"/rank", "/farthest"}[o], func(b *testing.B) {
				var p Scheduler
				for b.Loop() {
					p.Slots(128, w, o, 1<<30)
				}
				b.ReportMetric(float64(len(w.Link)*b.N)/b.Elapsed().Seconds()/1e6, "Mhops/s")
			})
		}
	}
}
