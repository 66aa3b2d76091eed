package pack

import (
	"errors"
	"math"

	"sim/fabric/scaleup"
	"sim/internal/csr"
	"sim/policies/reconfigure/cancellation"
)

// ErrUnreachable is returned if a topology has no path between two GPUs that exchange
// chunks.
var ErrUnreachable = errors.New("pack: no path between two GPUs")

// ShortestPaths has the shortest paths between all pairs of GPUs in one topology.
type ShortestPaths struct {
	Topology scaleup.Topology
	GPUs     int
	// HopsTo is an n x n matrix: HopsTo[v*n+u] is the number of hops from u to v, -1 if
	// there is no path.
	HopsTo []int32

	// edge[start[u]:start[u+1]] are the edges out of GPU u (Topology.Outgoing).
	start, edge []int32
	stop        cancellation.Condition
}

// Shortest finds the shortest paths between all pairs of GPUs 0..n-1, by breadth-first
// search backwards from each GPU. The edges of the topology must be in this range
// (Topology.Check). It polls stop, as do the methods of the result.
func Shortest(t scaleup.Topology, n int, stop cancellation.Condition) *ShortestPaths {
	s := &ShortestPaths{Topology: t, GPUs: n, stop: stop, HopsTo: make([]int32, n*n)}
	s.start, s.edge = t.Outgoing(n)
	first, edge := csr.Sort(t, n, func(e scaleup.Edge) int32 { return e.To })
	queue := make([]int32, 0, n)
	for v := range n {
		stop.Check()
		remaining := s.HopsTo[v*n : (v+1)*n]
		for u := range remaining {
			remaining[u] = -1
		}
		remaining[v] = 0
		queue = append(queue[:0], int32(v))

		for i := 0; i < len(queue); i++ {
			x := queue[i]
			for _, e := range edge[first[x]:first[x+1]] {
				if remaining[e.From] < 0 {
					remaining[e.From] = remaining[x] + 1
					queue = append(queue, e.From)
				}
			}
		}
	}

	return s
}

// WithStop returns the same paths with another function to poll.
func (s *ShortestPaths) WithStop(stop cancellation.Condition) *ShortestPaths {
	o := *s
	o.stop = stop
	return &o
}

// Hops returns the number of hops from u to v, -1 if there is no path.
func (s *ShortestPaths) Hops(u, v int) int { return int(s.HopsTo[v*s.GPUs+u]) }

// Append appends the edges of a shortest path from u to v to links: at each GPU, the first
// edge of the topology that is on a shortest path. It appends nothing if u = v or if there
// is no path.
func (s *ShortestPaths) Append(links []int32, u, v int) []int32 {
	remaining := s.HopsTo[v*s.GPUs : (v+1)*s.GPUs]
	for x := int32(u); remaining[x] > 0; {
		for _, e := range s.edge[s.start[x]:s.start[x+1]] {
			if to := s.Topology[e].To; remaining[to] == remaining[x]-1 {
				links = append(links, e)
				x = to
				break
			}
		}
	}

	return links
}

// Paths assigns a shortest path to each chunk. chunks is an n x n matrix of counts; paths
// are in its row-major order.
//
// Without balanced, all chunks of a flow take the path of Append. With balanced, each chunk
// takes the path that minimises the sum over its links of the fourth power of the loads,
// and is reassigned after all chunks have paths. The slots are bounded by the largest load;
// a large power approximates it, and still prefers the lighter of two paths with equal
// maxima.
//
// The error is ErrUnreachable with the first pair that has no path.
func (s *ShortestPaths) Paths(chunks []int32, balanced bool) (*Paths, error) {
	n := s.GPUs
	w := &Paths{Start: []int32{0}}
	for f, c := range chunks {
		u, v := f/n, f%n
		if v == 0 {
			s.stop.Check()
		}
		if c == 0 || u == v {
			continue
		}
		if s.HopsTo[v*n+u] < 0 {
			return nil, unreachable(u, v)
		}
		start := len(w.Link)
		w.Link = s.Append(w.Link, u, v)
		end := len(w.Link)
		w.Start = append(w.Start, int32(end))
		for range c - 1 {
			w.Link = append(w.Link, w.Link[start:end]...)
			w.Start = append(w.Start, int32(len(w.Link)))
		}
	}

	if balanced {
		s.balance(w)
	}
	return w, nil
}

// balancePasses is the number of passes over all paths. A fourth pass hardly reduces the
// largest load.
const balancePasses = 3

// balance reassigns the paths in place, as described for Paths. All shortest paths of a
// pair have the same number of hops.
func (s *ShortestPaths) balance(w *Paths) {
	n := s.GPUs
	load := make([]int32, len(s.Topology))
	cost := make([]float64, len(s.Topology)) // increase of the sum by one more path over the link
	price := func(e int32) {
		x := float64(load[e])
		cost[e] = 4*x*x*x + 6*x*x + 4*x + 1 // (x+1)^4 - x^4
	}
	for e := range cost {
		price(int32(e))
	}
	best := make([]float64, n)
	lastEdge := make([]int32, n)
	for v := range best {
		best[v] = math.Inf(1)
	}

	var reached []int32
	for pass := range balancePasses {
		for i := range w.Len() {
			if i%pathsPerCheck == 0 {
				s.stop.Check()
			}
			path := w.Link[w.Start[i]:w.Start[i+1]]
			if len(path) == 0 {
				continue
			}

			// Take the path out of the loads. In the first pass it is not in them.
			if pass > 0 {
				for _, e := range path {
					load[e]--
					price(e)
				}
			}

			src := s.Topology[path[0]].From
			dst := s.Topology[path[len(path)-1]].To
			remaining := s.HopsTo[int(dst)*n : (int(dst)+1)*n]
			reached = append(reached[:0], src)
			best[src] = 0

			// All paths to a GPU have the same number of hops, so all predecessors of a GPU
			// are visited before it.
			for j := 0; j < len(reached); j++ {
				x := reached[j]
				if x == dst {
					break
				}
				for _, e := range s.edge[s.start[x]:s.start[x+1]] {
					to := s.Topology[e].To
					if remaining[to] != remaining[x]-1 {
						continue
					}
					if math.IsInf(best[to], 1) {
						reached = append(reached, to)
					}
					if c := best[x] + cost[e]; c < best[to] {
						best[to], lastEdge[to] = c, e
					}
				}
			}

			// Store the new path, from its end, and add it to the loads.
			for x, j := dst, len(path)-1; j >= 0; j-- {
				path[j] = lastEdge[x]
				x = s.Topology[lastEdge[x]].From
			}
			for _, e := range path {
				load[e]++
				price(e)
			}
			for _, x := range reached {
				best[x] = math.Inf(1)
			}
		}
	}
}
