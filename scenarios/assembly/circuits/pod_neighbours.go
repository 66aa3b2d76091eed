// This file records which pods exchange data, to check that pods have enough ports.

package circuits

import (
	"maps"
	"slices"
)

// PodNeighbours holds the set of pods that each pod exchanges data with, indexed by pod.
type PodNeighbours []map[int]bool

// Add records that two pods exchange data. It reports whether they are different pods.
func (j PodNeighbours) Add(a, b int) bool {
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

// FirstAbove returns the first pod with more neighbours than ports, and the number of its
// neighbours. The number is 0 if there is no such pod.
func (j PodNeighbours) FirstAbove(ports int) (pod, others int) {
	for pod, neighbours := range j {
		if len(neighbours) > ports {
			return pod, len(neighbours)
		}
	}
	return 0, 0
}

// Pairs returns the ordered pairs of neighbouring pods, sorted.
func (j PodNeighbours) Pairs() (pairs [][2]int) {
	for a, neighbours := range j {
		for _, b := range slices.Sorted(maps.Keys(neighbours)) {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}
