package circuits

import (
	"cmp"
	"context"
	"fmt"

	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// loan is what a second job leaves to the scenario's.
type loan struct {
	*topology.Loan
	from   *instance         // the second job, with references of its own
	before *topology.Problem // of the scenario's job, without the surplus
}

// buildBorrower makes the instance of s with its stages the other way round and, beside its own ports, those that the
// port-lending job does not use: the paper's Model^T (Sec. V-D, Fig. 10).
func buildBorrower(ctx context.Context, s *Scenario, workers int) (*instance, error) {
	from, err := buildIn(ctx, s, nil)
	if err != nil {
		return nil, fmt.Errorf("donor: %w", err)
	}
	turned := *s
	turned.Fabric.Reverse = !s.Fabric.Reverse
	in, err := buildIn(ctx, &turned, nil)
	if err != nil {
		return nil, err
	}
	settings := s.options(workers)
	settings.PortTolerance = s.Policy.DonorTolerance
	by, err := topology.Find(s.Policy.Donor)
	if err != nil {
		return nil, err
	}
	given, err := from.problem.Lend(ctx, by.Policy, in.problem, topology.LoanTies(s.Policy.DonorTies), settings)
	if err != nil {
		return nil, fmt.Errorf("donor %s: %w", s.Policy.Donor, err)
	}
	if _, err := from.simulate(ctx, given.Decision); err != nil {
		return nil, fmt.Errorf("donor %s: %w", s.Policy.Donor, err)
	}
	in.loan = &loan{Loan: given, from: from, before: in.problem}
	in.problem = given.Borrower
	pods, provisioned := *in.pods, *in.optical
	pods.Pods, provisioned.Pods = in.problem.Fabric.Pods, in.problem.Fabric.Pods
	in.pods, in.optical = &pods, &provisioned
	if composition.MeetsBound(in.Times.Ideal, in.Bound) {
		return in, nil
	}
	return in, in.compare(ctx) // more ports may do what nothing did before
}

// measure adds to the row of a policy what the port-lending job does, and what the policy reaches without its ports.
func (g *loan) measure(ctx context.Context, in *instance, policy topology.Policy, settings topology.Options, row *result.Row) error {
	p := g.from.problem
	ports, total := p.PortsUsed(g.Circuits), p.PortsTotal()
	row.Metrics["donor_ports"], row.Metrics["donor_port_ratio"] = float64(ports), float64(ports)/float64(total)
	if g.PortsBound > 0 {
		row.Metrics["donor_bound_ports"] = float64(g.PortsBound)
	}
	row.Metrics["surplus_ports"] = float64(total - ports)
	row.Metrics["donor_makespan_s"] = g.Makespan.Seconds()
	row.Metrics["donor_choices"] = float64(g.Choices)
	if nct, ok := g.from.Times.NCT(g.Makespan); ok {
		row.Metrics["donor_nct"] = nct
	}
	row.Labels["donor"] = in.s.Policy.Donor
	row.Labels["donor_limit"] = "the shortest iteration time found"
	if t := in.s.Policy.DonorTolerance; t > 0 {
		row.Labels["donor_limit"] = fmt.Sprintf("%.4g %% above the shortest iteration time found", 100*t)
	}
	row.Labels["donor_topology"] = g.from.matrix(g.Circuits)
	if why := cmp.Or(g.Stopped, g.Incomplete); why != "" {
		row.Labels["donor_stopped"] = why
	}
	d, err := policy.Choose(ctx, g.before, settings)
	if err != nil {
		return fmt.Errorf("without the donor's ports: %w", err)
	}
	if _, err := in.simulate(ctx, d); err != nil {
		return fmt.Errorf("without the donor's ports: %w", err)
	}
	row.Metrics["before_makespan_s"] = d.Makespan.Seconds()
	if nct, ok := in.Times.NCT(d.Makespan); ok {
		row.Metrics["nct_before"] = nct
	} else {
		row.Labels["nct_before"] = "undefined: the ideal fabric exposes no communication, this topology does"
	}
	return nil
}
