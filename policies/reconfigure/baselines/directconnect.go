package baselines

import (
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/circulant"
	"sim/policies/reconfigure/plan"
)

// Kautz uses the generalised Kautz graph of degree k (DirectConnect: Basu et al., Zhao et al.;
// paper Secs. 4.2, 5.1). With degree 1 this graph only joins GPUs in pairs, since -(-u-1)-1 = u.
// In this case Kautz uses the ring, as in the paper (Sec. 5.2). Errors: plan.ErrProblem,
// ErrOptions, and from graph.MinCongestion.
func Kautz(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	name := "generalised Kautz graph"
	if p.Degree == 1 {
		name = "ring"
	}
	return staticCandidates(p, o, staticNetwork{origin: name, topology: KautzGraph(p.GPUs, p.Degree)})
}

// KautzGraph returns the topology of Kautz.
func KautzGraph(n, k int) scaleup.Topology {
	if k == 1 {
		return scaleup.Circulant(n, 1)
	}
	return scaleup.GeneralizedKautz(n, k)
}

// Circulant uses a circulant graph (paper Sec. 4.2). With degree 1 it is the ring. With degree 2
// it has offsets {m, m+1}, with the smallest m for which 2m^2+2m+1 >= n. For other degrees, a
// local search minimises the average distance. Errors: plan.ErrProblem, ErrOptions, and from
// graph.MinCongestion.
func Circulant(p *plan.Problem, o Options) (_ []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	return staticCandidates(p, o, staticNetwork{origin: "circulant graph",
		topology: circulantGraph(p.GPUs, p.Degree, o.Stop)})
}

// CirculantGraph returns the topology of Circulant.
func CirculantGraph(n, k int) scaleup.Topology { return circulantGraph(n, k, nil) }

// circulantGraph is CirculantGraph with a stop.
func circulantGraph(n, k int, stop cancellation.Condition) scaleup.Topology {
	if k != 2 {
		return scaleup.Circulant(n, circulant.Generators(n, k, stop)...)
	}
	m := 1
	for 2*m*m+2*m+1 < n {
		m++
	}
	return scaleup.Circulant(n, m, m+1)
}
