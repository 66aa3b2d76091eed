package topology

import (
	"math"
	"slices"

	"sim/internal/numbers"
)

// podChains divides the port constraints of the pods so that the cheapest topology can be
// found exactly by dynamic programming. Some bundles join the pods into disjoint chains.
// A chain bundle uses ports at both of its pods. Every other bundle is local: it uses
// ports at one of its pods only, and its use of ports at the other end is ignored (a
// relaxation).
type podChains struct {
	order        []int     // pods, chain after chain
	nextBundle   []int32   // bundle to the next pod of the chain, indexed by pod; -1 at the end of a chain
	localBundles [][]int32 // local bundles that use ports of the pod, indexed by pod

	// Tables of the dynamic programme, indexed by position in order. Row k of prefixCost
	// is the minimum cost of the pods before position k, indexed by the ports that the
	// bundle into the pod at k uses. previousPorts stores the minimising ports of the
	// bundle before it. localCost is the minimum cost of the local bundles, indexed by
	// the ports available to them, and localCircuits the minimising circuits, indexed by
	// local bundle and ports.
	prefixCost    [][]float64
	previousPorts [][]int
	localCost     [][]float64
	localCircuits [][][]int
}

// newPodChains joins pods of the same replica into chains greedily, in the order of the
// bundles. A local bundle between two replicas uses ports of the replica with the lower
// rank, for which it matters more. Otherwise it uses ports of its first pod.
func newPodChains(p *Problem, rank []int) *podChains {
	n := len(p.Ports)
	z := &podChains{nextBundle: make([]int32, n), localBundles: make([][]int32, n)}
	chainBundles := make([][]int, n) // bundles to the neighbours in its chain, indexed by pod
	chainOf := numbers.Below(n)      // identifies the chain, indexed by pod
	inChain := make([]bool, len(p.endPods))

	// Join pods into chains: each pod has at most two neighbours, and cycles are
	// excluded.
	for e, q := range p.endPods {
		a, b := q[0], q[1]
		if chainOf[a] == chainOf[b] || len(chainBundles[a]) == 2 || len(chainBundles[b]) == 2 ||
			p.replica(a) != p.replica(b) {
			continue
		}
		inChain[e] = true
		chainBundles[a], chainBundles[b] = append(chainBundles[a], e), append(chainBundles[b], e)
		// Merge the two chains.
		from, into := chainOf[b], chainOf[a]
		for k := range chainOf {
			if chainOf[k] == from {
				chainOf[k] = into
			}
		}
	}

	// Assign every other bundle to the pod whose ports it uses.
	for e, q := range p.endPods {
		payer := q[0]
		if rank[p.replica(q[1])] < rank[p.replica(q[0])] {
			payer = q[1]
		}
		if !inChain[e] {
			z.localBundles[payer] = append(z.localBundles[payer], int32(e))
		}
	}

	// Follow each chain from one of its ends.
	visited := make([]bool, n)
	for pod := range n {
		if visited[pod] || len(chainBundles[pod]) == 2 {
			continue
		}
		for current, arrivedBy := pod, -1; current >= 0; {
			visited[current] = true
			z.order = append(z.order, current)
			next := -1
			z.nextBundle[current] = -1
			for _, e := range chainBundles[current] {
				if e != arrivedBy {
					next, arrivedBy = p.endPods[e][0]+p.endPods[e][1]-current, e
					z.nextBundle[current] = int32(e)
					break
				}
			}
			current = next
		}
	}

	// Allocate the tables of the dynamic programme.
	z.prefixCost, z.previousPorts = make([][]float64, n+1), make([][]int, n)
	z.localCost, z.localCircuits = make([][]float64, n), make([][][]int, n)
	for k, pod := range z.order {
		z.prefixCost[k+1], z.previousPorts[k] = make([]float64, slices.Max(p.Ports)+1),
			make([]int, slices.Max(p.Ports)+1)
		z.localCost[k] = make([]float64, p.Ports[pod]+1)
		for range z.localBundles[pod] {
			z.localCircuits[k] = append(z.localCircuits[k], make([]int, p.Ports[pod]+1))
		}
	}

	z.prefixCost[0] = make([]float64, slices.Max(p.Ports)+1)
	return z
}

// replica returns the replica of a pod.
func (p *Problem) replica(pod int) int { return p.Fabric.Pods[pod].Replica }

// minimise returns the minimum cost over the topologies of the box [lo, hi] that satisfy
// the relaxed port constraints, or infinity if no topology satisfies them. It stores the
// minimiser in x. cost[e][n-1] is the cost of n circuits of bundle e.
func (z *podChains) minimise(p *Problem, lo, hi []int, cost [][]float64, x []int) float64 {
	inf := math.Inf(1)
	for u := range z.prefixCost[0] {
		z.prefixCost[0][u] = inf
	}
	z.prefixCost[0][0] = 0
	for k, pod := range z.order {
		ports := p.Ports[pod]
		z.minimiseLocal(p, k, lo, hi, cost)
		local, prefix, extended, previous := z.localCost[k], z.prefixCost[k], z.prefixCost[k+1],
			z.previousPorts[k]
		for u := range extended {
			extended[u] = inf
		}
		// extend adds a bundle to the next pod that uses the given ports here. Ports that
		// neither it nor the previous bundle uses are available to local bundles.
		extend := func(used int, c float64, circuits int) {
			for u := 0; u < len(prefix) && u+used <= ports; u++ {
				if sum := prefix[u] + local[ports-u-used] + c; sum < extended[circuits] {
					extended[circuits], previous[circuits] = sum, u
				}
			}
		}
		e := z.nextBundle[pod]
		if e < 0 {
			extend(0, 0, 0)
			continue
		}
		for n := lo[e]; n <= hi[e]; n++ {
			if used := n * p.portsPerEnd[e]; used < len(extended) {
				extend(used, cost[e][n-1], used)
			}
		}
	}

	// Trace the minimiser back from the end of the last chain.
	last := len(z.order)
	best := z.prefixCost[last][0]
	if math.IsInf(best, 1) {
		return best
	}
	bundlePorts := 0
	for k := last - 1; k >= 0; k-- {
		pod := z.order[k]
		remaining := p.Ports[pod] - z.previousPorts[k][bundlePorts]
		if e := z.nextBundle[pod]; e >= 0 {
			x[e] = bundlePorts / p.portsPerEnd[e]
			remaining -= bundlePorts
		}
		for i := len(z.localBundles[pod]) - 1; i >= 0; i-- {
			e := z.localBundles[pod][i]
			x[e] = z.localCircuits[k][i][remaining]
			remaining -= x[e] * p.portsPerEnd[e]
		}
		bundlePorts = z.previousPorts[k][bundlePorts]
	}

	return best
}

// minimiseLocal computes localCost and localCircuits of the pod at position k.
func (z *podChains) minimiseLocal(p *Problem, k int, lo, hi []int, cost [][]float64) {
	local := z.localCost[k]
	clear(local)
	for i, e := range z.localBundles[z.order[k]] {
		ends := p.portsPerEnd[e]
		for b := len(local) - 1; b >= 0; b-- {
			best := math.Inf(1)
			for n := lo[e]; n <= hi[e] && n*ends <= b; n++ {
				if c := local[b-n*ends] + cost[e][n-1]; c < best {
					best, z.localCircuits[k][i][b] = c, n
				}
			}
			local[b] = best
		}
	}
}
