package collective

import (
	"fmt"
	"slices"
)

// grid is the places of a job at the points of a box: those of a torus, or of all places in one row.
type grid struct {
	sizes       []int
	coordinates [][]int // by place
	members     map[string]int32
}

// newGrid returns the places at their coordinates, along the axes of more than one. It fails where they are not a box.
func (b *builder) newGrid(j *subCall) (*grid, error) {
	n := len(j.ranks)
	g := &grid{members: map[string]int32{}}
	if b.problem.Torus == nil {
		g.sizes = []int{n}
		for i := range n {
			g.coordinates = append(g.coordinates, []int{i})
		}
	} else {
		var raw [][]int
		for _, r := range j.ranks {
			raw = append(raw, b.problem.Torus.At(b.Group[r]))
		}
		g.coordinates = make([][]int, n)
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

// memberAt returns the one at some coordinates.
func (g *grid) memberAt(coordinates []int) int32 { return g.members[fmt.Sprint(coordinates)] }
