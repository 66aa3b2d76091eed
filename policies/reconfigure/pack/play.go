package pack

import (
	"math"
	"math/bits"
	"slices"

	"sim/policies/reconfigure/halt"
)

// Order is how a link chooses among the chunks that wait for it.
type Order uint8

const (
	// ByRank: the smallest rank first (the chunk-index priority of the paper, Sec. 5.1).
	ByRank Order = iota
	// Farthest: the most hops still to go first, ties by rank.
	Farthest
	// Orders is how many there are.
	Orders
)

// Player schedules paths. Its memory is reused from call to call; the zero value is ready. Not for concurrent use.
//
// Every priority here is fixed before the first slot, so all crossings of a link are sorted once, and the chunks that
// wait for it are bits at their places in that order: to add one and to take the first cost a few instructions each.
type Player struct {
	count   []int32  // the next free place of each bucket (link, priority)
	next    []int32  // place of the path's next crossing, by place; -1 for the last one
	hop     []int32  // index into Walks.Link, by place
	waiting []uint64 // one bit a place
	summary []uint64 // one bit a word of waiting
	owner   []int32  // link of each word of waiting
	lanes   []lane
	active  []int32
	moved   []int32
	byRank  []uint64

	// Stop is asked now and then: a check that ends the search that simulates.
	Stop halt.When
	work int // since it was last asked
}

// lane is the queue of a link: how many chunks wait, and a word of waiting below which none does.
type lane struct{ have, low int32 }

// Play schedules paths on a number of links, each link in the given order and never idle while a chunk waits for it. It
// returns the slots taken, and in at, which has the length of w.Link, the slot of every crossing. Links must be in
// 0..links-1.
func (p *Player) Play(links int, w *Walks, order Order, at []int32) (slots int) {
	most := p.prepare(links, w, order, true)
	slots, _ = p.run(math.MaxInt, int(most), at)
	return slots
}

// Slots is Play for its cost alone. It stops as soon as that is known to be above limit, and then ok is false.
func (p *Player) Slots(links int, w *Walks, order Order, limit int) (slots int, ok bool) {
	most := p.prepare(links, w, order, false)
	if int(most) > limit {
		return int(most), false
	}
	return p.run(limit, int(most), nil)
}

// prepare sorts the crossings of every link by priority and makes the first of every path wait. It returns the larger
// of the largest load of a link and the longest path.
func (p *Player) prepare(links int, w *Walks, order Order, hops bool) (most int32) {
	n := w.Len()
	longest := int32(0)
	for i := range n {
		longest = max(longest, w.Start[i+1]-w.Start[i])
	}
	// A bucket is a (link, priority); with Farthest the priority is longest - hops to go.
	keys := int32(1)
	if order == Farthest {
		keys = max(1, longest)
	}
	p.count = zeroed(p.count, links*int(keys))
	if order == Farthest {
		for i := range n {
			end := w.Start[i+1]
			p.check(int(end - w.Start[i]))
			for j := w.Start[i]; j < end; j++ {
				p.count[w.Link[j]*keys+longest-(end-j)]++
			}
		}
	} else {
		for _, l := range w.Link {
			p.count[l]++
		}
	}
	p.lanes = sized(p.lanes, links)
	p.owner = p.owner[:0]
	place := int32(0)
	most = longest
	for l := range links {
		first := place
		p.lanes[l] = lane{0, first >> 6}
		for b := l * int(keys); b < (l+1)*int(keys); b++ {
			place, p.count[b] = place+p.count[b], place
		}
		most = max(most, place-first)
		// A word of bits belongs to one link.
		place = (place + 63) &^ 63
		for range (place - first) >> 6 {
			p.owner = append(p.owner, int32(l))
		}
	}
	p.next = sized(p.next, int(place))
	if hops {
		p.hop = sized(p.hop, int(place))
	}
	p.waiting = zeroed(p.waiting, int(place)>>6)
	p.summary = zeroed(p.summary, (len(p.waiting)+63)>>6)
	p.active = p.active[:0]
	sorted := p.sortRanks(w)
	for i := range n {
		if sorted != nil {
			i = int(uint32(sorted[i]))
		}
		start, end := w.Start[i], w.Start[i+1]
		p.check(int(end - start))
		if start == end {
			continue
		}
		q := int32(-1)
		for j := end - 1; j >= start; j-- {
			b := w.Link[j]
			if keys > 1 {
				b = b*keys + longest - (end - j)
			}
			at := p.count[b]
			p.count[b]++
			p.next[at] = q
			if hops {
				p.hop[at] = j
			}
			q = at
		}
		p.push(q)
	}
	return most
}

// sortRanks returns the paths by (rank, number), the number in the low 32 bits, or nil where they are in order.
func (p *Player) sortRanks(w *Walks) []uint64 {
	if len(w.Rank) == 0 || slices.IsSorted(w.Rank) {
		return nil
	}
	p.byRank = p.byRank[:0]
	for i, r := range w.Rank {
		p.byRank = append(p.byRank, uint64(uint32(r)^1<<31)<<32|uint64(i))
	}
	slices.Sort(p.byRank)
	return p.byRank
}

func (p *Player) push(place int32) {
	word := place >> 6
	p.waiting[word] |= 1 << (place & 63)
	p.summary[word>>6] |= 1 << (word & 63)
	l := p.owner[word]
	lane := &p.lanes[l]
	if lane.low > word {
		lane.low = word
	}
	if lane.have++; lane.have == 1 {
		p.active = append(p.active, l)
	}
}

// run simulates slot after slot. at nil: not wanted.
func (p *Player) run(limit, bound int, at []int32) (slots int, ok bool) {
	for len(p.active) > 0 {
		p.check(len(p.active))
		if slots >= limit {
			return max(slots+1, bound), false
		}
		p.moved = p.moved[:0]
		kept := p.active[:0]
		for _, l := range p.active {
			lane := &p.lanes[l]
			word := lane.low
			set := p.waiting[word]
			if set == 0 {
				// The lane is not empty, so the first bit above is its own.
				s := word >> 6
				m := p.summary[s] &^ (1<<(word&63) - 1)
				for m == 0 {
					s++
					m = p.summary[s]
				}
				word = s<<6 | int32(bits.TrailingZeros64(m))
				lane.low = word
				set = p.waiting[word]
			}
			place := word<<6 | int32(bits.TrailingZeros64(set))
			set &= set - 1
			p.waiting[word] = set
			if set == 0 {
				p.summary[word>>6] &^= 1 << (word & 63)
			}
			if at != nil {
				at[p.hop[place]] = int32(slots)
			}
			if q := p.next[place]; q >= 0 {
				p.moved = append(p.moved, q)
			}
			if lane.have--; lane.have > 0 {
				kept = append(kept, l)
			}
		}
		p.active = kept
		slots++
		for _, q := range p.moved {
			p.push(q)
		}
	}
	return slots, true
}

// check asks Stop once in so much work, which has grown by so many crossings.
func (p *Player) check(crossings int) {
	const often = 1 << 16
	if p.work += crossings; p.work > often {
		p.work = 0
		p.Stop.Check()
	}
}

// sized returns a slice of length n in s's memory if that suffices; its content is whatever it was.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// zeroed is sized with all zero.
func zeroed[T any](s []T, n int) []T {
	s = sized(s, n)
	clear(s)
	return s
}
