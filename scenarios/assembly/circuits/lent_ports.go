// This file builds a port-borrowing job and its port-lending job, which run in the same
// pods. The lending job is decided first, with minimum ports. The borrowing job may use
// the ports that remain.

package circuits

import (
	"cmp"
	"context"
	"fmt"

	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// lentPorts holds the ports that a port-lending job leaves to the scenario's job, the
// port-borrowing job. Both jobs run in the same pods.
type lentPorts struct {
	*topology.Loan                    // decision of the lending job: Circuits, Makespan and others
	lender          *circuitSystem    // the port-lending job, with its own references
	ownPortsProblem *topology.Problem // problem of the port-borrowing job without lent ports
}

// buildBorrower builds the system of the port-borrowing job. It has the stages of s in
// reverse order, its own ports, and the ports that the port-lending job does not use.
// This is Model^T of the DELTA paper (Sec. V-D, Fig. 10).
func buildBorrower(ctx context.Context, s *Scenario, workers int) (*circuitSystem, error) {
	lender, err := buildTraining(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("port-lending job: %w", err)
	}
	reversed := *s
	reversed.Fabric.Reverse = !s.Fabric.Reverse
	sys, err := buildTraining(ctx, &reversed)
	if err != nil {
		return nil, err
	}

	settings := s.allocatorOptions(workers)
	settings.PortTolerance = s.Policy.LenderTolerance
	allocator, err := topology.Find(s.Policy.LenderAllocator)
	if err != nil {
		return nil, err
	}
	// The lending job keeps its minimum makespan, within the tolerance, and minimises its
	// ports.
	ties := topology.LoanTies(s.Policy.LenderTies)
	lent, err := lender.problem.Lend(ctx, allocator.Policy, sys.problem, ties, settings)
	if err != nil {
		return nil, fmt.Errorf("port-lending job under %s: %w", s.Policy.LenderAllocator, err)
	}
	if _, err := lender.simulate(ctx, lent.Decision); err != nil {
		return nil, fmt.Errorf("port-lending job under %s: %w", s.Policy.LenderAllocator, err)
	}

	// From here on, the problem of the borrowing job includes the lent ports.
	sys.lending = &lentPorts{Loan: lent, lender: lender, ownPortsProblem: sys.problem}
	sys.problem = lent.Borrower
	pods, provisioned := *sys.pods, *sys.optical
	pods.Pods, provisioned.Pods = sys.problem.Fabric.Pods, sys.problem.Fabric.Pods
	sys.pods, sys.optical = &pods, &provisioned
	if composition.MeetsBound(sys.Times.Ideal, sys.Bound) {
		return sys, nil
	}
	// A topology with more ports may be faster than the reference found without them.
	return sys, sys.simulateReference(ctx)
}

// measure adds to the row of a policy the decision of the port-lending job, and the
// makespan that the policy achieves without lent ports.
func (g *lentPorts) measure(
	ctx context.Context, sys *circuitSystem, policy topology.Policy, settings topology.Options,
	row *result.Row,
) error {
	// Metrics of the lending job.
	p := g.lender.problem
	ports, total := p.PortsUsed(g.Circuits), p.PortsTotal()
	row.Metrics["lender_ports"] = float64(ports)
	row.Metrics["lender_port_ratio"] = float64(ports) / float64(total)
	if g.PortsBound > 0 {
		row.Metrics["lender_bound_ports"] = float64(g.PortsBound)
	}
	row.Metrics["surplus_ports"] = float64(total - ports)
	row.Metrics["lender_makespan_s"] = g.Makespan.Seconds()
	row.Metrics["lender_choices"] = float64(g.Choices)
	if nct, ok := g.lender.Times.NCT(g.Makespan); ok {
		row.Metrics["lender_nct"] = nct
	}

	limit := "the shortest iteration time found"
	if t := sys.scenario.Policy.LenderTolerance; t > 0 {
		limit = fmt.Sprintf("%.4g %% above the shortest iteration time found", 100*t)
	}
	row.Labels["lender"] = sys.scenario.Policy.LenderAllocator
	row.Labels["lender_limit"] = limit
	row.Labels["lender_topology"] = g.lender.formatMatrix(g.Circuits)
	if reason := cmp.Or(g.Stopped, g.Incomplete); reason != "" {
		row.Labels["lender_stopped"] = reason
	}

	// The policy also decides without lent ports, for comparison.
	d, err := policy.Choose(ctx, g.ownPortsProblem, settings)
	if err != nil {
		return fmt.Errorf("without the lent ports: %w", err)
	}
	if _, err := sys.simulate(ctx, d); err != nil {
		return fmt.Errorf("without the lent ports: %w", err)
	}
	row.Metrics["baseline_makespan_s"] = d.Makespan.Seconds()
	if nct, ok := sys.Times.NCT(d.Makespan); ok {
		row.Metrics["baseline_nct"] = nct
	} else {
		row.Labels["baseline_nct"] =
			"undefined: the ideal fabric exposes no communication, this topology does"
	}
	return nil
}
