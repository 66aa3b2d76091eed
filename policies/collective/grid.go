package collective

import (
	"fmt"
	"slices"
)

// grid is the places of a job at the points of a box: those of a torus, or of all places in one row.
type grid struct {
	sizes []int
	at    [][]int // by place
	by    map[string]int32
}

// grid returns the places at their coordinates, along the axes of more than one. It fails where they are not a box.
func (b *builder) grid(j *job) (*grid, error) {
	n := len(j.ranks)
	g := &grid{by: map[string]int32{}}
	if b.p.Torus == nil {
		g.sizes = []int{n}
		for i := range n {
			g.at = append(g.at, []int{i})
		}
	} else {
		var raw [][]int
		for _, r := range j.ranks {
			raw = append(raw, b.p.Torus.At(b.Group[r]))
		}
		g.at = make([][]int, n)
		for axis := range raw[0] {
			var values []int
			for _, at := range raw {
				values = append(values, at[axis])
			}
			slices.Sort(values)
			if values = slices.Compact(values); len(values) == 1 {
				continue
			}
			g.sizes = append(g.sizes, len(values))
			for i, at := range raw {
				k, _ := slices.BinarySearch(values, at[axis])
				g.at[i] = append(g.at[i], k)
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
	for i, at := range g.at {
		g.by[fmt.Sprint(at)] = int32(i)
	}
	return g, nil
}

// place returns the one at some coordinates.
func (g *grid) place(at []int) int32 { return g.by[fmt.Sprint(at)] }
