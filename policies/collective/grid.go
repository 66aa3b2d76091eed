package collective

import (
	"fmt"
	"slices"
)

// grid arranges the members of a call as a box of a torus, or as a line without a torus. Axes
// along which all members have the same coordinate are left out.
type grid struct {
	sizes       []int            // number of coordinates, indexed by axis
	coordinates [][]int          // indexed by member, then by axis
	members     map[string]int32 // member at given coordinates, indexed by their printed form
}

// newGrid returns the grid of a call. It fails if the members do not form a box.
func (b *builder) newGrid(j *subCall) (*grid, error) {
	n := len(j.ranks)
	g := &grid{members: map[string]int32{}}

	// Without a torus, the members form a line in the order of ranks.
	if b.problem.Torus == nil {
		g.sizes = []int{n}
		for i := range n {
			g.coordinates = append(g.coordinates, []int{i})
		}
	} else {
		// raw has the coordinates in the whole torus.
		var raw [][]int
		for _, r := range j.ranks {
			raw = append(raw, b.problem.Torus.At(b.Group[r]))
		}
		g.coordinates = make([][]int, n)

		// Number the coordinates along each axis that has several, from 0 in rising order.
		for axis := range raw[0] {
			var values []int
			for _, coordinates := range raw {
				values = append(values, coordinates[axis])
			}
			slices.Sort(values)
			if values = slices.Compact(values); len(values) == 1 {
				continue
			}
			g.sizes = append(g.sizes, len(values))
			for i, coordinates := range raw {
				k, _ := slices.BinarySearch(values, coordinates[axis])
				g.coordinates[i] = append(g.coordinates[i], k)
			}
		}
	}

	// The members form a box if all combinations of coordinates occur.
	box := 1
	for _, size := range g.sizes {
		box *= size
	}
	if box != n {
		return nil, unserved(j, "a box of the torus, of which these are %d in one of %v", n, g.sizes)
	}
	for i, coordinates := range g.coordinates {
		g.members[fmt.Sprint(coordinates)] = int32(i)
	}
	return g, nil
}

// memberAt returns the member with the given coordinates.
func (g *grid) memberAt(coordinates []int) int32 {
	return g.members[fmt.Sprint(coordinates)]
}
