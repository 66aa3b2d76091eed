package topology

import "math"

// greedyAntichain returns the weight of the antichain that takes each transfer that waits for none taken before it: a
// lower bound at little cost.
func greedyAntichain(set []int32, r *relation, weight func(int32) float64) float64 {
	var taken []int32
	sum := 0.0
next:
	for _, j := range set {
		for _, i := range taken {
			if r.precedes(i, j) {
				continue next
			}
		}
		taken = append(taken, j)
		sum += weight(j)
	}
	return sum
}

// antichain finds maximum weight independent sets of conflict graphs that are partial orders (Alg. 2, Line 13). By
// Dilworth's theorem with weights (each element standing for as many copies, which do not exclude each other, as it
// weighs) the heaviest antichain weighs the total less the largest flow from left copies to right copies of the
// elements, where i on the left leads to j on the right when j waits for i. So the problem that is hard for graphs in
// general takes one maximum flow (Dinic).
type antichain struct {
	n          int32
	head, next []int32 // arcs of a node as a list; arc a^1 is a reversed
	to         []int32
	left       []float64 // capacity left
	level, at  []int32
	queue      []int32
}

// heaviest returns the weight of the heaviest antichain of set, whose elements ascend.
func (f *antichain) heaviest(set []int32, r *relation, weight func(int32) float64) float64 {
	n := int32(len(set))
	source, sink := 2*n, 2*n+1
	f.reset(2*n + 2)
	total := 0.0
	for a, i := range set {
		w := weight(i)
		total += w
		f.arc(source, int32(a), w)
		f.arc(n+int32(a), sink, w)
		for b := a + 1; b < len(set); b++ {
			if r.precedes(i, set[b]) {
				f.arc(int32(a), n+int32(b), math.Inf(1))
			}
		}
	}
	return total - f.maximum(source, sink)
}

func (f *antichain) reset(n int32) {
	f.n = n
	f.to, f.next, f.left = f.to[:0], f.next[:0], f.left[:0]
	f.head = f.head[:0]
	for range n {
		f.head = append(f.head, -1)
	}
}

func (f *antichain) arc(from, to int32, capacity float64) {
	f.to = append(f.to, to, from)
	f.left = append(f.left, capacity, 0)
	f.next = append(f.next, f.head[from], f.head[to])
	f.head[from] = int32(len(f.to) - 2)
	f.head[to] = int32(len(f.to) - 1)
}

// maximum returns the largest flow from source to sink.
func (f *antichain) maximum(source, sink int32) float64 {
	sum := 0.0
	for f.layer(source, sink) {
		f.at = append(f.at[:0], f.head...)
		for {
			got := f.push(source, sink, math.Inf(1))
			if got == 0 {
				break
			}
			sum += got
		}
	}
	return sum
}

// layer numbers the nodes by distance from source over arcs with capacity left and reports whether sink can be reached.
func (f *antichain) layer(source, sink int32) bool {
	f.level = f.level[:0]
	for range f.n {
		f.level = append(f.level, -1)
	}
	f.level[source] = 0
	f.queue = append(f.queue[:0], source)
	for k := 0; k < len(f.queue); k++ {
		v := f.queue[k]
		for a := f.head[v]; a >= 0; a = f.next[a] {
			if f.left[a] > 0 && f.level[f.to[a]] < 0 {
				f.level[f.to[a]] = f.level[v] + 1
				f.queue = append(f.queue, f.to[a])
			}
		}
	}
	return f.level[sink] >= 0
}

// push sends up to most from v towards sink down the layers.
func (f *antichain) push(v, sink int32, most float64) float64 {
	if v == sink {
		return most
	}
	for ; f.at[v] >= 0; f.at[v] = f.next[f.at[v]] {
		a := f.at[v]
		if f.left[a] <= 0 || f.level[f.to[a]] != f.level[v]+1 {
			continue
		}
		if got := f.push(f.to[a], sink, min(most, f.left[a])); got > 0 {
			f.left[a] -= got
			f.left[a^1] += got
			return got
		}
	}
	return 0
}
