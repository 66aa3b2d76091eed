package routing

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
)

// graph is any network as routing along shortest ways sees it: the live links of
// every node, the first created first.
type graph struct {
	nodes  int
	degree int     // ports of a node, as engine.Walks has them
	link   []int32 // by node and port; -1 where there is none

	outStart []int32 // live links out of node a are outStart[a]..outStart[a+1]-1
	outTo    []int32 // where each leads
	outPort  []uint16
	inStart  []int32 // and those into it
	inFrom   []int32
	live     int // links that may be taken
}

// newGraph describes the network of p. Ports are those of its torus, or else links
// in the order of their numbers. It fails, with ErrUnserved, where a node has more
// ports than walks can name.
func newGraph(p *Problem) (*graph, error) {
	n := p.Network
	g := &graph{nodes: int(n.Nodes), outStart: make([]int32, n.Nodes+1), inStart: make([]int32, n.Nodes+1)}
	count := make([]int32, n.Nodes)
	for i, l := range n.Links {
		if l.From < 0 || l.To < 0 || l.From >= n.Nodes || l.To >= n.Nodes {
			return nil, fmt.Errorf("routing: %s leads from %d to %d of %d nodes", n.ResourceName(int32(i)), l.From, l.To, n.Nodes)
		}
		if count[l.From]++; count[l.From] > engine.MaxPort+1 {
			return nil, fmt.Errorf("%w: node %d has more than %d links out", ErrUnserved, l.From, engine.MaxPort+1)
		}
		if l.Rate > 0 {
			g.outStart[l.From+1]++
			g.inStart[l.To+1]++
			g.live++
		}
	}
	for a := range g.nodes {
		g.outStart[a+1] += g.outStart[a]
		g.inStart[a+1] += g.inStart[a]
	}
	port := make([]uint16, len(n.Links))
	if p.Torus != nil {
		g.degree, g.link = p.Torus.Ports()
		for i, l := range g.link {
			if l >= 0 && (int(l) >= len(n.Links) || int(n.Links[l].From) != i/g.degree) {
				return nil, fmt.Errorf("%w: link %d of the network is not that of %s", ErrUnserved, l, p.Torus)
			}
			if l >= 0 {
				port[l] = uint16(i % g.degree)
			}
		}
	} else {
		g.degree = max(1, int(slices.Max(append(count, 0))))
		g.link = slices.Repeat([]int32{-1}, g.nodes*g.degree)
		clear(count)
		for i, l := range n.Links {
			port[i] = uint16(count[l.From])
			g.link[int(l.From)*g.degree+int(count[l.From])] = int32(i)
			count[l.From]++
		}
	}
	g.outTo, g.outPort, g.inFrom = make([]int32, g.live), make([]uint16, g.live), make([]int32, g.live)
	out, in := slices.Clone(g.outStart), slices.Clone(g.inStart)
	for i, l := range n.Links {
		if l.Rate > 0 {
			g.outTo[out[l.From]], g.outPort[out[l.From]] = l.To, port[i]
			g.inFrom[in[l.To]] = l.From
			out[l.From]++
			in[l.To]++
		}
	}
	return g, nil
}

// field is the hops from every node to one destination.
type field struct {
	hops  []int32 // -1 where none leads there
	queue []int32 // the nodes that are led there, nearest first
}

func newField(nodes int) *field {
	return &field{make([]int32, nodes), make([]int32, 0, nodes)}
}

// towards finds the hops to a destination by breadth-first search.
func (z *field) towards(g *graph, dst int32) {
	for i := range z.hops {
		z.hops[i] = -1
	}
	z.hops[dst] = 0
	z.queue = append(z.queue[:0], dst)
	for head := 0; head < len(z.queue); head++ {
		b := z.queue[head]
		for _, a := range g.inFrom[g.inStart[b]:g.inStart[b+1]] {
			if z.hops[a] < 0 {
				z.hops[a] = z.hops[b] + 1
				z.queue = append(z.queue, a)
			}
		}
	}
}

// next appends the links (places in outTo and outPort) of a node on shortest ways.
func (z *field) next(g *graph, at int32, into []int32) []int32 {
	for k := g.outStart[at]; k < g.outStart[at+1]; k++ {
		if z.hops[g.outTo[k]] == z.hops[at]-1 {
			into = append(into, k)
		}
	}
	return into
}

// byDestination visits the flows of p, all those to a node together, in the order
// of their numbers, when z is towards it. It fails where pairs are not joined, which
// are not visited, and names them.
func (g *graph) byDestination(ctx context.Context, p *Problem, z *field, visit func(i int32, f engine.Flow) error) error {
	start := make([]int32, g.nodes+1)
	for _, f := range p.Flows {
		start[f.Dst+1]++
	}
	for a := range g.nodes {
		start[a+1] += start[a]
	}
	of, at := make([]int32, len(p.Flows)), slices.Clone(start)
	for i, f := range p.Flows {
		of[at[f.Dst]] = int32(i)
		at[f.Dst]++
	}
	var apart unjoined
	for dst := range int32(g.nodes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if start[dst] == start[dst+1] {
			continue
		}
		z.towards(g, dst)
		for _, i := range of[start[dst]:start[dst+1]] {
			f := p.Flows[i]
			if z.hops[f.Src] < 0 {
				apart.add(f)
				continue
			}
			if err := visit(i, f); err != nil {
				return err
			}
		}
	}
	return apart.err("links that are up do not join them")
}
