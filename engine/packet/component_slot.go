package packet

// This file defines the indices by which a componentWorker finds the events of one window.
// A window has at most maxKeyTimes different event times, which are numbered by time
// indices; see componentWindow.times.

import "math/bits"

const (
	timeBits = 6             // bits of a time index
	maxTimes = 1 << timeBits // size of arrays indexed by time index; greater than maxKeyTimes
)

// slotOf returns the slot of a link, given by its index in the component, and a time
// index. Slots are the indices of arrays with an entry for each link and time. Example:
// time index 3 of link 2 has slot 2*64+3.
//
// Here and below, the mask maxTimes-1 changes no valid index. It lets the compiler omit
// checks of the range.
func slotOf(link, t int) int { return link<<timeBits | t&(maxTimes-1) }

// slotTime returns the time index of a slot.
func slotTime(slot int32) int { return int(slot) & (maxTimes - 1) }

// slotLink returns the index of the link of a slot.
func slotLink(slot int32) int { return int(slot) >> timeBits }

// timeSet is a set of time indices. Bit t represents componentWindow.times[t].
type timeSet uint64

// add adds a time index.
func (s *timeSet) add(t int) { *s |= 1 << (t & (maxTimes - 1)) }

// remove removes a time index.
func (s *timeSet) remove(t int) { *s &^= 1 << (t & (maxTimes - 1)) }

// contains reports whether the set has a time index.
func (s timeSet) contains(t int) bool { return s&(1<<(t&(maxTimes-1))) != 0 }

// before returns the elements less than t.
func (s timeSet) before(t int) timeSet { return s & (1<<t - 1) }

// size returns the number of elements.
func (s timeSet) size() int { return bits.OnesCount64(uint64(s)) }

// first returns the smallest element of a set that is not empty.
func (s timeSet) first() int { return bits.TrailingZeros64(uint64(s)) & (maxTimes - 1) }

// last returns the largest element, or -1 if the set is empty.
func (s timeSet) last() int { return bits.Len64(uint64(s)) - 1 }
