package collective

import (
	"fmt"

	"sim/engine"
)

// boundAllToAll bounds an all-to-all by the data that leaves and enters single ranks, slabs of a
// torus and domains, and by bytes times hops over all links.
func (z *boundFinder) boundAllToAll() {
	// size returns the size of the block from rank i to rank k.
	n := len(z.Group)
	size := func(i, k int) float64 {
		if z.Sizes != nil {
			return float64(z.Sizes[i*n+k])
		}
		return float64(z.Bytes)
	}

	// Each side is a set of nodes: single ranks, then slabs, then domains.
	var sides [][]bool
	for _, a := range z.Group {
		side := make([]bool, z.Network.Nodes)
		side[a] = true
		sides = append(sides, side)
	}
	if z.Torus != nil {
		sides = append(sides, slabs(z.Torus, z.Network.Nodes)...)
	}

	planes := len(sides) // sides from here on are domains
	if part, parts := z.nodeDomains(); parts > 1 {
		for d := range int32(parts) {
			side := make([]bool, z.Network.Nodes)
			for a := range side {
				side[a] = part[a] == d
			}
			sides = append(sides, side)
		}
	}

	// The data that crosses the boundary of a side, in each direction, over the rate of the links
	// that cross it.
	for k, side := range sides {
		out, in, sent, taken := 0.0, 0.0, 0.0, 0.0
		for _, l := range z.links {
			if side[l.From] && !side[l.To] {
				out += l.Rate
			} else if side[l.To] && !side[l.From] {
				in += l.Rate
			}
		}

		// For a single rank k, only its own row and column of blocks count.
		for i, a := range z.Group {
			if k < n && i != k {
				sent, taken = sent+size(k, i), taken+size(i, k)
			} else if k >= n {
				for m, b := range z.Group {
					if side[a] && !side[b] {
						sent, taken = sent+size(i, m), taken+size(m, i)
					}
				}
			}
		}

		// The kind of side follows from its index.
		reason := "planes across the torus"
		if k >= planes {
			reason = "the links of a domain"
		}
		if k < n {
			reason = fmt.Sprintf("the links of rank %d", k)
		}
		z.tighten(sent/(out*z.unit), "%s", reason)
		z.tighten(taken/(in*z.unit), "%s", reason)
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

// slabs returns the sets of nodes between any two planes across an axis of a torus.
func slabs(shape Shape, nodes int32) [][]bool {
	// The coordinates of all nodes.
	var raw [][]int
	for a := range nodes {
		raw = append(raw, shape.At(a))
	}

	// The slabs of each axis, which has size coordinates.
	var all [][]bool
	for axis := range raw[0] {
		size := 0
		for _, c := range raw {
			size = max(size, c[axis]+1)
		}
		// Slabs are intervals of coordinates, except the whole axis.
		for from := range size {
			for to := from + 1; to <= size && to-from < size; to++ {
				side := make([]bool, nodes)
				for a, c := range raw {
					side[a] = c[axis] >= from && c[axis] < to
				}
				all = append(all, side)
			}
		}
	}

	return all
}
