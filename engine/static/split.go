package static

import (
	"fmt"
	"slices"

	"sim/engine"
)

// OfSplit measures flows that split evenly, at every node on their way, over all
// links that begin a shortest way: equal-cost multi-path packet by packet, or the
// mean of choosing at random at each hop. Demand weighs flows; nil is one unit
// each. Loads are in Weighted; divided by the number of nodes, the greatest is the
// load of a link when every node sends one unit in all to all nodes alike, itself
// included. It fails where links that are up do not join a pair.
func OfSplit(n *engine.Network, flows []engine.Flow, demand []float64) (*Loads, error) {
	z := &Loads{Flows: int64(len(flows)), Link: make([]int64, len(n.Links)), Weighted: make([]float64, len(n.Links))}
	g := newAdjacency(n)
	start := make([]int32, n.Nodes+1) // flows by destination
	for _, f := range flows {
		start[f.Dst+1]++
	}
	for a := range int(n.Nodes) {
		start[a+1] += start[a]
	}
	of, at := make([]int32, len(flows)), slices.Clone(start)
	for i, f := range flows {
		of[at[f.Dst]] = int32(i)
		at[f.Dst]++
	}
	hops, units := make([]int32, n.Nodes), make([]float64, n.Nodes)
	var queue []int32
	for dst := range n.Nodes {
		if start[dst] == start[dst+1] {
			continue
		}
		queue = g.towards(n, dst, hops, queue)
		clear(units)
		for _, i := range of[start[dst]:start[dst+1]] {
			f, unit := flows[i], 1.0
			if demand != nil {
				unit = demand[i]
			}
			if hops[f.Src] < 0 {
				return nil, fmt.Errorf("static: links that are up do not join node %d to %d", f.Src, f.Dst)
			}
			units[f.Src] += unit
			z.WeightedHops += unit * float64(hops[f.Src])
			z.MaxHops = max(z.MaxHops, hops[f.Src])
		}
		for i := len(queue) - 1; i > 0; i-- { // furthest first
			a := queue[i]
			if units[a] == 0 {
				continue
			}
			ways := 0
			for _, l := range g.out[g.outStart[a]:g.outStart[a+1]] {
				if hops[n.Links[l].To] == hops[a]-1 {
					ways++
				}
			}
			each := units[a] / float64(ways)
			for _, l := range g.out[g.outStart[a]:g.outStart[a+1]] {
				if b := n.Links[l].To; hops[b] == hops[a]-1 {
					z.Weighted[l] += each
					units[b] += each
				}
			}
		}
	}
	return z.roundUp(), nil
}

// adjacency is the links that are up, by node.
type adjacency struct {
	outStart, out []int32
	inStart, in   []int32
}

func newAdjacency(n *engine.Network) *adjacency {
	g := &adjacency{outStart: make([]int32, n.Nodes+1), inStart: make([]int32, n.Nodes+1)}
	for _, l := range n.Links {
		if l.Rate > 0 {
			g.outStart[l.From+1]++
			g.inStart[l.To+1]++
		}
	}
	for a := range int(n.Nodes) {
		g.outStart[a+1] += g.outStart[a]
		g.inStart[a+1] += g.inStart[a]
	}
	g.out, g.in = make([]int32, g.outStart[n.Nodes]), make([]int32, g.inStart[n.Nodes])
	out, in := slices.Clone(g.outStart), slices.Clone(g.inStart)
	for i, l := range n.Links {
		if l.Rate > 0 {
			g.out[out[l.From]], g.in[in[l.To]] = int32(i), int32(i)
			out[l.From]++
			in[l.To]++
		}
	}
	return g
}

// towards sets the hops from every node to dst, -1 where none leads there, and
// returns the nodes that are led there, nearest first.
func (g *adjacency) towards(n *engine.Network, dst int32, hops, queue []int32) []int32 {
	for i := range hops {
		hops[i] = -1
	}
	hops[dst] = 0
	queue = append(queue[:0], dst)
	for head := 0; head < len(queue); head++ {
		b := queue[head]
		for _, l := range g.in[g.inStart[b]:g.inStart[b+1]] {
			if a := n.Links[l].From; hops[a] < 0 {
				hops[a] = hops[b] + 1
				queue = append(queue, a)
			}
		}
	}
	return queue
}
