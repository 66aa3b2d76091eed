package placement

import "sim/workloads/fleet"

// maxExactCubes is the largest pod for which MaxBoxes always completes its search, within 10,000
// steps. In larger pods it could take hours, and ends after maxBoxSteps, a few milliseconds.
const (
	maxExactCubes = 64
	maxBoxSteps   = 1 << 12
)

// MaxBoxes returns an upper bound on the number of disjoint boxes of a slice of whole cubes that
// fit into the free cubes of a pod whose cubes are a fixed grid, in any rotation and with
// wrap-around. It holds for all placements without optical switches. The search is exhaustive,
// and the bound is exact: either some box contains the lowest free cube, or that cube stays
// empty. If a large pod takes more than maxBoxSteps, the bound is the number of slices with as
// many cubes.
func (p *Pod) MaxBoxes(s fleet.Shape) int {
	all := p.layout.sliceBoxes(s)
	size, best, steps := s.Cubes(), 0, 0
	exceeds := func() bool { return steps == maxBoxSteps && len(p.Cubes) > maxExactCubes }

	// visited has the largest number of boxes with which the search has reached a set of free
	// cubes.
	visited := map[CubeSet]int{}
	var search func(free CubeSet, n int)
	search = func(free CubeSet, n int) {
		// Return if the free cubes cannot lead to more boxes than the best so far.
		best = max(best, n)
		if n+free.Len()/size <= best || exceeds() {
			return
		}
		if count, ok := visited[free]; ok && count >= n {
			return
		}
		visited[free] = n
		steps++

		// A free box contains the lowest free cube c, or the cube stays empty.
		c := free.First()
		for i := range all {
			if m := &all[i]; m.Has(c) && free.Contains(m) {
				search(free.without(m), n+1)
			}
		}
		free.remove(c)
		search(free, n)
	}

	free, numPlaced := p.Free(), 0
	search(free, numPlaced)
	if exceeds() {
		return free.Len() / size
	}
	return best
}
