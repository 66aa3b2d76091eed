// Package static measures paths without simulation: their lengths and the load of each link
// (PathLoads), and cuts of a network (Cut, Bisection). Routers minimise the maximum load,
// because it bounds the throughput at any message size.
//
// engine/flow and engine/packet simulate time.
package static

import (
	"context"
	"math"

	"sim/engine"
)

// Loads holds the link loads and path lengths of flows. Loads are in units of demand; the demand
// of a flow is 1 by default.
type Loads struct {
	Flows   int64   // number of flows
	SumHops int64   // total length of the paths of all flows, in links
	MaxHops int32   // length of the longest path
	Link    []int64 // load rounded up, indexed by link
	Max     int64   // maximum of Link
	MaxLink int32   // first link with load Max; -1 if all loads are 0

	// The exact loads. They are nil or 0 if all loads are whole numbers.
	Weighted     []float64 // indexed by link
	MaxWeighted  float64   // maximum of Weighted
	WeightedHops float64   // sum of demand times path length
}

// PathLoads measures the paths of flows. The paths must pass Paths.Check. If demand is nil and
// each flow has one path, every flow has demand 1, and loads are whole numbers. Otherwise flow f
// has demand[f], or 1, and splits it over its paths by their shares; the exact loads are then in
// Weighted. PathLoads returns the error of ctx if ctx is cancelled.
func PathLoads(
	ctx context.Context, n *engine.Network, flows []engine.Flow, demand []float64, w *engine.Paths) (*Loads, error) {

	// Compute exact loads, and drop them if they are whole numbers.
	z := &Loads{
		Flows: int64(len(flows)),
		Link:  make([]int64, len(n.Links)), Weighted: make([]float64, len(n.Links))}
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

// flowsPerPoll is the number of flows after which the context is checked. They take some
// milliseconds.
const flowsPerPoll = 1 << 14

// addPaths adds the demand on the paths of flows to the links.
func (z *Loads) addPaths(
	ctx context.Context, n *engine.Network, flows []engine.Flow, demand []float64, w *engine.Paths) error {

	for f, flow := range flows {
		if f%flowsPerPoll == 0 && ctx.Err() != nil {
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

// addNextHops adds the expected demand of flows that are routed by next hops.
func (z *Loads) addNextHops(
	ctx context.Context, n *engine.Network, flows []engine.Flow, demand []float64, s *engine.NextHops) error {

	// to lists the flows to each destination.
	to, from := make([][]int32, n.Nodes), make([]int32, 0, n.Nodes)
	for i, f := range flows {
		to[f.Dst] = append(to[f.Dst], int32(i))
	}

	// For each destination, push the demand from the farthest nodes towards it.
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

// wholeTolerance is the tolerance for recognising a whole number: sums of up to 1e7 doubles of
// up to 1e3 are exact to less than this.
const wholeTolerance = 1e-6

// roundUp computes the rounded loads and the link with the maximum load.
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
