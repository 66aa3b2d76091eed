package fluid

import "math"

// oracle finds shortest paths: one Dijkstra a source on the lengths of classes.
type oracle struct {
	in     *instance
	dist   []float64
	parent []int32 // connection by which the shortest path enters
	heap   []int32 // binary heap of GPUs on dist
	place  []int32 // in heap; -1 before, -2 after
}

func newOracle(in *instance) *oracle {
	return &oracle{in: in, dist: make([]float64, in.n), parent: make([]int32, in.n), heap: make([]int32, 0, in.n), place: make([]int32, in.n)}
}

// run sets dist and parent from s; length is by connection, >= 0.
func (o *oracle) run(s int32, length []float64) {
	g := o.in.graph
	for v := range o.dist {
		o.dist[v], o.parent[v], o.place[v] = math.Inf(1), -1, -1
	}
	o.dist[s] = 0
	o.heap = append(o.heap[:0], s)
	o.place[s] = 0
	for len(o.heap) > 0 {
		u := o.heap[0]
		o.place[u] = -2
		last := len(o.heap) - 1
		v := o.heap[last]
		o.heap = o.heap[:last]
		if last > 0 {
			o.down(v)
		}
		du := o.dist[u]
		for e := g.start[u]; e < g.start[u+1]; e++ {
			v := g.to[e]
			if d := du + length[e]; d < o.dist[v] {
				o.dist[v], o.parent[v] = d, e
				if o.place[v] == -1 {
					o.place[v] = int32(len(o.heap))
					o.heap = append(o.heap, v)
				}
				o.up(v)
			}
		}
	}
}

// up moves v towards the root.
func (o *oracle) up(v int32) {
	i, d := o.place[v], o.dist[v]
	for i > 0 {
		p := (i - 1) / 2
		if o.dist[o.heap[p]] <= d {
			break
		}
		o.heap[i] = o.heap[p]
		o.place[o.heap[i]] = i
		i = p
	}
	o.heap[i], o.place[v] = v, i
}

// down puts v at the root and moves it to its place.
func (o *oracle) down(v int32) {
	i, n, d := int32(0), int32(len(o.heap)), o.dist[v]
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && o.dist[o.heap[c+1]] < o.dist[o.heap[c]] {
			c++
		}
		if o.dist[o.heap[c]] >= d {
			break
		}
		o.heap[i] = o.heap[c]
		o.place[o.heap[i]] = i
		i = c
	}
	o.heap[i], o.place[v] = v, i
}
