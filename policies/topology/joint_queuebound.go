package topology

import (
	"slices"

	"sim/engine"
)

// delta-joint has two bounds for a topology: the plain one (flow.Evaluator.Bound) and the
// sharp one (flow.Evaluator.QueueBound), which includes queueing and costs tens to
// thousands of times as much. If the plain bound leaves a gap, boxes are bounded by the
// sharp one when they are visited.
//
// jointSearch (joint.go) is the best-first search over boxes of topologies. Its closedBound is the
// minimum bound of the boxes that are simulated or excluded, so it bounds all their topologies.
const (
	// plainBoundDivisor reserves the budget up to 1/plainBoundDivisor for plain bounds.
	plainBoundDivisor = 8
	// queueBoundDivisor limits one queue bound to 1/queueBoundDivisor of the remaining budget.
	queueBoundDivisor = 4
)

// searchAgain restarts the search with queue bounds, once, if the plain bounds left a
// gap. It reports whether there are open boxes.
func (s *jointSearch) searchAgain() bool {
	if s.useQueueBound || s.best.circuits == nil || s.cannotImprove(s.closedBound) {
		return false
	}
	s.restartWithQueueBound(s.closedBound)
	return s.open.Size() > 0
}

// restartWithQueueBound restarts the search of all topologies with queue bounds. proved
// is a bound from the search before.
func (s *jointSearch) restartWithQueueBound(proved engine.Time) {
	s.useQueueBound, s.provedBound, s.closedBound = true, proved, never
	s.open.Clear()
	s.push(s.p.ones(), slices.Clone(s.p.Useful), proved)
}

// applyQueueBound computes the queue bound of box b if this is due. It returns true if b
// must not be visited now: it was returned to the open boxes with its new bound, or it
// cannot improve. After the budget for plain bounds is used, one queue bound is tried; if
// it is higher than the plain bound, the search restarts with queue bounds.
func (s *jointSearch) applyQueueBound(b *box[boxBound]) bool {
	if b.value.isQueueBound || !s.useQueueBound &&
		(s.triedQueueBound || s.usedFraction() < 1.0/plainBoundDivisor) {
		return false
	}

	// The upper corner of the box has the lowest bound.
	s.evaluator.provision(b.hi)
	bound, work := s.evaluator.QueueBound(s.ctx,
		int64((1-s.usedFraction())*float64(s.MaxEvaluations))/(queueBoundDivisor*s.p.evaluationCost()))
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
