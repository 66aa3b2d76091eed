package fluid

import (
	"fmt"
	"slices"

	"sim/fabric/scaleup"
)

// graph is a topology without loops, its parallel edges merged.
type graph struct {
	n int
	// The connections out of u are start[u]..start[u+1], by rising to.
	start, from, to []int32
	capacity        []float64 // links of a connection
}

func newGraph(t scaleup.Topology, n int) *graph {
	edges := slices.DeleteFunc(t.Sorted(), func(e scaleup.Edge) bool { return e.From == e.To })
	g := &graph{n: n, start: make([]int32, n+1)}
	for i, e := range edges {
		if i > 0 && e == edges[i-1] {
			g.capacity[len(g.capacity)-1]++
			continue
		}
		g.from, g.to, g.capacity = append(g.from, e.From), append(g.to, e.To), append(g.capacity, 1)
		g.start[e.From+1]++
	}
	for u := range n {
		g.start[u+1] += g.start[u]
	}
	return g
}

// reaches returns an ErrDemand for the first demand that no path serves.
func (g *graph) reaches(demand []float64) error {
	seen, queue := make([]int32, g.n), make([]int32, 0, g.n)
	for s := range g.n {
		row := demand[s*g.n : (s+1)*g.n]
		seen[s] = int32(s) + 1
		queue = append(queue[:0], int32(s))
		for i := 0; i < len(queue); i++ {
			u := queue[i]
			for _, v := range g.to[g.start[u]:g.start[u+1]] {
				if seen[v] != int32(s)+1 {
					seen[v] = int32(s) + 1
					queue = append(queue, v)
				}
			}
		}
		for t, d := range row {
			if d > 0 && seen[t] != int32(s)+1 {
				return fmt.Errorf("%w: %v chunks from GPU %d to GPU %d, which no path of the topology joins", ErrDemand, d, s, t)
			}
		}
	}
	return nil
}

// single says whether no GPU has two neighbours to choose from, as with one switch.
func (g *graph) single() bool {
	for u := range g.n {
		if g.start[u+1]-g.start[u] > 1 {
			return false
		}
	}
	return true
}

// forced returns the largest load where every path is the only one. It is its own bound: take length 1 on that link.
func (g *graph) forced(demand []float64) float64 {
	load := make([]float64, len(g.to))
	for i, d := range demand {
		for u, v := int32(i/g.n), int32(i%g.n); d > 0 && u != v; u = g.to[g.start[u]] {
			load[g.start[u]] += d
		}
	}
	worst := 0.0
	for e, x := range load {
		worst = max(worst, x/g.capacity[e])
	}
	return worst
}
