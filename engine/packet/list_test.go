package packet

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPoolCapacity: capacity counts the memory of all lists and of the pool, and the
// items of a list are not changed by other lists.
func TestPoolCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pool[creditReturn]
		lists := make([]list[creditReturn], rapid.IntRange(1, 4).Draw(t, "lists"))
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			l := &lists[rapid.IntRange(0, len(lists)-1).Draw(t, "list")]
			l.pool = &p
			if rapid.IntRange(0, 3).Draw(t, "renew") == 0 {
				l.reset()
			}
			for range rapid.IntRange(0, 300).Draw(t, "more") {
				n, c := l.add()
				c.channel = n
			}
			for i, c := range l.elements() {
				if c.channel != int32(i) {
					t.Fatalf("thing %d is that of %d", i, c.channel)
				}
			}
			capacity := 0
			for _, l := range lists {
				capacity += cap(l.items)
			}
			for _, s := range p.free {
				capacity += cap(s)
			}
			if capacity != p.capacity {
				t.Fatalf("room for %d things is counted as for %d", capacity, p.capacity)
			}
		}
	})
}
