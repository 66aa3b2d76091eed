package topology

import (
	"slices"

	"sim/engine"
)

// Where cheap bounds leave a gap, boxes get the bound of a mean of paths (mean.go). A good mean is found by playing paths
// and topologies against each other (Brown's fictitious play): the cheapest topology of the mean so far is answered by
// its longest path, which then is mixed in. A box goes on with the mean of the one that it is part of.

const (
	// firstPaths and morePaths are mixed into the mean for all topologies, and for a box.
	firstPaths, morePaths = 200, 10
	// inherited is how many paths the mean of a box counts for in its parts, so that new ones matter there.
	inherited = 10
	// meanShare is the part of the budget, one in so many, at which such bounds end; they begin at cheapShare.
	meanShare = 2
	// manyPods is how many pods a replica has at least for means.
	manyPods = 12
	// largestMean is the most costs, of bundles by circuits, that a mean may have: each open box has one.
	largestMean = 4096
)

// means are what jointSearch needs for means.
type means struct {
	*pathCosts
	*chains
	x    []int
	path []int32
}

// play mixes paths into the mean of a box, and returns the best bound on the way, with the mean that has it in m.
func (s *jointSearch) play(m *mean, lo, hi []int, paths int) engine.Time {
	best, kept := 0.0, mean{}
	for range paths {
		if s.pause() {
			break
		}
		if m.paths == 0 {
			copy(s.means.x, hi)
		} else if bound := m.fixed + s.means.cheapest(s.p, lo, hi, m.cost, s.means.x); bound > best {
			best, kept = bound, *m.clone()
			if s.settled(s.proven(bound)) {
				break
			}
		}
		s.spend(s.p, 1)
		s.w.provision(s.means.x)
		s.means.path = s.w.LongestPath(s.means.path[:0])
		s.means.mix(m, s.means.path, 2/float64(m.paths+2))
	}
	if best > 0 {
		*m = kept
	}
	return s.proven(best)
}

// proven rounds a bound of a mean down, by more than adding up its costs can have rounded it.
func (s *jointSearch) proven(bound float64) engine.Time {
	if bound >= float64(never) {
		return never
	}
	return engine.Time(bound*(1-rounding/100)) - fewTicks
}

// long reports whether means are worth their evaluations: replicas have many pods, whose ports upper corners count too
// often, and costs are few enough to keep.
func (p *Problem) long() bool {
	pods, costs := map[int]int{}, 0
	most := 0
	for pod := range p.Ports {
		pods[p.replica(pod)]++
		most = max(most, pods[p.replica(pod)])
	}
	for _, n := range p.Useful {
		costs += n
	}
	return most >= manyPods && costs <= largestMean
}

// byMeans searches all topologies with bounds of means once, when their time has come, and reports whether that settles
// them. If it does not, it goes on with open boxes, of which b is one, and what has been proved.
func (s *jointSearch) byMeans(b *box[jointBound]) bool {
	if s.sharp || s.means != nil || !s.fair && s.spent() < 1.0/cheapShare || s.best.circuits == nil || !s.p.long() {
		return false
	}
	s.average()
	open, leafs := s.open, s.leafs
	s.open, s.leafs, s.mean = newBoxes(jointBound.compare), never, s.means.none()
	s.play(s.mean, s.p.ones(), s.p.Useful, firstPaths)
	s.push(s.p.ones(), slices.Clone(s.p.Useful), min(leafs, b.value.bound))
	left := s.open.explore(func(v jointBound) bool { return s.settled(v.bound) }, s.pause, s.visit)
	if left != nil {
		s.leafs = min(s.leafs, left.value.bound)
	}
	s.mean = nil
	if left == nil || s.settled(left.value.bound) {
		open.Clear()
		return true
	}
	s.proved, s.open, s.leafs = max(s.proved, s.leafs), open, leafs
	return false
}

// average prepares for means.
func (s *jointSearch) average() {
	s.means = &means{pathCosts: newPathCosts(s.p), chains: newChains(s.p, s.rank), x: s.p.ones()}
}

// pause reports whether bounds of means have had their part of the budget, which under fair sharing is all.
func (s *jointSearch) pause() bool { return s.over() != "" || !s.fair && s.spent() >= 1.0/meanShare }

// influential returns the bundle of a box whose circuits matter most to its mean, and the most circuits of its lesser half:
// those of the cheapest topology are in the half that has more to lose otherwise.
func (s *jointSearch) influential(b *box[jointBound]) (e, most int) {
	m := b.value.mean
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
	s.means.cheapest(s.p, b.lo, b.hi, m.cost, s.means.x)
	n, cost := s.means.x[e], m.cost[e]
	if n > b.lo[e] && cost[n-1]-cost[b.hi[e]-1] < cost[b.lo[e]-1]-cost[n-1] {
		n--
	}
	return e, min(n, b.hi[e]-1)
}

// sample tries the topology that is cheapest for the mean of a box, if it fits and its bound lets it be better.
func (s *jointSearch) sample(b *box[jointBound]) {
	x := s.means.x
	s.means.cheapest(s.p, b.lo, b.hi, b.value.mean.cost, x)
	if !s.p.Feasible(x) {
		return
	}
	s.spend(s.p, 1)
	if !s.settled(s.w.bound(x)) {
		s.try(x)
	}
}
