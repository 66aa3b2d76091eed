package routing

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// pathSet stores the paths of flows and shares equal ones. Flows whose paths have the same ports
// and channels get the same class. Translations of a flow can differ in class: the virtual
// channel changes where a path crosses a wrap-around link.
type pathSet struct {
	paths *engine.Paths // result; Class is indexed by flow
	// slots is a hash table with linear probing: the index of a path, or -1 if the slot is free.
	slots  []int32
	hashes []uint32 // indexed by path
}

// newPathSet returns a set for the given number of flows over a network with the ports of link
// (see engine.Paths).
func newPathSet(degree int, link []int32, flows int) *pathSet {
	return &pathSet{
		paths: &engine.Paths{Degree: degree, Link: link, Class: make([]int32, flows)},
		slots: slices.Repeat([]int32{-1}, 1<<10),
	}
}

// intern returns the index of a path and adds the path if it is new.
func (s *pathSet) intern(path []engine.Step) (int32, error) {
	// A multiplicative hash (Fibonacci hashing): 2^64 divided by the golden ratio.
	const prime = 0x9E3779B97F4A7C15
	h := uint64(len(path)) * prime
	for _, k := range path {
		h = (h ^ uint64(k)) * prime
		h ^= h >> 29
	}

	key := uint32(h ^ h>>32)
	mask := uint32(len(s.slots) - 1)
	i := key & mask
	for ; s.slots[i] >= 0; i = (i + 1) & mask {
		if id := s.slots[i]; s.hashes[id] == key && s.equalPath(id, path) {
			return id, nil
		}
	}

	if len(s.paths.Step)+len(path) >= math.MaxInt32 {
		return 0, fmt.Errorf("routing: %d distinct paths have too many steps; want at most %d",
			len(s.paths.Start), math.MaxInt32)
	}
	id := s.paths.Add(path...)
	s.hashes = append(s.hashes, key)
	s.slots[i] = id
	if 2*len(s.hashes) > len(s.slots) {
		s.grow()
	}
	return id, nil
}

// equalPath reports whether the stored path id has the given steps.
func (s *pathSet) equalPath(id int32, path []engine.Step) bool {
	steps := s.paths.Step[s.paths.Start[id]:]
	return len(steps) > len(path) && steps[len(path)] == engine.Arrived && slices.Equal(steps[:len(path)], path)
}

// grow doubles the hash table.
func (s *pathSet) grow() {
	s.slots = slices.Repeat([]int32{-1}, 2*len(s.slots))
	mask := uint32(len(s.slots) - 1)
	for id, key := range s.hashes {
		i := key & mask
		for s.slots[i] >= 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = int32(id)
	}
}

// add sets the path of a flow.
func (s *pathSet) add(flow int, path []engine.Step) error {
	id, err := s.intern(path)
	s.paths.Class[flow] = id
	return err
}
