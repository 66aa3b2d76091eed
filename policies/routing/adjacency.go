package routing

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/internal/csr"
	"sim/policies/graph"
)

// adjacency is any network as routing along shortest paths sees it: the live links of every node, the first created
// first.
type adjacency struct {
	nodes    int
	degree   int            // ports of a node, as engine.Paths has them
	link     []int32        // by node and port; -1 where there is none
	out      *graph.Digraph // live links; their classes are ports
	reversed *graph.Digraph // and the same reversed
}

// newAdjacency describes the network of p. Ports are those of its torus, or else links in the order of their numbers.
// It fails, with ErrUnserved, where a node has more ports than paths can name.
func newAdjacency(p *Problem) (*adjacency, error) {
	n := p.Network
	g := &adjacency{nodes: int(n.Nodes)}
	port, count := make([]int32, len(n.Links)), make([]int32, n.Nodes)
	for i, l := range n.Links {
		if l.From < 0 || l.To < 0 || l.From >= n.Nodes || l.To >= n.Nodes {
			return nil, fmt.Errorf("routing: %s leads from %d to %d of %d nodes", n.ResourceName(int32(i)), l.From, l.To, n.Nodes)
		}
		port[i] = count[l.From]
		if count[l.From]++; count[l.From] > engine.MaxPort+1 {
			return nil, fmt.Errorf("%w: node %d has more than %d links out", ErrUnserved, l.From, engine.MaxPort+1)
		}
	}
	if p.Torus != nil {
		g.degree, g.link = p.Torus.Ports()
		for i, l := range g.link {
			if l >= 0 && (int(l) >= len(n.Links) || int(n.Links[l].From) != i/g.degree) {
				return nil, fmt.Errorf("%w: link %d of the network is not that of %s", ErrUnserved, l, p.Torus)
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
	var out, into []graph.Arc
	for i, l := range n.Links {
		if l.Rate > 0 {
			out, into = append(out, graph.Arc{From: l.From, To: l.To, Class: port[i]}), append(into, graph.Arc{From: l.To, To: l.From, Class: port[i]})
		}
	}
	g.out, g.reversed = graph.NewDigraph(g.nodes, out), graph.NewDigraph(g.nodes, into)
	return g, nil
}

// step returns the step along an arc of out, on channel 0.
func (g *adjacency) step(k int32) engine.Step { return engine.MakeStep(int(g.out.Class[k]), 0) }

// destinationTree is the hops from every node to one destination.
type destinationTree struct {
	*graph.Tree // of reversed links, from the destination
	net         *adjacency
}

func newDestinationTree(g *adjacency) *destinationTree {
	return &destinationTree{graph.NewTree(g.reversed), g}
}

// hops returns the hops from a node; negative where no path leads from there.
func (z *destinationTree) hops(node int32) int64 { return int64(z.Dist[node]) }

// nextArcs appends the arcs of out from a node on shortest paths.
func (z *destinationTree) nextArcs(node int32, into []int32) []int32 {
	out, nearer := z.net.out, z.Dist[node]-1
	for k := out.Start[node]; k < out.Start[node+1]; k++ {
		if z.Dist[out.To[k]] == nearer {
			into = append(into, k)
		}
	}
	return into
}

// firstArc returns the first arc of out from a node on a shortest path; -1 where there is none.
func (z *destinationTree) firstArc(node int32) int32 {
	out, nearer := z.net.out, z.Dist[node]-1
	for k := out.Start[node]; k < out.Start[node+1]; k++ {
		if z.Dist[out.To[k]] == nearer {
			return k
		}
	}
	return -1
}

// visitByDestination visits the flows of p, all those to a node together, in the order of their numbers, when z leads to it.
// It fails where pairs are not joined, which are not visited, and names them.
func (z *destinationTree) visitByDestination(ctx context.Context, p *Problem, visit func(i int32, f engine.Flow) error) error {
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

// flowsByDestination sorts the numbers of flows by the nodes that these go to.
func flowsByDestination(nodes int, flows []engine.Flow) (start, byDst []int32) {
	to := make([]int32, len(flows))
	for i, f := range flows {
		to[i] = f.Dst
	}
	return csr.Index(to, nodes)
}
