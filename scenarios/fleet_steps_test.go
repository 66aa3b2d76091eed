package scenarios

import (
	"math"
	"testing"

	"sim/fabric/torus"
	"sim/scenarios/result"
	"sim/workloads/fleet"
)

// TestFleetSteps checks jobs whose slowdown follows from a training step. The step takes as
// long on a slice as a run of its scenario on that slice, with twisted links and with a failed
// switch. Of two slices, placement "aware" uses the faster one.
func TestFleetSteps(t *testing.T) {
	t.Parallel()
	makespan := func(set ...string) float64 {
		return runScenario(t, "training-slice", 1, set...).Document.Rows[0].Metrics["makespan_s"]
	}

	s, err := Load("fleet-steps", nil)
	if err != nil {
		t.Fatal(err)
	}
	faultFree := makespan()
	for _, c := range []struct {
		shape string
		down  int // dimension of the failed switch, -1 if all switches work
		set   []string
	}{
		{"4x4x8", -1, nil},
		{"4x4x8T", -1, []string{"fabric.twist=tpuv4"}},
		{"4x4x8", 2, []string{`fabric.failed_ocs=["z0"]`}},
	} {
		shape, err := fleet.ParseShape(c.shape, torus.TPUv4Pod())
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.fleetSteps()[0].Seconds(t.Context(), shape, c.down)
		if want := makespan(c.set...); err != nil || math.Abs(got/want-1) > 1e-9 ||
			c.set != nil && got <= faultFree {
			t.Errorf("%s, failed switch in dimension %d: got %g s, want %g s and, with "+
				"overrides, more than %g s; "+
				"error %v", c.shape, c.down, got, want, faultFree, err)
		}
	}

	o, err := Run(t.Context(), s, RunOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]*result.Row{}
	for i := range o.Document.Rows {
		rows[o.Document.Rows[i].Policy] = &o.Document.Rows[i]
	}
	reconfigurable, aware := rows["reconfigurable"].Metrics, rows["aware"].Metrics
	if reconfigurable["work_done"] != reconfigurable["goodput"] ||
		aware["work_done"] <= aware["goodput"] ||
		aware["turnaround_mean_s"] >= reconfigurable["turnaround_mean_s"] {
		t.Errorf("aware: work %g, goodput %g, mean turnaround %g s; reconfigurable: "+
			"%g, %g, %g s; want equal work and goodput for reconfigurable, more work and a "+
			"shorter turnaround for aware",
			aware["work_done"], aware["goodput"], aware["turnaround_mean_s"],
			reconfigurable["work_done"], reconfigurable["goodput"],
			reconfigurable["turnaround_mean_s"])
	}

	if reconfigurable["share_routing"] == 0 || reconfigurable["ft_share"] == 0 {
		t.Error("got no job that routes around a failed switch, want some")
	}
}
