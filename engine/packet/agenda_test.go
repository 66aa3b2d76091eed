package packet

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// TestAgenda: events come by time and then in the order in which they were set,
// also where times fall into one slot and push each other out.
func TestAgenda(t *testing.T) {
	var alike []engine.Time // times of one slot
	for at := engine.Time(0); len(alike) < 4; at++ {
		if place(at) == place(0) {
			alike = append(alike, at)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		const ids = 12
		type event struct {
			id int32
			at engine.Time
		}
		a := newAgenda(ids)
		var want []event // in the order of setting
		free := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		now := engine.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(free) > 0 && rapid.IntRange(0, 2).Draw(t, "set") > 0 {
				at := rapid.SampledFrom(alike).Draw(t, "at") + engine.Time(rapid.IntRange(0, 1).Draw(t, "off"))
				at = max(at, now)
				a.set(free[0], at)
				want = append(want, event{free[0], at})
				free = free[1:]
				continue
			}
			until := now + engine.Time(rapid.IntRange(0, int(alike[3])).Draw(t, "until"))
			first := -1
			for i, e := range want {
				if e.at <= until && (first < 0 || e.at < want[first].at) {
					first = i
				}
			}
			id, at, ok := a.take(until)
			if ok != (first >= 0) || ok && (want[first] != event{id, at}) {
				t.Fatalf("took %d at %d, %v; want %v of %v", id, at, ok, first, want)
			}
			if ok {
				free, now = append(free, id), at
				want = slices.Delete(want, first, first+1)
			}
		}
	})
}

// TestClasses: classes tile the range of delays and are narrow.
func TestClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := engine.Time(rapid.Int64Range(0, 1<<62).Draw(t, "delay"))
		c := class(d)
		if from, to := floor(c), floor(c+1); d < from || d >= to || float64(to-from) > max(1, float64(from)/fine) {
			t.Fatalf("%d is in class %d of [%d, %d)", d, c, from, to)
		}
	})
}
