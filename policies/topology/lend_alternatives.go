package topology

import (
	"context"
	"slices"
)

// alternatives returns topologies that keep the limit within which d's ports were saved, d's own first: all with as few ports,
// or with undercut all that no other undercuts, however many ports they take in all. Of those that take the same ports
// in every pod it holds one. complete is false where the budget ended before all were found.
func (p *Problem) alternatives(ctx context.Context, d *Decision, want portGoal, o *Options) (list []portSolution, complete bool, evaluations int64) {
	s := p.newPortMinimiser(ctx, makespanLimit{limit: d.Limit, fixedService: !d.FreeRates}, d.Service, o, searchBudget{})
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

// minimalSolutions returns what was found without what something found later undercuts, and where it sought the fewest ports
// what takes more.
func (q *portSearch) minimalSolutions() []portSolution {
	return slices.DeleteFunc(slices.Clone(q.solutions), func(t portSolution) bool {
		return slices.ContainsFunc(q.solutions, func(u portSolution) bool { return dominates(t.used, u.used) && !dominates(u.used, t.used) }) ||
			q.goal == allMinima && q.p.portsOf(t.circuits) > q.ceiling
	})
}
