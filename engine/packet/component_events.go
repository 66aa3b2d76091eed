package packet

import (
	"cmp"
	"slices"
)

// keyedEvent is a pending event with its sort key.
type keyedEvent struct {
	eventKey
	id int32 // index in componentSim.links; or -1 minus an index in componentSim.senders
}

// Radix sort of 64-bit words.
const (
	radixBits = 11
	radix     = 1 << radixBits
)

// eventList is a list of pending events that can be sorted by key.
type eventList struct {
	events  []keyedEvent
	scratch []keyedEvent
}

// sortByDigit sorts the events stably by one digit of their keys. The digit is in
// tieBreak if set is 0, and in scheduleTimes if all bits of set are 1.
func (w *eventList) sortByDigit(shift int, set uint64) {
	bucketStart := [radix + 1]int32{}
	digit := func(e *keyedEvent) uint64 { return (e.tieBreak&^set | e.scheduleTimes&set) >> (shift & 63) % radix }

	for i := range w.events {
		bucketStart[digit(&w.events[i])+1]++
	}

	for i := range radix {
		bucketStart[i+1] += bucketStart[i]
	}

	for i := range w.events {
		slot := &bucketStart[digit(&w.events[i])]
		w.scratch[*slot] = w.events[i]
		*slot++
	}

	w.events, w.scratch = w.scratch, w.events
}

// radixSortThreshold is the number of events below which a comparison sort is faster. A
// radix sort must then clear and sum more counters than there are events.
const radixSortThreshold = 128

// sort sorts the events by key. Digits in which all keys are equal are skipped.
func (w *eventList) sort() {
	if len(w.events) < radixSortThreshold {
		slices.SortStableFunc(w.events, func(a, b keyedEvent) int {
			if a.scheduleTimes == b.scheduleTimes {
				return cmp.Compare(a.tieBreak, b.tieBreak)
			}
			return cmp.Compare(a.scheduleTimes, b.scheduleTimes)
		})
		return
	}

	w.scratch = slices.Grow(w.scratch[:0], len(w.events))[:len(w.events)]
	var differ eventKey
	for i := range w.events {
		differ.scheduleTimes |= w.events[i].scheduleTimes ^ w.events[0].scheduleTimes
		differ.tieBreak |= w.events[i].tieBreak ^ w.events[0].tieBreak
	}

	for shift := 0; shift < 64; shift += radixBits {
		if differ.tieBreak>>shift%radix != 0 {
			w.sortByDigit(shift, 0)
		}
	}

	for shift := 0; shift < 64; shift += radixBits {
		if differ.scheduleTimes>>shift%radix != 0 {
			w.sortByDigit(shift, ^uint64(0))
		}
	}
}

// merge moves the events of another list into w. Both must be sorted. The comparison
// selects the next event without a branch.
func (w *eventList) merge(other *eventList) {
	a, b := w.events, other.events
	if other.events = b[:0]; len(a) == 0 {
		w.events, other.events = b, a
		return
	}

	n := len(a) + len(b)
	all := slices.Grow(w.scratch[:0], n)[:n]
	i, j, k := 0, 0, 0
	for ; i < len(a) && j < len(b); k++ {
		event, second := &a[i], int(b[j].before(&a[i].eventKey))
		if second != 0 {
			event = &b[j]
		}
		all[k] = *event
		j += second
		i += 1 - second
	}

	copy(all[k+copy(all[k:], a[i:]):], b[j:])
	w.events, w.scratch = all, a
}
