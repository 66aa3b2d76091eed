package topology

import (
	"slices"

	"sim/internal/numbers"
)

// budget is the ports of pods, and how circuits take them. Circuits are counted by bundle.
type budget struct {
	// Useful is, by bundle, the number of circuits beyond which more cannot carry anything: the flows that the NICs
	// behind it fill, and the ports.
	Useful []int
	Ports  []int // by pod: U_p, for one replica's share of it

	ends []int    // by bundle: ports that a circuit takes at each end
	pods [][2]int // by bundle: the pods at its ends, the same twice for one to DP peers
}

// add adds a bundle.
func (b *budget) add(from, to, ends int) {
	b.pods, b.ends = append(b.pods, [2]int{from, to}), append(b.ends, ends)
}

// ones returns one circuit for each bundle.
func (b *budget) ones() []int { return slices.Repeat([]int{1}, len(b.ends)) }

// room returns the ports of each pod that x leaves free; negative where x overruns them.
func (b *budget) room(x []int) []int {
	free := slices.Clone(b.Ports)
	for e, n := range x {
		b.take(free, e, n)
	}
	return free
}

// take moves n circuits of bundle e into or (n < 0) out of the free ports.
func (b *budget) take(free []int, e, n int) {
	ends := b.pods[e]
	free[ends[0]] -= n * b.ends[e]
	if ends[1] != ends[0] {
		free[ends[1]] -= n * b.ends[e]
	}
}

// fits returns how many more circuits of bundle e the free ports allow.
func (b *budget) fits(free []int, e int) int {
	return max(0, min(free[b.pods[e][0]], free[b.pods[e][1]])/b.ends[e])
}

// price returns the ports that a circuit of bundle e takes.
func (b *budget) price(e int) int {
	if b.pods[e][0] == b.pods[e][1] {
		return b.ends[e]
	}
	return 2 * b.ends[e]
}

// used returns the ports that x takes at both ends.
func (b *budget) used(x []int) int {
	sum := 0
	for e, n := range x {
		sum += n * b.price(e)
	}
	return sum
}

// meets reports whether bundle e ends at a pod.
func (b *budget) meets(e, pod int) bool { return b.pods[e][0] == pod || b.pods[e][1] == pod }

// overrun reports whether x takes more ports of a pod than it has.
func (b *budget) overrun(x []int) bool {
	return slices.ContainsFunc(b.room(x), func(free int) bool { return free < 0 })
}

// Feasible reports whether x fits the ports and connects every bundle.
func (b *budget) Feasible(x []int) bool {
	return len(x) == len(b.ends) && !slices.ContainsFunc(x, func(n int) bool { return n < 1 }) && !b.overrun(x)
}

// clip takes circuits that can carry nothing.
func (b *budget) clip(x []int) {
	for e := range x {
		x[e] = min(x[e], b.Useful[e])
	}
}

// tighten lowers hi to what the ports leave beside lo; false where even lo does not fit.
func (b *budget) tighten(lo, hi []int) bool {
	if b.overrun(lo) {
		return false
	}
	free := b.room(lo)
	for e := range hi {
		hi[e] = min(hi[e], lo[e]+b.fits(free, e))
	}
	return true
}

// yield takes circuits of x where one of some pods is overrun, pod by pod, each from the bundle that pick names, until
// they fit; false where it names none (-1). nil is all pods.
func (b *budget) yield(x, pods []int, pick func(pod int) int) bool {
	free := b.room(x)
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
			b.take(free, e, -1)
		}
	}
	return true
}

// largest returns the bundle at a pod that has most circuits, of those that may have fewer than x; -1 if none may.
func (b *budget) largest(x []int, pod int, may func(e int) bool) int {
	best := -1
	for e := range x {
		if b.meets(e, pod) && x[e] > 1 && (best < 0 || x[e] > x[best]) && may(e) {
			best = e
		}
	}
	return best
}

// trim takes circuits from the largest bundle of each pod that is overrun.
func (b *budget) trim(x []int) {
	b.yield(x, nil, func(pod int) int { return b.largest(x, pod, func(int) bool { return true }) })
}

// fill gives free ports to the bundles that can use them, one circuit at a time in turn.
func (b *budget) fill(x []int, bundles []int) {
	free := b.room(x)
	for grew := true; grew; {
		grew = false
		for _, e := range bundles {
			if x[e] < b.Useful[e] && b.fits(free, e) > 0 {
				x[e]++
				b.take(free, e, 1)
				grew = true
			}
		}
	}
}

// grow adds circuits one by one to the bundle of highest weight, the lowest bundle where weights are equal, for as long
// as any fits. A bundle of negative weight gets none.
func (b *budget) grow(x []int, weight func(e int) float64) {
	free := b.room(x)
	for {
		best, most := -1, 0.0
		for e := range x {
			if b.fits(free, e) == 0 {
				continue
			}
			if w := weight(e); w >= 0 && (best < 0 || w > most) {
				best, most = e, w
			}
		}
		if best < 0 {
			return
		}
		x[best]++
		b.take(free, best, 1)
	}
}
