// Package static measures ways without playing anything: hops, and how much of
// the traffic each link carries. What the loads mean for throughput is the same
// at every speed, so this is what routes are optimised for.
//
// It leaves time to engine/flow and engine/packet.
package static

import (
	"sim/engine"
)

// Loads is what flows of one unit each make of their ways.
type Loads struct {
	Flows   int64
	SumHops int64   // links of all flows' ways
	MaxHops int32   // links of the longest
	Link    []int64 // units, by link
	Max     int64   // of Link
	MaxLink int32   // the first link that carries Max; -1 where there is none
}

// OfPaths measures paths of flows, which must pass Paths.Check.
func OfPaths(n *engine.Network, flows int, p *engine.Paths) *Loads {
	z := &Loads{Flows: int64(flows), Link: make([]int64, len(n.Links))}
	for f := range int32(flows) {
		way := p.Of(f)
		z.SumHops += int64(len(way))
		z.MaxHops = max(z.MaxHops, int32(len(way)))
		for _, l := range way {
			z.Link[l]++
		}
	}
	return z.top()
}

// OfTable measures the ways of flows through a table, which must pass
// Table.Check for them.
func OfTable(n *engine.Network, flows []engine.Flow, t *engine.Table) *Loads {
	z := &Loads{Flows: int64(len(flows)), Link: make([]int64, len(n.Links))}
	for _, f := range flows {
		hops := int32(0)
		for at := f.Src; at != f.Dst; hops++ {
			l := t.Next(int(n.Nodes), at, f.Dst)
			z.Link[l]++
			at = n.Links[l].To
		}
		z.SumHops += int64(hops)
		z.MaxHops = max(z.MaxHops, hops)
	}
	return z.top()
}

// top finds the link that carries most.
func (z *Loads) top() *Loads {
	z.MaxLink = -1
	for l, load := range z.Link {
		if load > z.Max {
			z.Max, z.MaxLink = load, int32(l)
		}
	}
	return z
}

// LeastMax returns a lower bound on the load of the most loaded link, whatever
// ways of so many hops in all are taken over so many links: their mean, rounded
// up.
func LeastMax(sumHops int64, links int) int64 {
	if links == 0 {
		return 0
	}
	return (sumHops + int64(links) - 1) / int64(links)
}
