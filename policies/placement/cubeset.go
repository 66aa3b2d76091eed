package placement

import (
	"math/bits"

	"sim/workloads/fleet"
)

// CubeSet is a set of cubes of a pod. Cube i is bit i%64 of word i/64.
type CubeSet [fleet.MaxCubes / 64]uint64

// add adds a cube to the set.
func (s *CubeSet) add(cube int) { s[cube/64] |= 1 << (cube % 64) }

// remove removes a cube from the set.
func (s *CubeSet) remove(cube int) { s[cube/64] &^= 1 << (cube % 64) }

// Has reports whether the set has a cube.
func (s *CubeSet) Has(cube int) bool { return s[cube/64]>>(cube%64)&1 == 1 }

// Contains reports whether the set has all cubes of another set.
func (s *CubeSet) Contains(other *CubeSet) bool {
	for i, word := range other {
		if word&^s[i] != 0 {
			return false
		}
	}
	return true
}

// without returns the cubes of the set that are not in another set.
func (s *CubeSet) without(other *CubeSet) (rest CubeSet) {
	for i, word := range s {
		rest[i] = word &^ other[i]
	}
	return rest
}

// Len returns the number of cubes of the set.
func (s *CubeSet) Len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// First returns the cube with the lowest number, or fleet.MaxCubes if the set is empty.
func (s *CubeSet) First() int {
	for i, word := range s {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return fleet.MaxCubes
}

// list returns the cubes of the set in rising order.
func (s CubeSet) list() []int16 {
	list := make([]int16, 0, s.Len())
	for c := s.First(); c < fleet.MaxCubes; c = s.First() {
		s.remove(c)
		list = append(list, int16(c))
	}
	return list
}
