package placement

import (
	"cmp"
	"math/bits"
	"slices"

	"sim/fabric/torus"
	"sim/internal/numbers"
	"sim/workloads/fleet"
)

// fixedGrid places slices as boxes in a fixed grid of cubes, as in pods without optical switches.
type fixedGrid struct {
	bestFit bool // choose the box that leaves the largest free box, not the first
	canFold bool // slices may be folded

	cache map[fleet.Shape][]CubeSet // locations of a slice of whole cubes
}

// Rewires implements Policy.
func (*fixedGrid) Rewires() bool { return false }

// Place implements Policy.
func (s *fixedGrid) Place(p *Pod, want fleet.Shape) (Place, bool) {
	if want.Cubes() == 0 {
		return placeInCube(p, want, fullestCube)
	}

	// The first free box, or the one that leaves the largest free box.
	list, free := s.places(p.layout, want), p.Free()
	bestBox, largestLeft := -1, -1
	for i := range list {
		m := &list[i]
		if !free.Contains(m) { // some cube of the box is not free
			continue
		}
		if !s.bestFit {
			bestBox = i
			break
		}
		rest := free.without(m)
		if n := largestBox(p.layout, &rest, largestLeft); n > largestLeft {
			bestBox, largestLeft = i, n
		}
	}

	if bestBox < 0 {
		return Place{}, false
	}
	return Place{Cubes: list[bestBox].list()}, true
}

// places returns the locations in the grid of a slice of whole cubes. All pods have the same
// layout.
func (s *fixedGrid) places(l *layout, want fleet.Shape) []CubeSet {
	want.Twisted = false // a twisted slice uses the same cubes
	if list, ok := s.cache[want]; ok {
		return list
	}
	if s.cache == nil {
		s.cache = map[fleet.Shape][]CubeSet{}
	}

	// A slice may be any box of its sides, or of the sides that it can be folded to.
	list := l.sliceBoxes(want)
	if s.canFold {
		list = slices.Clone(list)
		sides, _ := want.Sides()
		for d := range sides {
			sides[d] /= l.Cube[d]
		}
		for _, folded := range foldedShapes(sides, l.Cube) {
			list = append(list, l.sliceBoxes(folded)...)
		}
	}

	s.cache[want] = list
	return list
}

// foldedShapes returns the boxes into which a slice can be folded. Its sides are in cubes. A ring
// of even length n along one side winds through a side of length 1 as a cycle of a x n/a, and the
// other side stays. If two sides are 1, it winds through both (RFold folds the rings of a job in
// this manner). Cubes have equal sides along the dimensions of a cycle.
func foldedShapes(sides [3]int, cube torus.Box) []fleet.Shape {
	var list []fleet.Shape
	add := func(folded [3]int) {
		for d := range folded {
			folded[d] *= cube[d]
		}
		list = append(list, fleet.NewShape(cube, folded))
	}
	for d := range 3 {
		// Each of the two other sides may be the thin one.
		thin, other := (d+1)%3, (d+2)%3
		for range 2 {
			if sides[thin] == 1 && sides[d]%2 == 0 && cube[thin] == cube[d] {
				for a := 2; a < sides[d]; a++ {
					if sides[d]%a != 0 {
						continue
					}
					folded := sides
					folded[thin], folded[d] = a, sides[d]/a
					add(folded)

					// A cycle can fill any box of even volume with two sides above 1.
					if folded[other] != 1 || cube[other] != cube[d] {
						continue
					}
					for b := 2; b < folded[d]; b++ {
						if folded[d]%b == 0 {
							twice := folded
							twice[other], twice[d] = b, folded[d]/b
							add(twice)
						}
					}
				}
			}

			thin, other = other, thin
		}
	}

	// Boxes are listed in every rotation anyway, and rotations of one box are equal shapes.
	slices.SortFunc(list, func(a, b fleet.Shape) int { return slices.Compare(a.Dims[:], b.Dims[:]) })
	return slices.Compact(list)
}

// largestBox returns the number of cubes in the largest free box, or minSize if no box is larger
// than that.
func largestBox(l *layout, free *CubeSet, minSize int) int {
	for _, group := range l.allBoxes() {
		if group.cubes <= minSize {
			return minSize
		}
		for i := range group.boxes {
			if free.Contains(&group.boxes[i]) {
				return group.cubes
			}
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
		return placeInCube(p, want, fullestCube)
	}

	// run counts the consecutive free cubes up to position i of the curve.
	run, curve := 0, p.layout.curve
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

// hilbertCurve returns the cubes of a grid in the order of a Hilbert curve through the smallest
// grid that contains it and whose sides are equal powers of two (Skilling, "Programming the
// Hilbert curve", 2004).
func hilbertCurve(grid torus.Box) []int16 {
	const dims = 3
	order := bits.Len(uint(slices.Max(grid[:]) - 1)) // bits of a coordinate
	position := func(cube int16) (h int) {
		c := int(cube)
		x := [dims]int{c / (grid[1] * grid[2]), c / grid[2] % grid[1], c % grid[2]}

		// Reflect and exchange the axes inside each subcube: bit q of a coordinate decides about
		// all lower bits.
		for q := 1 << order / 2; q > 1; q /= 2 {
			low := q - 1
			for i := range x {
				if x[i]&q != 0 {
					x[0] ^= low
				} else {
					t := (x[0] ^ x[i]) & low
					x[0] ^= t
					x[i] ^= t
				}
			}
		}

		// Encode as a Gray code.
		for i := 1; i < dims; i++ {
			x[i] ^= x[i-1]
		}
		carry := 0
		for q := 1 << order / 2; q > 1; q /= 2 {
			if x[dims-1]&q != 0 {
				carry ^= q - 1
			}
		}

		// The coordinates are the transpose of the position: they have its bits in turn.
		for b := range dims * order {
			h = h<<1 | (x[b%dims]^carry)>>(order-1-b/dims)&1
		}
		return h
	}

	list := numbers.Below(int16(grid.Chips()))
	slices.SortFunc(list, func(a, b int16) int { return cmp.Compare(position(a), position(b)) })
	return list
}
