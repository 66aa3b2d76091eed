package topology

import (
	"math"
	"slices"

	"sim/internal/numbers"
)

// This file finds a topology with the minimum cost by dynamic programming. A topology gives each
// bundle, the set of circuits between two pods, a number of circuits. Its cost is a sum over bundles
// of a function of this number. Each circuit uses ports at both pods, and a pod has a limited number
// of ports.

// podChains is a relaxation of the port constraints for which the minimum can be computed exactly.
// Some bundles join the pods into disjoint chains. A chain bundle uses ports at both of its pods.
// Every other bundle is local: it uses ports at one of its pods, and the ports at its other pod are
// ignored.
//
// The minimum over these constraints is a lower bound on the minimum over all real topologies.
type podChains struct {
	order        []int     // pods, chain after chain
	nextBundle   []int32   // bundle to the next pod of the chain, indexed by pod; -1 at the end of a chain
	localBundles [][]int32 // local bundles that use ports of the pod, indexed by pod

	// Tables of the dynamic programme. The first index is a position in order. The pod at
	// position k is called pod k here, and bundle k is the chain bundle from pod k-1 to pod k.

	// prefixCost[k][u] is the minimum cost of the local bundles of pods 0..k-1 and of bundles
	// 1..k if bundle k uses u ports at each end. u is 0 if pod k starts a chain.
	prefixCost [][]float64
	// previousPorts[k][u] is the number of ports that bundle k uses in the minimum
	// prefixCost[k+1][u].
	previousPorts [][]int
	// localCost[k][u] is the minimum cost of the local bundles of pod k on u ports.
	// localCircuits[k][i][u] is the number of circuits of the i-th local bundle if it and the
	// local bundles before it share u ports.
	localCost     [][]float64
	localCircuits [][][]int
}

// newPodChains joins pods of the same replica into chains greedily, in the order of the
// bundles. A local bundle uses ports of its first pod. Between two replicas it uses ports of the
// replica with the lower rank, because that replica limits the makespan more. rank is indexed by
// replica.
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

		// Unite the two chains under one identifier.
		from, into := chainOf[b], chainOf[a]
		for k := range chainOf {
			if chainOf[k] == from {
				chainOf[k] = into
			}
		}
	}

	// Assign every other bundle to the pod whose ports it uses.
	for e, q := range p.endPods {
		if inChain[e] {
			continue
		}
		pod := q[0]
		if rank[p.replica(q[1])] < rank[p.replica(q[0])] {
			pod = q[1]
		}
		z.localBundles[pod] = append(z.localBundles[pod], int32(e))
	}

	// Follow each chain from one of its ends. A pod with two chain bundles is not an end.
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
				if e == arrivedBy {
					continue
				}
				next = p.endPods[e][0]
				if next == current {
					next = p.endPods[e][1]
				}
				arrivedBy = e
				z.nextBundle[current] = int32(e)
				break
			}
			current = next
		}
	}

	// Allocate the tables of the dynamic programme.
	maxPorts := slices.Max(p.Ports)
	z.prefixCost, z.previousPorts = make([][]float64, n+1), make([][]int, n)
	z.localCost, z.localCircuits = make([][]float64, n), make([][][]int, n)
	for k, pod := range z.order {
		z.prefixCost[k+1] = make([]float64, maxPorts+1)
		z.previousPorts[k] = make([]int, maxPorts+1)
		z.localCost[k] = make([]float64, p.Ports[pod]+1)
		for range z.localBundles[pod] {
			z.localCircuits[k] = append(z.localCircuits[k], make([]int, p.Ports[pod]+1))
		}
	}

	z.prefixCost[0] = make([]float64, maxPorts+1)
	return z
}

// replica returns the replica of a pod.
func (p *Problem) replica(pod int) int { return p.Fabric.Pods[pod].Replica }

// minimise returns the minimum cost over the topologies with lo[e] to hi[e] circuits of each bundle
// e that satisfy the relaxed port constraints, or infinity if no topology satisfies them. It stores
// the minimiser in x. cost[e][n-1] is the cost of n circuits of bundle e.
func (z *podChains) minimise(p *Problem, lo, hi []int, cost [][]float64, x []int) float64 {
	inf := math.Inf(1)
	for u := range z.prefixCost[0] {
		z.prefixCost[0][u] = inf
	}
	z.prefixCost[0][0] = 0
	for k, pod := range z.order {
		ports := p.Ports[pod]
		z.minimiseLocal(p, k, lo, hi, cost)
		local, prefix := z.localCost[k], z.prefixCost[k]
		extended, previous := z.prefixCost[k+1], z.previousPorts[k]
		for u := range extended {
			extended[u] = inf
		}

		// extend computes extended[used] for the next bundle with the given ports and cost. Ports
		// that neither this bundle nor the previous one uses are available to local bundles.
		extend := func(used int, bundleCost float64) {
			for u := 0; u < len(prefix) && u+used <= ports; u++ {
				if sum := prefix[u] + local[ports-u-used] + bundleCost; sum < extended[used] {
					extended[used], previous[used] = sum, u
				}
			}
		}
		e := z.nextBundle[pod]
		if e < 0 { // the chain ends
			const noPorts, noCost = 0, 0
			extend(noPorts, noCost)
			continue
		}
		for n := lo[e]; n <= hi[e]; n++ {
			if used := n * p.portsPerEnd[e]; used < len(extended) {
				extend(used, cost[e][n-1])
			}
		}
	}

	// Trace the minimiser back from the end of the last chain.
	last := len(z.order)
	best := z.prefixCost[last][0]
	if math.IsInf(best, 1) {
		return best
	}
	bundlePorts := 0 // ports of the chain bundle out of the pod at position k
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

// minimiseLocal computes localCost and localCircuits of the pod at position k: a knapsack over its
// local bundles, one bundle after another. It counts ports down, so that local[u] for fewer ports
// still excludes the current bundle.
func (z *podChains) minimiseLocal(p *Problem, k int, lo, hi []int, cost [][]float64) {
	local := z.localCost[k]
	clear(local)
	for i, e := range z.localBundles[z.order[k]] {
		portsPerCircuit := p.portsPerEnd[e]
		for ports := len(local) - 1; ports >= 0; ports-- {
			best := math.Inf(1)
			for n := lo[e]; n <= hi[e] && n*portsPerCircuit <= ports; n++ {
				if c := local[ports-n*portsPerCircuit] + cost[e][n-1]; c < best {
					best, z.localCircuits[k][i][ports] = c, n
				}
			}
			local[ports] = best
		}
	}
}
