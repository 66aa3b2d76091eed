package fleets

import (
	"reflect"
	"testing"

	"sim/workloads/fleet"
)

// TestStaticHasNoSwitches: pods of a fixed grid have no switches that could fail, be maintained, or shorten the time
// between checkpoints.
func TestStaticHasNoSwitches(t *testing.T) {
	c := paperPod(0.8)
	c.End = 20 * fleet.Day
	want := simulate(t, c.withoutSwitches(), "static-best-fit")
	c.Rates[fleet.Switch].PerDay, c.CampaignStart = 0.1, 10*fleet.Day
	c.Rates[fleet.SwitchWork] = fleet.Process{PerDay: 0.1, Weibull: 1,
		Repair: fleet.Spread{Form: fleet.Constant, Mean: fleet.Hour}}
	got := simulate(t, c, "static-best-fit")
	if got.Failures[fleet.Switch]+got.Failures[fleet.SwitchWork] > 0 ||
		got.TolerableShare != 1 ||
		got.ExpectedEfficiency != want.ExpectedEfficiency || !reflect.DeepEqual(got.TimeByUse, want.TimeByUse) {
		t.Errorf("%d switches fail, %d are maintained", got.Failures[fleet.Switch],
			got.Failures[fleet.SwitchWork])
	}
	if o := simulate(t, c, "reconfigurable"); o.Failures[fleet.Switch] == 0 ||
		o.Failures[fleet.SwitchWork] < fleet.PodSwitches {
		t.Errorf("of those that there are %d fail, %d are maintained",
			o.Failures[fleet.Switch],
			o.Failures[fleet.SwitchWork])
	}
}

// TestCrews: one crew repairs one part after the other, but what is repaired from afar waits for none.
func TestCrews(t *testing.T) {
	for _, c := range []struct {
		remote float64
		crews  int
		piles  bool // more fail than are repaired
	}{{1, 1, false}, {0, 0, false}, {0, 1, true}} {
		q := quietFleet(sourceOf(), 500*fleet.Day)
		day := fleet.Spread{Form: fleet.Constant, Mean: fleet.Day}
		q.Rates[fleet.Cable] = fleet.Process{PerDay: 2. / cablesPerPod, Weibull: 1,
			Repair:     day,
			QuickShare: c.remote, QuickRepair: day}
		q.Crews = c.crews
		o := simulate(t, q, "reconfigurable")
		if down := float64(o.Failures[fleet.Cable] - o.Repairs[fleet.Cable]); down > 100 != c.piles {
			t.Errorf("%g from afar, %d crews: %g are down at the end", c.remote,
				c.crews, down)
		}
	}
}
