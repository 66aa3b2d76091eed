package circuits

import (
	"cmp"
	"context"
	"fmt"

	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// lentPorts is what a second job leaves to the scenario's.
type lentPorts struct {
	*topology.Loan
	lender          *circuitSystem    // the second job, with references of its own
	ownPortsProblem *topology.Problem // of the scenario's job, without the surplus
}

// buildBorrower makes the instance of s with its stages the other way round and, beside its own ports, those that the
// port-lending job does not use: the paper's Model^T (Sec. V-D, Fig. 10).
func buildBorrower(ctx context.Context, s *Scenario, workers int) (*circuitSystem, error) {
	lender, err := buildInPods(ctx, s, nil)
	if err != nil {
		return nil, fmt.Errorf("donor: %w", err)
	}
	reversed := *s
	reversed.Fabric.Reverse = !s.Fabric.Reverse
	sys, err := buildInPods(ctx, &reversed, nil)
	if err != nil {
		return nil, err
	}
	settings := s.allocatorOptions(workers)
	settings.PortTolerance = s.Policy.DonorTolerance
	allocator, err := topology.Find(s.Policy.Donor)
	if err != nil {
		return nil, err
	}
	lent, err := lender.problem.Lend(ctx, allocator.Policy, sys.problem, topology.LoanTies(s.Policy.DonorTies), settings)
	if err != nil {
		return nil, fmt.Errorf("donor %s: %w", s.Policy.Donor, err)
	}
	if _, err := lender.simulate(ctx, lent.Decision); err != nil {
		return nil, fmt.Errorf("donor %s: %w", s.Policy.Donor, err)
	}
	sys.lending = &lentPorts{Loan: lent, lender: lender, ownPortsProblem: sys.problem}
	sys.problem = lent.Borrower
	pods, provisioned := *sys.pods, *sys.optical
	pods.Pods, provisioned.Pods = sys.problem.Fabric.Pods, sys.problem.Fabric.Pods
	sys.pods, sys.optical = &pods, &provisioned
	if composition.MeetsBound(sys.Times.Ideal, sys.Bound) {
		return sys, nil
	}
	return sys, sys.simulateReference(ctx) // more ports may do what nothing did before
}

// measure adds to the row of a policy what the port-lending job does, and what the policy reaches without its ports.
func (g *lentPorts) measure(ctx context.Context, sys *circuitSystem, policy topology.Policy, settings topology.Options, row *result.Row) error {
	p := g.lender.problem
	ports, total := p.PortsUsed(g.Circuits), p.PortsTotal()
	row.Metrics["donor_ports"], row.Metrics["donor_port_ratio"] = float64(ports), float64(ports)/float64(total)
	if g.PortsBound > 0 {
		row.Metrics["donor_bound_ports"] = float64(g.PortsBound)
	}
	row.Metrics["surplus_ports"] = float64(total - ports)
	row.Metrics["donor_makespan_s"] = g.Makespan.Seconds()
	row.Metrics["donor_choices"] = float64(g.Choices)
	if nct, ok := g.lender.Times.NCT(g.Makespan); ok {
		row.Metrics["donor_nct"] = nct
	}
	row.Labels["donor"] = sys.scenario.Policy.Donor
	row.Labels["donor_limit"] = "the shortest iteration time found"
	if t := sys.scenario.Policy.DonorTolerance; t > 0 {
		row.Labels["donor_limit"] = fmt.Sprintf("%.4g %% above the shortest iteration time found", 100*t)
	}
	row.Labels["donor_topology"] = g.lender.formatMatrix(g.Circuits)
	if reason := cmp.Or(g.Stopped, g.Incomplete); reason != "" {
		row.Labels["donor_stopped"] = reason
	}
	d, err := policy.Choose(ctx, g.ownPortsProblem, settings)
	if err != nil {
		return fmt.Errorf("without the donor's ports: %w", err)
	}
	if _, err := sys.simulate(ctx, d); err != nil {
		return fmt.Errorf("without the donor's ports: %w", err)
	}
	row.Metrics["before_makespan_s"] = d.Makespan.Seconds()
	if nct, ok := sys.Times.NCT(d.Makespan); ok {
		row.Metrics["nct_before"] = nct
	} else {
		row.Labels["nct_before"] = "undefined: the ideal fabric exposes no communication, this topology does"
	}
	return nil
}
