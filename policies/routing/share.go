package routing

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// walkSet collects paths of flows in order; those that take the same ports and channels are kept once, as one class.
// (Virtual channels change where paths cross wrap-around links, so that flows that translations take into each other
// need not share paths.)
type walkSet struct {
	walks *engine.Paths
	slot  []int32 // open addressing: a path, -1 where free
	hash  []uint32
}

func newWalkSet(degree int, link []int32, flows int) *walkSet {
	return &walkSet{
		walks: &engine.Paths{Degree: degree, Link: link, Class: make([]int32, flows)},
		slot:  slices.Repeat([]int32{-1}, 1<<10),
	}
}

// number returns the number of a path, which is kept if it is new.
func (s *walkSet) number(walk []engine.Step) (int32, error) {
	const prime = 0x9E3779B97F4A7C15
	h := uint64(len(walk)) * prime
	for _, k := range walk {
		h = (h ^ uint64(k)) * prime
		h ^= h >> 29
	}
	key := uint32(h ^ h>>32)
	mask := uint32(len(s.slot) - 1)
	i := key & mask
	for ; s.slot[i] >= 0; i = (i + 1) & mask {
		if w := s.slot[i]; s.hash[w] == key && s.same(w, walk) {
			return w, nil
		}
	}
	if len(s.walks.Step)+len(walk) >= math.MaxInt32 {
		return 0, fmt.Errorf("routing: %d different paths have more than %d steps in all, too many to keep", len(s.walks.Start), math.MaxInt32)
	}
	w := s.walks.Add(walk...)
	s.hash = append(s.hash, key)
	s.slot[i] = w
	if 2*len(s.hash) > len(s.slot) {
		s.grow()
	}
	return w, nil
}

func (s *walkSet) same(w int32, walk []engine.Step) bool {
	of := s.walks.Step[s.walks.Start[w]:]
	return len(of) > len(walk) && of[len(walk)] == engine.Arrived && slices.Equal(of[:len(walk)], walk)
}

func (s *walkSet) grow() {
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
func (s *walkSet) add(flow int, walk []engine.Step) error {
	w, err := s.number(walk)
	s.walks.Class[flow] = w
	return err
}
