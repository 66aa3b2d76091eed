package topology

import (
	"slices"

	"sim/engine"
)

// The search of delta-joint has two bounds: the cheap one of flow.Evaluator's Bound, which mostly proves what is found,
// and the dearer QueueBound for where that leaves a gap. A box gets the latter when it comes up to be split or
// simulated.

const (
	// cheapShare is the part of the budget, one in so many, that is for cheap bounds alone.
	cheapShare = 8
	// sharpShare is the part of what is left of it, one in so many, that one sharp bound may take.
	sharpShare = 4
)

// again has the search start over with sharp bounds, once, where the cheap ones have left a gap.
func (s *jointSearch) again() bool {
	if s.sharp || s.best.circuits == nil || s.settled(s.leafs) {
		return false
	}
	s.restart(s.leafs)
	return s.open.Size() > 0
}

// restart searches all topologies with sharp bounds. What was proved without them is kept.
func (s *jointSearch) restart(proved engine.Time) {
	s.sharp, s.proved, s.leafs = true, proved, never
	s.open.Clear()
	s.push(s.p.ones(), slices.Clone(s.p.Useful), proved)
}

// sharpen gives b its sharp bound where that is called for, and reports whether b is not to be looked at now: it has
// gone back to the open boxes, or cannot improve. When their part of the budget is spent on cheap bounds a sharp one is
// tried; it has the search start over if it says more.
func (s *jointSearch) sharpen(b *box[jointBound]) bool {
	if b.value.sharp || !s.sharp && (s.tried || s.spent() < 1.0/cheapShare) {
		return false
	}
	s.w.provision(b.hi)
	bound, work := s.w.QueueBound(s.ctx, int64((1-s.spent())*float64(s.MaxEvaluations))/(sharpShare*s.p.cost()))
	s.spend(s.p, work)
	s.tried = true
	switch {
	case bound <= b.value.bound:
		b.value.sharp = s.sharp
		return false
	case !s.sharp:
		s.restart(min(b.value.bound, s.leafs))
	case s.settled(bound):
		s.leafs = min(s.leafs, bound)
	default:
		b.value = jointBound{bound: bound, sharp: true}
		s.open.Enqueue(b)
	}
	return true
}
