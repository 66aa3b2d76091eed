package packet

import (
	"cmp"
	"slices"
)

// rankedKey is an event that waits.
type rankedKey struct {
	key
	id int32 // a place of a link; -1 less the place of an injector
}

const (
	radixBits = 11
	radix     = 1 << radixBits
)

// agenda is events that wait.
type agenda struct {
	order []rankedKey
	spare []rankedKey // scratch
}

// byDigit sorts events by a digit of their keys, of rest, or of set where that is all ones, and leaves in their order those
// that have the same.
func (w *agenda) byDigit(shift int, set uint64) {
	from := [radix + 1]int32{}
	digit := func(e *rankedKey) uint64 { return (e.rest&^set | e.set&set) >> (shift & 63) % radix }
	for i := range w.order {
		from[digit(&w.order[i])+1]++
	}
	for i := range radix {
		from[i+1] += from[i]
	}
	for i := range w.order {
		at := &from[digit(&w.order[i])]
		w.spare[*at] = w.order[i]
		*at++
	}
	w.order, w.spare = w.spare, w.order
}

// fewRanked is how many sort in less time by comparisons than by digits, whose counts are more than they.
const fewRanked = 128

// sort sorts events by their keys.
func (w *agenda) sort() {
	if len(w.order) < fewRanked {
		slices.SortStableFunc(w.order, func(a, b rankedKey) int {
			if a.set == b.set {
				return cmp.Compare(a.rest, b.rest)
			}
			return cmp.Compare(a.set, b.set)
		})
		return
	}
	w.spare = slices.Grow(w.spare[:0], len(w.order))[:len(w.order)]
	var differ key
	for i := range w.order {
		differ.set |= w.order[i].set ^ w.order[0].set
		differ.rest |= w.order[i].rest ^ w.order[0].rest
	}
	for shift := 0; shift < 64; shift += radixBits {
		if differ.rest>>shift%radix != 0 {
			w.byDigit(shift, 0)
		}
	}
	for shift := 0; shift < 64; shift += radixBits {
		if differ.set>>shift%radix != 0 {
			w.byDigit(shift, ^uint64(0))
		}
	}
}

// merge takes over what another has; both are in order.
func (w *agenda) merge(other *agenda) {
	a, b := w.order, other.order
	if other.order = b[:0]; len(a) == 0 {
		w.order, other.order = b, a
		return
	}
	n := len(a) + len(b)
	all := slices.Grow(w.spare[:0], n)[:n]
	i, j, k := 0, 0, 0
	for ; i < len(a) && j < len(b); k++ {
		from, second := &a[i], int(b[j].before(&a[i].key))
		if second != 0 {
			from = &b[j]
		}
		all[k] = *from
		j += second
		i += 1 - second
	}
	copy(all[k+copy(all[k:], a[i:]):], b[j:])
	w.order, w.spare = all, a
}
