package topology

import (
	"context"

	"sim/engine"
)

// The search of delta-joint has two bounds: the cheap one of flow.Evaluator's
// Bound, which mostly proves what is found, and the dearer QueueBound for where
// that leaves a gap. A box gets the latter when it comes up to be split or
// played.

const (
	// cheapShare is the part of the budget, one in so many, that is for cheap
	// bounds alone.
	cheapShare = 8
	// sharpShare is the part of what is left of it, one in so many, that one
	// sharp bound may take.
	sharpShare = 4
)

// again has the search start over with sharp bounds, once, where the cheap ones
// have left a gap.
func (s *jointSearch) again() bool {
	if s.sharp || s.best.circuits == nil || s.settled(s.leafs) {
		return false
	}
	s.restart(s.leafs)
	return !s.open.Empty()
}

// restart searches all topologies with sharp bounds. What was proved without
// them is kept.
func (s *jointSearch) restart(proved engine.Time) {
	s.sharp, s.proved, s.leafs = true, proved, never
	s.open.Clear()
	s.push(s.p.ones(), append([]int(nil), s.p.Useful...), proved)
}

// sharpen gives b its sharp bound where that is called for, and reports whether
// b is not to be looked at now: it has gone back to the open boxes, or cannot
// improve. When their part of the budget is spent on cheap bounds a sharp one is
// tried; it has the search start over if it says more.
func (s *jointSearch) sharpen(ctx context.Context, b *box) bool {
	if b.sharp || !s.sharp && (s.tried || s.spent() < 1.0/cheapShare) {
		return false
	}
	s.w.light(b.hi)
	bound, work := s.w.QueueBound(ctx, int64((1-s.spent())*float64(s.o.MaxEvaluations))/(sharpShare*s.p.cost()))
	s.best.evaluations += work
	s.tried = true
	switch {
	case bound <= b.bound:
		b.sharp = s.sharp
		return false
	case !s.sharp:
		s.restart(min(b.bound, s.leafs))
	case s.settled(bound):
		s.leafs = min(s.leafs, bound)
	default:
		b.bound, b.sharp = bound, true
		s.open.Enqueue(b)
	}
	return true
}
