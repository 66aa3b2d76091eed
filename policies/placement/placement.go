// Package placement chooses the cubes of a pod that a job of a fleet gets. Each placement is a
// Policy in Table. It sees the state of a Pod: which chips and cubes are free, and which cubes
// the switches connect. Queues, failures and time belong to the simulation in package fleet.
//
// fixedGrid and hilbertRow place slices on pods without optical switches, reconfigurablePods on
// pods with them. Wiring connects the cubes of a slice. Start reading with Pod, Place and Table.
package placement

import (
	"math/bits"
	"sync"

	"sim/workloads/fleet"
)

// gridSide is the side of the grid of 4 x 4 x 4 cubes in a pod: cube x*16 + y*4 + z is at (x, y,
// z). The chips of a cube form the same grid, so both fit a 64-bit word. If optical switches join
// the cubes, the grid only numbers them.
const gridSide = 4

// Cube is the state of a cube. Chip i is bit i of a word.
type Cube struct {
	Used uint64 // chips that a job uses
	Down uint64 // chips of machines that are down
	Held uint64 // chips reserved for a job until others have left them
	// Unlinked counts reasons against slices of complete cubes only: optical links that are down
	// or drained.
	Unlinked int16
	// Closed counts reasons against all slices: maintenance, a reserved cube, a cube that is not
	// installed yet.
	Closed int16
}

// IsFree reports whether a slice of complete cubes can use the cube.
func (c *Cube) IsFree() bool { return c.Used|c.Down|c.Held == 0 && c.Unlinked == 0 && c.Closed == 0 }

// Pod is the state of a pod.
type Pod struct {
	Cubes [fleet.PodCubes]Cube
	// Next[d][i] is the cube that the upward links of cube i along dimension d lead to; -1 if
	// they are not connected. A connection that no job uses remains until another one takes one
	// of its ports.
	Next [3][fleet.PodCubes]int8
	Prev [3][fleet.PodCubes]int8 // the reverse of Next
}

// NewPod returns a pod with all parts up and nothing connected.
func NewPod() *Pod {
	p := &Pod{}
	for d := range p.Next {
		for i := range p.Next[d] {
			p.Next[d][i], p.Prev[d][i] = -1, -1
		}
	}
	return p
}

// Free returns the cubes that a slice of complete cubes can use, cube i in bit i.
func (p *Pod) Free() uint64 {
	free := uint64(0)
	for i := range p.Cubes {
		if p.Cubes[i].IsFree() {
			free |= 1 << i
		}
	}
	return free
}

// Place is the location of a slice. Cubes lists its cubes in the order of their positions in the
// slice, the last dimension fastest. If Chips is not 0, the slice is these chips of a single
// cube.
type Place struct {
	Cubes []int8
	Chips uint64
}

// Policy chooses the locations of slices.
type Policy interface {
	// Place returns a location of a slice in a pod, and false if it does not fit. It does not
	// change the pod.
	Place(p *Pod, s fleet.Shape) (Place, bool)
	// Rewires reports whether optical switches connect slices, so that any cubes can form one.
	Rewires() bool
}

// Reshaper is a policy that gives jobs slices of other shapes than requested.
type Reshaper interface {
	// Reshapes lists the slices that a job with the requested slice may get. They have equally
	// many chips.
	Reshapes(s fleet.Shape) []fleet.Shape
}

// Row is a placement with its name.
type Row struct {
	Name, Doc string
	New       func() Policy
}

// Table lists the placements.
func Table() []Row {
	return []Row{
		{Name: "static-first-fit", Doc: "Cubes are a fixed grid of 4x4x4 with wrap-around links; a slice is a box of it in any rotation, the first that is free. Slices longer than the grid never fit.",
			New: func() Policy { return &fixedGrid{} }},
		{Name: "static-best-fit", Doc: "As static-first-fit, of all boxes that are free the one that leaves the largest free box.",
			New: func() Policy { return &fixedGrid{bestFit: true} }},
		{Name: "static-hilbert", Doc: "Cubes in a row on a Hilbert curve through a fixed grid, the first that are free; shapes do not matter.",
			New: func() Policy { return hilbertRow{} }},
		{Name: "folding", Doc: "As static-first-fit; a slice may also be folded: a long dimension winds through a thin one, as in RFold.",
			New: func() Policy { return &fixedGrid{canFold: true} }},
		{Name: "reconfigurable", Doc: "Any free cubes, joined by optical switches: those whose connections need fewest changes.",
			New: func() Policy { return reconfigurablePods{} }},
		{Name: "best-fit-subcube", Doc: "As reconfigurable; slices below a cube go to the fullest cube that has room.",
			New: func() Policy { return reconfigurablePods{prefersFullest: true} }},
		{Name: "aware", Doc: "As best-fit-subcube; of all slices of as many whole cubes as a job asks for, twisted or not, it gets that on which its step is shortest, by the loads of links under its traffic.",
			New: func() Policy {
				return shapeAware{reconfigurablePods: reconfigurablePods{prefersFullest: true}}
			}},
	}
}

