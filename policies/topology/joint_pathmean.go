package topology

import (
	"slices"

	"sim/engine"
)

// Where cheap bounds leave a gap, boxes get the bound of a mean of paths (mean.go). A good mean is found by playing paths
// and topologies against each other (Brown's fictitious play): the cheapest topology of the mean so far is answered by
// its longest path, which then is mixed in. A box goes on with the mean of the one that it is part of.

const (
	// rootPaths and morePaths are mixed into the mean for all topologies, and for a box.
	rootPaths, boxPaths = 200, 10
	// inheritedPaths is how many paths the mean of a box counts for in its parts, so that new ones matter there.
	inheritedPaths = 10
	// meanBoundDivisor is the part of the budget, one in so many, at which such bounds end; they begin at cheapShare.
	meanBoundDivisor = 2
	// minPodsForMeans is how many pods a replica has at least for means.
	minPodsForMeans = 12
	// maxMeanCosts is the most costs, of bundles by circuits, that a mean may have: each open box has one.
	maxMeanCosts = 4096
)

// meanBounder are what jointSearch needs for means.
type meanBounder struct {
	*pathCosts
	*podChains
	x    []int
	path []int32
}

// fictitiousPlay mixes paths into the mean of a box, and returns the best bound on the way, with the mean that has it in m.
func (s *jointSearch) fictitiousPlay(m *pathMean, lo, hi []int, paths int) engine.Time {
	best, kept := 0.0, pathMean{}
	for range paths {
		if s.meanBudgetUsed() {
			break
		}
		if m.numPaths == 0 {
			copy(s.meanBounder.x, hi)
		} else if bound := m.fixed + s.meanBounder.minimise(s.p, lo, hi, m.cost, s.meanBounder.x); bound > best {
			best, kept = bound, *m.clone()
			if s.cannotImprove(s.roundDown(bound)) {
				break
			}
		}
		s.charge(s.p, 1)
		s.evaluator.provision(s.meanBounder.x)
		s.meanBounder.path = s.evaluator.LongestPath(s.meanBounder.path[:0])
		s.meanBounder.mix(m, s.meanBounder.path, 2/float64(m.numPaths+2))
	}
	if best > 0 {
		*m = kept
	}
	return s.roundDown(best)
}

// roundDown rounds a bound of a mean down, by more than adding up its costs can have rounded it.
func (s *jointSearch) roundDown(bound float64) engine.Time {
	if bound >= float64(never) {
		return never
	}
	return engine.Time(bound*(1-relTol/100)) - tickTolerance
}

// hasLongReplicas reports whether means are worth their evaluations: replicas have many pods, whose ports upper corners count too
// often, and costs are few enough to keep.
func (p *Problem) hasLongReplicas() bool {
	pods, costs := map[int]int{}, 0
	most := 0
	for pod := range p.Ports {
		pods[p.replica(pod)]++
		most = max(most, pods[p.replica(pod)])
	}
	for _, n := range p.Useful {
		costs += n
	}
	return most >= minPodsForMeans && costs <= maxMeanCosts
}

// proveByPathMeans searches all topologies with bounds of means once, when their time has come, and reports whether that settles
// them. If it does not, it goes on with open boxes, of which b is one, and what has been proved.
func (s *jointSearch) proveByPathMeans(b *box[boxBound]) bool {
	if s.useQueueBound || s.meanBounder != nil || !s.isFair && s.usedFraction() < 1.0/plainBoundDivisor || s.best.circuits == nil || !s.p.hasLongReplicas() {
		return false
	}
	s.prepareMeans()
	open, leafs := s.open, s.closedBound
	s.open, s.closedBound, s.parentMean = newOpenBoxes(boxBound.compare), never, s.meanBounder.newMean()
	s.fictitiousPlay(s.parentMean, s.p.ones(), s.p.Useful, rootPaths)
	s.push(s.p.ones(), slices.Clone(s.p.Useful), min(leafs, b.value.bound))
	left := s.open.explore(func(v boxBound) bool { return s.cannotImprove(v.bound) }, s.meanBudgetUsed, s.visitBox)
	if left != nil {
		s.closedBound = min(s.closedBound, left.value.bound)
	}
	s.parentMean = nil
	if left == nil || s.cannotImprove(left.value.bound) {
		open.Clear()
		return true
	}
	s.provedBound, s.open, s.closedBound = max(s.provedBound, s.closedBound), open, leafs
	return false
}

// prepareMeans prepares for means.
func (s *jointSearch) prepareMeans() {
	s.meanBounder = &meanBounder{pathCosts: newPathCosts(s.p), podChains: newPodChains(s.p, s.replicaRank), x: s.p.ones()}
}

// meanBudgetUsed reports whether bounds of means have had their part of the budget, which under fair sharing is all.
func (s *jointSearch) meanBudgetUsed() bool {
	return s.stopReason() != "" || !s.isFair && s.usedFraction() >= 1.0/meanBoundDivisor
}

// branchByMean returns the bundle of a box whose circuits matter most to its mean, and the most circuits of its lesser half:
// those of the cheapest topology are in the half that has more to lose otherwise.
func (s *jointSearch) branchByMean(b *box[boxBound]) (e, most int) {
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
	s.meanBounder.minimise(s.p, b.lo, b.hi, m.cost, s.meanBounder.x)
	n, cost := s.meanBounder.x[e], m.cost[e]
	if n > b.lo[e] && cost[n-1]-cost[b.hi[e]-1] < cost[b.lo[e]-1]-cost[n-1] {
		n--
	}
	return e, min(n, b.hi[e]-1)
}

// tryCheapest tries the topology that is cheapest for the mean of a box, if it fits and its bound lets it be better.
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
