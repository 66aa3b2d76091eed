package routing

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// pathSet collects paths of flows in order; those that take the same ports and channels are kept once, as one class.
// (Virtual channels change where paths cross wrap-around links, so that flows that translations take into each other
// need not share paths.)
type pathSet struct {
	paths  *engine.Paths
	slots  []int32 // open addressing: a path, -1 where free
	hashes []uint32
}

func newPathSet(degree int, link []int32, flows int) *pathSet {
	return &pathSet{
		paths: &engine.Paths{Degree: degree, Link: link, Class: make([]int32, flows)},
		slots: slices.Repeat([]int32{-1}, 1<<10),
	}
}

// intern returns the number of a path, which is kept if it is new.
func (s *pathSet) intern(path []engine.Step) (int32, error) {
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
		return 0, fmt.Errorf("routing: %d different paths have more than %d steps in all, too many to keep", len(s.paths.Start), math.MaxInt32)
	}
	id := s.paths.Add(path...)
	s.hashes = append(s.hashes, key)
	s.slots[i] = id
	if 2*len(s.hashes) > len(s.slots) {
		s.grow()
	}
	return id, nil
}

func (s *pathSet) equalPath(id int32, path []engine.Step) bool {
	steps := s.paths.Step[s.paths.Start[id]:]
	return len(steps) > len(path) && steps[len(path)] == engine.Arrived && slices.Equal(steps[:len(path)], path)
}

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

// add leads a flow by a path.
func (s *pathSet) add(flow int, path []engine.Step) error {
	id, err := s.intern(path)
	s.paths.Class[flow] = id
	return err
}
