package scenarios

import (
	"context"
	"encoding/json"
	"testing"
)

// TestLenderEqualsSingleJob compares a run with a port-lending job with runs of one job. The
// lender equals the single job with the same port tolerance. The borrower without the lent
// ports equals the single job without a tolerance, although its
// pods are in reverse order. With the lent ports
// the borrower is not slower.
func TestLenderEqualsSingleJob(t *testing.T) {
	const short = "workload.microbatches=12"
	for _, c := range []struct{ name, replicas string }{{"mixtral8x22b", "single"}, {"mixtral8x22b", "all"}, {"gpt7b", "single"}, {"gpt7b", "all"}} {
		for _, lender := range []string{"delta-topo", "delta-joint"} {
			t.Run(c.name+"/"+c.replicas+"/"+lender, func(t *testing.T) {
				t.Parallel()
				mode := "workload.replicas=" + c.replicas
				allocators := `policy.allocators=["sqrt-alloc", "delta-topo", "delta-joint"]`
				saving := runScenario(t, c.name, 2, short, mode, allocators, "policy.port_tolerance=0.002")
				single := runScenario(t, c.name, 2, short, mode, allocators)
				o := runScenario(t, c.name, 2, short, mode, allocators, "policy.donor="+lender,
					"policy.donor_tolerance=0.002", "policy.donor_ties=first")
				total := metricByPolicy(t, saving, "ports")[lender] / metricByPolicy(t, saving,
					"port_ratio")[lender]
				for policy, got := range metricByPolicy(t, o, "donor_nct") {
					if want := metricByPolicy(t, saving, "nct")[lender]; !isClose(got, want) {
						t.Errorf("%s: lender has NCT %v, want %v as the single job", policy, got, want)
					}
					if got, want := metricByPolicy(t, o, "donor_ports")[policy], metricByPolicy(t,
						saving, "ports")[lender]; got != want {
						t.Errorf("%s: lender uses %v ports, want %v as the single job",
							policy, got, want)
					}
					if got, want := metricByPolicy(t, o,
						"surplus_ports")[policy],
						total-metricByPolicy(t, saving, "ports")[lender]; !isClose(got, want) {
						t.Errorf("%s: lender leaves %v ports, want %v", policy, got, want)
					}
					limit := metricByPolicy(t, single,
						"makespan_s")[lender] * (1 + 0.002 + 1e-8)
					if metricByPolicy(t, o,
						"donor_makespan_s")[policy] > limit {
						t.Errorf("%s: lender takes %v s, want at most %v s by its tolerance",
							policy, metricByPolicy(t, o, "donor_makespan_s")[policy], limit)
					}
					ports, ratio := metricByPolicy(t, o, "ports")[policy],
						metricByPolicy(t, o, "port_ratio")[policy]
					if want := total + metricByPolicy(t, o, "surplus_ports")[policy]; !isClose(ports/ratio, want) {
						t.Errorf("%s: borrower may use %v ports, want its own and the lent ones, "+
							"%v", policy, ports/ratio, want)
					}
				}
				for _, policy := range []string{"delta-topo", "delta-joint"} {
					before, after := metricByPolicy(t, o, "nct_before")[policy],
						metricByPolicy(t, o, "nct")[policy]
					if want := metricByPolicy(t, single, "nct")[policy]; !isClose(before, want) {
						t.Errorf("%s: borrower without lent ports has NCT %v, want %v as the "+
							"single job", policy, before, want)
					}
					if !(after <= before*(1+1e-9)) {
						t.Errorf("%s: borrower has NCT %v without and %v with lent ports, want "+
							"no increase", policy, before, after)
					}
				}
			})
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
					"policy.donor=delta-joint", "policy.donor_tolerance=0.001",
					"policy.donor_ties="+ties)
				nct[ties] = metricByPolicy(t, o, "nct")["delta-joint"]
				before := metricByPolicy(t, o, "nct_before")["delta-joint"]
				if !(nct[ties] < before-0.05) {
					t.Errorf("%s: borrower has NCT %v without and %v with lent ports, want an "+
						"improvement of more than 0.05", ties, before, nct[ties])
				}
				if metricByPolicy(t, o, "donor_ports")["delta-joint"] != metricByPolicy(t, o,
					"donor_bound_ports")["delta-joint"] {
					t.Errorf("%s: the lender's number of ports differs from its lower bound, "+
						"want a proved minimum", ties)
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
		o := runScenario(t, "gpt7b", workers, "policy.donor=delta-fast",
			"policy.donor_tolerance=0.01", "policy.donor_ties=pareto")
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
	s, err := Load("megatron462b", []string{"policy.donor=delta-topo"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, s, RunOptions{Workers: 1}); err == nil || ctx.Err() == nil {
		t.Errorf("got error %v, want that of the cancelled context", err)
	}
}
