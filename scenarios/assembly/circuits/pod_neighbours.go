package circuits

import (
	"maps"
	"slices"
)

// Joined holds by pod the others that it exchanges data with.
type Joined []map[int]bool

// Join notes that two pods exchange data, and reports whether they are two.
func (j Joined) Join(a, b int) bool {
	for _, ends := range [][2]int{{a, b}, {b, a}} {
		if j[ends[0]] == nil {
			j[ends[0]] = map[int]bool{}
		}
		if a != b {
			j[ends[0]][ends[1]] = true
		}
	}
	return a != b
}

// Beyond returns the first pod that exchanges data with more others than it has ports, and how many these are; 0 if no pod
// does.
func (j Joined) Beyond(ports int) (pod, others int) {
	for pod, with := range j {
		if len(with) > ports {
			return pod, len(with)
		}
	}
	return 0, 0
}

// Pairs returns the pairs of pods that exchange data, in order, each in both directions.
func (j Joined) Pairs() (pairs [][2]int) {
	for a, with := range j {
		for _, b := range slices.Sorted(maps.Keys(with)) {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}
