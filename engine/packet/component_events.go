package packet

// This file sorts the pending events of a componentSim at the end of a window of simulated
// time. Each worker sorts its events; then the sorted lists are merged. The order decides
// which simultaneous events occur first in the next window.

import (
	"cmp"
	"slices"
)

// keyedEvent is a pending event with its sort key: the words scheduleTimes and tieBreak of
// eventKey (component_window.go).
//
// An id of at least 0 is the next departure from link id of componentSim.links. A
// negative one is the next event of a sender: -1 stands for componentSim.senders[0], and
// -1-i for senders[i].
type keyedEvent struct {
	eventKey
	id int32
}

// A key has two words of 64 bits. The radix sort processes each word in digits of
// radixBits bits. With 11 bits, a word has six digits, and the counters of one digit fit
// into the L1 cache.
const (
	radixBits = 11
	radix     = 1 << radixBits // number of values of a digit
)

// eventList is a list of pending events that can be sorted by key.
type eventList struct {
	events  []keyedEvent
	scratch []keyedEvent // memory for sorting and merging
}

// The two words of a key, as masks for sortByDigit.
const (
	tieBreakWord      = uint64(0)
	scheduleTimesWord = ^uint64(0)
)

// sortByDigit sorts the events stably by one digit of their keys (counting sort). The
// digit starts at bit shift of the given word. The word is selected by a mask, because a
// branch would be slower. The mask 63 does not change shift, and saves a check of it.
func (w *eventList) sortByDigit(shift int, word uint64) {
	digit := func(e *keyedEvent) uint64 {
		return (e.tieBreak&^word | e.scheduleTimes&word) >> (shift & 63) % radix
	}

	// Count the events with each digit. The sums of the counts are the positions at which
	// the events with each digit start.
	bucketStart := [radix + 1]int32{}
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

// radixSortThreshold is the number of events below which a comparison sort is faster. For
// fewer events, a radix sort mainly clears and sums counters.
const radixSortThreshold = 128

// sort sorts the events stably by key, first by scheduleTimes and then by tieBreak. A
// radix sort processes the digits from the lowest to the highest one, and skips digits in
// which all keys are equal.
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
	var differ eventKey // bits in which some keys differ
	for i := range w.events {
		differ.scheduleTimes |= w.events[i].scheduleTimes ^ w.events[0].scheduleTimes
		differ.tieBreak |= w.events[i].tieBreak ^ w.events[0].tieBreak
	}

	for shift := 0; shift < 64; shift += radixBits {
		if differ.tieBreak>>shift%radix != 0 {
			w.sortByDigit(shift, tieBreakWord)
		}
	}

	for shift := 0; shift < 64; shift += radixBits {
		if differ.scheduleTimes>>shift%radix != 0 {
			w.sortByDigit(shift, scheduleTimesWord)
		}
	}
}

// merge moves the events of another list into w. Both must be sorted. The comparison
// selects the next event without a branch: eventKey.before returns 1 or 0.
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

	// One of the two lists has events left.
	k += copy(all[k:], a[i:])
	copy(all[k:], b[j:])
	w.events, w.scratch = all, a
}
