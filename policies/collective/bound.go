package collective

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/internal/csr"
	"sim/internal/numbers"
)

// LowerBound is a lower bound on the time from the start of a call to its end.
type LowerBound struct {
	Seconds float64
	Reason  string // the limiting part of the network, for people
}

// tighten replaces the bound by a higher one. Infinite bounds, of disconnected ranks, are
// ignored.
func (l *LowerBound) tighten(seconds float64, reason string, a ...any) {
	if seconds > l.Seconds && !math.IsInf(seconds, 1) {
		*l = LowerBound{seconds, fmt.Sprintf(reason, a...)}
	}
}

// Bound returns a lower bound on the completion time of a call, for any algorithm and paths. It
// assumes that data is bytes that are copied or added, and that all data of a rank is available
// at the start. The bound is the maximum of bounds by the capacity of nodes, cuts and partitions
// of the network, and by latency. If ctx ends, Bound returns the best bound so far.
func (p *Problem) Bound(ctx context.Context) (LowerBound, error) {
	if err := p.check(); err != nil {
		return LowerBound{}, err
	}

	// With teams, the call ends no earlier than the call of its largest team.
	if p.Teams != nil {
		first := p.teams()
		k := 0
		for i, size := range p.Teams {
			if size > p.Teams[k] {
				k = i
			}
		}
		one := *p
		one.Group = p.Group[first[k]:first[k+1]]
		one.Teams = nil
		if p.Domain != nil {
			one.Domain = p.Domain[first[k]:first[k+1]]
		}
		p = &one
	}

	// The last argument is true for calls that sum, which are bounded as the reverse of calls that
	// copy.
	z := newBoundFinder(p)
	switch p.Kind {
	case AllReduce:
		if z.SwitchesReduce {
			// The vector of a rank must reach all others, at least as a part of sums.
			z.boundReach(ctx, 0, z.otherRanks(0), false)
		} else {
			z.boundAllReduce(ctx)
		}
	case ReduceScatter:
		z.boundGather(ctx, true)
	case AllGather:
		z.boundGather(ctx, false)
	case AllToAll:
		z.boundAllToAll()
	case Broadcast:
		z.boundReach(ctx, int32(p.Root), z.otherRanks(p.Root), false)
	case Reduce:
		z.boundReach(ctx, int32(p.Root), z.otherRanks(p.Root), true)
	case SendReceive:
		z.boundReach(ctx, int32(p.Root), []int32{int32(p.Peer)}, false)
	}

	z.boundLatency()
	return z.LowerBound, nil
}

// boundFinder computes the bounds of a call and keeps the highest in LowerBound.
type boundFinder struct {
	*Problem
	LowerBound
	unit  float64       // the maximum rate of a link, in bytes per second
	links []engine.Link // links that are up, with rates in units of unit
	bytes float64       // size of the vector

	// The links from node v are outLinks[outStart[v]:outStart[v+1]]. Both are nil until needed.
	outStart, outLinks []int32
}

// newBoundFinder normalises the links of a problem that are up.
func newBoundFinder(p *Problem) *boundFinder {
	z := &boundFinder{Problem: p, bytes: float64(p.vector(len(p.Group)).bytes())}
	for _, l := range p.Network.Links {
		if l.Rate > 0 && l.From >= 0 && l.To >= 0 && l.From != l.To {
			z.links = append(z.links, l)
			z.unit = max(z.unit, l.Rate)
		}
	}

	for i := range z.links {
		z.links[i].Rate /= z.unit
	}
	z.unit /= 8 // from bits to bytes per second
	return z
}

// otherRanks returns all ranks but one.
func (z *boundFinder) otherRanks(rank int) []int32 {
	return slices.DeleteFunc(numbers.Below(int32(len(z.Group))), func(r int32) bool {
		return r == int32(rank)
	})
}

// flowGraph returns the links, or the reversed links, as a flow network. It has extra more nodes
// than the problem, at the end.
func (z *boundFinder) flowGraph(extra int, reversed bool) *flowNetwork {
	g := newFlowNetwork(int(z.Network.Nodes) + extra)
	for _, l := range z.links {
		if reversed {
			l.From, l.To = l.To, l.From
		}
		g.addArcs(l.From, l.To, l.Rate, 0)
	}

	return g
}

// boundReach bounds a call that sends the vector of a rank to others, or a sum of all to it if
// links are reversed. The time is at least the vector over the minimum cut between it and one of
// the others. If all nodes are ranks, packed arborescences attain this bound (Edmonds 1973).
func (z *boundFinder) boundReach(ctx context.Context, root int32, to []int32, reversed bool) {
	z.tightenByCut(root, z.minCut(ctx, root, to, reversed))
}

