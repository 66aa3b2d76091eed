package placement

import (
	"slices"
	"sync"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

// layout holds the geometry of a pod: the chips of its cubes, and the grid that cubes form
// without optical switches. Cube (x*Y + y)*Z + z is at (x, y, z) of a grid of X x Y x Z cubes, and
// chips are numbered likewise in a cube. Pods of the same kind share it.
type layout struct {
	torus.Pod
	grid  torus.Box // in cubes
	chips uint64    // all chips of a cube
	// machines has the chips of each machine of a cube.
	machines []uint64
	// blocks lists the locations in a cube of each slice smaller than a cube, by its sides: in any
	// rotation, at multiples of its sides, as in a buddy allocator.
	blocks map[[3]int][]uint64
	// curve lists the cubes along a Hilbert curve through the grid.
	curve []int16
	// allBoxes returns the boxes of all sizes in the grid, the largest first.
	allBoxes func() []boxGroup
}

// boxGroup holds the boxes of the grid with the same number of cubes.
type boxGroup struct {
	cubes int
	boxes []CubeSet
}

// layouts caches the results of layoutOf, by torus.Pod.
var layouts sync.Map

// layoutOf returns the layout of a pod.
func layoutOf(pod *torus.Pod) *layout {
	if l, ok := layouts.Load(*pod); ok {
		return l.(*layout)
	}
	l := &layout{
		Pod: *pod, grid: pod.Grid(), blocks: map[[3]int][]uint64{},
		chips: ^uint64(0) >> (fleet.MaxCubeChips - pod.Cube.Chips()),
	}
	l.curve = hilbertCurve(l.grid)
	l.allBoxes = sync.OnceValue(l.groupBoxes)

	single := torus.Box{1, 1, 1} // chip
	maxSide := slices.Max(pod.Cube[:])
	for a := 1; a <= maxSide; a *= 2 {
		for b := a; b <= maxSide; b *= 2 {
			for c := b; c <= maxSide; c *= 2 {
				sides := [3]int{a, b, c}
				for _, block := range listBoxes(boxKey{pod.Cube, single, sides, sides, noWrap}) {
					l.blocks[sides] = append(l.blocks[sides], block[0]) // a cube has at most 64 chips
				}
			}
		}
	}

	// Machines are blocks in one orientation.
	hosts := pod.Cube
	for d := range hosts {
		hosts[d] /= pod.Host[d]
	}
	for i := range pod.HostsPerCube() {
		host := [3]int{i / (hosts[1] * hosts[2]), i / hosts[2] % hosts[1], i % hosts[2]}
		for d := range host {
			host[d] *= pod.Host[d]
		}
		l.machines = append(l.machines, box(pod.Cube, host, pod.Host)[0])
	}

	actual, _ := layouts.LoadOrStore(*pod, l)
	return actual.(*layout)
}

// anywhere is the step of boxes that start at any cell.
var anywhere = [3]int{1, 1, 1}

// Values of boxKey.wrap.
const (
	noWrap     = false
	wrapAround = true
)

// boxKey describes the boxes of listBoxes.
type boxKey struct {
	grid torus.Box // cells of the grid along each dimension
	cell torus.Box // size of a cell; sides and steps are multiples of it along their dimension
	// sides are the sides of the boxes, in any order. They start at multiples of step cells,
	// ordered likewise.
	sides, step [3]int
	wrap        bool // boxes cross the border of the grid
}

// boxLists caches the results of boxes, by boxKey.
var boxLists sync.Map

// boxes returns the boxes of a key as sets of cells, each once. The list is shared and must not
// be changed.
func boxes(key boxKey) []CubeSet {
	list, ok := boxLists.Load(key)
	if !ok {
		list, _ = boxLists.LoadOrStore(key, listBoxes(key))
	}
	return list.([]CubeSet)
}

// listBoxes computes boxes. An order of the sides has no boxes if a side is no multiple of a
// cell, or exceeds the grid.
func listBoxes(key boxKey) []CubeSet {
	var list []CubeSet
	known := map[CubeSet]bool{}
	for _, order := range torus.AxisOrders {
		// starts has the number of starts of a box along each dimension.
		var side, step, starts [3]int
		exists := true
		for d, from := range order {
			side[d], step[d] = key.sides[from]/key.cell[d], key.step[from]
			exists = exists && key.sides[from]%key.cell[d] == 0 && side[d] <= key.grid[d]
			starts[d] = key.grid[d] / max(1, step[d])
			if key.wrap && side[d] == key.grid[d] { // every start gives the same box
				starts[d] = 1
			}
		}
		if !exists {
			continue
		}

		for x := range starts[0] {
			for y := range starts[1] {
				for z := range starts[2] {
					origin := [3]int{x * step[0], y * step[1], z * step[2]}
					if m := box(key.grid, origin, side); !known[m] {
						known[m] = true
						list = append(list, m)
					}
				}
			}
		}
	}

	return list
}

// box returns the cells of a box, wrapped around the grid.
func box(grid torus.Box, origin, side [3]int) CubeSet {
	var m CubeSet
	for dx := range side[0] {
		for dy := range side[1] {
			for dz := range side[2] {
				x := (origin[0] + dx) % grid[0]
				y := (origin[1] + dy) % grid[1]
				z := (origin[2] + dz) % grid[2]
				m.add((x*grid[1]+y)*grid[2] + z)
			}
		}
	}
	return m
}

// sliceBoxes returns the boxes of the grid that a slice of whole cubes can be.
func (l *layout) sliceBoxes(s fleet.Shape) []CubeSet {
	return boxes(boxKey{l.grid, l.Cube, s.Dims, anywhere, wrapAround})
}

// FitsGrid reports whether a slice of whole cubes is a box of the grid that the cubes of a pod
// form without optical switches.
func FitsGrid(pod *torus.Pod, s fleet.Shape) bool { return len(layoutOf(pod).sliceBoxes(s)) > 0 }

// groupBoxes returns the boxes of all sizes, the largest first.
func (l *layout) groupBoxes() []boxGroup {
	var all []boxGroup
	for n := l.Cubes; n > 0; n-- {
		g := boxGroup{cubes: n}
		for _, s := range fleet.SlicesOf(l.Cube, n) {
			g.boxes = append(g.boxes, l.sliceBoxes(s)...)
		}
		all = append(all, g)
	}
	return all
}
