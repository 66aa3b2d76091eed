package packet

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// TestCalendar: events are returned by time and, within a time, in the order of
// scheduling or by id. The reference is a list that is searched for the earliest event.
// Events are near and far in the future, the span of a cell changes, and some events are
// removed.
func TestCalendar(t *testing.T) {
	check := func(t *rapid.T) {
		const ids = 12
		type event struct {
			id int32
			at engine.Time
		}
		a := newCalendar(ids)
		var want []event // in the order of scheduling
		unused := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		now := engine.Time(0)
		var buffer [3]int32
		simultaneous := rapid.Bool().Draw(t, "whole")
		a.cellShift = uint(rapid.IntRange(0, 3).Draw(t, "shift"))
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			if len(unused) > 0 && rapid.IntRange(0, 2).Draw(t, "set") > 0 {
				time := now + engine.Time(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 500, 512, 1023, 1024, 1025, 5000, 5000, 5000}).Draw(t, "at"))
				a.schedule(unused[0], time)
				want = append(want, event{unused[0], time})
				unused = unused[1:]
				continue
			}
			if len(want) > 0 && rapid.IntRange(0, 5).Draw(t, "remove") == 0 {
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				a.remove(want[i].id, want[i].at)
				unused = append(unused, want[i].id)
				want = slices.Delete(want, i, i+1)
			}
			if a.isEmpty() != (len(want) == 0) {
				t.Fatalf("empty: %t with %d events", a.isEmpty(), len(want))
			}
			until := now + engine.Time(rapid.SampledFrom([]int{0, 1, 2, 512, 6000}).Draw(t, "until"))
			if simultaneous {
				first := engine.Never
				for _, e := range want {
					first = min(first, e.at)
				}
				var atFirst []int32
				if first <= until {
					now = first
					want = slices.DeleteFunc(want, func(e event) bool {
						if e.at == first {
							atFirst = append(atFirst, e.id)
						}
						return e.at == first
					})
				}
				slices.Sort(atFirst)
				if got := a.takeSimultaneous(buffer[:0], until); !slices.Equal(got, atFirst) {
					t.Fatalf("took %d at %d, want %d", got, first, atFirst)
				}
				unused = append(unused, atFirst...)
				a.adaptInterval = min(a.adaptInterval, int64(rapid.IntRange(1, 4).Draw(t, "patient")))
				continue
			}
			ids, time, ok := a.takeBatch(buffer[:rapid.IntRange(1, len(buffer)).Draw(t, "room")], until)
			for i, id := range append(ids, -1) {
				first := -1
				for i, e := range want {
					if e.at <= until && (first < 0 || e.at < want[first].at) {
						first = i
					}
				}
				if id < 0 { // no more were taken: none is left, or only later ones, or the buffer is full
					if !ok && first >= 0 {
						t.Fatalf("nothing was taken until %d of %v", until, want)
					}
					break
				}
				if first < 0 || (want[first] != event{id, time}) {
					t.Fatalf("took %d at %d as number %d; want %v of %v", id, time, i, first, want)
				}
				unused, now = append(unused, id), time
				want = slices.Delete(want, first, first+1)
			}
			if ok {
				a.adaptInterval = min(a.adaptInterval, int64(rapid.IntRange(1, 4).Draw(t, "patient")))
			}
		}
	}
	rapid.Check(t, check)
}

// TestTakeSimultaneous: simultaneous events that were scheduled beyond the ring are
// returned together when the ring has reached them.
func TestTakeSimultaneous(t *testing.T) {
	a := newCalendar(3)
	a.schedule(1, 5000)
	a.schedule(0, 5000)
	a.schedule(2, 1000) // after this event, the span of a cell is longer
	if first := a.takeSimultaneous(nil, engine.Never); !slices.Equal(first, []int32{2}) {
		t.Fatalf("took %d, want 2", first)
	}
	if a.cellShift == 0 {
		t.Error("the span of a cell is as it was")
	}
	if all := a.takeSimultaneous(nil, engine.Never); !slices.Equal(all, []int32{0, 1}) {
		t.Errorf("took %d, want 0 and 1", all)
	}
}

// TestDelayClasses: the classes of delays are disjoint, cover the range of delays, and
// are at most as wide as documented.
func TestDelayClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := engine.Time(rapid.Int64Range(0, 1<<62).Draw(t, "delay"))
		c := delayClass(d)
		if from, to := classFloor(c), classFloor(c+1); d < from || d >= to || float64(to-from) > max(1, float64(from)/classesPerOctave) {
			t.Fatalf("%d is in class %d of [%d, %d)", d, c, from, to)
		}
	})
}
