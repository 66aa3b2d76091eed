package topology

import (
	"slices"

	"sim/internal/numbers"
)

// portBudget is the ports of pods, and how circuits take them. Circuits are counted by bundle.
type portBudget struct {
	// Useful is, by bundle, the number of circuits beyond which more cannot carry anything: the flows that the NICs
	// behind it fill, and the ports.
	Useful []int
	Ports  []int // by pod: U_p, for one replica's share of it

	portsPerEnd []int    // by bundle: ports that a circuit takes at each end
	endPods     [][2]int // by bundle: the pods at its ends, the same twice for one to DP peers
}

// addBundle adds a bundle.
func (b *portBudget) addBundle(from, to, ends int) {
	b.endPods, b.portsPerEnd = append(b.endPods, [2]int{from, to}), append(b.portsPerEnd, ends)
}

// ones returns one circuit for each bundle.
func (b *portBudget) ones() []int { return slices.Repeat([]int{1}, len(b.portsPerEnd)) }

// freePorts returns the ports of each pod that x leaves free; negative where x overruns them.
func (b *portBudget) freePorts(x []int) []int {
	free := slices.Clone(b.Ports)
	for e, n := range x {
		b.allocate(free, e, n)
	}
	return free
}

// allocate moves n circuits of bundle e into or (n < 0) out of the free ports.
func (b *portBudget) allocate(free []int, e, n int) {
	ends := b.endPods[e]
	free[ends[0]] -= n * b.portsPerEnd[e]
	if ends[1] != ends[0] {
		free[ends[1]] -= n * b.portsPerEnd[e]
	}
}

// maxAdditional returns how many more circuits of bundle e the free ports allow.
func (b *portBudget) maxAdditional(free []int, e int) int {
	return max(0, min(free[b.endPods[e][0]], free[b.endPods[e][1]])/b.portsPerEnd[e])
}

// portsPerCircuit returns the ports that a circuit of bundle e takes.
func (b *portBudget) portsPerCircuit(e int) int {
	if b.endPods[e][0] == b.endPods[e][1] {
		return b.portsPerEnd[e]
	}
	return 2 * b.portsPerEnd[e]
}

// portsOf returns the ports that x takes at both ends.
func (b *portBudget) portsOf(x []int) int {
	sum := 0
	for e, n := range x {
		sum += n * b.portsPerCircuit(e)
	}
	return sum
}

// endsAt reports whether bundle e ends at a pod.
func (b *portBudget) endsAt(e, pod int) bool { return b.endPods[e][0] == pod || b.endPods[e][1] == pod }

// exceedsPorts reports whether x takes more ports of a pod than it has.
func (b *portBudget) exceedsPorts(x []int) bool {
	return slices.ContainsFunc(b.freePorts(x), func(free int) bool { return free < 0 })
}

// Feasible reports whether x fits the ports and connects every bundle.
func (b *portBudget) Feasible(x []int) bool {
	return len(x) == len(b.portsPerEnd) && !slices.ContainsFunc(x, func(n int) bool { return n < 1 }) && !b.exceedsPorts(x)
}

// clipToUseful takes circuits that can carry nothing.
func (b *portBudget) clipToUseful(x []int) {
	for e := range x {
		x[e] = min(x[e], b.Useful[e])
	}
}

// tightenUpper lowers hi to what the ports leave beside lo; false where even lo does not fit.
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

// removeExcess takes circuits of x where one of some pods is overrun, pod by pod, each from the bundle that pick names, until
// they fit; false where it names none (-1). nil is all pods.
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

// largestBundle returns the bundle at a pod that has most circuits, of those that may have fewer than x; -1 if none may.
func (b *portBudget) largestBundle(x []int, pod int, accept func(e int) bool) int {
	best := -1
	for e := range x {
		if b.endsAt(e, pod) && x[e] > 1 && (best < 0 || x[e] > x[best]) && accept(e) {
			best = e
		}
	}
	return best
}

// reduceToFit takes circuits from the largest bundle of each pod that is overrun.
func (b *portBudget) reduceToFit(x []int) {
	b.removeExcess(x, nil, func(pod int) int { return b.largestBundle(x, pod, func(int) bool { return true }) })
}

// fillFreePorts gives free ports to the bundles that can use them, one circuit at a time in turn.
func (b *portBudget) fillFreePorts(x []int, bundles []int) {
	free := b.freePorts(x)
	for grew := true; grew; {
		grew = false
		for _, e := range bundles {
			if x[e] < b.Useful[e] && b.maxAdditional(free, e) > 0 {
				x[e]++
				b.allocate(free, e, 1)
				grew = true
			}
		}
	}
}

// addByWeight adds circuits one by one to the bundle of highest weight, the lowest bundle where weights are equal, for as long
// as any fits. A bundle of negative weight gets none.
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
