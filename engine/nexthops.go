package engine

import (
	"context"
	"fmt"
)

// NextHops leads packets hop by hop: at every node a packet takes one of the links that begin a path of the fewest hops
// to its destination, drawn anew for each packet and node.
type NextHops struct {
	Degree int     // ports of a node
	Link   []int32 // by node and port: a link that may be taken; -1 where there is none
	To     []int32 // by node and port: the node that it leads to
	// Hops is, by destination and node, the links of a shortest path, or NoPath; nil for destinations that nothing is
	// for.
	Hops [][]uint16
	// Weight is, by destination and node: of the links that may be taken next, each is drawn in proportion to the
	// weight of the node it leads to. nil is all identical.
	Weight [][]float32
}

// NoPath stands in Spread.Hops for a node that no path leads from.
const NoPath = 1<<16 - 1

// Next returns the link that a packet takes at a node other than its destination, by a number drawn evenly from 0 to
// just below 1; -1 where none leads there.
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
	return last // rounding left u at 0 or a little above
}

// weight returns that of the link at a place of Link, 0 where it begins no shortest path of a node so far away.
func (s *NextHops) weight(port int, hops uint16, dst int32) float64 {
	if s.Link[port] < 0 || s.Hops[dst][s.To[port]] != hops-1 {
		return 0
	}
	if s.Weight == nil {
		return 1
	}
	return float64(s.Weight[dst][s.To[port]])
}

// sum returns the weights of all links that may be taken next.
func (s *NextHops) sum(node, dst int32) float64 {
	sum := 0.0
	for port := int(node) * s.Degree; port < (int(node)+1)*s.Degree; port++ {
		sum += s.weight(port, s.Hops[dst][node], dst)
	}
	return sum
}

// Shares calls visit for each place of Link that packets for a destination take from a node, with the probability that
// one does.
func (s *NextHops) Shares(node, dst int32, visit func(port int, share float64)) {
	sum := s.sum(node, dst)
	for port := int(node) * s.Degree; port < (int(node)+1)*s.Degree; port++ {
		if w := s.weight(port, s.Hops[dst][node], dst); w > 0 {
			visit(port, w/sum)
		}
	}
}

// NodesByDistance returns the nodes that packets from some nodes to a destination come to, those furthest from it first; the
// destination is not among them. Mark is by node, all false before and after.
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

// VisitLinks calls do with each link that packets from a node to another take, with the probability that one does. Share
// and mark are by node, all zero before and after.
func (s *NextHops) VisitLinks(src, dst int32, share []float64, mark []bool, visit func(link int32, share float64)) {
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

// check fails where s does not lead every flow to its destination over links of n that are up, and returns ctx's error
// when ctx ends before it.
func (s *NextHops) check(ctx context.Context, n *Network, flows []Flow) error {
	nodes := int(n.Nodes)
	if s.Degree < 1 || len(s.Link) != nodes*s.Degree || len(s.To) != len(s.Link) || len(s.Hops) != nodes || s.Weight != nil && len(s.Weight) != nodes {
		return fmt.Errorf("engine: next hops of %d ports and %d destinations for %d nodes", len(s.Link), len(s.Hops), nodes)
	}
	for i, l := range s.Link {
		if l >= 0 && (int(l) >= len(n.Links) || int(n.Links[l].From) != i/s.Degree || n.Links[l].To != s.To[i] || n.Links[l].Rate == 0) {
			return fmt.Errorf("engine: port %d of node %d is no link out of it that is up", i%s.Degree, i/s.Degree)
		}
	}
	checked := make([]bool, nodes)
	for i, f := range flows {
		if f.Src < 0 || f.Dst < 0 || f.Src >= n.Nodes || f.Dst >= n.Nodes || len(s.Hops[f.Dst]) != nodes || s.Weight != nil && len(s.Weight[f.Dst]) != nodes || s.Hops[f.Dst][f.Src] == NoPath {
			return fmt.Errorf("engine: no next hop leads flow %d from node %d to %d", i, f.Src, f.Dst)
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
