package circuits

import (
	"maps"
	"slices"
)

// PodNeighbours holds by pod the others that it exchanges data with.
type PodNeighbours []map[int]bool

// Add notes that two pods exchange data, and reports whether they are two.
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

// FirstAbove returns the first pod that exchanges data with more others than it has ports, and how many these are; 0 if no pod
// does.
func (j PodNeighbours) FirstAbove(ports int) (pod, others int) {
	for pod, neighbours := range j {
		if len(neighbours) > ports {
			return pod, len(neighbours)
		}
	}
	return 0, 0
}

// Pairs returns the pairs of pods that exchange data, in order, each in both directions.
func (j PodNeighbours) Pairs() (pairs [][2]int) {
	for a, neighbours := range j {
		for _, b := range slices.Sorted(maps.Keys(neighbours)) {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}
