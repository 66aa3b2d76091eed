package topology

import (
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
)

// proveShare is the part of delta-topo's budget, of 1, after which prove ends.
const proveShare = 0.75

// hasReplicas reports whether replicas are simulated together.
func (p *Problem) hasReplicas() bool {
	return slices.ContainsFunc(p.Fabric.Pods, func(pod fabric.Pod) bool { return pod.Replica > 0 })
}

// proveByBoxes looks for what is better than the best known under fair sharing, and for a proof that nothing is, by boxes of all
// bundles: the search of delta-joint with the bound for fair sharing. Where replicas are simulated together, exhaustion
// multiplies the choices of each; a box settles those of one for whatever the others have. It reports whether it has
// settled all. Floor is a bound that is known.
func (s *topoSearch) proveByBoxes(floor engine.Time) bool {
	if s.service != flow.MaxMin {
		return false
	}
	o := s.searchBudget
	o.MaxEvaluations = int64(proveShare*float64(o.MaxEvaluations)) - s.charged/forksPerEvaluation
	if o.MaxEvaluations <= 0 {
		return false
	}
	z := newJointSearch(s.ctx, s.p, o, s.service)
	defer s.p.release(z.evaluator)
	z.isFair = true
	z.evaluator.PrepareFairBound(s.p.linksOf(func(int) bool { return true }))
	z.best.circuits, z.best.makespan = s.circuits, s.best
	z.push(s.p.ones(), slices.Clone(s.p.Useful), floor)
	found := z.solve()
	s.evaluations += found.evaluations
	s.charged += z.charged
	s.boundIsFair = found.bound > max(s.bound, floor)
	s.best, s.circuits, s.bound = found.makespan, found.circuits, max(s.bound, found.bound)
	return found.stopped == ""
}
