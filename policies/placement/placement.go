// Package placement decides which cubes of which pod a job of a fleet gets. Each placement is a row of Table. It sees
// what is free, nothing of queues, failures or time: when a job is tried, and what is done when it does not fit, is the
// simulation's.
package placement

import (
	"math/bits"
	"sync"

	"sim/workloads/fleet"
)

// A pod's cubes stand in a grid of 4 x 4 x 4, cube x*16 + y*4 + z at (x, y, z); so do the chips of a cube, in one word.
// Where optical switches join the cubes the grid has no meaning but to number them.
const gridSide = 4

// Cube is what of a cube is taken and what is not there.
type Cube struct {
	Used uint64 // chips that a job has
	Down uint64 // chips of machines that are down
	Held uint64 // chips that are kept for a job whose place others are leaving
	// Unlinked counts what keeps it out of slices of whole cubes alone: optical links that are down or drained.
	Unlinked int16
	// Closed counts what keeps it out of all slices: maintenance, a cube held back, not landed.
	Closed int16
}

// IsFree reports whether a slice of whole cubes can have it.
func (c *Cube) IsFree() bool { return c.Used|c.Down|c.Held == 0 && c.Unlinked == 0 && c.Closed == 0 }

// Pod is the state of a pod.
type Pod struct {
	Cubes [fleet.PodCubes]Cube
	// Next[d][i] is the cube that the links of cube i lead to along dimension d, upwards, or -1: what the switches of a
	// dimension connect. A connection that no job uses stays until another takes one of its ports.
	Next [3][fleet.PodCubes]int8
	Prev [3][fleet.PodCubes]int8 // the other way
}

// NewPod returns a pod with everything up and nothing connected.
func NewPod() *Pod {
	p := &Pod{}
	for d := range p.Next {
		for i := range p.Next[d] {
			p.Next[d][i], p.Prev[d][i] = -1, -1
		}
	}
	return p
}

// Free returns the cubes that a slice of whole cubes can have, cube i in bit i.
func (p *Pod) Free() uint64 {
	free := uint64(0)
	for i := range p.Cubes {
		if p.Cubes[i].IsFree() {
			free |= 1 << i
		}
	}
	return free
}

// Place is where a slice is: whole cubes in the order of their places in the slice, the last dimension fastest, or, with
// Chips not 0, chips of one cube.
type Place struct {
	Cubes []int8
	Chips uint64
}

// Policy chooses where slices go.
type Policy interface {
	// Place returns where in a pod a slice goes, and whether it fits. It does not change the pod.
	Place(p *Pod, s fleet.Shape) (Place, bool)
	// Rewires reports whether slices are connected by optical switches, so that any cubes may make one.
	Rewires() bool
}

// Reshaper is a policy that gives jobs other slices than they ask for.
type Reshaper interface {
	// Reshapes lists the slices that a job may have which asks for one: of as many chips.
	Reshapes(s fleet.Shape) []fleet.Shape
}

// Row is a placement by name.
type Row struct {
	Name, Doc string
	New       func() Policy
}

// Table lists the placements.
func Table() []Row {
	return []Row{
		{"static-first-fit", "Cubes are a fixed grid of 4x4x4 with wrap-around links; a slice is a box of it in any rotation, the first that is free. Slices longer than the grid never fit.",
			func() Policy { return &fixedGrid{} }},
		{"static-best-fit", "As static-first-fit, of all boxes that are free the one that leaves the largest free box.",
			func() Policy { return &fixedGrid{bestFit: true} }},
		{"static-hilbert", "Cubes in a row on a Hilbert curve through a fixed grid, the first that are free; shapes do not matter.",
			func() Policy { return hilbertRow{} }},
		{"folding", "As static-first-fit; a slice may also be folded: a long dimension winds through a thin one, as in RFold.",
			func() Policy { return &fixedGrid{canFold: true} }},
		{"reconfigurable", "Any free cubes, joined by optical switches: those whose connections need fewest changes.",
			func() Policy { return reconfigurablePods{} }},
		{"best-fit-subcube", "As reconfigurable; slices below a cube go to the fullest cube that has room.",
			func() Policy { return reconfigurablePods{prefersFullest: true} }},
		{"aware", "As best-fit-subcube; of all slices of as many whole cubes as a job asks for, twisted or not, it gets that on which its step is shortest, by the loads of links under its traffic.",
			func() Policy { return shapeAware{reconfigurablePods{prefersFullest: true}} }},
	}
}

// subcubeBlocks returns the places of a slice below a cube, in any rotation, at multiples of its sides: buddies.
func subcubeBlocks(s fleet.Shape) []uint64 { return buddies()[s.Dims] }

// buddies are the blocks of all slices below a cube, by their sides.
var buddies = sync.OnceValue(func() map[[3]int][]uint64 {
	list := map[[3]int][]uint64{}
	for a := 1; a <= fleet.Side; a *= 2 {
		for b := a; b <= fleet.Side; b *= 2 {
			for c := b; c <= fleet.Side; c *= 2 {
				sides := [3]int{a, b, c}
				list[sides] = boxes(sides, sides, false)
			}
		}
	}
	return list
})

// boxes returns the boxes of these sides in a grid of 4x4x4, in every rotation that is another, as words of its 64
// places. They begin at multiples of step (rotated alike) or, wrapping round, anywhere. Sides above 4 have none. The
// list is everyone's: read only.
func boxes(sides, step [3]int, wrap bool) []uint64 {
	key := boxKey{sides, step, wrap}
	list, ok := boxLists.Load(key)
	if !ok {
		list, _ = boxLists.LoadOrStore(key, listBoxes(sides, step, wrap))
	}
	return list.([]uint64)
}

type boxKey struct {
	sides, step [3]int
	wrap        bool
}

// boxLists holds the lists that were asked for, by boxKey.
var boxLists sync.Map

func listBoxes(sides, step [3]int, wrap bool) []uint64 {
	var list []uint64
	known := map[uint64]bool{}
	for _, turn := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var side, turnedStep, starts [3]int
		for d, t := range turn {
			side[d], turnedStep[d] = sides[t], step[t]
			if starts[d] = gridSide / max(1, turnedStep[d]); side[d] > gridSide {
				return nil
			}
			if wrap && side[d] == gridSide {
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

// box returns the places of a box, wrapped round the grid.
func box(origin, side [3]int) uint64 {
	m := uint64(0)
	for x := range side[0] {
		for y := range side[1] {
			for z := range side[2] {
				m |= 1 << ((origin[0]+x)%gridSide*gridSide*gridSide + (origin[1]+y)%gridSide*gridSide + (origin[2]+z)%gridSide)
			}
		}
	}
	return m
}

// placeInCube places a slice below a cube: in the first cube that has room, or in the fullest. It keeps out of empty cubes
// while another has room.
func placeInCube(p *Pod, list []uint64, prefersFullest bool) (Place, bool) {
	bestRank, chips, bestCube := 0, uint64(0), -1
	for i := range p.Cubes {
		c := &p.Cubes[i]
		if c.Closed > 0 {
			continue
		}
		used := bits.OnesCount64(c.Used)
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

// cubeList lists the cubes of a word, by number.
func cubeList(m uint64) []int8 {
	list := make([]int8, 0, bits.OnesCount64(m))
	for ; m != 0; m &= m - 1 {
		list = append(list, int8(bits.TrailingZeros64(m)))
	}
	return list
}
