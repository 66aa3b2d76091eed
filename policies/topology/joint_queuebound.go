package topology

import (
	"slices"

	"sim/engine"
)

// The search of delta-joint has two bounds: the cheap one of flow.Evaluator's Bound, which mostly proves what is found,
// and the dearer QueueBound for where that leaves a gap. A box gets the latter when it comes up to be split or
// simulated.

const (
	// plainBoundDivisor is the part of the budget, one in so many, that is for cheap bounds alone.
	plainBoundDivisor = 8
	// queueBoundDivisor is the part of what is left of it, one in so many, that one sharp bound may take.
	queueBoundDivisor = 4
)

// searchAgain has the search start over with sharp bounds, once, where the cheap ones have left a gap.
func (s *jointSearch) searchAgain() bool {
	if s.useQueueBound || s.best.circuits == nil || s.cannotImprove(s.closedBound) {
		return false
	}
	s.restartWithQueueBound(s.closedBound)
	return s.open.Size() > 0
}

// restartWithQueueBound searches all topologies with sharp bounds. What was proved without them is kept.
func (s *jointSearch) restartWithQueueBound(proved engine.Time) {
	s.useQueueBound, s.provedBound, s.closedBound = true, proved, never
	s.open.Clear()
	s.push(s.p.ones(), slices.Clone(s.p.Useful), proved)
}

// applyQueueBound gives b its sharp bound where that is called for, and reports whether b is not to be looked at now: it has
// gone back to the open boxes, or cannot improve. When their part of the budget is spent on cheap bounds a sharp one is
// tried; it has the search start over if it says more.
func (s *jointSearch) applyQueueBound(b *box[boxBound]) bool {
	if b.value.isQueueBound || !s.useQueueBound && (s.triedQueueBound || s.usedFraction() < 1.0/plainBoundDivisor) {
		return false
	}
	s.evaluator.provision(b.hi)
	bound, work := s.evaluator.QueueBound(s.ctx, int64((1-s.usedFraction())*float64(s.MaxEvaluations))/(queueBoundDivisor*s.p.evaluationCost()))
	s.charge(s.p, work)
	s.triedQueueBound = true
	switch {
	case bound <= b.value.bound:
		b.value.isQueueBound = s.useQueueBound
		return false
	case !s.useQueueBound:
		s.restartWithQueueBound(min(b.value.bound, s.closedBound))
	case s.cannotImprove(bound):
		s.closedBound = min(s.closedBound, bound)
	default:
		b.value = boxBound{bound: bound, isQueueBound: true}
		s.open.Enqueue(b)
	}
	return true
}
