package scenarios

import (
	"context"
	"encoding/json"
	"math"
	"testing"
)

func isClose(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) }

// TestDonorIsThePlainJob: the donor is the scenario's job as it is without one, with ports saved to its tolerance; the
// recipient without the surplus is the same job too, whichever way round it lies.
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
				o := runScenario(t, c.name, 2, short, mode, allocators, "policy.donor="+lender, "policy.donor_tolerance=0.002", "policy.donor_ties=first")
				total := metricByPolicy(t, saving, "ports")[lender] / metricByPolicy(t, saving, "port_ratio")[lender]
				for policy, got := range metricByPolicy(t, o, "donor_nct") {
					if want := metricByPolicy(t, saving, "nct")[lender]; !isClose(got, want) {
						t.Errorf("donor has NCT %v, the plain job %v", got, want)
					}
					if got, want := metricByPolicy(t, o, "donor_ports")[policy], metricByPolicy(t, saving, "ports")[lender]; got != want {
						t.Errorf("donor takes %v ports, the plain job %v", got, want)
					}
					if got, want := metricByPolicy(t, o, "surplus_ports")[policy], total-metricByPolicy(t, saving, "ports")[lender]; !isClose(got, want) {
						t.Errorf("%v ports are left, want %v", got, want)
					}
					if limit := metricByPolicy(t, single, "makespan_s")[lender] * (1 + 0.002 + 1e-8); metricByPolicy(t, o, "donor_makespan_s")[policy] > limit {
						t.Errorf("donor takes %v s, more than its tolerance allows, %v", metricByPolicy(t, o, "donor_makespan_s")[policy], limit)
					}
					ports, ratio := metricByPolicy(t, o, "ports")[policy], metricByPolicy(t, o, "port_ratio")[policy]
					if want := total + metricByPolicy(t, o, "surplus_ports")[policy]; !isClose(ports/ratio, want) {
						t.Errorf("%s has %v ports, want its own and those left, %v", policy, ports/ratio, want)
					}
				}
				for _, policy := range []string{"delta-topo", "delta-joint"} {
					before, after := metricByPolicy(t, o, "nct_before")[policy], metricByPolicy(t, o, "nct")[policy]
					if want := metricByPolicy(t, single, "nct")[policy]; !isClose(before, want) {
						t.Errorf("%s has NCT %v before, as the plain job %v", policy, before, want)
					}
					if !(after <= before*(1+1e-9)) {
						t.Errorf("%s has NCT %v before, %v with more ports", policy, before, after)
					}
				}
			})
		}
	}
}

// TestRecipientGains: on the paper's bottlenecked workloads the ports left by a job that may take 0.1 % longer bring
// the other nearer to the ideal (Fig. 10), and the rule that looks at what the other needs is no worse than the first
// topology found.
func TestBorrowerGains(t *testing.T) {
	for _, name := range []string{"megatron177b", "mixtral8x22b", "deepseek671b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nct := map[string]float64{}
			for _, ties := range []string{"first", "recipient", "pareto"} {
				o := runScenario(t, name, 2, `policy.allocators=["delta-joint"]`, "policy.donor=delta-joint", "policy.donor_tolerance=0.001", "policy.donor_ties="+ties)
				nct[ties] = metricByPolicy(t, o, "nct")["delta-joint"]
				if before := metricByPolicy(t, o, "nct_before")["delta-joint"]; !(nct[ties] < before-0.05) {
					t.Errorf("%s: NCT %v before, %v with more ports", ties, before, nct[ties])
				}
				if metricByPolicy(t, o, "donor_ports")["delta-joint"] != metricByPolicy(t, o, "donor_bound_ports")["delta-joint"] {
					t.Errorf("%s: the donor's ports are not proved the fewest", ties)
				}
			}
			if nct["pareto"] > nct["recipient"]+1e-9 || nct["recipient"] > nct["first"]+1e-9 {
				t.Errorf("NCT by tie rule %v", nct)
			}
		})
	}
}

// TestPortLendingIsDeterministic holds a run with a donor to the same bytes for any number of workers.
func TestPortLendingIsDeterministic(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 3} {
		o := runScenario(t, "gpt7b", workers, "policy.donor=delta-fast", "policy.donor_tolerance=0.01", "policy.donor_ties=pareto")
		b, err := json.Marshal(o.Document)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if string(b) != string(first) {
			t.Errorf("%d workers: results differ from those of 1", workers)
		}
	}
}

// TestDonorIsInterrupted: a cancelled context ends a donor's decision.
func TestPortLendingIsCancelled(t *testing.T) {
	s, err := Load("megatron462b", []string{"policy.donor=delta-topo"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, s, RunOptions{Workers: 1}); err == nil || ctx.Err() == nil {
		t.Errorf("no error: %v", err)
	}
}
