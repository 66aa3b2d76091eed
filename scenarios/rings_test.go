package scenarios

import (
	"strings"
	"testing"
)

// smallTraining is a training step of four replicas with four stages, on a torus of 16 chips.
const smallTraining = `
[workload]
kind = "training"
model = "gpt-7b"
sequence = 4096
microbatches = 4
tp = 1
pp = 4
gpus = 16
[fabric]
kind = "torus"
dims = [4, 4]
[policy]
routers = ["shortest"]
`

// TestFlowLatency checks link latencies at level flow. A message arrives later by the latency
// of its longest path, and an iteration waits for it.
func TestFlowLatency(t *testing.T) {
	increase := func(text, metric string, set ...string) float64 {
		set = append(set, "engine.level=flow")
		return runMetrics(t, text, append(set,
			"fabric.link_latency=1us")...)[metric] - runMetrics(t, text, set...)[metric]
	}
	if increased := increase(smallTorus, "completion_s", "fabric.dims=[4, 4]"); increased < 4e-6-1e-11 || increased > 4e-6+1e-11 {
		t.Errorf("messages over 4 links arrive %g s later, want 4e-06 s", increased)
	}
	if increased := increase(smallTraining, "makespan_s"); increased < 6e-6 || increased > 1e-3 {
		t.Errorf("an iteration takes %g s longer, want at least 6e-06 s for 6 transfers between "+
			"stages", increased)
	}
}

// TestFaultRatioOfIterations checks that the fault ratio of training compares makespans, not
// link loads. Reference: the makespans of runs with and without the fault.
func TestFaultRatioOfIterations(t *testing.T) {
	for _, level := range [][]string{
		{"engine.level=flow"}, {"engine.level=packet", "workload.packet=10MB"},
	} {
		faultFree := runMetrics(t, smallTraining, level...)
		faulty := runMetrics(t, smallTraining, append(level, `fabric.failed_links=["0 x+"]`)...)
		if want := faultFree["makespan_s"] / faulty["makespan_s"]; faulty["fault_ratio"] != want {
			t.Errorf("%v: got a fault ratio of %g, want %g", level, faulty["fault_ratio"], want)
		}
	}
}

// TestOptimisedRingsAreNotLater checks ring collectives on tori with failed links. On the paths
// of route-optimised they complete at most as late as on the paths of wild-first, and not before
// the lower bound. In some cases they complete earlier.
func TestOptimisedRingsAreNotLater(t *testing.T) {
	t.Parallel()
	text := strings.Replace(smallTorus, `["dor"]`, `["wild-first", "route-optimised"]`, 1)
	earlier := 0
	for _, set := range [][]string{
		{"fabric.dims=[4, 4, 8]", `fabric.failed_ocs=["x3"]`},
		{`fabric.failed_ocs=["z0"]`},
		{`fabric.failed_ocs=["z5"]`, "workload.kind=ring-all-gather"},
		{`fabric.failed_ocs=["y0"]`, "workload.bidirectional=false"},
		{`fabric.failed_ocs=["x3", "y7"]`, "workload.kind=ring-reduce-scatter"},
		{"fabric.dims=[6, 6]", `fabric.failed_links=["7 x+"]`, "fabric.link_latency=1us"},
		{"fabric.dims=[4, 4, 8]", "fabric.twist=tpuv4", "workload.ring_form=line",
			`fabric.failed_ocs=["y0"]`},
		{"fabric.dims=[6, 4]", `fabric.open=["x"]`, "workload.ring_form=folded"},
		{`fabric.failed_ocs=["x3"]`, "workload.rings=one"},
		{`fabric.failed_ocs=["x3"]`, "workload.message=64KB", "engine.level=packet", "workload.packet=64B"},
	} {
		set = append([]string{"workload.kind=ring-all-reduce", "workload.message=64MB",
			"workload.rings=per-dimension", "engine.level=flow",
			"policy.route-optimised.budget=100000", "policy.route-optimised.bound_rounds=10"},
			set...)
		rows := runText(t, text, set...).Document.Rows
		wild, optimised := rows[0].Metrics, rows[1].Metrics
		slack := 1e-9
		if _, packets := optimised["injected"]; packets {
			slack = 0.02 // paths are chosen by their times at level flow
		}
		if optimised["completion_s"] > wild["completion_s"]*(1+slack) {
			t.Errorf("%v: route-optimised completes after %g s, want at most %g s as wild-first",
				set, optimised["completion_s"], wild["completion_s"])
		}
		if optimised["completion_s"] < wild["completion_s"]*(1-1e-9) {
			earlier++
		}
		bound := optimised["bound_completion_s"]
		if bound <= 0 || bound != wild["bound_completion_s"] ||
			optimised["completion_s"] < bound*(1-1e-9) ||
			optimised["gap"] != max(0, optimised["completion_s"]/bound-1) {
			t.Errorf("%v: got %g s with bounds %g s and %g s and gap %g, want equal bounds of at "+
				"most the time, and their gap",
				set, optimised["completion_s"], bound, wild["bound_completion_s"], optimised["gap"])
		}
	}

	if earlier < 2 {
		t.Errorf("route-optimised completes earlier in %d cases, want at least 2", earlier)
	}
}

