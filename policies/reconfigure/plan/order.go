package plan

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/cancellation"
)

const (
	// numKeys is the number of fields by which transmissions are sorted, numKeyBytes their
	// number of bytes.
	numKeys     = 7
	numKeyBytes = numKeys * 4
)

// key returns the i-th field in the order of sorting.
func (t *Tx) key(i int) int32 {
	switch i {
	case 0:
		return t.Phase
	case 1:
		return t.Slot
	case 2:
		return t.From
	case 3:
		return t.To
	case 4:
		return t.Src
	case 5:
		return t.Dst
	}

	return t.Chunk
}

// compare returns a negative number if t comes before u, a positive one if it comes after
// u, else 0.
func (t *Tx) compare(u *Tx) int {
	for i := range numKeys {
		if c := cmp.Compare(t.key(i), u.key(i)); c != 0 {
			return c
		}
	}
	return 0
}

// sortTx sorts transmissions that have equal key bytes before byte i. It is an in-place
// most-significant-digit radix sort (American flag sort). Plans have millions of
// transmissions, for which it takes a small part of the time of a comparison sort.
func sortTx(list []Tx, i int, stop cancellation.Condition) {
	const maxComparisonSort = 32 // a radix pass over its 256 buckets is slower for so short lists
	if len(list) <= maxComparisonSort || i == numKeyBytes {
		slices.SortFunc(list, func(a, b Tx) int { return a.compare(&b) })
		return
	}
	stop.Check()

	// digit is byte i of the key, most significant byte first. Flipping the sign bit sorts negative
	// values first.
	digit := func(t *Tx) uint8 { return uint8((uint32(t.key(i/4)) ^ 1<<31) >> (24 - i%4*8)) }

	// The bucket of digit d will be list[next[d]:end[d]], where next[d] is its first element that is
	// not in place yet.
	var next, end [1 << 8]int
	for k := range list {
		end[digit(&list[k])]++
	}
	if end[digit(&list[0])] == len(list) { // as in most bytes, because numbers are small
		sortTx(list, i+1, stop)
		return
	}
	sum := 0
	for d, n := range end {
		next[d], sum = sum, sum+n
		end[d] = sum
	}

	// Swap each element into its bucket, then sort the buckets by the next byte.
	for d := range next {
		for next[d] < end[d] {
			index := next[d]
			to := digit(&list[index])
			list[index], list[next[to]] = list[next[to]], list[index]
			next[to]++
		}
	}

	start := 0
	for _, bucketEnd := range end {
		if bucketEnd > start {
			sortTx(list[start:bucketEnd], i+1, stop)
		}
		start = bucketEnd
	}
}
