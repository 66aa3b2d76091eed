package topology

import (
	"slices"

	"sim/internal/numbers"
)

// portBudget holds the ports of the pods and the ports that circuits use. Topologies are
// indexed by bundle.
type portBudget struct {
	// Useful is the maximum number of useful circuits per bundle. It is limited by the
	// flows that the NICs behind the bundle can fill, and by the ports.
	Useful []int
	Ports  []int // ports per pod of one replica (U_p), indexed by pod

	portsPerEnd []int    // ports that a circuit uses at each end, indexed by bundle
	endPods     [][2]int // pods at both ends, indexed by bundle; equal if it leads to DP peer pods
}

// addBundle appends a bundle.
func (b *portBudget) addBundle(from, to, ends int) {
	b.endPods, b.portsPerEnd = append(b.endPods, [2]int{from, to}), append(b.portsPerEnd, ends)
}

// ones returns the topology with one circuit per bundle.
func (b *portBudget) ones() []int { return slices.Repeat([]int{1}, len(b.portsPerEnd)) }

// freePorts returns the ports that topology x leaves free, indexed by pod. A negative
// number means that x uses more ports than the pod has.
func (b *portBudget) freePorts(x []int) []int {
	free := slices.Clone(b.Ports)
	for e, n := range x {
		b.allocate(free, e, n)
	}
	return free
}

// allocate takes the ports of n circuits of bundle e from free. A negative n returns
// ports.
func (b *portBudget) allocate(free []int, e, n int) {
	ends := b.endPods[e]
	free[ends[0]] -= n * b.portsPerEnd[e]
	if ends[1] != ends[0] {
		free[ends[1]] -= n * b.portsPerEnd[e]
	}
}

// maxAdditional returns the number of further circuits of bundle e that fit the free
// ports.
func (b *portBudget) maxAdditional(free []int, e int) int {
	return max(0, min(free[b.endPods[e][0]], free[b.endPods[e][1]])/b.portsPerEnd[e])
}

// portsPerCircuit returns the ports that a circuit of bundle e uses in the pods of the
// problem.
func (b *portBudget) portsPerCircuit(e int) int {
	if b.endPods[e][0] == b.endPods[e][1] {
		return b.portsPerEnd[e]
	}
	return 2 * b.portsPerEnd[e]
}

// portsOf returns the ports that topology x uses at both ends, for one replica.
func (b *portBudget) portsOf(x []int) int {
	sum := 0
	for e, n := range x {
		sum += n * b.portsPerCircuit(e)
	}
	return sum
}

// endsAt reports whether bundle e ends at the pod.
func (b *portBudget) endsAt(e, pod int) bool { return b.endPods[e][0] == pod || b.endPods[e][1] == pod }

// exceedsPorts reports whether x uses more ports of a pod than it has.
func (b *portBudget) exceedsPorts(x []int) bool {
	return slices.ContainsFunc(b.freePorts(x), func(free int) bool { return free < 0 })
}

// Feasible reports whether x fits the ports and has at least one circuit per bundle.
func (b *portBudget) Feasible(x []int) bool {
	return len(x) == len(b.portsPerEnd) && !slices.ContainsFunc(x, func(n int) bool { return n < 1 }) &&
		!b.exceedsPorts(x)
}

// clipToUseful removes the circuits of x beyond the useful ones.
func (b *portBudget) clipToUseful(x []int) {
	for e := range x {
		x[e] = min(x[e], b.Useful[e])
	}
}

// tightenUpper lowers hi to the circuits that fit if all other bundles have lo circuits.
// It returns false if lo itself does not fit.
func (b *portBudget) tightenUpper(lo, hi []int) bool {
	if b.exceedsPorts(lo) {
		return false
	}
	free := b.freePorts(lo)
	for e := range hi {
		hi[e] = min(hi[e], lo[e]+b.maxAdditional(free, e))
	}
	return true
}

// allPods is the argument pods of removeExcess for all pods.
var allPods []int

// removeExcess removes circuits of x until the given pods do not use more ports than they have.
// It visits pod after pod. pick selects the bundle that loses a circuit; it returns -1 if no
// bundle may, and then removeExcess returns false.
func (b *portBudget) removeExcess(x, pods []int, pick func(pod int) int) bool {
	free := b.freePorts(x)
	if pods == nil {
		pods = numbers.Below(len(free))
	}
	for _, pod := range pods {
		for free[pod] < 0 {
			e := pick(pod)
			if e < 0 {
				return false
			}
			x[e]--
			b.allocate(free, e, -1)
		}
	}

	return true
}

// largestBundle returns the bundle at the pod with the most circuits in x among those
// that accept permits and that have more than one circuit. It returns -1 if there is
// none.
func (b *portBudget) largestBundle(x []int, pod int, accept func(e int) bool) int {
	best := -1
	for e := range x {
		if b.endsAt(e, pod) && x[e] > 1 && (best < 0 || x[e] > x[best]) && accept(e) {
			best = e
		}
	}
	return best
}

// reduceToFit removes circuits of the largest bundle at each pod that uses too many
// ports.
func (b *portBudget) reduceToFit(x []int) {
	b.removeExcess(x, allPods, func(pod int) int { return b.largestBundle(x, pod, anyBundle) })
}

// fillFreePorts gives free ports to the given bundles, one circuit at a time in turn, up
// to their useful circuits.
func (b *portBudget) fillFreePorts(x []int, bundles []int) {
	free := b.freePorts(x)
	for changed := true; changed; {
		changed = false
		for _, e := range bundles {
			if x[e] < b.Useful[e] && b.maxAdditional(free, e) > 0 {
				x[e]++
				b.allocate(free, e, 1)
				changed = true
			}
		}
	}
}

// addByWeight adds circuits to x one by one while any fits. Each goes to the bundle with
// the largest weight; ties go to the first bundle. Bundles with negative weight get none.
// weight is evaluated again after each circuit.
func (b *portBudget) addByWeight(x []int, weight func(e int) float64) {
	free := b.freePorts(x)
	for {
		best, highest := -1, 0.0
		for e := range x {
			if b.maxAdditional(free, e) == 0 {
				continue
			}
			if w := weight(e); w >= 0 && (best < 0 || w > highest) {
				best, highest = e, w
			}
		}
		if best < 0 {
			return
		}
		x[best]++
		b.allocate(free, best, 1)
	}
}
