package placement

import "sim/workloads/fleet"

// shapeAware leaves the choice of a slice of whole cubes to who knows what traffic a job has.
type shapeAware struct{ reconfigurablePods }

func (shapeAware) Reshapes(want fleet.Shape) []fleet.Shape {
	list := []fleet.Shape{want}
	n := want.Cubes()
	for a := 1; a*a*a <= n; a++ {
		for b := a; a*b*b <= n; b++ {
			c := n / (a * b)
			if a*b*c != n {
				continue
			}
			s := fleet.Shape{Dims: [3]int{a * fleet.Side, b * fleet.Side, c * fleet.Side}}
			list = append(list, s)
			if s.CanTwist() {
				s.Twisted = true
				list = append(list, s)
			}
		}
	}
	return list
}
