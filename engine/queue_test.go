package engine_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// modelQueue is a simple reference: a list sorted by time and sequence number.
type modelQueue struct {
	list []modelEntry
	seq  int
}

type modelEntry struct {
	id   int32
	time engine.Time
	seq  int
}

func (q *modelQueue) remove(id int32) {
	q.list = slices.DeleteFunc(q.list, func(e modelEntry) bool { return e.id == id })
}

func (q *modelQueue) set(id int32, t engine.Time) {
	q.remove(id)
	q.list = append(q.list, modelEntry{id, t, q.seq})
	q.seq++
	slices.SortFunc(q.list, func(a, b modelEntry) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.seq, b.seq))
	})
}

func (q *modelQueue) has(id int32) bool {
	return slices.ContainsFunc(q.list, func(e modelEntry) bool { return e.id == id })
}

// TestQueueAgainstSortedList applies random operations to the heap and to a sorted list. Few
// distinct times make ties frequent, and many ids make the heap several levels deep.
func TestQueueAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.Int32Range(1, 120).Draw(t, "ids")
		times := rapid.SampledFrom([]int64{1, 4, 30, 1 << 40}).Draw(t, "times")
		q, m := engine.NewQueue(int(ids)), &modelQueue{}
		anyID := rapid.Int32Range(0, ids-1)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "fill"), 0))
		for id := range ids {
			at := engine.Time(rng.Int64N(times + 1))
			q.Set(id, at)
			m.set(id, at)
		}
		set := func(t *rapid.T) {
			id, at := anyID.Draw(t, "id"), engine.Time(rapid.Int64Range(0, times).Draw(t, "time"))
			q.Set(id, at)
			m.set(id, at)
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": set, "set again": set, "set more": set,
			"remove": func(t *rapid.T) {
				id := anyID.Draw(t, "id")
				q.Remove(id)
				m.remove(id)
			},
			"pop": func(t *rapid.T) {
				if len(m.list) == 0 {
					t.Skip("empty")
				}
				want := m.list[0]
				m.list = m.list[1:]
				if id, at := q.Pop(); id != want.id || at != want.time {
					t.Fatalf("popped %d at %d, want %d at %d", id, at, want.id, want.time)
				}
			},
			"reset": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") > 0 {
					t.Skip("not now")
				}
				q.Reset()
				m.list = nil
			},
			"copy": func(t *rapid.T) {
				c := engine.NewQueue(0)
				c.Grow(int(ids))
				c.Set(anyID.Draw(t, "other"), engine.Time(times)) // the previous content of the copy has no effect
				c.Reset()
				c.CopyFrom(q)
				q = c
			},
			"": func(t *rapid.T) {
				if q.Len() != len(m.list) {
					t.Fatalf("%d events, want %d", q.Len(), len(m.list))
				}
				top := engine.Never
				if len(m.list) > 0 {
					top = m.list[0].time
				}
				if q.Top() != top {
					t.Fatalf("top %d, want %d", q.Top(), top)
				}
				if id := anyID.Draw(t, "has"); q.Has(id) != m.has(id) {
					t.Fatalf("has(%d) is %v", id, q.Has(id))
				}
			},
		})
		for len(m.list) > 0 {
			want := m.list[0]
			m.list = m.list[1:]
			if id, at := q.Pop(); id != want.id || at != want.time {
				t.Fatalf("at the end popped %d at %d, want %d at %d", id, at, want.id, want.time)
			}
		}
	})
}

// TestQueueTies: events with equal times are returned in the order in which they were set. An
// event that is set again goes to the back, even if its time does not change.
func TestQueueTies(t *testing.T) {
	q := engine.NewQueue(6)
	for _, id := range []int32{4, 2, 5, 0, 1, 3} {
		q.Set(id, 7)
	}
	q.Set(2, 7)
	q.Set(5, 9)
	q.Set(5, 7)
	var got []int32
	for q.Len() > 0 {
		id, _ := q.Pop()
		got = append(got, id)
	}
	if want := []int32{4, 0, 1, 3, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestQueueAllocatesNothing(t *testing.T) {
	const n = 1000
	q := engine.NewQueue(n)
	rng := rand.New(rand.NewPCG(1, 2))
	allocs := testing.AllocsPerRun(20, func() {
		for i := range int32(n) {
			q.Set(i, engine.Time(rng.Int64N(100)))
		}
		for i := range int32(n) {
			q.Set(i, engine.Time(rng.Int64N(100)))
		}
		for i := range int32(n / 2) {
			q.Remove(2 * i)
		}
		for q.Len() > 10 {
			q.Pop()
		}
		q.Reset()
	})
	if allocs != 0 {
		t.Errorf("%v allocations for %d events, want none", allocs, n)
	}
}

func BenchmarkQueue(b *testing.B) {
	const n = 4096
	q := engine.NewQueue(n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range int32(n) {
		q.Set(i, engine.Time(rng.Int64N(1<<30)))
	}
	for b.Loop() {
		id, at := q.Pop()
		q.Set(id, at+engine.Time(rng.Int64N(1<<20)))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
