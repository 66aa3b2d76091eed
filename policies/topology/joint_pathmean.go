package topology

import (
	"slices"

	"sim/engine"
)

// This file adds a second kind of bound to the branch and bound of the policy delta-joint. A box is
// the set of topologies with lo[e] to hi[e] circuits of each bundle e. The plain bound of a box is
// the bound of its upper corner, the topology hi. If these bounds leave a gap, boxes are bounded by
// weighted means of paths (pathmean.go).
//
// Good weights come from fictitious play (Brown, "Iterative Solution of Games by Fictitious Play",
// 1951) between paths and topologies. In each round the cheapest topology for the current mean is
// computed, and the longest path under this topology is mixed into the mean. A box continues with
// the mean of its parent, the box that it was split from.

const (
	// rootPaths and boxPaths are the numbers of paths mixed into the mean of all
	// topologies and into the mean of a box.
	rootPaths, boxPaths = 200, 10
	// inheritedPaths limits the number of paths that a mean inherited from the parent
	// counts as. Otherwise new paths would have little weight in the mean of a box.
	inheritedPaths = 10
	// meanBoundDivisor limits the search with means to the budget up to 1/meanBoundDivisor. It
	// starts at 1/plainBoundDivisor.
	meanBoundDivisor = 2
	// minPodsForMeans is the minimum number of pods per replica for which means are used.
	// Upper corners count the ports of the same pod several times, and with more pods
	// this relaxation becomes weaker.
	minPodsForMeans = 12
	// maxMeanCosts is the maximum number of costs, over bundles and circuits, of a mean.
	// Each open box stores one mean.
	maxMeanCosts = 4096
)

// meanBounder computes the bounds of means of paths.
type meanBounder struct {
	*pathCosts         // times of transfers on paths; its method mix adds a path to a mean
	*podChains         // its method minimise finds the topology with the lowest value of a mean
	x          []int   // scratch: the cheapest topology of the current mean
	path       []int32 // scratch: the longest path under x
}

// fictitiousPlay mixes up to the given number of paths into the mean m of a box. It returns the
// best bound of all rounds and sets m to the mean with this bound. A mean without paths has no
// cheapest topology, so its first path comes from the topology hi.
func (s *jointSearch) fictitiousPlay(m *pathMean, lo, hi []int, paths int) engine.Time {
	best, bestMean := 0.0, pathMean{}
	for range paths {
		if s.meanBudgetUsed() {
			break
		}

		// Find the cheapest topology x of the current mean. Its cost is a bound.
		if m.numPaths == 0 {
			copy(s.meanBounder.x, hi)
		} else if bound := m.fixed + s.meanBounder.minimise(s.p, lo, hi, m.cost, s.meanBounder.x); bound > best {
			best, bestMean = bound, *m.clone()
			if s.cannotImprove(s.roundDown(bound)) {
				break
			}
		}

		// Mix the longest path on x into the mean.
		s.charge(s.p, 1)
		s.evaluator.provision(s.meanBounder.x)
		s.meanBounder.path = s.evaluator.LongestPath(s.meanBounder.path[:0])

		// With k paths in the mean, the next one gets the weight 2/(k+2). Later paths answer better
		// means, so they count more than in a plain average.
		s.meanBounder.mix(m, s.meanBounder.path, 2/float64(m.numPaths+2))
	}

	if best > 0 {
		*m = bestMean
	}
	return s.roundDown(best)
}

// roundDown converts the bound of a mean to ticks, rounded down by more than the errors
// of summation.
func (s *jointSearch) roundDown(bound float64) engine.Time {
	if bound >= float64(never) {
		return never
	}
	return engine.Time(bound*(1-relTol/100)) - tickTolerance
}

// hasLongReplicas reports whether bounds of means are worth their evaluations: a replica
// has at least minPodsForMeans pods, and a mean at most maxMeanCosts costs.
func (p *Problem) hasLongReplicas() bool {
	pods, costs := map[int]int{}, 0
	maxPods := 0
	for pod := range p.Ports {
		pods[p.replica(pod)]++
		maxPods = max(maxPods, pods[p.replica(pod)])
	}
	for _, n := range p.Useful {
		costs += n
	}
	return maxPods >= minPodsForMeans && costs <= maxMeanCosts
}

