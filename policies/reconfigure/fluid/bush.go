package fluid

import (
	"math"
	"slices"
)

// bushes is a routing of all demand that is kept up as such and improved source by source: Algorithm B of traffic
// assignment (Dial, Transportation Research B 40, 2006). All chunks of a source are one flow on its bush, a subgraph
// without cycles; at every GPU that two paths of the bush reach, flow is shifted from the dearest path in use to the
// cheapest until both cost the same. Ways are never listed, so that many of one length cost nothing.
//
// The price of a link is length x exp(steep x (load / level - 1)) with the length fixed during a sweep over the
// sources. The price after it is the next length: the exponential method of multipliers (Tseng and Bertsekas,
// Mathematical Programming 60, 1993) for "load at most level", with a sweep in place of the exact minimum. So links
// need not differ in load for their prices to, and steep need not grow with 1/gap.
type bushes struct {
	in     *graph
	source []int32 // the GPUs that send
	// By source and GPU, n a source.
	demand []float64
	order  []int32 // the reach[i] GPUs that are reached, each after all before it in the bush
	near   []int32 // the same by distance at the prices last looked at
	reach  []int
	// By source and connection.
	flow, kept []float64
	member     []bool // in the bush
	// By connection.
	length, price, slope, load, keptLoad, proof []float64
	steep, level, links                         float64
	best                                        Result

	// Connections into v are enter[first[v]]..enter[first[v+1]].
	first, enter []int32
	// Scratch, by GPU.
	low, high []float64 // price of the cheapest and of the dearest path
	cheap     []int32   // last connections of these, -1 for none
	dear      []int32
	rank      []int32 // in order
	through   []float64
	fraction  []float64 // by connection
}

// newBushes routes everything on paths of fewest hops, evenly wherever they meet. demand sums to total.
func newBushes(in *graph, demand []float64, total float64) *bushes {
	n, m := in.n, len(in.to)
	b := &bushes{in: in}
	for s := range n {
		if row := demand[s*n : (s+1)*n]; slices.Max(row) > 0 {
			b.source = append(b.source, int32(s))
			for _, d := range row {
				b.demand = append(b.demand, d/total)
			}
		}
	}
	sources := len(b.source)
	b.reach, b.member = make([]int, sources), make([]bool, sources*m)
	for _, p := range []*[]float64{&b.length, &b.price, &b.slope, &b.load, &b.keptLoad, &b.proof, &b.fraction} {
		*p = make([]float64, m)
	}
	for _, p := range []*[]float64{&b.low, &b.high, &b.through} {
		*p = make([]float64, n)
	}
	for _, p := range []*[]int32{&b.cheap, &b.dear, &b.rank} {
		*p = make([]int32, n)
	}
	b.order, b.near = make([]int32, sources*n), make([]int32, sources*n)
	b.flow, b.kept = make([]float64, sources*m), make([]float64, sources*m)
	b.first, b.enter = make([]int32, n+1), make([]int32, m)
	for _, v := range in.to {
		b.first[v+1]++
	}
	for v := range n {
		b.first[v+1] += b.first[v]
	}
	place := append([]int32(nil), b.first...)
	for e, v := range in.to {
		b.enter[place[v]] = int32(e)
		place[v]++
		b.length[e], b.price[e] = 1, 1
		b.links += in.capacity[e]
	}
	for i := range b.source {
		b.plant(i)
	}
	return b
}

// plant makes the first bush of source i: all connections that lead away from it.
func (b *bushes) plant(i int) {
	in, n, m := b.in, b.in.n, len(b.in.to)
	hops := b.low
	for v := range hops {
		hops[v] = math.Inf(1)
	}
	queue := b.order[i*n : i*n : (i+1)*n]
	queue = append(queue, b.source[i])
	hops[b.source[i]] = 0
	for k := 0; k < len(queue); k++ {
		u := queue[k]
		for e := in.start[u]; e < in.start[u+1]; e++ {
			if v := in.to[e]; math.IsInf(hops[v], 1) {
				hops[v] = hops[u] + 1
				queue = append(queue, v)
			}
		}
	}
	b.reach[i] = len(queue)
	copy(b.near[i*n:], queue)
	for e, v := range in.to {
		if hops[in.from[e]] < hops[v] {
			b.member[i*m+e] = true
			b.flow[i*m+e] = 1 // a share, until made a flow by conserve
		}
	}
	b.conserve(i)
}

// conserve makes the flows of source i meet its demand, without what rounding has lost of them: by the shares in which
// they enter each GPU, from the last to the first.
func (b *bushes) conserve(i int) {
	n, m := b.in.n, len(b.in.to)
	order, flow := b.order[i*n:i*n+b.reach[i]], b.flow[i*m:(i+1)*m]
	through := b.through
	copy(through, b.demand[i*n:(i+1)*n])
	for k := len(order) - 1; k > 0; k-- {
		v := order[k]
		enter := b.enter[b.first[v]:b.first[v+1]]
		sum := 0.0
		for _, e := range enter {
			sum += flow[e]
		}
		if sum == 0 {
			if through[v] > 0 { // too little to have been a number before
				for _, e := range enter {
					if b.member[i*m+int(e)] {
						flow[e] = through[v]
						through[b.in.from[e]] += through[v]
						break
					}
				}
			}
			continue
		}
		x := through[v] / sum
		for _, e := range enter {
			if flow[e] > 0 {
				flow[e] *= x
				through[b.in.from[e]] += flow[e]
			}
		}
	}
}

// distances sets low to the price of the cheapest path to every GPU that source i reaches. It corrects labels in the
// order of the distances found the last time, which few changes of prices upset by much.
func (b *bushes) distances(i int) {
	in, low := b.in, b.low
	near := b.near[i*in.n : i*in.n+b.reach[i]]
	for _, v := range near {
		low[v] = math.Inf(1)
	}
	low[b.source[i]] = 0
	for again := true; again; {
		again = false
		for _, u := range near {
			d := low[u]
			for e := in.start[u]; e < in.start[u+1]; e++ {
				if x := d + b.price[e]; x < low[in.to[e]] {
					low[in.to[e]] = x
					again = true
				}
			}
		}
		if again {
			sortBy(near, low)
		}
	}
}

// sortBy sorts GPUs that are nearly sorted by rising key.
func sortBy(list []int32, key []float64) {
	for i := 1; i < len(list); i++ {
		v := list[i]
		x := key[v]
		j := i
		for ; j > 0 && key[list[j-1]] > x; j-- {
			list[j] = list[j-1]
		}
		list[j] = v
	}
}