// TestRingAlias checks that a deprecated ring kind of traffic is the same scenario as the
// collective call that its warning names.
func TestRingAlias(t *testing.T) {
	for _, c := range []struct{ old, call []string }{
		{nil, []string{"policy.collective=bidirectional-ring", "policy.ring_order=hamiltonian"}},
		{[]string{"workload.bidirectional=false", "workload.payload=100B"},
			[]string{"policy.collective=ring", "policy.ring_order=hamiltonian"}},
		{[]string{"workload.rings=per-dimension"}, []string{"policy.collective=bucket"}},
		{[]string{"workload.rings=per-dimension", `fabric.twist="100000"`},
			[]string{"policy.collective=bucket", "policy.ring_order=ranks",
				`fabric.twist="100000"`}},
		{[]string{"workload.rings=per-dimension", "workload.ring_form=folded",
			"workload.bidirectional=false"},
			[]string{"policy.collective=bucket", "policy.ring_order=folded",
				"policy.one_way=true"}},
		{[]string{"workload.rings=per-dimension", `workload.ring_dims=["y"]`},
			[]string{"policy.collective=bidirectional-ring", `workload.call_dims=["y"]`,
				"workload.grouping=links"}},
		{[]string{"workload.rings=per-dimension", `workload.ring_dims=["y"]`,
			"workload.ring_form=line"},
			[]string{"policy.collective=bidirectional-ring", `workload.call_dims=["y"]`,
				"policy.ring_order=ranks"}},
		{[]string{"workload.rings=per-dimension", `workload.ring_dims=["y", "z"]`},
			[]string{"policy.collective=bucket", `workload.call_dims=["y", "z"]`}},
		{[]string{"policy.collective=swing", "engine.level=flow"},
			[]string{"policy.collective=swing", "engine.level=flow"}},
	} {
		for _, kind := range []string{"all-reduce", "reduce-scatter", "all-gather"} {
			old, err := Parse("a.toml", []byte(smallTorus),
				append([]string{"workload.kind=ring-" + kind}, c.old...))
			if err != nil || len(old.Deprecated) != 1 ||
				!strings.Contains(old.Deprecated[0].String(),
					`"ring-`+kind+`" is deprecated; write workload.kind = "`+kind+`"`) {
				t.Fatalf("%v: got error %v, want one deprecation warning", c.old, err)
			}

			set := append([]string{"workload.kind=" + kind}, c.call...)
			if old.Engine.Level == "packet" {
				set = append(set, "workload.packet=1KB")
			}
			call, err := Parse("a.toml", []byte(smallTorus), set)
			if err != nil || len(call.Deprecated) > 0 {
				t.Fatalf("%v: got error %v, want none", c.call, err)
			}
			if got, want := string(old.TOML()), string(call.TOML()); got != want {
				t.Errorf("%v: got\n%s\nwant\n%s", c.old, got, want)
			}
		}
	}
}
