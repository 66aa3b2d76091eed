package collective

import (
	"cmp"
	"slices"
)

// balance divides the parts of every fresh residue among its k links so that the greatest load is least: an optimal
// semi-matching (Harvey et al., "Semi-matchings for bipartite graphs and load balancing", J. Algorithms 2006), by
// shifting parts along paths of links from the fullest to one that has room.
func (z *spreader) balance(k int) {
	z.load = append(z.load[:0], make([]int32, k)...)
	z.pour(k)
	for z.shift(k) {
	}
}

// pour gives every residue, those of fewest links first, to its emptiest links.
func (z *spreader) pour(k int) {
	order := make([]int32, len(z.fresh))
	ways := make([]int32, len(z.fresh))
	for e := range order {
		order[e] = int32(e)
		for _, c := range z.share[e*k : (e+1)*k] {
			if c >= 0 {
				ways[e]++
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(ways[a], ways[b]) })
	for _, e := range order {
		row := z.share[int(e)*k : (int(e)+1)*k]
		for range z.parts {
			best := -1
			for i, c := range row {
				if c >= 0 && (best < 0 || z.load[i] < z.load[best]) {
					best = i
				}
			}
			row[best]++
			z.load[best]++
		}
	}
}

// shift moves a part along a path from the fullest link to one of at least two parts less. Where it finds none, all
// links that could take over from the fullest are within a part of it, so no division is better.
func (z *spreader) shift(k int) bool {
	full := 0
	for i, l := range z.load {
		if l > z.load[full] {
			full = i
		}
	}
	const unseen = -1
	// by link: the one before on the path, and the residue whose parts move
	before, moves := make([]int32, k), make([]int32, k)
	for i := range before {
		before[i] = unseen
	}
	before[full] = int32(full)
	queue := append(z.from[:0], int32(full))
	defer func() { z.from = queue }()
	for at := 0; at < len(queue); at++ {
		i := queue[at]
		for e := range z.fresh {
			row := z.share[e*k : (e+1)*k]
			if row[i] <= 0 {
				continue
			}
			for j, c := range row {
				if c < 0 || before[j] != unseen {
					continue
				}
				before[j], moves[j] = i, int32(e)
				queue = append(queue, int32(j))
				if z.load[j] > z.load[full]-2 {
					continue
				}
				for to := int32(j); to != int32(full); to = before[to] {
					row := z.share[int(moves[to])*k : (int(moves[to])+1)*k]
					row[to]++
					row[before[to]]--
				}
				z.load[j]++
				z.load[full]--
				return true
			}
		}
	}
	return false
}
