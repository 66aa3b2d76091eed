package packet

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// TestCalendar: events come by time and then in the order in which they were set, or all of a time by id, near and far
// ahead, while the span of a cell changes and some are taken away.
func TestCalendar(t *testing.T) {
	one := func(t *rapid.T) {
		const ids = 12
		type event struct {
			id int32
			at engine.Time
		}
		a := newCalendar(ids)
		var want []event // in the order of setting
		free := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		now := engine.Time(0)
		var room [3]int32
		whole := rapid.Bool().Draw(t, "whole")
		a.shift = uint(rapid.IntRange(0, 3).Draw(t, "shift"))
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			if len(free) > 0 && rapid.IntRange(0, 2).Draw(t, "set") > 0 {
				at := now + engine.Time(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 500, 512, 1023, 1024, 1025, 5000, 5000, 5000}).Draw(t, "at"))
				a.set(free[0], at)
				want = append(want, event{free[0], at})
				free = free[1:]
				continue
			}
			if len(want) > 0 && rapid.IntRange(0, 5).Draw(t, "remove") == 0 {
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				a.remove(want[i].id, want[i].at)
				free = append(free, want[i].id)
				want = slices.Delete(want, i, i+1)
			}
			if a.empty() != (len(want) == 0) {
				t.Fatalf("empty: %t with %d events", a.empty(), len(want))
			}
			until := now + engine.Time(rapid.SampledFrom([]int{0, 1, 2, 512, 6000}).Draw(t, "until"))
			if whole {
				first := engine.Never
				for _, e := range want {
					first = min(first, e.at)
				}
				var all []int32
				if first <= until {
					now = first
					want = slices.DeleteFunc(want, func(e event) bool {
						if e.at == first {
							all = append(all, e.id)
						}
						return e.at == first
					})
				}
				slices.Sort(all)
				if got := a.takeAll(room[:0], until); !slices.Equal(got, all) {
					t.Fatalf("took %d at %d, want %d", got, first, all)
				}
				free = append(free, all...)
				a.patient = min(a.patient, int64(rapid.IntRange(1, 4).Draw(t, "patient")))
				continue
			}
			ids, at, ok := a.takeSome(room[:rapid.IntRange(1, len(room)).Draw(t, "room")], until)
			for i, id := range append(ids, -1) {
				first := -1
				for i, e := range want {
					if e.at <= until && (first < 0 || e.at < want[first].at) {
						first = i
					}
				}
				if id < 0 { // no more were taken: there are none, or of another time, or there was no room
					if !ok && first >= 0 {
						t.Fatalf("nothing was taken until %d of %v", until, want)
					}
					break
				}
				if first < 0 || (want[first] != event{id, at}) {
					t.Fatalf("took %d at %d as number %d; want %v of %v", id, at, i, first, want)
				}
				free, now = append(free, id), at
				want = slices.Delete(want, first, first+1)
			}
			if ok {
				a.patient = min(a.patient, int64(rapid.IntRange(1, 4).Draw(t, "patient")))
			}
		}
	}
	rapid.Check(t, one)
}

// TestTakeAll: events of one time that were set beyond the ring, one by one, come together when they are in it.
func TestTakeAll(t *testing.T) {
	a := newCalendar(3)
	a.set(1, 5000)
	a.set(0, 5000)
	a.set(2, 1000) // after which a cell's span is longer
	if first := a.takeAll(nil, engine.Never); !slices.Equal(first, []int32{2}) {
		t.Fatalf("took %d, want 2", first)
	}
	if a.shift == 0 {
		t.Error("the span of a cell is as it was")
	}
	if all := a.takeAll(nil, engine.Never); !slices.Equal(all, []int32{0, 1}) {
		t.Errorf("took %d, want 0 and 1", all)
	}
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
