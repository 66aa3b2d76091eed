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
	paths *engine.Paths
	slot  []int32 // open addressing: a path, -1 where free
	hash  []uint32
}

func newPathSet(degree int, link []int32, flows int) *pathSet {
	return &pathSet{
		paths: &engine.Paths{Degree: degree, Link: link, Class: make([]int32, flows)},
		slot:  slices.Repeat([]int32{-1}, 1<<10),
	}
}

// number returns the number of a path, which is kept if it is new.
func (s *pathSet) number(path []engine.Step) (int32, error) {
	const prime = 0x9E3779B97F4A7C15
	h := uint64(len(path)) * prime
	for _, k := range path {
		h = (h ^ uint64(k)) * prime
		h ^= h >> 29
	}
	key := uint32(h ^ h>>32)
	mask := uint32(len(s.slot) - 1)
	i := key & mask
	for ; s.slot[i] >= 0; i = (i + 1) & mask {
		if w := s.slot[i]; s.hash[w] == key && s.same(w, path) {
			return w, nil
		}
	}
	if len(s.paths.Step)+len(path) >= math.MaxInt32 {
		return 0, fmt.Errorf("routing: %d different paths have more than %d steps in all, too many to keep", len(s.paths.Start), math.MaxInt32)
	}
	w := s.paths.Add(path...)
	s.hash = append(s.hash, key)
	s.slot[i] = w
	if 2*len(s.hash) > len(s.slot) {
		s.grow()
	}
	return w, nil
}

func (s *pathSet) same(w int32, path []engine.Step) bool {
	of := s.paths.Step[s.paths.Start[w]:]
	return len(of) > len(path) && of[len(path)] == engine.Arrived && slices.Equal(of[:len(path)], path)
}

func (s *pathSet) grow() {
	s.slot = slices.Repeat([]int32{-1}, 2*len(s.slot))
	mask := uint32(len(s.slot) - 1)
	for w, key := range s.hash {
		i := key & mask
		for s.slot[i] >= 0 {
			i = (i + 1) & mask
		}
		s.slot[i] = int32(w)
	}
}

// add leads a flow by a path.
func (s *pathSet) add(flow int, path []engine.Step) error {
	w, err := s.number(path)
	s.paths.Class[flow] = w
	return err
}