// rankCut is the minimum cut between a root and some other ranks.
type rankCut struct {
	capacity float64 // infinite if there are no other ranks
	rank     int32   // a rank that it separates from the root
}

// minCut returns the minimum cut between a root and the given ranks. If ctx ends, only some of the
// ranks are considered.
func (z *boundFinder) minCut(ctx context.Context, root int32, to []int32, reversed bool) rankCut {
	g := z.flowGraph(0, reversed)
	cut := rankCut{capacity: math.Inf(1)}
	for _, r := range to {
		if ctx.Err() != nil {
			break
		}
		if flow := g.maxFlow(z.Group[root], z.Group[r], cut.capacity); flow < cut.capacity {
			cut = rankCut{flow, r}
		}
	}
	return cut
}

// tightenByCut bounds a call in which the vector crosses a cut.
func (z *boundFinder) tightenByCut(root int32, cut rankCut) {
	if cut.capacity < math.Inf(1) {
		z.tighten(z.bytes/(cut.capacity*z.unit), "the least cut between ranks %d and %d", root, cut.rank)
	}
}

// boundGather bounds an all-gather, or a reduce-scatter if links are reversed. Any set of nodes
// must receive the blocks of all ranks outside it (Zhao et al., "ForestColl", 2024).
//
// A super-source feeds x into each rank, where x is the rate at which ranks can send their
// blocks. While some rank cannot receive n x, the minimum cut yields a set with a lower x, with
// which the search continues.
func (z *boundFinder) boundGather(ctx context.Context, reversed bool) {
	// The source is the extra node. first is its first arc, and arc first+2k leads to rank k: each
	// arc is followed by its reverse.
	n, source := len(z.Group), z.Network.Nodes
	g := z.flowGraph(1, reversed)
	first := int32(len(g.to))

	// Start with the largest x that the links into each rank allow.
	x := math.Inf(1) // rate of each rank, in units
	for _, a := range z.Group {
		g.addArcs(source, a, 0, 0)
		in := 0.0
		for k := g.first[a]; k >= 0; k = g.next[k] {
			in += g.cap[k^1]
		}
		x = min(x, in/float64(n-1))
	}

	minBlock := float64(z.Bytes / int64(n)) // size of the smallest block
	z.tighten(minBlock/(x*z.unit), "the links of a node")
	for r := 0; r < n && ctx.Err() == nil; {
		// Find a rank that cannot receive x from each rank. 1e-9 is the tolerance for rounding
		// errors of the flow.
		for k := range int32(n) {
			g.cap[first+2*k] = x
		}
		if g.maxFlow(source, z.Group[r], float64(n)*x) >= float64(n)*x*(1-1e-9) {
			r++
			continue
		}

		// The cut is a set of nodes that ranks outside it, on the source's side, must reach.
		outside, in := 0, 0.0
		for _, a := range z.Group {
			if g.onSourceSide(a) {
				outside++
			}
		}

		// Arc k leads from g.to[k+1], the end of its reverse, to g.to[k].
		for k := int32(0); k < first; k += 2 {
			if g.onSourceSide(g.to[k+1]) && !g.onSourceSide(g.to[k]) {
				in += g.cap[k]
			}
		}

		// The rate falls, and the same rank is examined again. If rounding errors prevent that,
		// the next rank follows.
		if !(in/float64(outside) < x) {
			r++
			continue
		}
		x = in / float64(outside)
		z.tighten(minBlock/(x*z.unit), "the links between %d ranks and %d others", outside, n-outside)
	}
}

// boundAllReduce bounds an all-reduce. If the nodes are divided into parts, the vector must cross
// between parts 2 (parts - 1) times. If all nodes are ranks, the best partition is computed
// exactly. Otherwise the partition has one part per rank, and the part of the first rank includes
// all other nodes.
func (z *boundFinder) boundAllReduce(ctx context.Context) {
	var edges []edge
	for _, l := range z.links {
		edges = append(edges, edge{l.From, l.To, l.Rate})
	}
	n := int(z.Network.Nodes)

	// Every cut separates rank 0 from some other rank. The minimum cuts of rank 0, in both
	// directions, are therefore the minimum over all pairs of ranks.
	out := z.minCut(ctx, 0, z.otherRanks(0), false)
	in := z.minCut(ctx, 0, z.otherRanks(0), true)

	// If all nodes are ranks, find the best partition.
	if len(z.Group) == n {
		minCut := out.capacity + in.capacity
		if ctx.Err() != nil {
			minCut = 0 // not all cuts were computed
		}
		value, part := strength(ctx, n, edges, minCut)
		parts := len(slices.Compact(slices.Sorted(slices.Values(part))))
		z.tighten(2*z.bytes/(value*z.unit), "the links between the %d parts of a partition of the nodes", parts)
	} else {
		// Other nodes are in part 0, with the first rank.
		part := make([]int32, n)
		for r, a := range z.Group {
			part[a] = int32(r)
		}
		z.tighten(2*z.bytes/(partitionRatio(n, part, edges)*z.unit), "the links of the ranks")

		// All ranks but one send a sum and later receive one. Other nodes only forward data.
		outRate, inRate := 0.0, 0.0
		sent := 2 * z.bytes * float64(len(z.Group)-1)
		rank := nodeRanks(z.Problem)
		for _, l := range z.links {
			if rank[l.From] >= 0 {
				outRate += l.Rate
			}
			if rank[l.To] >= 0 {
				inRate += l.Rate
			}
		}

		z.tighten(sent/(min(outRate, inRate)*z.unit), "the links of the ranks")
		if part, parts := z.nodeDomains(); parts > 1 {
			z.tighten(2*z.bytes/(partitionRatio(n, part, edges)*z.unit),
				"the links between %d domains", parts)
		}
	}

	z.tightenByCut(0, out)
	z.tightenByCut(0, in)
}

