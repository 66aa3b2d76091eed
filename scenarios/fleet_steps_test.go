package scenarios

import (
	"math"
	"testing"

	"sim/scenarios/result"
	"sim/workloads/fleet"
)

// TestFleetSteps: jobs of a step take as long, against the slice that they ask for, as runs of its scenario do on their
// slice; of two slices aware gives them the faster one, and a switch that is down slows them by what it does the step.
func TestFleetSteps(t *testing.T) {
	t.Parallel()
	makespan := func(set ...string) float64 {
		s, err := Load("training-slice", set)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Run(t.Context(), s, RunOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		return o.Document.Rows[0].Metrics["makespan_s"]
	}
	s, err := Load("fleet-steps", nil)
	if err != nil {
		t.Fatal(err)
	}
	faultFree := makespan()
	for _, c := range []struct {
		shape string
		down  int
		set   []string
	}{
		{"4x4x8", -1, nil},
		{"4x4x8T", -1, []string{"fabric.twist=tpuv4"}},
		{"4x4x8", 2, []string{`fabric.failed_ocs=["z0"]`}},
	} {
		shape, err := fleet.ParseShape(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.fleetSteps()[0].Seconds(t.Context(), shape, c.down)
		if want := makespan(c.set...); err != nil || math.Abs(got/want-1) > 1e-9 || c.set != nil && got <= faultFree {
			t.Errorf("%s, %d down: %g s, want %g, more than %g; %v", c.shape, c.down, got, want, faultFree, err)
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
	if reconfigurable["work_done"] != reconfigurable["goodput"] || aware["work_done"] <= aware["goodput"] || aware["turnaround_mean_s"] >= reconfigurable["turnaround_mean_s"] {
		t.Errorf("aware: %g of work in %g of the time, mean turnaround %g s; as asked %g in %g, %g s", aware["work_done"], aware["goodput"],
			aware["turnaround_mean_s"], reconfigurable["work_done"], reconfigurable["goodput"], reconfigurable["turnaround_mean_s"])
	}
	if reconfigurable["share_routing"] == 0 || reconfigurable["ft_share"] == 0 {
		t.Error("no job runs round a switch")
	}
}
