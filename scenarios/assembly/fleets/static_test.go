package fleets

import (
	"reflect"
	"testing"

	"sim/workloads/fleet"
)

// TestStaticHasNoSwitches checks that pods with a static grid have no optical
// switches that fail, are maintained or shorten the checkpoint interval.
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
		t.Errorf("static grid: got %d failures and %d maintenances of switches or another "+
			"outcome, want none", got.Failures[fleet.Switch], got.Failures[fleet.SwitchWork])
	}

	if o := simulate(t, c, "reconfigurable"); o.Failures[fleet.Switch] == 0 ||
		o.Failures[fleet.SwitchWork] < podSwitches {
		t.Errorf("reconfigurable: got %d failures and %d maintenances of switches, want some",
			o.Failures[fleet.Switch],
			o.Failures[fleet.SwitchWork])
	}
}

// TestCrews checks that one crew repairs one part after another. Remote repairs
// need no crew.
func TestCrews(t *testing.T) {
	for _, c := range []struct {
		remote float64
		crews  int
		grows  bool // parts fail faster than they are repaired
	}{{1, 1, false}, {0, 0, false}, {0, 1, true}} {
		q := quietFleet(sourceOf(), 500*fleet.Day)
		day := fleet.Spread{Form: fleet.Constant, Mean: fleet.Day}
		q.Rates[fleet.Cable] = fleet.Process{PerDay: 2. / (podCubes * cubeLinks), Weibull: 1,
			Repair:      day,
			RemoteShare: c.remote, RemoteRepair: day}
		q.Crews = c.crews
		o := simulate(t, q, "reconfigurable")
		if down := float64(o.Failures[fleet.Cable] - o.Repairs[fleet.Cable]); down > 100 != c.grows {
			t.Errorf("remote share %g, %d crews: got %g parts down at the end, want more than "+
				"100 only if repairs are too slow", c.remote, c.crews, down)
		}
	}
}

// TestSwitchDim counts the switches of a pod by dimension: as many as a face has links.
func TestSwitchDim(t *testing.T) {
	for _, pod := range testPods {
		c := &Config{Pod: pod}
		var got, want [3]int
		for number := range pod.Cube.Switches() {
			got[c.switchDim(number)]++
		}
		for d := range want {
			want[d] = pod.Cube.Face(d)
		}
		if got != want {
			t.Errorf("cubes of %s: %v switches by dimension, want %v", pod.Cube, got, want)
		}
	}
}
