package placement

import "math/bits"

// MaxBoxes returns the maximum number of disjoint boxes with the given sides that fit into the
// free cubes of a fixed grid, in any rotation and with wrap-around. It is an upper bound for all
// placements without optical switches. The search is exhaustive: either some box contains the
// lowest free cube, or that cube stays empty.
func MaxBoxes(free uint64, sides [3]int) int {
	all := boxes(sides, anywhere, wrapAround)
	size, best := sides[0]*sides[1]*sides[2], 0

	// visited has the largest number of boxes with which the search has reached a set of free
	// cubes.
	visited := map[uint64]int{}
	var search func(free uint64, n int)
	search = func(free uint64, n int) {
		// Return if the free cubes cannot lead to more boxes than the best so far.
		best = max(best, n)
		if n+bits.OnesCount64(free)/size <= best {
			return
		}
		if count, ok := visited[free]; ok && count >= n {
			return
		}
		visited[free] = n

		// A free box contains the lowest free cube c, or the cube stays empty.
		c := bits.TrailingZeros64(free)
		for _, m := range all {
			if m>>c&1 == 1 && m&^free == 0 {
				search(free&^m, n+1)
			}
		}
		search(free&^(1<<c), n)
	}

	numPlaced := 0
	search(free, numPlaced)
	return best
}
