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
	walk := make([]int32, 0, g.n)
	for s := range g.n {
		// From s the path visits GPUs once each until it ends or closes; the demand beyond a link crosses it.
		walk = walk[:0]
		row := demand[s*g.n : (s+1)*g.n]
		for u := int32(s); len(walk) < g.n && g.start[u] < g.start[u+1]; u = g.to[g.start[u]] {
			walk = append(walk, g.start[u])
			if g.to[g.start[u]] == int32(s) {
				break
			}
		}
		// A path may run into a cycle without s: its second round visits nobody new.
		walk = firstVisits(g, walk, s)
		beyond := 0.0
		for i := len(walk) - 1; i >= 0; i-- {
			beyond += row[g.to[walk[i]]]
			load[walk[i]] += beyond
		}
	}
	worst := 0.0
	for e, x := range load {
		worst = max(worst, x/g.capacity[e])
	}
	return worst
}

// firstVisits cuts a path from s before the link that leads to a GPU visited already.
func firstVisits(g *graph, walk []int32, s int) []int32 {
	seen := make([]bool, g.n)
	seen[s] = true
	for i, e := range walk {
		if seen[g.to[e]] {
			return walk[:i]
		}
		seen[g.to[e]] = true
	}
	return walk
}
