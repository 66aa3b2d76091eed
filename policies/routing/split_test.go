package routing

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/static"
	"sim/fabric/torus"
)

// splitLoads returns the loads of flows that split evenly at every node over all links that start a
// shortest path: equal-cost multi-path per packet, or the mean of random choices per hop. demand
// weights flows; nil means one unit each. Loads are in Weighted. The maximum divided by the
// number of nodes is the load of a link if every node sends one unit in total, equally to all
// nodes including itself. It fails if live links do not join a pair.
func splitLoads(n *engine.Network, flows []engine.Flow, demand []float64) (*static.Loads, error) {
	z := &static.Loads{Flows: int64(len(flows)), Link: make([]int64, len(n.Links)), Weighted: make([]float64, len(n.Links))}
	g := newSplitAdjacency(n)
	start := make([]int32, n.Nodes+1) // flows grouped by destination
	for _, f := range flows {
		start[f.Dst+1]++
	}
	for a := range int(n.Nodes) {
		start[a+1] += start[a]
	}
	of, node := make([]int32, len(flows)), slices.Clone(start)
	for i, f := range flows {
		of[node[f.Dst]] = int32(i)
		node[f.Dst]++
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
		for i := len(queue) - 1; i > 0; i-- { // farthest first
			a := queue[i]
			if units[a] == 0 {
				continue
			}
			paths := 0
			for _, l := range g.out[g.outStart[a]:g.outStart[a+1]] {
				if hops[n.Links[l].To] == hops[a]-1 {
					paths++
				}
			}
			each := units[a] / float64(paths)
			for _, l := range g.out[g.outStart[a]:g.outStart[a+1]] {
				if b := n.Links[l].To; hops[b] == hops[a]-1 {
					z.Weighted[l] += each
					units[b] += each
				}
			}
		}
	}
	for _, load := range z.Weighted {
		z.MaxWeighted = max(z.MaxWeighted, load)
	}
	return z, nil
}

// splitAdjacency has the live links of each node.
type splitAdjacency struct {
	outStart, out []int32
	inStart, in   []int32
}

func newSplitAdjacency(n *engine.Network) *splitAdjacency {
	g := &splitAdjacency{outStart: make([]int32, n.Nodes+1), inStart: make([]int32, n.Nodes+1)}
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

// towards sets the hops from every node to dst, -1 if there is no path, and returns the nodes
// with a path by distance.
func (g *splitAdjacency) towards(n *engine.Network, dst int32, hops, queue []int32) []int32 {
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

// TestSplit verifies even splitting over all shortest paths. On 4x4x8 the twisted form of TPU v4
// has the smallest load of all 64 patterns, 0.573 of a node's traffic. The pattern with the
// smallest average distance, 010111, has 0.737, and the untwisted torus 1.
func TestSplit(t *testing.T) {
	best, minLoad := "", math.Inf(1)
	for _, pattern := range patterns() {
		o, err := torus.New(4, 4, 8)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Twist(pattern); err != nil {
			t.Fatal(err)
		}
		n, all := o.Network(nil, engine.Link{Rate: 1}), everyPair(o.Nodes())
		z, err := splitLoads(n, all, nil)
		if err != nil {
			t.Fatal(err)
		}
		if sum := float64(o.Distances().Sum); math.Abs(z.WeightedHops-sum) > 1e-6 || math.Abs(total(z.Weighted)-sum) > 1e-6 {
			t.Fatalf("%s: loads of %g in all, %g hops, distances of %g", pattern, total(z.Weighted), z.WeightedHops, sum)
		}
		load := z.MaxWeighted / float64(o.Nodes())
		if load < minLoad-1e-9 {
			best, minLoad = pattern, load
		}
		if want := map[string]float64{"000000": 1, "010100": 0.573, "010111": 0.737}[pattern]; want > 0 && math.Abs(load-want) > 5e-4 {
			t.Errorf("%s: %g of a node's traffic, want %g", pattern, load, want)
		}
	}
	if best != "010100" {
		t.Errorf("least load %g under %s", minLoad, best)
	}
	unreachable := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 1}}}
	if _, err := splitLoads(unreachable, everyPair(2), nil); err == nil {
		t.Error("nothing joins node 1 to 0")
	}
}

func total(of []float64) float64 {
	sum := 0.0
	for _, x := range of {
		sum += x
	}
	return sum
}