// proveByPathMeans runs, once and when the budget for plain bounds is used, a separate
// search of all topologies with bounds of means. It reports whether this settles the open
// boxes. If not, the search continues with them, and provedBound includes the new bound.
// b is the box just taken from the open ones.
func (s *jointSearch) proveByPathMeans(b *box[boxBound]) bool {
	if s.useQueueBound || s.meanBounder != nil ||
		!s.isFair && s.usedFraction() < 1.0/plainBoundDivisor ||
		s.best.circuits == nil || !s.p.hasLongReplicas() {
		return false
	}

	// Set the present search aside, and start another one with the box of all topologies.
	s.prepareMeans()
	open, closedBound := s.open, s.closedBound
	s.open, s.closedBound, s.parentMean = newOpenBoxes(boxBound.compare), never, s.meanBounder.newMean()
	s.fictitiousPlay(s.parentMean, s.p.ones(), s.p.Useful, rootPaths)
	s.push(s.p.ones(), slices.Clone(s.p.Useful), min(closedBound, b.value.bound))
	unfinished := s.open.explore(func(v boxBound) bool { return s.cannotImprove(v.bound) },
		s.meanBudgetUsed, s.visitBox)
	if unfinished != nil {
		s.closedBound = min(s.closedBound, unfinished.value.bound)
	}

	// If the new bound does not settle the open boxes, continue the search before.
	s.parentMean = nil
	if unfinished == nil || s.cannotImprove(unfinished.value.bound) {
		open.Clear()
		return true
	}

	s.provedBound, s.open, s.closedBound = max(s.provedBound, s.closedBound), open, closedBound
	return false
}

// prepareMeans initialises meanBounder.
func (s *jointSearch) prepareMeans() {
	s.meanBounder = &meanBounder{pathCosts: newPathCosts(s.p),
		podChains: newPodChains(s.p, s.replicaRank), x: s.p.ones()}
}

// meanBudgetUsed reports whether the budget for bounds of means is used. Under fair
// sharing it is the whole budget.
func (s *jointSearch) meanBudgetUsed() bool {
	return s.stopReason() != "" || !s.isFair && s.usedFraction() >= 1.0/meanBoundDivisor
}

// branchByMean returns the bundle whose circuits influence the mean of the box most, and
// the maximum number of its circuits in the lower part. The boundary is next to the
// cheapest topology of the mean, on the side where its part has more to lose.
func (s *jointSearch) branchByMean(b *box[boxBound]) (e, lowerMax int) {
	// loss is the increase of the mean from the maximum to the minimum circuits of bundle e.
	m := b.value.pathMean
	e = -1
	loss := 0.0
	for k, cost := range m.cost {
		if b.hi[k] > b.lo[k] {
			if l := cost[b.lo[k]-1] - cost[b.hi[k]-1]; e < 0 || l > loss {
				e, loss = k, l
			}
		}
	}

	if e < 0 {
		return e, 0
	}

	// The cheapest topology has n circuits of the bundle.
	s.meanBounder.minimise(s.p, b.lo, b.hi, m.cost, s.meanBounder.x)
	n, cost := s.meanBounder.x[e], m.cost[e]
	if n > b.lo[e] && cost[n-1]-cost[b.hi[e]-1] < cost[b.lo[e]-1]-cost[n-1] {
		n--
	}
	return e, min(n, b.hi[e]-1)
}

// tryCheapest simulates the cheapest topology for the mean of the box, if it fits the
// ports and its bound permits an improvement.
func (s *jointSearch) tryCheapest(b *box[boxBound]) {
	x := s.meanBounder.x
	s.meanBounder.minimise(s.p, b.lo, b.hi, b.value.pathMean.cost, x)
	if !s.p.Feasible(x) {
		return
	}
	s.charge(s.p, 1)
	if !s.cannotImprove(s.evaluator.bound(x)) {
		s.tryTopology(x)
	}
}
