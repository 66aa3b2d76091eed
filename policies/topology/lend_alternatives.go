package topology

import (
	"context"
	"slices"
)

// alternatives returns topologies whose makespan is at most d.Limit, beginning with that
// of d. They are all topologies with minimum ports, or, if want is paretoFrontier, all
// topologies that no other dominates. Of topologies with equal ports in every pod it
// returns one. complete is false if the budget ended the search.
func (p *Problem) alternatives(ctx context.Context, d *Decision, want portGoal, o *Options) (list []portSolution, complete bool, evaluations int64) {
	s := p.newPortMinimiser(ctx, makespanLimit{limit: d.Limit, fixedService: !d.FreeRates}, d.Service,
		o, searchBudget{})
	s.circuits = d.Circuits
	s.budgetMeter = newBudgetMeter(ctx, s.searchBudget, p.acquire(ctx, s.service))
	defer p.release(s.evaluator)
	ceiling := p.portsOf(d.Circuits)
	if want == paretoFrontier {
		ceiling = p.PortsTotal() / p.Fabric.Copies
	}
	q := s.newSearch(want, ceiling)
	defer q.close()
	q.addSolution(d.Circuits, d.Makespan)
	q.run()
	return q.minimalSolutions(), !q.mustStop(), s.evaluations
}

// minimalSolutions returns the solutions that no other solution dominates. If the goal is
// allMinima, it returns only solutions with minimum ports.
func (q *portSearch) minimalSolutions() []portSolution {
	return slices.DeleteFunc(slices.Clone(q.solutions), func(t portSolution) bool {
		return slices.ContainsFunc(q.solutions,
			func(u portSolution) bool { return dominates(t.used, u.used) && !dominates(u.used, t.used) }) ||
			q.goal == allMinima && q.p.portsOf(t.circuits) > q.ceiling
	})
}
