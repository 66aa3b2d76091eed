package plan

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/halt"
)

// orderKeys is how many fields transmissions are ordered by, orderBytes how many bytes these have.
const (
	numKeys     = 7
	numKeyBytes = numKeys * 4
)

// key returns field i of those that transmissions are ordered by.
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

// compare is negative where t comes before u.
func (t *Tx) compare(u *Tx) int {
	for i := range numKeys {
		if c := cmp.Compare(t.key(i), u.key(i)); c != 0 {
			return c
		}
	}
	return 0
}

// sortTx sorts transmissions that have the same bytes of keys before byte i. Plans have millions of them: to divide them
// by one byte after the other, where they lie, takes a small part of the time of comparing them.
func sortTx(list []Tx, i int, stop halt.When) {
	if len(list) <= 32 || i == numKeyBytes {
		slices.SortFunc(list, func(a, b Tx) int { return a.compare(&b) })
		return
	}
	stop.Check()
	digit := func(t *Tx) uint8 { return uint8((uint32(t.key(i/4)) ^ 1<<31) >> (24 - i%4*8)) } // negative ones first
	var next, end [1 << 8]int
	for k := range list {
		end[digit(&list[k])]++
	}
	sum := 0
	for d, n := range end {
		next[d], sum = sum, sum+n
		end[d] = sum
	}
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
