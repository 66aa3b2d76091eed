package pack

import (
	"math"
	"math/bits"
	"slices"

	"sim/policies/reconfigure/cancellation"
)

// Order is the priority by which a link selects one of the chunks that wait for it.
type Order uint8

const (
	// ByRank selects the smallest rank (the chunk-index priority of the paper, Sec. 5.1).
	ByRank Order = iota
	// Farthest selects the chunk with the largest number of remaining hops, and the
	// smallest rank if several are equal.
	Farthest
	// Orders is the number of orders.
	Orders
)

// Scheduler schedules the chunks of given paths in slots. Its memory is reused between
// calls. The zero value is ready. It is not safe for concurrent use.
//
// All priorities are fixed before the first slot. The crossings of each link are therefore
// sorted once, and every crossing has a place in this order. The chunks that wait are a bit
// set over the places, so that inserting a chunk and removing the first one takes a few
// instructions.
type Scheduler struct {
	nextPlace    []int32     // next free place, indexed by bucket (link, priority)
	nextCrossing []int32     // place of the next crossing of the same path, indexed by place; -1 after the last one
	crossing     []int32     // index into Paths.Link, indexed by place
	waiting      []uint64    // bit set of the places whose chunk waits
	summary      []uint64    // bit set of the words of waiting that are not 0
	wordLink     []int32     // link, indexed by word of waiting
	queues       []linkQueue // indexed by link
	busyLinks    []int32     // links for which chunks wait
	arrivals     []int32     // places of the chunks that moved in the current slot, at their next link
	byRank       []uint64    // scratch of sortRanks

	// Stop is polled during scheduling; see package cancellation.
	Stop cancellation.Condition
	work int // crossings since Stop was last polled
}

// linkQueue is the queue of a link: the number of chunks that wait, and a word of
// Scheduler.waiting at or before the first of them.
type linkQueue struct{ length, firstWord int32 }

// Schedule schedules paths on the given number of links. Each link serves chunks in the
// given order and is never idle while a chunk waits for it. It returns the number of slots,
// and stores the slot of each crossing in slotOf, which has the length of w.Link. Links
// must be in 0..links-1.
func (p *Scheduler) Schedule(links int, w *Paths, order Order, slotOf []int32) (slots int) {
	const noLimit = math.MaxInt
	bound := p.prepare(links, w, order, storeCrossings)
	slots, _ = p.run(noLimit, int(bound), slotOf)
	return slots
}

// Slots returns the number of slots of Schedule. It stops as soon as this number is known
// to exceed limit, and then returns a lower bound of it and false.
func (p *Scheduler) Slots(links int, w *Paths, order Order, limit int) (slots int, ok bool) {
	bound := p.prepare(links, w, order, !storeCrossings)
	if int(bound) > limit {
		return int(bound), false
	}
	var noSlots []int32
	return p.run(limit, int(bound), noSlots)
}

// storeCrossings is the value of the last parameter of prepare if the slot of each crossing is
// needed.
const storeCrossings = true

// prepare sorts the crossings of each link by priority and inserts the first crossing of
// each path into its queue. With stores, it also stores which crossing each place has. It
// returns a lower bound on the slots: the largest number of crossings of a link or of a
// path.
func (p *Scheduler) prepare(links int, w *Paths, order Order, stores bool) (bound int32) {
	n := w.Len()
	longest := int32(0)
	for i := range n {
		longest = max(longest, w.Start[i+1]-w.Start[i])
	}

	// A bucket is a pair of link and priority. With Farthest the priority is longest -
	// remaining hops.
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

	// Give each link a range of places, ordered by bucket. nextPlace becomes the first
	// place of each bucket.
	// Words have 64 places, so x >> 6 is the word of place x, and x & 63 its bit.
	p.queues = resize(p.queues, links)
	p.wordLink = p.wordLink[:0]
	place := int32(0)
	bound = longest
	for l := range links {
		first := place
		p.queues[l] = linkQueue{length: 0, firstWord: first >> 6}
		for b := l * int(keys); b < (l+1)*int(keys); b++ {
			place, p.nextPlace[b] = place+p.nextPlace[b], place
		}
		bound = max(bound, place-first)

		// A word of bits belongs to one link only.
		place = (place + 63) &^ 63
		for range (place - first) >> 6 {
			p.wordLink = append(p.wordLink, int32(l))
		}
	}

	p.nextCrossing = resize(p.nextCrossing, int(place))
	if stores {
		p.crossing = resize(p.crossing, int(place))
	}
	p.waiting = resizeZero(p.waiting, int(place)>>6)
	p.summary = resizeZero(p.summary, (len(p.waiting)+63)>>6)
	p.busyLinks = p.busyLinks[:0]

	// Assign a place to each crossing, from the end of each path, and let the first
	// crossing of the path wait.
	sorted := p.sortRanks(w)
	for i := range n {
		if sorted != nil {
			i = int(uint32(sorted[i])) // the path number, in the low 32 bits
		}
		start, end := w.Start[i], w.Start[i+1]
		p.check(int(end - start))
		if start == end {
			continue
		}

		q := int32(-1) // place of the next crossing of the path
		for j := end - 1; j >= start; j-- {
			b := w.Link[j]
			if keys > 1 {
				b = b*keys + longest - (end - j)
			}
			index := p.nextPlace[b]
			p.nextPlace[b]++
			p.nextCrossing[index] = q
			if stores {
				p.crossing[index] = j
			}
			q = index
		}

		p.push(q)
	}

	return bound
}

// sortRanks returns the paths sorted by rank and number, with the number in the low 32
// bits. It returns nil if they are in this order already.
func (p *Scheduler) sortRanks(w *Paths) []uint64 {
	if len(w.Rank) == 0 || slices.IsSorted(w.Rank) {
		return nil
	}

	// The rank is in the high 32 bits. Its sign bit is inverted, so that negative ranks sort before
	// positive ones as unsigned numbers.
	p.byRank = p.byRank[:0]
	for i, r := range w.Rank {
		p.byRank = append(p.byRank, uint64(uint32(r)^1<<31)<<32|uint64(i))
	}
	slices.Sort(p.byRank)
	return p.byRank
}

// push inserts a crossing into the queue of its link.
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

// run simulates slot after slot. slotOf may be nil if the slots of the crossings are not
// needed. If more than limit slots are needed, it returns a lower bound of them, at least
// bound, and false.
func (p *Scheduler) run(limit, bound int, slotOf []int32) (slots int, ok bool) {
	for len(p.busyLinks) > 0 {
		p.check(len(p.busyLinks))
		if slots >= limit {
			return max(slots+1, bound), false
		}
		p.arrivals = p.arrivals[:0]
		stillBusy := p.busyLinks[:0]
		for _, l := range p.busyLinks {
			// Find the first word of the queue with a waiting chunk.
			queue := &p.queues[l]
			word := queue.firstWord
			set := p.waiting[word]
			if set == 0 {
				// The queue is not empty, so the first bit after this word belongs to it.
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

			// Remove the first chunk from the queue. At the end of the slot it joins the
			// queue of its next link.
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

// check adds the given number of crossings to the work, and polls Stop after each 65,536 of
// them.
func (p *Scheduler) check(crossings int) {
	const crossingsPerCheck = 1 << 16
	if p.work += crossings; p.work > crossingsPerCheck {
		p.work = 0
		p.Stop.Check()
	}
}

// resize returns a slice of length n, in the memory of s if it suffices. Its content is
// undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// resizeZero is resize with all elements zero.
func resizeZero[T any](s []T, n int) []T {
	s = resize(s, n)
	clear(s)
	return s
}
