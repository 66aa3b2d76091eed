package placement

import "math/bits"

// MaxBoxes returns the most boxes of these sides, in any rotation and wrapped round, that free cubes of a fixed grid
// have room for: no placement without optical switches can do better. It searches exhaustively, the lowest free cube
// first: some box has it, or none does.
func MaxBoxes(free uint64, sides [3]int) int {
	all := boxes(sides, [3]int{1, 1, 1}, true)
	size, best := sides[0]*sides[1]*sides[2], 0
	visited := map[uint64]int{}
	var search func(free uint64, n int)
	search = func(free uint64, n int) {
		best = max(best, n)
		if n+bits.OnesCount64(free)/size <= best {
			return
		}
		if count, ok := visited[free]; ok && count >= n {
			return
		}
		visited[free] = n
		c := bits.TrailingZeros64(free)
		for _, m := range all {
			if m>>c&1 == 1 && m&^free == 0 {
				search(free&^m, n+1)
			}
		}
		search(free&^(1<<c), n)
	}
	search(free, 0)
	return best
}
