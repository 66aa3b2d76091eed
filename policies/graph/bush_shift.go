package graph

import "math"

// joinTol is the relative excess over the cheapest path up to which an arc may join a bush.
const joinTol = 1e-3

// minExcess is the relative difference of two path prices above which flow moves. Smaller ones are
// mostly rounding errors of the sums of prices.
const minExcess = 1e-9

// Values of the argument used of setLabels.
const (
	anyArcs  = false
	usedArcs = true
)

// setLabels sets minPrice, maxPrice, minArc, maxArc and rank for the nodes of the bush of source
// i. If used is set, the costliest path only has arcs with flow.
func (b *bushAssignment) setLabels(i int, used bool) {
	n, m := b.Nodes(), len(b.To)
	member := b.member[i*m : (i+1)*m]
	flow := b.flow[i*m : (i+1)*m]
	for k, v := range b.order[i*n : i*n+b.numReached[i]] {
		b.rank[v] = int32(k)
		if k == 0 {
			b.minPrice[v], b.maxPrice[v] = 0, 0
			continue
		}

		minPrice := math.Inf(1)
		maxPrice := -1.0
		minArc := int32(-1)
		maxArc := int32(-1)
		for _, e := range b.enter[b.firstEnter[v]:b.firstEnter[v+1]] {
			if !member[e] {
				continue
			}
			u, p := b.From[e], b.price[e]
			if x := b.minPrice[u] + p; x < minPrice {
				minPrice, minArc = x, e
			}
			if x := b.maxPrice[u] + p; (!used || flow[e] > 0) && x > maxPrice {
				maxPrice, maxArc = x, e
			}
		}

		b.minPrice[v], b.maxPrice[v] = minPrice, max(0, maxPrice)
		b.minArc[v], b.maxArc[v] = minArc, maxArc
	}
}

// updateBush removes arcs without flow that are not on the cheapest path from the bush of source
// i. It adds arcs whose end is farther than their start by more than their price, measured along
// the costliest paths. Such arcs cannot close a cycle.
func (b *bushAssignment) updateBush(i int) {
	n, m := b.Nodes(), len(b.To)
	member := b.member[i*m : (i+1)*m]
	flow := b.flow[i*m : (i+1)*m]
	order := b.order[i*n : i*n+b.numReached[i]]

	// Remove arcs.
	b.setLabels(i, anyArcs)
	for _, v := range order[1:] {
		for _, e := range b.enter[b.firstEnter[v]:b.firstEnter[v+1]] {
			if flow[e] == 0 && e != b.minArc[v] {
				member[e] = false
			}
		}
	}

	// Add arcs. The source, order[0], has no arcs into it.
	b.setLabels(i, anyArcs)
	for _, u := range order {
		for e := b.Start[u]; e < b.Start[u+1]; e++ {
			v, p := b.To[e], b.price[e]
			if v != order[0] && b.maxPrice[u]+p < b.maxPrice[v] &&
				b.minPrice[u]+p < b.minPrice[v]*(1+joinTol) {
				member[e] = true
			}
		}
	}

	// Every arc of the bush now leads to a node with a larger maxPrice.
	sortBy(order, b.maxPrice)
}

// equaliseAll equalises the paths to each node of the bush of source i once, from the last node
// to the first.
func (b *bushAssignment) equaliseAll(i int) {
	n, m := b.Nodes(), len(b.To)
	b.setLabels(i, usedArcs)
	order := b.order[i*n : i*n+b.numReached[i]]
	flow := b.flow[i*m : (i+1)*m]
	for k := len(order) - 1; k > 0; k-- {
		v := order[k]
		if b.maxArc[v] >= 0 && b.maxArc[v] != b.minArc[v] &&
			b.maxPrice[v] > b.minPrice[v]*(1+minExcess) {
			b.equalise(v, flow)
		}
	}
}

// equalise takes a Newton step towards equal prices of the cheapest and the costliest path to v,
// from the node at which they diverge.
func (b *bushAssignment) equalise(v int32, flow []float64) {
	// Follow both paths back from v until they meet: always the one at the node with the higher
	// rank. Excess is the difference of the prices, slope its decrease per unit of flow that
	// moves.
	cheapArc, costlyArc := b.minArc[v], b.maxArc[v]
	cheapNode, costlyNode := b.From[cheapArc], b.From[costlyArc]
	excess := b.price[costlyArc] - b.price[cheapArc]
	slope := b.slope[costlyArc] + b.slope[cheapArc]
	maxShift := flow[costlyArc]
	for cheapNode != costlyNode {
		if b.rank[cheapNode] > b.rank[costlyNode] {
			cheapArc = b.minArc[cheapNode]
			cheapNode = b.From[cheapArc]
			excess -= b.price[cheapArc]
			slope += b.slope[cheapArc]
			continue
		}

		if costlyArc = b.maxArc[costlyNode]; costlyArc < 0 {
			return
		}
		costlyNode = b.From[costlyArc]
		excess += b.price[costlyArc]
		slope += b.slope[costlyArc]
		maxShift = min(maxShift, flow[costlyArc])
	}

	// Move flow from the costliest path to the cheapest, as far as the paths differ.
	if !(excess > 0) || maxShift == 0 {
		return
	}
	fork := cheapNode
	shift := min(excess/slope, maxShift)
	for u := v; u != fork; u = b.From[b.minArc[u]] {
		e := b.minArc[u]
		flow[e] += shift
		b.load[e] += shift
		b.setPrice(e)
	}

	for u := v; u != fork; u = b.From[b.maxArc[u]] {
		e := b.maxArc[u]
		flow[e] -= shift
		b.load[e] -= shift
		b.setPrice(e)
	}
}
