// Package static measures paths without simulating anything: hops, and how much of the traffic each link carries. What
// the loads mean for throughput is the same at every speed, so this is what routes are optimised for.
//
// It leaves time to engine/flow and engine/packet.
package static

import (
	"context"
	"math"

	"sim/engine"
)

// Loads is what flows make of their paths, in units of their demand: one each, if not given.
type Loads struct {
	Flows   int64
	SumHops int64   // links of all flows' paths
	MaxHops int32   // links of the longest
	Link    []int64 // units, by link
	Max     int64   // of Link
	MaxLink int32   // the first link that carries Max; -1 where there is none

	// Where flows are weighed or split, as they are before rounding; else nil and 0.
	Weighted     []float64 // units, by link
	MaxWeighted  float64
	WeightedHops float64 // units times links
}

// PathLoads measures paths of flows, which must pass Paths.Check. With one path a class and demand nil, one unit a flow,
// loads are whole numbers and exact. Else flow f weighs demand[f] and its paths carry their shares of that: loads are
// in Weighted, and Link and Max are its values rounded up. It fails with ctx's error when ctx ends before it.
func PathLoads(ctx context.Context, n *engine.Network, flows []engine.Flow, demand []float64, w *engine.Paths) (*Loads, error) {
	z := &Loads{Flows: int64(len(flows)), Link: make([]int64, len(n.Links)), Weighted: make([]float64, len(n.Links))}
	err := error(nil)
	if w.Spread != nil {
		err = z.addNextHops(ctx, n, flows, demand, w.Spread)
	} else {
		err = z.addPaths(ctx, n, flows, demand, w)
	}
	if err != nil {
		return nil, err
	}
	z.roundUp()
	if w.Spread == nil && w.First == nil && demand == nil {
		z.Weighted, z.MaxWeighted, z.WeightedHops = nil, 0, 0
	}
	return z, nil
}

// flowsPerPoll is how many flows are measured between two times that a context is asked.
const flowsPerPoll = 1 << 14

// addPaths adds up the shares of demand that links carry.
func (z *Loads) addPaths(ctx context.Context, n *engine.Network, flows []engine.Flow, demand []float64, w *engine.Paths) error {
	for f, flow := range flows {
		if f&(flowsPerPoll-1) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		class, units := w.ClassOf(int32(f)), 1.0
		if demand != nil {
			units = demand[f]
		}
		first, end := w.Of(class)
		for k := first; k < end; k++ {
			share := units * w.ShareOf(class, k)
			node, hops := flow.Src, int32(0)
			for i := w.Start[k]; w.Step[i] != engine.Arrived; i++ {
				l := w.Link[int(node)*w.Degree+w.Step[i].Port()]
				z.Weighted[l] += share
				node = n.Links[l].To
				hops++
			}
			z.MaxHops = max(z.MaxHops, hops)
			z.WeightedHops += share * float64(hops)
		}
	}
	return nil
}

// addNextHops adds up what links carry in the mean of flows whose packets draw their links.
func (z *Loads) addNextHops(ctx context.Context, n *engine.Network, flows []engine.Flow, demand []float64, s *engine.NextHops) error {
	to, from := make([][]int32, n.Nodes), make([]int32, 0, n.Nodes)
	for i, f := range flows {
		to[f.Dst] = append(to[f.Dst], int32(i))
	}
	units, mark := make([]float64, n.Nodes), make([]bool, n.Nodes)
	for dst, indices := range to {
		if err := ctx.Err(); err != nil {
			return err
		}
		from = from[:0]
		for _, i := range indices {
			f, unit := flows[i], 1.0
			if demand != nil {
				unit = demand[i]
			}
			units[f.Src] += unit
			hops := s.Hops[dst][f.Src]
			z.WeightedHops += unit * float64(hops)
			z.MaxHops = max(z.MaxHops, int32(hops))
			from = append(from, f.Src)
		}
		if len(from) == 0 {
			continue
		}
		for _, node := range s.NodesByDistance(from, int32(dst), mark) {
			s.Shares(node, int32(dst), func(port int, share float64) {
				z.Weighted[s.Link[port]] += units[node] * share
				units[s.To[port]] += units[node] * share
			})
			units[node] = 0
		}
		units[dst] = 0
	}
	return nil
}

// wholeTolerance is how far a sum of shares may be from a whole number that it is: sums of up to 1e7 doubles of up to 1e3.
const wholeTolerance = 1e-6

// roundUp fills in whole numbers for weighted loads, and finds the link that carries most.
func (z *Loads) roundUp() {
	z.SumHops, z.MaxLink = int64(math.Ceil(z.WeightedHops-wholeTolerance)), -1
	for l, load := range z.Weighted {
		z.Link[l] = int64(math.Ceil(load - wholeTolerance))
		z.MaxWeighted = max(z.MaxWeighted, load)
		if z.Link[l] > z.Max {
			z.Max, z.MaxLink = z.Link[l], int32(l)
		}
	}
}
