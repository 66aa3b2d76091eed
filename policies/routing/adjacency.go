package routing

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/internal/csr"
	"sim/policies/graph"
)

// adjacency is a network as routers of shortest paths see it: the live links of each node in
// order of creation. An arc is a live link, numbered by source and then by creation. A port is the
// number of a link among the links out of its node; paths (engine.Paths) are lists of ports.
type adjacency struct {
	nodes    int
	degree   int            // maximum number of ports of a node
	link     []int32        // link of each port, indexed by node*degree+port; -1 if there is no link
	out      *graph.Digraph // live links; the class of an arc is its port
	reversed *graph.Digraph // live links in reverse direction
}

// newAdjacency describes the network of p. Ports are the ports of its torus; in other graphs they
// number the links of a node. The error wraps ErrUnserved if a node has more ports than
// engine.Paths can represent.
func newAdjacency(p *Problem) (*adjacency, error) {
	n := p.Network
	g := &adjacency{nodes: int(n.Nodes)}

	// Number the outgoing links of each node in order of creation.
	port := make([]int32, len(n.Links)) // indexed by link
	count := make([]int32, n.Nodes)     // links out of each node so far
	for i, l := range n.Links {
		if l.From < 0 || l.To < 0 || l.From >= n.Nodes || l.To >= n.Nodes {
			return nil, fmt.Errorf("routing: %s joins nodes %d and %d; want nodes below %d",
				n.ResourceName(int32(i)), l.From, l.To, n.Nodes)
		}
		port[i] = count[l.From]
		if count[l.From]++; count[l.From] > engine.MaxPort+1 {
			return nil, fmt.Errorf("%w: node %d has more than %d outgoing links", ErrUnserved, l.From,
				engine.MaxPort+1)
		}
	}

	// The links of a torus have fixed ports instead.
	if p.Torus != nil {
		g.degree, g.link = p.Torus.Ports()
		for i, l := range g.link {
			if l >= 0 && (int(l) >= len(n.Links) || int(n.Links[l].From) != i/g.degree) {
				return nil, fmt.Errorf("%w: link %d of the network differs from %s", ErrUnserved, l, p.Torus)
			}
			if l >= 0 {
				port[l] = int32(i % g.degree)
			}
		}
	} else {
		g.degree = max(1, int(slices.Max(append(count, 0))))
		g.link = slices.Repeat([]int32{-1}, g.nodes*g.degree)
		for i, l := range n.Links {
			g.link[int(l.From)*g.degree+int(port[i])] = int32(i)
		}
	}

	// Links that are down are in neither direction.
	var out, into []graph.Arc
	for i, l := range n.Links {
		if l.Rate > 0 {
			out = append(out, graph.Arc{From: l.From, To: l.To, Class: port[i]})
			into = append(into, graph.Arc{From: l.To, To: l.From, Class: port[i]})
		}
	}

	g.out, g.reversed = graph.NewDigraph(g.nodes, out), graph.NewDigraph(g.nodes, into)
	return g, nil
}

// step returns the step along an arc of out, on channel 0.
func (g *adjacency) step(k int32) engine.Step {
	return engine.MakeStep(int(g.out.Class[k]), 0)
}

// destinationTree holds the hops from every node to one destination, computed by breadth-first
// search.
type destinationTree struct {
	*graph.Tree            // over reversed links; Breadth(dst) sets Dist, the hops to dst of each node
	net         *adjacency // the network
}

// newDestinationTree returns a tree without a destination.
func newDestinationTree(g *adjacency) *destinationTree {
	return &destinationTree{Tree: graph.NewTree(g.reversed), net: g}
}

// hops returns the hops from a node to the destination; negative if there is no path.
func (z *destinationTree) hops(node int32) int64 { return int64(z.Dist[node]) }

// nextArcs appends the arcs from a node that start a shortest path.
func (z *destinationTree) nextArcs(node int32, into []int32) []int32 {
	out, nearer := z.net.out, z.Dist[node]-1
	for k := out.Start[node]; k < out.Start[node+1]; k++ {
		if z.Dist[out.To[k]] == nearer {
			into = append(into, k)
		}
	}
	return into
}

// firstArc returns the first arc from a node that starts a shortest path; -1 if the destination
// is unreachable.
func (z *destinationTree) firstArc(node int32) int32 {
	out, nearer := z.net.out, z.Dist[node]-1
	for k := out.Start[node]; k < out.Start[node+1]; k++ {
		if z.Dist[out.To[k]] == nearer {
			return k
		}
	}
	return -1
}

// visitByDestination calls visit for the flows of p, grouped by destination and in order of their
// index. Before the flows of a destination it roots z there. Flows without a path are not
// visited; the error names them.
func (z *destinationTree) visitByDestination(
	ctx context.Context,
	p *Problem,
	visit func(i int32, f engine.Flow) error,
) error {
	start, byDst := flowsByDestination(z.net.nodes, p.Flows)
	var unreachable unreachablePairs
	for dst := range int32(z.net.nodes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if start[dst] == start[dst+1] {
			continue
		}
		z.Breadth(dst)

		for _, i := range byDst[start[dst]:start[dst+1]] {
			f := p.Flows[i]
			if z.Dist[f.Src] < 0 {
				unreachable.add(f)
				continue
			}
			if err := visit(i, f); err != nil {
				return err
			}
		}
	}

	return unreachable.err(reasonDisconnected)
}

// flowsByDestination returns the indices of the flows grouped by destination: the flows to node d
// are byDst[start[d]:start[d+1]].
func flowsByDestination(nodes int, flows []engine.Flow) (start, byDst []int32) {
	to := make([]int32, len(flows))
	for i, f := range flows {
		to[i] = f.Dst
	}
	return csr.Index(to, nodes)
}