// nodeDomains returns the domain of each node, counted from 0, and the number of domains. A node
// without a rank is in the domain of its neighbours if these are in a single one, otherwise in
// domain 0. Without domains all nodes are in one.
func (z *boundFinder) nodeDomains() (part []int32, parts int) {
	// Number the domains in the order of their first ranks. -1 is a node without a rank.
	part = slices.Repeat([]int32{-1}, int(z.Network.Nodes))
	number := map[int]int32{}
	for r, d := range z.Domain {
		if _, ok := number[d]; !ok {
			number[d] = int32(len(number))
		}
		part[z.Group[r]] = number[d]
	}

	// Nodes without a rank. Each link is visited from both of its ends.
	rank := nodeRanks(z.Problem)
	domains := slices.Clone(part)
	for _, l := range z.links {
		for _, e := range [2][2]int32{{l.From, l.To}, {l.To, l.From}} {
			if domain := part[e[1]]; rank[e[0]] < 0 && rank[e[1]] >= 0 && domains[e[0]] != domain {
				if domains[e[0]] >= 0 {
					domain = 0 // its neighbours are in several domains
				}
				domains[e[0]] = domain
			}
		}
	}

	for i := range domains {
		domains[i] = max(0, domains[i])
	}
	return domains, len(number)
}

// distances returns the length of the shortest path from a node to each other, infinite if no
// path exists (Bellman and Ford, with a queue of changed nodes).
func (z *boundFinder) distances(from int32, length func(engine.Link) float64) []float64 {
	// Sort the links by their start once.
	if z.outStart == nil {
		tails := make([]int32, len(z.links))
		for i, l := range z.links {
			tails[i] = l.From
		}
		z.outStart, z.outLinks = csr.Index(tails, int(z.Network.Nodes))
	}

	// Relax the links of each changed node.
	dist := slices.Repeat([]float64{math.Inf(1)}, int(z.Network.Nodes))
	dist[from] = 0
	queue, isQueued := []int32{from}, make([]bool, len(dist))
	for len(queue) > 0 {
		node := queue[0]
		queue, isQueued[node] = queue[1:], false
		for _, i := range z.outLinks[z.outStart[node]:z.outStart[node+1]] {
			l := z.links[i]
			if d := dist[node] + length(l); d < dist[l.To] {
				dist[l.To] = d
				if !isQueued[l.To] {
					queue, isQueued[l.To] = append(queue, l.To), true
				}
			}
		}
	}
	return dist
}

// boundLatency bounds a call by the maximum over all ranks of the latency of the fastest path
// from another rank whose data it needs.
func (z *boundFinder) boundLatency() {
	if !slices.ContainsFunc(z.links, func(l engine.Link) bool { return l.Latency > 0 }) {
		return
	}

	// i and k are ranks, a and b their nodes.
	for i, a := range z.Group {
		dist := z.distances(a, func(l engine.Link) float64 { return l.Latency.Seconds() })
		for k, b := range z.Group {
			if i != k && z.needsData(i, k) {
				z.tighten(dist[b], "the latency of links")
			}
		}
	}
}

// needsData reports whether rank to needs data of rank from.
func (z *boundFinder) needsData(from, to int) bool {
	full := func(rank int) bool { return int64(rank) < z.Bytes } // whether its block is not empty
	switch z.Kind {
	case ReduceScatter:
		return full(to)
	case AllGather:
		return full(from)
	case AllToAll:
		return z.Sizes == nil || z.Sizes[from*len(z.Group)+to] > 0
	case Broadcast:
		return from == z.Root
	case Reduce:
		return to == z.Root
	case SendReceive:
		return from == z.Root && to == z.Peer
	}

	return true
}
