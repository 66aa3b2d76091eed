package topology

import (
	"math"
	"slices"

	"sim/internal/numbers"
)

// chains is how bundles take ports, pod after pod: in each of some chains of pods a bundle joins every two neighbours.
// All other bundles take ports at one end alone; the other is not held to its ports.
type chains struct {
	order []int     // pods, chain after chain
	next  []int32   // by pod: the bundle that joins it to the pod after it, -1 where a chain ends
	local [][]int32 // by pod: the other bundles that it pays for

	cost   [][]float64 // by place in order: the least that a chain costs up to there, by ports that its bundle takes of the next
	before [][]int     // the ports that the pod itself had lost then
	own    [][]float64 // by place: the least that local bundles cost, by the ports that they may take
	owned  [][][]int   // by place and local bundle: circuits of it then
}

// newChains joins pods into chains, by bundles in their order. What joins two others takes ports of the pod for which it
// matters more, which comes first by rank of its replica.
func newChains(p *Problem, rank []int) *chains {
	n := len(p.Ports)
	z := &chains{next: make([]int32, n), local: make([][]int32, n)}
	ends := make([][]int, n)  // neighbours in its chain
	group := numbers.Below(n) // by pod: names its chain
	joins := make([]bool, len(p.pods))
	for e, q := range p.pods {
		a, b := q[0], q[1]
		if group[a] == group[b] || len(ends[a]) == 2 || len(ends[b]) == 2 || p.replica(a) != p.replica(b) {
			continue
		}
		joins[e] = true
		ends[a], ends[b] = append(ends[a], e), append(ends[b], e)
		from, to := group[b], group[a]
		for k := range group {
			if group[k] == from {
				group[k] = to
			}
		}
	}
	for e, q := range p.pods {
		pays := q[0]
		if rank[p.replica(q[1])] < rank[p.replica(q[0])] {
			pays = q[1]
		}
		if !joins[e] {
			z.local[pays] = append(z.local[pays], int32(e))
		}
	}
	seen := make([]bool, n)
	for pod := range n {
		if seen[pod] || len(ends[pod]) == 2 {
			continue
		}
		for at, by := pod, -1; at >= 0; {
			seen[at] = true
			z.order = append(z.order, at)
			to := -1
			z.next[at] = -1
			for _, e := range ends[at] {
				if e != by {
					to, by = p.pods[e][0]+p.pods[e][1]-at, e
					z.next[at] = int32(e)
					break
				}
			}
			at = to
		}
	}
	z.cost, z.before = make([][]float64, n+1), make([][]int, n)
	z.own, z.owned = make([][]float64, n), make([][][]int, n)
	for k, pod := range z.order {
		z.cost[k+1], z.before[k] = make([]float64, slices.Max(p.Ports)+1), make([]int, slices.Max(p.Ports)+1)
		z.own[k] = make([]float64, p.Ports[pod]+1)
		for range z.local[pod] {
			z.owned[k] = append(z.owned[k], make([]int, p.Ports[pod]+1))
		}
	}
	z.cost[0] = make([]float64, slices.Max(p.Ports)+1)
	return z
}

// replica returns that of a pod.
func (p *Problem) replica(pod int) int { return p.Fabric.Pods[pod].Replica }

// cheapest returns the least that circuits of a box cost which fit the ports as far as chains hold them to these,
// infinity if none do, and in x which they are. cost is by bundle and circuits, counted from 1.
func (z *chains) cheapest(p *Problem, lo, hi []int, cost [][]float64, x []int) float64 {
	inf := math.Inf(1)
	for u := range z.cost[0] {
		z.cost[0][u] = inf
	}
	z.cost[0][0] = 0
	for k, pod := range z.order {
		have := p.Ports[pod]
		z.share(p, k, lo, hi, cost)
		own, so, to, before := z.own[k], z.cost[k], z.cost[k+1], z.before[k]
		for u := range to {
			to[u] = inf
		}
		put := func(taken int, c float64, circuits int) {
			for u := 0; u < len(so) && u+taken <= have; u++ {
				if sum := so[u] + own[have-u-taken] + c; sum < to[circuits] {
					to[circuits], before[circuits] = sum, u
				}
			}
		}
		e := z.next[pod]
		if e < 0 {
			put(0, 0, 0)
			continue
		}
		for n := lo[e]; n <= hi[e]; n++ {
			if taken := n * p.ends[e]; taken < len(to) {
				put(taken, cost[e][n-1], taken)
			}
		}
	}
	last := len(z.order)
	least := z.cost[last][0]
	if math.IsInf(least, 1) {
		return least
	}
	lost := 0
	for k := last - 1; k >= 0; k-- {
		pod := z.order[k]
		left := p.Ports[pod] - z.before[k][lost]
		if e := z.next[pod]; e >= 0 {
			x[e] = lost / p.ends[e]
			left -= lost
		}
		for i := len(z.local[pod]) - 1; i >= 0; i-- {
			e := z.local[pod][i]
			x[e] = z.owned[k][i][left]
			left -= x[e] * p.ends[e]
		}
		lost = z.before[k][lost]
	}
	return least
}

// share finds the least that the local bundles of a pod cost by the ports that they may take.
func (z *chains) share(p *Problem, k int, lo, hi []int, cost [][]float64) {
	own := z.own[k]
	clear(own)
	for i, e := range z.local[z.order[k]] {
		ends := p.ends[e]
		for b := len(own) - 1; b >= 0; b-- {
			best := math.Inf(1)
			for n := lo[e]; n <= hi[e] && n*ends <= b; n++ {
				if c := own[b-n*ends] + cost[e][n-1]; c < best {
					best, z.owned[k][i][b] = c, n
				}
			}
			own[b] = best
		}
	}
}
