package graph

import "math"

// promising is how much worse than the best an arc may be, of the path's price, to join a bush.
const promising = 1e-3

// label sets low, high, cheap, dear and rank of the nodes of the bush of source i. If used is set, the costliest paths
// are paths of arcs with flow, else of any arcs of the bush.
func (b *bushes) label(i int, used bool) {
	n, m := b.Nodes(), len(b.To)
	member, flow := b.member[i*m:(i+1)*m], b.flow[i*m:(i+1)*m]
	for k, v := range b.order[i*n : i*n+b.reach[i]] {
		b.rank[v] = int32(k)
		if k == 0 {
			b.low[v], b.high[v] = 0, 0
			continue
		}
		low, high, cheap, dear := math.Inf(1), -1.0, int32(-1), int32(-1)
		for _, e := range b.enter[b.first[v]:b.first[v+1]] {
			if !member[e] {
				continue
			}
			u, p := b.From[e], b.price[e]
			if x := b.low[u] + p; x < low {
				low, cheap = x, e
			}
			if x := b.high[u] + p; (!used || flow[e] > 0) && x > high {
				high, dear = x, e
			}
		}
		b.low[v], b.high[v], b.cheap[v], b.dear[v] = low, max(0, high), cheap, dear
	}
}

// prune drops from the bush of source i what carries nothing and is not the cheapest path, and adds arcs that
// end farther away than they start by the dearest paths, by more than their price: so none can close a cycle.
func (b *bushes) prune(i int) {
	n, m := b.Nodes(), len(b.To)
	member, flow := b.member[i*m:(i+1)*m], b.flow[i*m:(i+1)*m]
	order := b.order[i*n : i*n+b.reach[i]]
	b.label(i, false)
	for _, v := range order[1:] {
		for _, e := range b.enter[b.first[v]:b.first[v+1]] {
			if flow[e] == 0 && e != b.cheap[v] {
				member[e] = false
			}
		}
	}
	b.label(i, false)
	for _, u := range order {
		for e := b.Start[u]; e < b.Start[u+1]; e++ {
			v, p := b.To[e], b.price[e]
			if v != order[0] && b.high[u]+p < b.high[v] && b.low[u]+p < b.low[v]*(1+promising) {
				member[e] = true
			}
		}
	}
	sortBy(order, b.high)
}

// shift equalises paths in the bush of source i, from the last node to the first, once each.
func (b *bushes) shift(i int) {
	n, m := b.Nodes(), len(b.To)
	b.label(i, true)
	order, flow := b.order[i*n:i*n+b.reach[i]], b.flow[i*m:(i+1)*m]
	for k := len(order) - 1; k > 0; k-- {
		v := order[k]
		if b.dear[v] >= 0 && b.dear[v] != b.cheap[v] && b.high[v] > b.low[v]*(1+1e-9) {
			b.equalise(v, flow)
		}
	}
}

// equalise takes a Newton step towards equal prices of the cheapest and the dearest path to v, from where they part.
func (b *bushes) equalise(v int32, flow []float64) {
	x, y := b.cheap[v], b.dear[v]
	p, q := b.From[x], b.From[y]
	more, slope, most := b.price[y]-b.price[x], b.slope[y]+b.slope[x], flow[y]
	for p != q {
		if b.rank[p] > b.rank[q] {
			x = b.cheap[p]
			p = b.From[x]
			more -= b.price[x]
			slope += b.slope[x]
			continue
		}
		if y = b.dear[q]; y < 0 {
			return
		}
		q = b.From[y]
		more += b.price[y]
		slope += b.slope[y]
		most = min(most, flow[y])
	}
	if !(more > 0) || most == 0 {
		return
	}
	part := min(more/slope, most)
	for u := v; u != p; u = b.From[b.cheap[u]] {
		e := b.cheap[u]
		flow[e] += part
		b.load[e] += part
		b.quote(e)
	}
	for u := v; u != p; u = b.From[b.dear[u]] {
		e := b.dear[u]
		flow[e] -= part
		b.load[e] -= part
		b.quote(e)
	}
}
