package engine

import (
	"context"
	"fmt"
)

// NextHops routes packets hop by hop along shortest paths. At each node a packet takes one of
// the links that start a shortest path to its destination, drawn independently for each packet
// and node.
type NextHops struct {
	Degree int     // ports per node
	Link   []int32 // link of a port, indexed by node*Degree+port; -1 if the port cannot be used
	To     []int32 // node at the end of the port's link, with the same index
	// Hops is the length of shortest paths in links, indexed by destination and node, or NoPath.
	// Rows of destinations without traffic are nil.
	Hops [][]uint16
	// Weight is indexed by destination and node. Of the possible links, each is drawn with a
	// probability proportional to the weight of the node at its end. If nil, the probabilities are
	// equal.
	Weight [][]float32
}

// NoPath in NextHops.Hops means that no path leads from the node to the destination.
const NoPath = 1<<16 - 1

// Next returns the link that a packet to dst takes at a node other than dst, -1 if there is
// none. u is a random number, uniform in [0, 1).
func (s *NextHops) Next(node, dst int32, u float64) int32 {
	hops := s.Hops[dst]
	if hops == nil || hops[node] == NoPath || hops[node] == 0 {
		return -1
	}
	u *= s.sum(node, dst)
	last := int32(-1)
	for port := int(node) * s.Degree; port < (int(node)+1)*s.Degree; port++ {
		if w := s.weight(port, hops[node], dst); w > 0 {
			if last = s.Link[port]; u < w {
				return last
			}
			u -= w
		}
	}
	return last // rounding can leave u slightly above 0
}

// weight returns the weight of a port's link, 0 if the link does not start a shortest path. hops
// is the distance of the port's node to dst.
func (s *NextHops) weight(port int, hops uint16, dst int32) float64 {
	if s.Link[port] < 0 || s.Hops[dst][s.To[port]] != hops-1 {
		return 0
	}
	if s.Weight == nil {
		return 1
	}
	return float64(s.Weight[dst][s.To[port]])
}

// sum returns the total weight of the possible links of a node.
func (s *NextHops) sum(node, dst int32) float64 {
	sum := 0.0
	for port := int(node) * s.Degree; port < (int(node)+1)*s.Degree; port++ {
		sum += s.weight(port, s.Hops[dst][node], dst)
	}
	return sum
}

// Shares calls visit with each port (an index in Link) that packets to dst take at a node, and
// with its probability.
func (s *NextHops) Shares(node, dst int32, visit func(port int, share float64)) {
	sum := s.sum(node, dst)
	for port := int(node) * s.Degree; port < (int(node)+1)*s.Degree; port++ {
		if w := s.weight(port, s.Hops[dst][node], dst); w > 0 {
			visit(port, w/sum)
		}
	}
}

// NodesByDistance returns the nodes that packets from the given nodes to dst visit, except dst,
// in order of decreasing distance. mark is scratch, indexed by node; it must be false
// everywhere, and is on return.
func (s *NextHops) NodesByDistance(from []int32, dst int32, mark []bool) []int32 {
	hops := s.Hops[dst]
	maxHops := uint16(0)
	for _, a := range from {
		maxHops = max(maxHops, hops[a])
	}
	level := make([][]int32, int(maxHops)+1)
	add := func(a int32) {
		if !mark[a] {
			mark[a] = true
			level[hops[a]] = append(level[hops[a]], a)
		}
	}

	for _, a := range from {
		add(a)
	}

	var all []int32
	for h := int(maxHops); h > 0; h-- {
		for _, a := range level[h] {
			all = append(all, a)
			s.Shares(a, dst, func(port int, _ float64) { add(s.To[port]) })
		}
	}

	for _, nodes := range level {
		for _, a := range nodes {
			mark[a] = false
		}
	}
	return all
}

// VisitLinks calls visit with each link that packets from src to dst take, and with the
// probability that a packet takes it. share and mark are scratch, indexed by node; they must be
// zero, and are on return.
func (s *NextHops) VisitLinks(
	src, dst int32, share []float64, mark []bool, visit func(link int32, share float64)) {

	share[src] = 1
	for _, node := range s.NodesByDistance([]int32{src}, dst, mark) {
		s.Shares(node, dst, func(port int, p float64) {
			p *= share[node]
			visit(s.Link[port], p)
			share[s.To[port]] += p
		})
		share[node] = 0
	}
	share[dst] = 0
}