// subcubeBlocks returns the possible locations of a slice smaller than a cube: in any rotation,
// at multiples of its sides, as in a buddy allocator.
func subcubeBlocks(s fleet.Shape) []uint64 { return buddies()[s.Dims] }

// buddies returns the locations of all slices smaller than a cube, by their sides.
var buddies = sync.OnceValue(func() map[[3]int][]uint64 {
	list := map[[3]int][]uint64{}
	for a := 1; a <= fleet.Side; a *= 2 {
		for b := a; b <= fleet.Side; b *= 2 {
			for c := b; c <= fleet.Side; c *= 2 {
				sides := [3]int{a, b, c}
				list[sides] = boxes(sides, sides, noWrap)
			}
		}
	}
	return list
})

// anywhere is the step of boxes that start at any cell.
var anywhere = [3]int{1, 1, 1}

// Values of the argument wrap of boxes.
const (
	noWrap     = false
	wrapAround = true
)

// boxes returns all boxes with the given sides in a grid of 4x4x4 in every distinct rotation, as
// words of 64 bits. They start at multiples of step, which is rotated too. With wrap, boxes cross
// the border of the grid. Boxes with a side above 4 do not exist. The list is shared and must not
// be changed.
func boxes(sides, step [3]int, wrap bool) []uint64 {
	key := boxKey{sides: sides, step: step, wrap: wrap}
	list, ok := boxLists.Load(key)
	if !ok {
		list, _ = boxLists.LoadOrStore(key, listBoxes(sides, step, wrap))
	}
	return list.([]uint64)
}

// boxKey holds the arguments of boxes.
type boxKey struct {
	sides, step [3]int
	wrap        bool
}

// boxLists caches the results of boxes, by boxKey.
var boxLists sync.Map

// rotations lists the permutations of the three dimensions.
var rotations = [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

// listBoxes computes boxes.
func listBoxes(sides, step [3]int, wrap bool) []uint64 {
	var list []uint64
	known := map[uint64]bool{}
	for _, turn := range rotations {
		// starts has the number of starts of a box along each dimension.
		var side, turnedStep, starts [3]int
		for d, t := range turn {
			side[d], turnedStep[d] = sides[t], step[t]
			if starts[d] = gridSide / max(1, turnedStep[d]); side[d] > gridSide {
				return nil
			}
			if wrap && side[d] == gridSide { // every start gives the same box
				starts[d] = 1
			}
		}

		for x := range starts[0] {
			for y := range starts[1] {
				for z := range starts[2] {
					if m := box([3]int{x * turnedStep[0], y * turnedStep[1], z * turnedStep[2]}, side); !known[m] {
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
func box(origin, side [3]int) uint64 {
	m := uint64(0)
	for dx := range side[0] {
		for dy := range side[1] {
			for dz := range side[2] {
				x := (origin[0] + dx) % gridSide
				y := (origin[1] + dy) % gridSide
				z := (origin[2] + dz) % gridSide
				m |= 1 << (x*gridSide*gridSide + y*gridSide + z)
			}
		}
	}
	return m
}

// fullestCube is the argument prefersFullest of placeInCube for policies that always prefer the
// fullest cube.
const fullestCube = true

// placeInCube places a slice smaller than a cube at one of the given locations: in the fullest
// cube that fits, or in the first. It uses an empty cube only if no other fits.
func placeInCube(p *Pod, list []uint64, prefersFullest bool) (Place, bool) {
	bestRank, chips, bestCube := 0, uint64(0), -1
	for i := range p.Cubes {
		c := &p.Cubes[i]
		if c.Closed > 0 {
			continue
		}
		used := bits.OnesCount64(c.Used)

		// The cube with the highest rank wins, the first of equal ones.
		rank := used
		if !prefersFullest {
			rank = min(used, 1)
		}
		if bestCube >= 0 && rank <= bestRank {
			continue
		}
		for _, m := range list {
			if (c.Used|c.Down|c.Held)&m == 0 {
				bestRank, chips, bestCube = rank, m, i
				break
			}
		}
	}

	if bestCube < 0 {
		return Place{}, false
	}
	return Place{Cubes: []int8{int8(bestCube)}, Chips: chips}, true
}

// cubeList returns the cubes of a word in rising order.
func cubeList(m uint64) []int8 {
	list := make([]int8, 0, bits.OnesCount64(m))
	for ; m != 0; m &= m - 1 {
		list = append(list, int8(bits.TrailingZeros64(m)))
	}
	return list
}
