// Package placement chooses the cubes of a pod that a job of a fleet gets. Each placement is a
// Policy in Table. It sees the state of a Pod: which chips and cubes are free, and which cubes
// the switches connect. Queues, failures and time belong to the simulation in package fleet.
//
// fixedGrid and hilbertRow place slices on pods without optical switches, reconfigurablePods on
// pods with them. Wiring connects the cubes of a slice. Start reading with Pod, Place and Table.
package placement

import (
	"math/bits"
	"slices"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

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
	Cubes []Cube
	// Next[d][i] is the cube that the upward links of cube i along dimension d lead to; -1 if
	// they are not connected. A connection that no job uses remains until another one takes one
	// of its ports.
	Next [3][]int16
	Prev [3][]int16 // the reverse of Next

	layout *layout
}

// NewPod returns a pod with all parts up and nothing connected. fleet.CheckPod must accept it.
func NewPod(pod *torus.Pod) *Pod {
	p := &Pod{Cubes: make([]Cube, pod.Cubes), layout: layoutOf(pod)}
	for d := range p.Next {
		p.Next[d] = slices.Repeat([]int16{-1}, pod.Cubes)
		p.Prev[d] = slices.Clone(p.Next[d])
	}
	return p
}

// Trial returns a copy of a pod for trials of placements; see CopyCubes.
func (p *Pod) Trial() *Pod {
	trial := &Pod{}
	trial.CopyCubes(p)
	return trial
}

// CopyCubes makes p a copy of another pod for trials of placements: its cubes can change. The
// pods share connections, which must not change.
func (p *Pod) CopyCubes(other *Pod) {
	cubes := append(p.Cubes[:0], other.Cubes...)
	*p = *other
	p.Cubes = cubes
}

// Free returns the cubes that a slice of complete cubes can use.
func (p *Pod) Free() CubeSet {
	var free CubeSet
	for i := range p.Cubes {
		if p.Cubes[i].IsFree() {
			free.add(i)
		}
	}
	return free
}

// Machine returns the chips of a machine of a cube. Chips and machines are numbered with the last
// dimension fastest. With 4x4x4 chips and machines of 2x2x1, machine 0 has the chips 0, 4, 16 and
// 20.
func (p *Pod) Machine(number int) uint64 { return p.layout.machines[number] }

// Chips returns the chips that a slice at a place uses in each of its cubes.
func (p *Pod) Chips(at *Place) uint64 {
	if at.Chips != 0 {
		return at.Chips
	}
	return p.layout.chips
}

// Place is the location of a slice. Cubes lists its cubes in the order of their positions in the
// slice, the last dimension fastest. If Chips is not 0, the slice is these chips of a single
// cube.
type Place struct {
	Cubes []int16
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
		{Name: "static-first-fit", Doc: "Cubes are a fixed grid, 4x4x4 of 64, with wrap-around links; a slice is a box of it in any rotation, the first that is free. Slices longer than the grid never fit.",
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

// fullestCube is the argument prefersFullest of placeInCube for policies that always prefer the
// fullest cube.
const fullestCube = true

// placeInCube places a slice smaller than a cube: in the fullest cube that fits, or in the first.
// It uses an empty cube only if no other fits.
func placeInCube(p *Pod, want fleet.Shape, prefersFullest bool) (Place, bool) {
	list := p.layout.blocks[want.Dims]
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
	return Place{Cubes: []int16{int16(bestCube)}, Chips: chips}, true
}