// check returns an error if s does not route every flow to its destination over links of n that
// are up. It returns the error of ctx if ctx is cancelled.
func (s *NextHops) check(ctx context.Context, n *Network, flows []Flow) error {
	nodes := int(n.Nodes)
	if s.Degree < 1 || len(s.Link) != nodes*s.Degree || len(s.To) != len(s.Link) ||
		len(s.Hops) != nodes || s.Weight != nil && len(s.Weight) != nodes {
		return fmt.Errorf("engine: next hops of %d ports and %d destinations for %d nodes",
			len(s.Link), len(s.Hops), nodes)
	}

	for i, l := range s.Link {
		if l >= 0 && (int(l) >= len(n.Links) || int(n.Links[l].From) != i/s.Degree ||
			n.Links[l].To != s.To[i] || n.Links[l].Rate == 0) {
			return fmt.Errorf("engine: port %d of node %d is no link out of it that is up",
				i%s.Degree, i/s.Degree)
		}
	}

	checked := make([]bool, nodes)
	for i, f := range flows {
		if f.Src < 0 || f.Dst < 0 || f.Src >= n.Nodes || f.Dst >= n.Nodes ||
			len(s.Hops[f.Dst]) != nodes ||
			s.Weight != nil && len(s.Weight[f.Dst]) != nodes ||
			s.Hops[f.Dst][f.Src] == NoPath {
			return fmt.Errorf("engine: no next hop leads flow %d from node %d to %d",
				i, f.Src, f.Dst)
		}
		if checked[f.Dst] {
			continue
		}
		checked[f.Dst] = true
		if err := ctx.Err(); err != nil {
			return err
		}
		for a, h := range s.Hops[f.Dst] {
			if (h == 0) != (int32(a) == f.Dst) || h != 0 && h != NoPath && !(s.sum(int32(a), f.Dst) > 0) {
				return fmt.Errorf("engine: packets to node %d do not get beyond %d", f.Dst, a)
			}
		}
	}
	return nil
}

// maxListedSteps limits the hops of all paths that NextHops.Paths lists, to 128 MiB of steps.
const maxListedSteps = 1 << 26

// Paths lists all paths that packets of flows can take, each with its probability as its share.
// Flows with equal paths form a class. It returns an error if a flow has no path, or if the paths
// have more than maxListedSteps hops.
func (s *NextHops) Paths(flows []Flow) (*Paths, error) {
	paths := &Paths{Degree: s.Degree, Link: s.Link, First: []int32{0}}
	var steps []Step // from the source to the present node
	var extend func(node, dst int32, share float64)
	extend = func(node, dst int32, share float64) {
		if node == dst {
			paths.Add(steps...)
			paths.Share = append(paths.Share, share)
			return
		}
		s.Shares(node, dst, func(port int, linkShare float64) {
			if len(paths.Step) <= maxListedSteps {
				const channel = 0
				steps = append(steps, MakeStep(port%s.Degree, channel))
				extend(s.To[port], dst, share*linkShare)
				steps = steps[:len(steps)-1]
			}
		})
	}

	classes := map[string]int32{} // by the steps and shares of all paths
	for _, f := range flows {
		if s.Hops[f.Dst] == nil || s.Hops[f.Dst][f.Src] == NoPath {
			return nil, fmt.Errorf("engine: no path leads from node %d to node %d", f.Src, f.Dst)
		}
		first, start := len(paths.Start), len(paths.Step)
		const certain = 1
		extend(f.Src, f.Dst, certain)
		if len(paths.Step) > maxListedSteps {
			return nil, fmt.Errorf("engine: all shortest paths have more than %d hops; want fewer flows", maxListedSteps)
		}

		key := fmt.Sprint(paths.Step[start:], paths.Share[first:])
		class, known := classes[key]
		if known {
			paths.Start, paths.Share, paths.Step = paths.Start[:first], paths.Share[:first], paths.Step[:start]
		} else {
			class = int32(len(classes))
			classes[key] = class
			paths.First = append(paths.First, int32(len(paths.Start)))
		}
		paths.Class = append(paths.Class, class)
	}
	return paths, nil
}
