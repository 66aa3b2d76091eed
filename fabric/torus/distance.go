package torus

// Distances are the hops of shortest paths between all ordered pairs of nodes, a node with itself included.
type Distances struct {
	Sum      int64   // of the hops of all pairs
	Average  float64 // Sum over the square of the number of nodes
	Diameter int32   // the most hops
	// Count is the number of pairs by hops. Pairs that no path joins are in none.
	Count   []int64
	Sources int // nodes that were searched from: 1 where all are identical
}

// Distances measures the torus by breadth-first search, from one node where all are identical, else from every one.
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

// neighbours returns the nodes next to each, by node and then dimension, up before down; the node itself where there is
// no link.
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

// search sets the hops from s to every node that can be reached, and returns these in the order of their hops.
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
