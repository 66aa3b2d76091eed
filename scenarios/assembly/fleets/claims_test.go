package fleets

import (
	"testing"

	"sim/fabric/torus"
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// TestIdleChips checks the number of idle chips. Chips that are used, down,
// reserved, or in closed or unlinked cubes are not idle.
func TestIdleChips(t *testing.T) {
	for _, c := range []struct {
		change func(c *placement.Cube)
		want   int // decrease of idle chips by the change
	}{
		{func(*placement.Cube) {}, 0},
		{func(c *placement.Cube) { c.Used = 7 }, 3},
		{func(c *placement.Cube) { c.Down = 1 }, 1},
		{func(c *placement.Cube) { c.Held = 3 << 10 }, 2},
		{func(c *placement.Cube) { c.Closed = 1 }, 64},
		{func(c *placement.Cube) { c.Unlinked = 1 }, 64},
		{func(c *placement.Cube) { c.Used, c.Down = 3, 6 }, 3},
	} {
		p := placement.NewPod(torus.TPUv4Pod())
		all := idleChips(p)
		c.change(&p.Cubes[5])
		if got := all - idleChips(p); got != c.want {
			t.Errorf("cube %+v: got a decrease by %d idle chips, want %d", p.Cubes[5], got, c.want)
		}
	}
}

// TestEstimateEvents checks the estimated numbers of jobs and failures. Failures
// are proportional to the number of parts of a pod.
func TestEstimateEvents(t *testing.T) {
	s := &Scenario{Pods: Pods{Pods: 2, Preset: "tpuv4"}}
	s.Fleet.Days, s.Fleet.JobsADay = 10, 5
	for _, c := range []struct {
		part  fleet.Part
		count float64
	}{{fleet.Machine, podCubes * cubeHosts}, {fleet.Cable, (podCubes * cubeLinks)}, {fleet.Switch, podSwitches}, {fleet.SwitchWork, podSwitches}, {fleet.Cube, podCubes}} {
		var r fleet.Rates
		r[c.part].PerDay = 0.5
		jobs, failures := s.EstimateEvents(r)
		if want := 0.5 * c.count * 20; jobs != 100 || failures != want {
			t.Errorf("part %v: got %g jobs and %g failures, want 100 and %g", c.part, jobs,
				failures, want)
		}
	}
}
