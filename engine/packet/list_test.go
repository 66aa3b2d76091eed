package packet

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPoolCounts: a pool counts all room that its lists have or have given back, and what a list has stays as it was.
func TestPoolCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pool[credit]
		lists := make([]list[credit], rapid.IntRange(1, 4).Draw(t, "lists"))
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			l := &lists[rapid.IntRange(0, len(lists)-1).Draw(t, "list")]
			l.pool = &p
			if rapid.IntRange(0, 3).Draw(t, "renew") == 0 {
				l.renew()
			}
			for range rapid.IntRange(0, 300).Draw(t, "more") {
				n, c := l.add()
				c.channel = n
			}
			for i, c := range l.used() {
				if c.channel != int32(i) {
					t.Fatalf("thing %d is that of %d", i, c.channel)
				}
			}
			room := 0
			for _, l := range lists {
				room += cap(l.all)
			}
			for _, s := range p.spare {
				room += cap(s)
			}
			if room != p.made {
				t.Fatalf("room for %d things is counted as for %d", room, p.made)
			}
		}
	})
}
