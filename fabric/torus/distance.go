package torus

// Distances describes the lengths in hops of shortest paths between all ordered pairs of nodes,
// including each node with itself.
type Distances struct {
	Sum      int64   // sum over all pairs
	Average  float64 // Sum divided by the square of the number of nodes
	Diameter int32   // longest distance
	// Count is the number of pairs, indexed by distance. Pairs without a path are not counted.
	Count   []int64
	Sources int // number of searches: 1 if all nodes are identical, otherwise one per node
}

// Distances computes the distances by breadth-first search, from one node if all are identical
// and otherwise from every node.
func (t *Torus) Distances() Distances {
	d := Distances{Sources: t.nodes}
	if t.Symmetric() {
		d.Sources = 1
	}

	next := t.neighbours()
	hops, queue := make([]int32, t.nodes), make([]int32, 0, t.nodes)
	weight := int64(t.nodes / d.Sources)
	for s := range int32(d.Sources) {
		queue = t.search(next, s, hops, queue)
		for _, n := range queue {
			h := hops[n]
			for int(h) >= len(d.Count) {
				d.Count = append(d.Count, 0)
			}
			d.Count[h] += weight
			d.Sum += weight * int64(h)
		}
	}
	d.Diameter = int32(len(d.Count)) - 1
	d.Average = float64(d.Sum) / (float64(t.nodes) * float64(t.nodes))
	return d
}

// neighbours returns the neighbours of each node in order of dimension, up before down. A
// missing link is represented by the node itself.
func (t *Torus) neighbours() []int32 {
	next := make([]int32, 0, 2*len(t.Dims)*t.nodes)
	for n := range int32(t.nodes) {
		for d := range t.Dims {
			for _, up := range []bool{true, false} {
				to, ok := t.Next(n, d, up)
				if !ok {
					to = n
				}
				next = append(next, to)
			}
		}
	}
	return next
}

// search sets hops to the distances from s, -1 for nodes that cannot be reached. next is the
// result of neighbours. It returns the reachable nodes in order of distance, in the memory of
// queue if that suffices.
func (t *Torus) search(next []int32, s int32, hops []int32, queue []int32) []int32 {
	for i := range hops {
		hops[i] = -1
	}
	hops[s] = 0
	queue = append(queue[:0], s)
	degree := int32(2 * len(t.Dims))
	for head := 0; head < len(queue); head++ {
		n := queue[head]
		for _, to := range next[n*degree : (n+1)*degree] {
			if hops[to] < 0 {
				hops[to] = hops[n] + 1
				queue = append(queue, to)
			}
		}
	}
	return queue
}
