package placement

import (
	"math/bits"
	"slices"
	"sync"

	"sim/workloads/fleet"
)

// fixedGrid places slices as boxes in a fixed grid of cubes, as in pods without optical switches.
type fixedGrid struct {
	bestFit bool // choose the box that leaves the largest free box, not the first
	canFold bool // slices may be folded

	cache map[fleet.Shape][]uint64 // locations of a slice
}

// Rewires implements Policy.
func (*fixedGrid) Rewires() bool { return false }

// Place implements Policy.
func (s *fixedGrid) Place(p *Pod, want fleet.Shape) (Place, bool) {
	list := s.places(want)
	if want.Cubes() == 0 {
		return placeInCube(p, list, true)
	}
	free := p.Free()
	bestBox, largestLeft := uint64(0), -1
	for _, m := range list {
		if m&^free != 0 {
			continue
		}
		if !s.bestFit {
			bestBox = m
			break
		}
		if n := s.largestBox(free&^m, largestLeft); n > largestLeft {
			bestBox, largestLeft = m, n
		}
	}

	if bestBox == 0 {
		return Place{}, false
	}
	return Place{Cubes: cubeList(bestBox)}, true
}

// places returns the locations of a slice: chips of a cube, or cubes of the grid.
func (s *fixedGrid) places(want fleet.Shape) []uint64 {
	want.Twisted = false // a twisted slice uses the same cubes
	if list, ok := s.cache[want]; ok {
		return list
	}
	if s.cache == nil {
		s.cache = map[fleet.Shape][]uint64{}
	}
	var list []uint64
	if want.Cubes() == 0 {
		list = subcubeBlocks(want)
	} else {
		var sides [3]int
		for d, n := range want.Dims {
			sides[d] = n / fleet.Side
		}
		shapes := [][3]int{sides}
		if s.canFold {
			shapes = append(shapes, foldedShapes(sides)...)
		}
		for _, shape := range shapes {
			list = append(list, boxes(shape, [3]int{1, 1, 1}, true)...)
		}
	}

	s.cache[want] = list
	return list
}

// foldedShapes returns the boxes into which a slice can be folded, with sides in cubes. A ring of
// even length n along one side winds through a side of length 1 as a cycle of a x n/a, and the
// other side stays. If two sides are 1, it winds through both (RFold folds the rings of a job in
// this manner).
func foldedShapes(sides [3]int) [][3]int {
	var list [][3]int
	for d := range 3 {
		thin, other := (d+1)%3, (d+2)%3
		for range 2 {
			if sides[thin] == 1 && sides[d]%2 == 0 {
				for a := 2; a < sides[d]; a++ {
					if sides[d]%a != 0 {
						continue
					}
					f := sides
					f[thin], f[d] = a, sides[d]/a
					list = append(list, f)
					if f[other] == 1 { // a cycle can fill any box of even volume with two sides above 1
						for b := 2; b < f[d]; b++ {
							if f[d]%b == 0 {
								g := f
								g[other], g[d] = b, f[d]/b
								list = append(list, g)
							}
						}
					}
				}
			}

			thin, other = other, thin
		}
	}

	for i := range list {
		slices.Sort(list[i][:])
	}
	slices.SortFunc(list, func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

// allBoxes returns the boxes of all sizes, the largest first.
var allBoxes = sync.OnceValue(func() (all []uint64) {
	for x := 1; x <= gridSide; x++ {
		for y := x; y <= gridSide; y++ {
			for z := y; z <= gridSide; z++ {
				all = append(all, boxes([3]int{x, y, z}, [3]int{1, 1, 1}, true)...)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b uint64) int { return bits.OnesCount64(b) - bits.OnesCount64(a) })
	return all
})

// largestBox returns the number of cubes in the largest free box, or minSize if no box is larger
// than that.
func (s *fixedGrid) largestBox(free uint64, minSize int) int {
	for _, m := range allBoxes() {
		n := bits.OnesCount64(m)
		if n <= minSize {
			return minSize
		}
		if m&^free == 0 {
			return n
		}
	}
	return 0
}

// hilbertRow places a slice on consecutive cubes of a Hilbert curve through the grid, as
// one-dimensional schedulers do.
type hilbertRow struct{}

// Rewires implements Policy.
func (hilbertRow) Rewires() bool { return false }

// Place implements Policy.
func (hilbertRow) Place(p *Pod, want fleet.Shape) (Place, bool) {
	if want.Cubes() == 0 {
		return placeInCube(p, subcubeBlocks(want), true)
	}
	run := 0
	for i, c := range curve {
		if run++; !p.Cubes[c].IsFree() {
			run = 0
		}
		if run == want.Cubes() {
			return Place{Cubes: slices.Clone(curve[i+1-run : i+1])}, true
		}
	}

	return Place{}, false
}

// curve lists the cubes along a Hilbert curve through the grid (Skilling, "Programming the
// Hilbert curve", 2004).
var curve = hilbertCurve()

// hilbertCurve computes curve.
func hilbertCurve() []int8 {
	const dims, order = 3, 2
	list := make([]int8, 1<<(dims*order))
	for h := range list {
		// The bits of the index, dealt to the coordinates in turn, are the transpose of a Gray
		// code.
		var x [dims]int
		for b := range dims * order {
			bit := h >> (dims*order - 1 - b) & 1
			x[b%dims] |= bit << (order - 1 - b/dims)
		}

		carry := x[dims-1] >> 1
		for i := dims - 1; i > 0; i-- {
			x[i] ^= x[i-1]
		}
		x[0] ^= carry
		for q := 2; q != 1<<order; q <<= 1 {
			low := q - 1
			for i := dims - 1; i >= 0; i-- {
				if x[i]&q != 0 {
					x[0] ^= low
				} else {
					t := (x[0] ^ x[i]) & low
					x[0] ^= t
					x[i] ^= t
				}
			}
		}

		list[h] = int8(x[0]*gridSide*gridSide + x[1]*gridSide + x[2])
	}

	return list
}
