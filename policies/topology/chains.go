package topology

import (
	"math"
	"slices"

	"sim/internal/numbers"
)

// podChains is how bundles take ports, pod after pod: in each of some chains of pods a bundle joins every two neighbours.
// All other bundles take ports at one end alone; the other is not held to its ports.
type podChains struct {
	order        []int     // pods, chain after chain
	nextBundle   []int32   // by pod: the bundle that joins it to the pod after it, -1 where a chain ends
	localBundles [][]int32 // by pod: the other bundles that it pays for

	prefixCost    [][]float64 // by place in order: the least that a chain costs up to there, by ports that its bundle takes of the next
	previousPorts [][]int     // the ports that the pod itself had lost then
	localCost     [][]float64 // by place: the least that local bundles cost, by the ports that they may take
	localCircuits [][][]int   // by place and local bundle: circuits of it then
}

// newPodChains joins pods into chains, by bundles in their order. What joins two others takes ports of the pod for which it
// matters more, which comes first by rank of its replica.
func newPodChains(p *Problem, rank []int) *podChains {
	n := len(p.Ports)
	z := &podChains{nextBundle: make([]int32, n), localBundles: make([][]int32, n)}
	chainBundles := make([][]int, n) // neighbours in its chain
	chainOf := numbers.Below(n)      // by pod: names its chain
	inChain := make([]bool, len(p.endPods))
	for e, q := range p.endPods {
		a, b := q[0], q[1]
		if chainOf[a] == chainOf[b] || len(chainBundles[a]) == 2 || len(chainBundles[b]) == 2 || p.replica(a) != p.replica(b) {
			continue
		}
		inChain[e] = true
		chainBundles[a], chainBundles[b] = append(chainBundles[a], e), append(chainBundles[b], e)
		from, to := chainOf[b], chainOf[a]
		for k := range chainOf {
			if chainOf[k] == from {
				chainOf[k] = to
			}
		}
	}
	for e, q := range p.endPods {
		payer := q[0]
		if rank[p.replica(q[1])] < rank[p.replica(q[0])] {
			payer = q[1]
		}
		if !inChain[e] {
			z.localBundles[payer] = append(z.localBundles[payer], int32(e))
		}
	}
	visited := make([]bool, n)
	for pod := range n {
		if visited[pod] || len(chainBundles[pod]) == 2 {
			continue
		}
		for at, by := pod, -1; at >= 0; {
			visited[at] = true
			z.order = append(z.order, at)
			to := -1
			z.nextBundle[at] = -1
			for _, e := range chainBundles[at] {
				if e != by {
					to, by = p.endPods[e][0]+p.endPods[e][1]-at, e
					z.nextBundle[at] = int32(e)
					break
				}
			}
			at = to
		}
	}
	z.prefixCost, z.previousPorts = make([][]float64, n+1), make([][]int, n)
	z.localCost, z.localCircuits = make([][]float64, n), make([][][]int, n)
	for k, pod := range z.order {
		z.prefixCost[k+1], z.previousPorts[k] = make([]float64, slices.Max(p.Ports)+1), make([]int, slices.Max(p.Ports)+1)
		z.localCost[k] = make([]float64, p.Ports[pod]+1)
		for range z.localBundles[pod] {
			z.localCircuits[k] = append(z.localCircuits[k], make([]int, p.Ports[pod]+1))
		}
	}
	z.prefixCost[0] = make([]float64, slices.Max(p.Ports)+1)
	return z
}

// replica returns that of a pod.
func (p *Problem) replica(pod int) int { return p.Fabric.Pods[pod].Replica }

// minimise returns the least that circuits of a box cost which fit the ports as far as chains hold them to these,
// infinity if none do, and in x which they are. cost is by bundle and circuits, counted from 1.
func (z *podChains) minimise(p *Problem, lo, hi []int, cost [][]float64, x []int) float64 {
	inf := math.Inf(1)
	for u := range z.prefixCost[0] {
		z.prefixCost[0][u] = inf
	}
	z.prefixCost[0][0] = 0
	for k, pod := range z.order {
		ports := p.Ports[pod]
		z.minimiseLocal(p, k, lo, hi, cost)
		local, prefix, extended, previous := z.localCost[k], z.prefixCost[k], z.prefixCost[k+1], z.previousPorts[k]
		for u := range extended {
			extended[u] = inf
		}
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

// minimiseLocal finds the least that the local bundles of a pod cost by the ports that they may take.
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
