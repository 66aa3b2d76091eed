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

// Scheduler schedules paths. Its memory is reused from call to call; the zero value is ready. Not for concurrent use.
//
// Every priority here is fixed before the first slot, so all crossings of a link are sorted once, and the chunks that
// wait for it are bits at their places in that order: to add one and to take the first cost a few instructions each.
type Scheduler struct {
	nextPlace    []int32  // the next free place of each bucket (link, priority)
	nextCrossing []int32  // place of the path's next crossing, by place; -1 for the last one
	crossing     []int32  // index into Walks.Link, by place
	waiting      []uint64 // one bit a place
	summary      []uint64 // one bit a word of waiting
	wordLink     []int32  // link of each word of waiting
	queues       []linkQueue
	busyLinks    []int32
	arrivals     []int32
	byRank       []uint64

	// Stop is asked now and then: a check that ends the search that simulates.
	Stop halt.When
	work int // since it was last asked
}

// linkQueue is the queue of a link: how many chunks wait, and a word of waiting below which none does.
type linkQueue struct{ length, firstWord int32 }

// Schedule schedules paths on a number of links, each link in the given order and never idle while a chunk waits for it. It
// returns the slots taken, and in at, which has the length of w.Link, the slot of every crossing. Links must be in
// 0..links-1.
func (p *Scheduler) Schedule(links int, w *Paths, order Order, slotOf []int32) (slots int) {
	bound := p.prepare(links, w, order, true)
	slots, _ = p.run(math.MaxInt, int(bound), slotOf)
	return slots
}

// Slots is Play for its cost alone. It stops as soon as that is known to be above limit, and then ok is false.
func (p *Scheduler) Slots(links int, w *Paths, order Order, limit int) (slots int, ok bool) {
	bound := p.prepare(links, w, order, false)
	if int(bound) > limit {
		return int(bound), false
	}
	return p.run(limit, int(bound), nil)
}

// prepare sorts the crossings of every link by priority and makes the first of every path wait. It returns the larger
// of the largest load of a link and the longest path.
func (p *Scheduler) prepare(links int, w *Paths, order Order, hops bool) (bound int32) {
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
	p.nextPlace = resizeZero(p.nextPlace, links*int(keys))
	if order == Farthest {
		for i := range n {
			end := w.Start[i+1]
			p.check(int(end - w.Start[i]))
			for j := w.Start[i]; j < end; j++ {
				p.nextPlace[w.Link[j]*keys+longest-(end-j)]++
			}
		}
	} else {
		for _, l := range w.Link {
			p.nextPlace[l]++
		}
	}
	p.queues = resize(p.queues, links)
	p.wordLink = p.wordLink[:0]
	place := int32(0)
	bound = longest
	for l := range links {
		first := place
		p.queues[l] = linkQueue{0, first >> 6}
		for b := l * int(keys); b < (l+1)*int(keys); b++ {
			place, p.nextPlace[b] = place+p.nextPlace[b], place
		}
		bound = max(bound, place-first)
		// A word of bits belongs to one link.
		place = (place + 63) &^ 63
		for range (place - first) >> 6 {
			p.wordLink = append(p.wordLink, int32(l))
		}
	}
	p.nextCrossing = resize(p.nextCrossing, int(place))
	if hops {
		p.crossing = resize(p.crossing, int(place))
	}
	p.waiting = resizeZero(p.waiting, int(place)>>6)
	p.summary = resizeZero(p.summary, (len(p.waiting)+63)>>6)
	p.busyLinks = p.busyLinks[:0]
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
			index := p.nextPlace[b]
			p.nextPlace[b]++
			p.nextCrossing[index] = q
			if hops {
				p.crossing[index] = j
			}
			q = index
		}
		p.push(q)
	}
	return bound
}

// sortRanks returns the paths by (rank, number), the number in the low 32 bits, or nil where they are in order.
func (p *Scheduler) sortRanks(w *Paths) []uint64 {
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

func (p *Scheduler) push(place int32) {
	word := place >> 6
	p.waiting[word] |= 1 << (place & 63)
	p.summary[word>>6] |= 1 << (word & 63)
	l := p.wordLink[word]
	queue := &p.queues[l]
	if queue.firstWord > word {
		queue.firstWord = word
	}
	if queue.length++; queue.length == 1 {
		p.busyLinks = append(p.busyLinks, l)
	}
}

// run simulates slot after slot. at nil: not wanted.
func (p *Scheduler) run(limit, bound int, slotOf []int32) (slots int, ok bool) {
	for len(p.busyLinks) > 0 {
		p.check(len(p.busyLinks))
		if slots >= limit {
			return max(slots+1, bound), false
		}
		p.arrivals = p.arrivals[:0]
		stillBusy := p.busyLinks[:0]
		for _, l := range p.busyLinks {
			queue := &p.queues[l]
			word := queue.firstWord
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
				queue.firstWord = word
				set = p.waiting[word]
			}
			place := word<<6 | int32(bits.TrailingZeros64(set))
			set &= set - 1
			p.waiting[word] = set
			if set == 0 {
				p.summary[word>>6] &^= 1 << (word & 63)
			}
			if slotOf != nil {
				slotOf[p.crossing[place]] = int32(slots)
			}
			if q := p.nextCrossing[place]; q >= 0 {
				p.arrivals = append(p.arrivals, q)
			}
			if queue.length--; queue.length > 0 {
				stillBusy = append(stillBusy, l)
			}
		}
		p.busyLinks = stillBusy
		slots++
		for _, q := range p.arrivals {
			p.push(q)
		}
	}
	return slots, true
}

// check asks Stop once in so much work, which has grown by so many crossings.
func (p *Scheduler) check(crossings int) {
	const crossingsPerCheck = 1 << 16
	if p.work += crossings; p.work > crossingsPerCheck {
		p.work = 0
		p.Stop.Check()
	}
}

// resize returns a slice of length n in s's memory if that suffices; its content is whatever it was.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// resizeZero is sized with all zero.
func resizeZero[T any](s []T, n int) []T {
	s = resize(s, n)
	clear(s)
	return s
}
