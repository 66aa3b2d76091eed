package placement

import "sim/workloads/fleet"

// shapeAware is reconfigurablePods for jobs that accept other shapes. The simulation chooses
// among these by the traffic of the job.
type shapeAware struct{ reconfigurablePods }

// Reshapes implements Reshaper: it lists all boxes of as many cubes, twisted and not.
func (shapeAware) Reshapes(want fleet.Shape) []fleet.Shape {
	// The requested shape comes first. The others have sides a <= b <= c in cubes.
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
