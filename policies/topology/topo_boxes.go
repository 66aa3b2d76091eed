package topology

import (
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
)

// proveShare is the fraction of delta-topo's budget that proveByBoxes may use.
const proveShare = 0.75

// hasReplicas reports whether the problem contains several replicas.
func (p *Problem) hasReplicas() bool {
	return slices.ContainsFunc(p.Fabric.Pods, func(pod fabric.Pod) bool { return pod.Replica > 0 })
}

// proveByBoxes searches boxes of all bundles with the bound for fair sharing, as
// delta-joint does with the bound for any service. It reports whether it proved the
// incumbent optimal. Exhaustion would multiply the choices of all replicas, whereas a box
// settles the choices of one replica for any choice of the others. floor is a known lower
// bound.
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
