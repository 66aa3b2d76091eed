// This file checks whether nodes can reach each other over working links.

package paths

import (
	"slices"

	"sim/engine"
	"sim/fabric/torus"
	"sim/policies/graph"
)

// isConnected reports whether each node that is up can reach every other over
// working links, by paths that engine.Paths can represent.
func (r *routingSystem) isConnected() bool {
	links := r.wholeNetwork().Links
	degree := make([]int, r.Whole.Nodes)
	works := func(i int) bool { return r.Health == nil || r.Health.Link[i] == torus.Works }
	for i := range links {
		if works(i) {
			degree[links[i].From]++
		}
	}

	if slices.Max(degree) > engine.MaxPort+1 { // paths name ports from 0 to MaxPort
		return false
	}

	var up []int32
	for n := range r.Whole.Nodes {
		if r.Down == nil || !r.Down[n] {
			up = append(up, n)
		}
	}

	return r.areConnected(works, up)
}

// areConnected reports whether each of the nodes reaches every other over the
// links that use selects. This holds if the first node reaches all others, along
// links and against them.
func (r *routingSystem) areConnected(use func(link int) bool, nodes []int32) bool {
	for _, reverse := range []bool{false, true} {
		tree := r.shortestPathTree(use, reverse)
		tree.Breadth(nodes[0]) // tree.Order then lists the nodes that it reached
		reached := make([]bool, r.Whole.Nodes)
		for _, n := range tree.Order {
			reached[n] = true
		}
		if slices.ContainsFunc(nodes, func(n int32) bool { return !reached[n] }) {
			return false
		}
	}
	return true
}

// connectsCall reports whether each rank of the collective call can reach every
// other.
func (r *routingSystem) connectsCall() bool {
	p, err := r.s.CallProblem()
	if err != nil {
		return false
	}
	works := func(link int) bool { return p.Network.Links[link].Rate > 0 }
	return r.areConnected(works, p.Group)
}

// wholeNetwork returns the network without faults. It builds the network of a
// torus on first use.
func (r *routingSystem) wholeNetwork() *engine.Network {
	if r.Whole == nil {
		var noFaults *torus.Health
		r.Whole = r.Torus.Network(noFaults, engine.Link{Rate: float64(r.s.Fabric.LinkRate)})
	}
	return r.Whole
}

// shortestPathTree returns a tree for breadth-first searches over the links that
// use selects, or over the reversed links.
func (r *routingSystem) shortestPathTree(use func(link int) bool, reverse bool) *graph.Tree {
	links := r.wholeNetwork().Links
	arcs := make([]graph.Arc, 0, len(links))
	for i, l := range links {
		switch {
		case !use(i):
		case reverse:
			arcs = append(arcs, graph.Arc{From: l.To, To: l.From})
		default:
			arcs = append(arcs, graph.Arc{From: l.From, To: l.To})
		}
	}
	return graph.NewTree(graph.NewDigraph(int(r.Whole.Nodes), arcs))
}
