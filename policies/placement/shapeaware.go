package placement

import "sim/workloads/fleet"

// shapeAware is reconfigurablePods for jobs that accept other shapes. The simulation chooses
// among these by the traffic of the job.
type shapeAware struct{ reconfigurablePods }

// Reshapes implements Reshaper: it lists all boxes of as many cubes, twisted and not.
func (shapeAware) Reshapes(want fleet.Shape) []fleet.Shape {
	// The requested shape comes first.
	list := []fleet.Shape{want}
	for _, s := range fleet.SlicesOf(want.Cube(), want.Cubes()) {
		list = append(list, s)
		if s.CanTwist() {
			s.Twisted = true
			list = append(list, s)
		}
	}

	return list
}
