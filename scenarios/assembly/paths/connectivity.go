package paths

import (
	"slices"

	"sim/engine"
	"sim/fabric/torus"
	"sim/policies/graph"
)

// isConnected reports whether routes lead from every node that sends to every other.
func (r *routingSystem) isConnected() bool {
	links := r.wholeNetwork().Links
	degree := make([]int, r.Whole.Nodes)
	works := func(i int) bool { return r.Health == nil || r.Health.Link[i] == torus.Works }
	for i := range links {
		if works(i) {
			degree[links[i].From]++
		}
	}

	if slices.Max(degree) > engine.MaxPort+1 {
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

// areConnected reports whether links of a sort lead from each of some nodes to every other.
func (r *routingSystem) areConnected(use func(link int) bool, nodes []int32) bool {
	for _, back := range []bool{false, true} {
		tree := r.shortestPathTree(use, back)
		tree.Breadth(nodes[0])
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

// connectsCall reports whether links lead from every rank of a call to every other.
func (r *routingSystem) connectsCall() bool {
	p, err := r.s.CallProblem()
	return err == nil && r.areConnected(func(link int) bool { return p.Network.Links[link].Rate > 0 }, p.Group)
}

// wholeNetwork returns the network without what is down.
func (r *routingSystem) wholeNetwork() *engine.Network {
	if r.Whole == nil {
		r.Whole = r.Torus.Network(nil, engine.Link{Rate: float64(r.s.Fabric.LinkRate)})
	}
	return r.Whole
}

// shortestPathTree returns shortest paths over the links of a sort, or against them.
func (r *routingSystem) shortestPathTree(use func(link int) bool, back bool) *graph.Tree {
	links := r.wholeNetwork().Links
	arcs := make([]graph.Arc, 0, len(links))
	for i, l := range links {
		switch {
		case !use(i):
		case back:
			arcs = append(arcs, graph.Arc{From: l.To, To: l.From})
		default:
			arcs = append(arcs, graph.Arc{From: l.From, To: l.To})
		}
	}
	return graph.NewTree(graph.NewDigraph(int(r.Whole.Nodes), arcs))
}
