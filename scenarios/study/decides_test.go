package study

import (
	"context"
	"maps"
	"testing"

	"sim/scenarios"
)

// TestDecidesOnce: cells that differ only in [workload.step] share the decision of paths
// and have the same results as if computed separately.
func TestDecidesOnce(t *testing.T) {
	p := plan(t, `
[workload]
kind = "nearest-neighbour"
[fabric]
kind = "torus"
dims = [4, 4, 4]
[policy]
routers = ["wild-first", "shortest"]
[engine]
level = "static"
[sweep]
"workload.step.share" = [0.1, 0.3, 0.6]
"fabric.failed_ocs" = [["x0"], ["y0"]]
"workload.step.overlap" = [0.0, 0.5]
`)
	all := make([]int, len(p.Sweep.Cells))
	for i := range all {
		all[i] = i
	}
	decisions := 0
	if err := LocalRunner(2)(context.Background(), p, all, func(i int, r *Record) error {
		if r.Timings.SolveS > 0 {
			decisions++
		}
		s, err := p.Study.Variant(p.Variant[i])
		if err != nil {
			return err
		}
		built, err := scenarios.Prepare(t.Context(), s)
		if err != nil {
			return err
		}
		row, _, err := built.Decide(context.Background(), p.Sweep.Cells[i].Policy, 1)
		if err != nil {
			return err
		}
		if r.Key != p.Sweep.Cells[i].Key || !maps.Equal(r.Metrics, row.Metrics) || !maps.Equal(r.Labels, row.Labels) || r.Metrics["step_slowdown"] == 0 {
			t.Errorf("%s: %v %v, by itself %v %v", p.Name(i), r.Metrics, r.Labels, row.Metrics, row.Labels)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(all) != 24 || decisions != 4 {
		t.Errorf("%d cells were decided %d times, want 24 and 4: two faults under two routers", len(all), decisions)
	}
}

// TestCellOfOnePolicy: the result of a cell does not depend on the other policies of the
// run, because its key does not either.
func TestCellOfOnePolicy(t *testing.T) {
	p := plan(t, `
[workload]
kind = "all-to-all"
[fabric]
kind = "scaleup"
gpus = 16
switches = 2
[policy]
planners = ["fast", "bruck", "static-ring"]
[sweep]
"fabric.reconfiguration_delay" = ["1us", "1ms"]
`)
	all := make([]int, len(p.Sweep.Cells))
	for i := range all {
		all[i] = i
	}
	if err := LocalRunner(2)(t.Context(), p, all, func(i int, r *Record) error {
		task, err := p.Task(i)
		if err != nil {
			return err
		}
		data, err := RunTask(t.Context(), task)
		if err != nil {
			return err
		}
		alone, err := ReadRecord(data)
		if err != nil {
			return err
		}
		if !maps.Equal(r.Metrics, alone.Metrics) || !maps.Equal(r.Labels, alone.Labels) || !maps.Equal(r.Reference, alone.Reference) {
			t.Errorf("%s: %v %v %v, by itself %v %v %v", p.Name(i), r.Metrics, r.Labels, r.Reference, alone.Metrics, alone.Labels, alone.Reference)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestRecordOfOthers: records from other machines with control characters are rejected.
func TestRecordOfOthers(t *testing.T) {
	for _, tt := range []struct {
		record string
		ok     bool
	}{
		{`{"key":"k","metrics":{"nct":1},"labels":{"a":"one\ntwo"},"bounds":{"of":"nct","proofs":[{"metric":"nct","bound":1,"model":"any"}]},"timings":{}}`, true},
		{`{"key":"k","metrics":{"nct":1},"labels":{"a":"\u001b[2J"},"timings":{}}`, false},
		{`{"key":"k","metrics":{"nct":1},"bounds":{"of":"nct","proofs":[{"metric":"nct","bound":1,"model":"\u001b[2J"}]},"timings":{}}`, false},
	} {
		if _, err := ReadRecord([]byte(tt.record)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.record, err)
		}
	}
}
