package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sim/engine/contexttest"
	"sim/scenarios/assembly/plans"
)

// TestRunIsCancelled checks that a run of any kind returns context.Canceled, whenever its
// context is cancelled. This includes the construction of the fabric and the simulation of the
// reference.
func TestRunIsCancelled(t *testing.T) {
	for _, tt := range []struct {
		name string
		sets []string
	}{
		{"gpt7b", []string{"policy.delta-fast.stall_generations=5"}},
		{"gpt7b", []string{"trials.count=5", "trials.compute_jitter=0.1"}},
		{"mixtral8x22b", []string{`policy.allocators=["prop-alloc"]`,
			"workload.replicas=decomposed", "replica.1.compute_scale=1.2",
			"workload.microbatches=8"}},
		{"gpt7b", []string{"policy.lender_allocator=delta-joint", `policy.allocators=["prop-alloc"]`}},
		{"twojobs", []string{`policy.multi_job_allocators=["even-split"]`, "policy.allocator=delta-joint",
			"job.0.workload.microbatches=8", "job.1.workload.microbatches=8"}},
		{"fault", []string{"fabric.dims=[4,4,4]", `fabric.twist=""`, "fabric.failed_ocs=[]",
			"policy.route-optimised.budget=10000"}},
		{"fault", []string{"fabric.dims=[4,4,4]", `fabric.twist=""`, "fabric.failed_ocs=[]",
			"engine.level=flow", `policy.routers=["dor"]`}},
		{"worked-example", nil},
		{"all-reduce", []string{"fabric.gpus=32"}},
		{"moe-scaleup", []string{"workload.ep=8", "workload.gpus=128", "workload.microbatches=4"}},
	} {
		t.Run(tt.name+" "+strings.Join(tt.sets, " "), func(t *testing.T) {
			s, err := Load(tt.name, tt.sets)
			if err != nil {
				t.Fatal(err)
			}
			plans.ForgetPlans() // drop plans of earlier runs
			uncancelled := contexttest.After(t.Context(), 0)
			if _, err := Run(uncancelled, s, RunOptions{Workers: 1}); err != nil {
				t.Fatal(err)
			}
			polls := uncancelled.Asked()
			// Goroutines may poll a few times more or less.
			for _, n := range []int64{1, polls / 2, polls * 9 / 10} {
				plans.ForgetPlans()
				if _, err := Run(contexttest.After(t.Context(), max(1, n)), s,
					RunOptions{Workers: 1}); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled at poll %d of %d: got error %v, want context.Canceled",
						n, polls, err)
				}
			}
		})
	}
}

// TestPrepareIsCancelled checks that the parts that the cells of a sweep share are not built
// with a cancelled context.
func TestPrepareIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"gpt7b", "twojobs", "fault", "reconfigure", "all-reduce", "moe-scaleup"} {
		s, err := Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Prepare(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v, want context.Canceled", name, err)
		}
	}
}

// TestInterruptedRows: a run that is cancelled after some policies has their rows, as the whole run
// has them, and rows of the other policies that state the interrupt.
func TestInterruptedRows(t *testing.T) {
	s, err := Load("gpt7b", []string{`policy.allocators=["prop-alloc","sqrt-alloc","delta-fast"]`, "policy.delta-fast.stall_generations=5"})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Run(t.Context(), s, RunOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for finished := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		o, err := Run(ctx, s, RunOptions{Workers: 1, Progress: func(policy string, done, _ int) {
			if policy != "reference" && done == finished {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want context.Canceled", err)
		}
		if finished == 0 {
			if o != nil {
				t.Errorf("an outcome without finished rows: %v", o.Document.Rows)
			}
			continue
		}
		if len(o.Document.Rows) != 3 || len(o.Detail.Policies) != finished || len(o.Timings.Policies) != finished {
			t.Fatalf("after %d policies: %d rows, %d simulations, %d timings", finished, len(o.Document.Rows), len(o.Detail.Policies), len(o.Timings.Policies))
		}
		for i, r := range o.Document.Rows {
			want := whole.Document.Rows[i]
			if i < finished && r.Metrics["makespan_s"] != want.Metrics["makespan_s"] || r.Policy != want.Policy || (r.Labels["failed"] == "") != (i < finished) {
				t.Errorf("after %d policies row %d is %v, want %v", finished, i, r, want)
			}
		}
		if err := o.Document.Check(); err != nil {
			t.Error(err)
		}
	}
}
