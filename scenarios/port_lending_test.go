package scenarios

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
)

// TestLenderEqualsSingleJob compares a run with a port-lending job with runs of one job. The
// lender equals the single job with the same port tolerance. The borrower without the lent
// ports equals the single job without a tolerance, although its
// pods are in reverse order. With the lent ports
// the borrower is not slower.
func TestLenderEqualsSingleJob(t *testing.T) {
	for _, name := range []string{"mixtral8x22b", "gpt7b"} {
		for _, replicas := range []string{"single", "all"} {
			for _, lender := range []string{"delta-topo", "delta-joint"} {
				t.Run(name+"/"+replicas+"/"+lender, func(t *testing.T) {
					t.Parallel()
					checkLending(t, name, lender, "workload.microbatches=12",
						"workload.replicas="+replicas,
						`policy.allocators=["sqrt-alloc", "delta-topo", "delta-joint"]`)
				})
			}
		}
	}
}

// checkLending compares a run in which a job lends ports under allocator lender with runs of one
// job, with and without a port tolerance.
func checkLending(t *testing.T, name, lender string, overrides ...string) {
	t.Helper()
	run := func(more ...string) *Outcome {
		return runScenario(t, name, 2, slices.Concat(overrides, more)...)
	}
	metric := func(o *Outcome, policy, name string) float64 {
		t.Helper()
		return metricByPolicy(t, o, name)[policy]
	}

	single := run()
	saving := run("policy.port_tolerance=0.002")
	both := run("policy.lender_allocator="+lender, "policy.lender_tolerance=0.002", "policy.lender_ties=first")

	// The lender, in the rows of all policies of the borrower.
	savedPorts := metric(saving, lender, "ports")
	total := savedPorts / metric(saving, lender, "port_ratio")
	for policy, got := range metricByPolicy(t, both, "lender_nct") {
		if want := metric(saving, lender, "nct"); !isClose(got, want) {
			t.Errorf("%s: lender has NCT %v, want %v as the single job", policy, got, want)
		}
		if got := metric(both, policy, "lender_ports"); got != savedPorts {
			t.Errorf("%s: lender uses %v ports, want %v as the single job", policy, got, savedPorts)
		}
		lent := metric(both, policy, "surplus_ports")
		if want := total - savedPorts; !isClose(lent, want) {
			t.Errorf("%s: lender leaves %v ports, want %v", policy, lent, want)
		}
		limit := metric(single, lender, "makespan_s") * (1 + 0.002 + 1e-8)
		if got := metric(both, policy, "lender_makespan_s"); got > limit {
			t.Errorf("%s: lender takes %v s, want at most %v s by its tolerance", policy, got, limit)
		}
		available := metric(both, policy, "ports") / metric(both, policy, "port_ratio")
		if want := total + lent; !isClose(available, want) {
			t.Errorf("%s: borrower may use %v ports, want its own and the lent ones, %v",
				policy, available, want)
		}
	}

	// The borrower, without and with the lent ports.
	for _, policy := range []string{"delta-topo", "delta-joint"} {
		before, after := metric(both, policy, "baseline_nct"), metric(both, policy, "nct")
		if want := metric(single, policy, "nct"); !isClose(before, want) {
			t.Errorf("%s: borrower without lent ports has NCT %v, want %v as the single job",
				policy, before, want)
		}
		if !(after <= before*(1+1e-9)) {
			t.Errorf("%s: borrower has NCT %v without and %v with lent ports, want no increase",
				policy, before, after)
		}
	}
}

// TestBorrowerGains checks Fig. 10 of the DELTA paper on its bottlenecked workloads. If the
// lender may take 0.1 % longer, its ports bring the borrower closer to the ideal fabric. Tie
// rules that consider the borrower's traffic are at least as good as the first topology found.
func TestBorrowerGains(t *testing.T) {
	for _, name := range []string{"megatron177b", "mixtral8x22b", "deepseek671b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nct := map[string]float64{}
			for _, ties := range []string{"first", "recipient", "pareto"} {
				o := runScenario(t, name, 2, `policy.allocators=["delta-joint"]`,
					"policy.lender_allocator=delta-joint", "policy.lender_tolerance=0.001",
					"policy.lender_ties="+ties)
				nct[ties] = metricByPolicy(t, o, "nct")["delta-joint"]
				before := metricByPolicy(t, o, "baseline_nct")["delta-joint"]
				if !(nct[ties] < before-0.05) {
					t.Errorf("%s: borrower has NCT %v without and %v with lent ports, want an "+
						"improvement of more than 0.05", ties, before, nct[ties])
				}
				ports := metricByPolicy(t, o, "lender_ports")["delta-joint"]
				if bound := metricByPolicy(t, o, "lender_bound_ports")["delta-joint"]; ports != bound {
					t.Errorf("%s: the lender uses %v ports, want the lower bound %v", ties, ports, bound)
				}
			}

			if nct["pareto"] > nct["recipient"]+1e-9 || nct["recipient"] > nct["first"]+1e-9 {
				t.Errorf("got NCT by tie rule %v, want pareto <= recipient <= first", nct)
			}
		})
	}
}

// TestPortLendingIsDeterministic checks that a run with a port-lending job returns the same
// document for any number of workers.
func TestPortLendingIsDeterministic(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 3} {
		o := runScenario(t, "gpt7b", workers, "policy.lender_allocator=delta-fast",
			"policy.lender_tolerance=0.01", "policy.lender_ties=pareto")
		b, err := json.Marshal(o.Document)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if string(b) != string(first) {
			t.Errorf("%d workers: got another document, want the one of 1 worker", workers)
		}
	}
}

// TestPortLendingIsCancelled checks that a cancelled context ends the decision of a
// port-lending job.
func TestPortLendingIsCancelled(t *testing.T) {
	s, err := Load("megatron462b", []string{"policy.lender_allocator=delta-topo"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, s, RunOptions{Workers: 1}); err == nil || ctx.Err() == nil {
		t.Errorf("got error %v, want that of the cancelled context", err)
	}
}
