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
		return placeInCube(p, list, fullestCube)
	}

	// The first free box, or the one that leaves the largest free box.
	free := p.Free()
	bestBox, largestLeft := uint64(0), -1
	for _, m := range list {
		if m&^free != 0 { // some cube of the box is not free
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

	// A slice of cubes may be any box of its sides, or of the sides that it can be folded to.
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
			list = append(list, boxes(shape, anywhere, wrapAround)...)
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
		// Each of the two other sides may be the thin one.
		thin, other := (d+1)%3, (d+2)%3
		for range 2 {
			if sides[thin] == 1 && sides[d]%2 == 0 {
				for a := 2; a < sides[d]; a++ {
					if sides[d]%a != 0 {
						continue
					}
					folded := sides
					folded[thin], folded[d] = a, sides[d]/a
					list = append(list, folded)

					// A cycle can fill any box of even volume with two sides above 1.
					if folded[other] != 1 {
						continue
					}
					for b := 2; b < folded[d]; b++ {
						if folded[d]%b == 0 {
							twice := folded
							twice[other], twice[d] = b, folded[d]/b
							list = append(list, twice)
						}
					}
				}
			}

			thin, other = other, thin
		}
	}

	// Boxes are listed in every rotation anyway, so rotations of one box are equal here.
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
				all = append(all, boxes([3]int{x, y, z}, anywhere, wrapAround)...)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b uint64) int {
		return bits.OnesCount64(b) - bits.OnesCount64(a)
	})
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
		return placeInCube(p, subcubeBlocks(want), fullestCube)
	}

	// run counts the consecutive free cubes up to position i of the curve.
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
	// Coordinates have order bits each, for the gridSide positions of a dimension.
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

		// Decode the Gray code.
		carry := x[dims-1] >> 1
		for i := dims - 1; i > 0; i-- {
			x[i] ^= x[i-1]
		}
		x[0] ^= carry

		// Undo the reflections and exchanges of axes inside each subcube: bit q of a coordinate
		// decides about all lower bits.
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
