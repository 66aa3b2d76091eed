package topology

import (
	"context"
	"slices"
)

// spare returns topologies that keep the limit within which d's ports were saved, d's own first: all with as few ports,
// or with undercut all that no other undercuts, however many ports they take in all. Of those that take the same ports
// in every pod it holds one. complete is false where the budget ended before all were found.
func (p *Problem) spare(ctx context.Context, d *Decision, want wanted, o *Options) (list []portSolution, complete bool, evaluations int64) {
	s := p.newSaver(ctx, keeping{limit: d.Limit, exact: !d.FreeRates}, d.Service, o, allowance{})
	s.circuits = d.Circuits
	s.meter = newMeter(ctx, s.allowance, p.evaluator(ctx, s.service))
	defer p.done(s.w)
	ceiling := p.used(d.Circuits)
	if want == wantFrontier {
		ceiling = p.PortsTotal() / p.Fabric.Copies
	}
	q := s.seek(want, ceiling)
	defer q.close()
	q.keep(d.Circuits, d.Makespan)
	q.run()
	return q.undominated(), !q.over(), s.evaluations
}

// undominated returns what was found without what something found later undercuts, and where it sought the fewest ports
// what takes more.
func (q *portSearch) undominated() []portSolution {
	return slices.DeleteFunc(slices.Clone(q.found), func(t portSolution) bool {
		return slices.ContainsFunc(q.found, func(u portSolution) bool { return covers(t.used, u.used) && !covers(u.used, t.used) }) ||
			q.want == wantFewest && q.p.used(t.circuits) > q.ceiling
	})
}
