package collective

import (
	"fmt"
	"slices"

	"sim/engine"
)

// boundAllToAll bounds an all-to-all by the data that leaves and enters single ranks, slabs of a
// torus and domains, and by bytes times hops over all links.
func (z *boundFinder) boundAllToAll() {
	n := len(z.Group)
	size := func(i, k int) float64 {
		if z.Sizes != nil {
			return float64(z.Sizes[i*n+k])
		}
		return float64(z.Bytes)
	}

	// The data that crosses the boundary of a side, a set of nodes, takes at least its bytes over the
	// rate of the links that cross the boundary.
	tighten := func(isInside func(node int32) bool, sent, taken float64, reason string) {
		out, in := 0.0, 0.0
		for _, l := range z.links {
			if isInside(l.From) && !isInside(l.To) {
				out += l.Rate
			} else if isInside(l.To) && !isInside(l.From) {
				in += l.Rate
			}
		}
		z.tighten(sent/(out*z.unit), "%s", reason)
		z.tighten(taken/(in*z.unit), "%s", reason)
	}

	for k, a := range z.Group {
		sent, taken := 0.0, 0.0
		for i := range n {
			if i != k {
				sent, taken = sent+size(k, i), taken+size(i, k)
			}
		}
		isRank := func(node int32) bool { return node == a }
		tighten(isRank, sent, taken, fmt.Sprintf("the links of rank %d", k))
	}

	// Slabs between two planes across an axis of the torus, except the whole torus.
	if z.Torus != nil {
		for axis := range z.Torus.At(0) {
			coordinate := make([]int32, z.Network.Nodes)
			for node := range coordinate {
				coordinate[node] = int32(z.Torus.At(int32(node))[axis])
			}
			planes := 1 + slices.Max(coordinate)
			crossing := z.crossingBytes(coordinate, int(planes), size)
			for from := range planes {
				for to := from + 1; to <= planes && to-from < planes; to++ {
					isInside := func(node int32) bool {
						return coordinate[node] >= from && coordinate[node] < to
					}
					sent, taken := crossing(int(from), int(to))
					tighten(isInside, sent, taken, "planes across the torus")
				}
			}
		}
	}

	if domain, domains := z.nodeDomains(); domains > 1 {
		crossing := z.crossingBytes(domain, domains, size)
		for d := range domains {
			isInside := func(node int32) bool { return domain[node] == int32(d) }
			sent, taken := crossing(d, d+1)
			tighten(isInside, sent, taken, "the links of a domain")
		}
	}

	// Every byte crosses as many links as there are hops between its ranks.
	sum, all := 0.0, 0.0
	for _, l := range z.links {
		all += l.Rate
	}
	for i, a := range z.Group {
		hops := z.distances(a, func(engine.Link) float64 { return 1 })
		for k, b := range z.Group {
			if i != k {
				sum += size(i, k) * hops[b]
			}
		}
	}

	z.tighten(sum/(all*z.unit), "all links, by hops")
}

// crossingBytes returns a function of the bytes that an all-to-all sends from nodes with parts
// from <= part < to to other nodes, and takes from other nodes. part is the part of each node, of
// the given number of parts. size returns the bytes from one rank to another.
func (z *boundFinder) crossingBytes(
	part []int32, parts int, size func(i, k int) float64,
) func(from, to int) (sent, taken float64) {
	// By part a: bytes from and to all parts below it, and, for two parts a and b, bytes from parts
	// below a to parts below b.
	sentBelow, takenBelow := make([]float64, parts+1), make([]float64, parts+1)
	between := make([][]float64, parts+1)
	for a := range between {
		between[a] = make([]float64, parts+1)
	}
	for i, a := range z.Group {
		for k, b := range z.Group {
			if i == k {
				continue
			}
			sentBelow[part[a]+1] += size(i, k)
			takenBelow[part[b]+1] += size(i, k)
			between[part[a]+1][part[b]+1] += size(i, k)
		}
	}
	for a := 1; a <= parts; a++ {
		sentBelow[a] += sentBelow[a-1]
		takenBelow[a] += takenBelow[a-1]
		for b := 1; b <= parts; b++ {
			between[a][b] += between[a-1][b] + between[a][b-1] - between[a-1][b-1]
		}
	}

	return func(from, to int) (sent, taken float64) {
		inside := between[to][to] - between[from][to] - between[to][from] + between[from][from]
		return sentBelow[to] - sentBelow[from] - inside, takenBelow[to] - takenBelow[from] - inside
	}
}
