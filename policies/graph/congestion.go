package graph

import "slices"

// Congestion brackets the minimum congestion of a multi-commodity flow: the smallest possible
// maximum load of an arc over all fractional routings.
type Congestion struct {
	// Load is the maximum load of the best routing found. The load of an arc is its flow divided
	// by its capacity.
	Load float64
	// Bound is a lower bound on the maximum load of any routing, proved by lengths y >= 0 of the
	// arcs. It is the sum over pairs of demand x distance, divided by the sum of capacity x y.
	// This is weak duality (Shahrokhi and Matula, The Maximum Concurrent Flow Problem, J. ACM 37,
	// 1990).
	Bound float64
	// Iterations is the number of sweeps. It is 0 if there is no choice, or if the first routing
	// is optimal.
	Iterations int
	// Certified reports whether the bracket is as narrow as required. Otherwise the budget was
	// too small.
	Certified bool
}

// CongestionOptions limit the effort of MinCongestion.
type CongestionOptions struct {
	// Gap is the relative bracket (Load - Bound) / Bound at which to stop. 0 is DefaultGap.
	Gap float64
	// Iterations is the maximum number of sweeps over the sources. 0 is DefaultIterations.
	Iterations int
	// Check is called for every source of a sweep if it is not nil. It may panic to end the
	// search.
	Check func()
}

// Defaults of CongestionOptions. On all measured graphs a bracket of 1e-3 took 9 to 103 sweeps.
// Prices converge slowly, and a much narrower bracket takes far more.
const (
	DefaultGap        = 1e-3
	DefaultIterations = 200
)

// MinCongestion brackets the minimum congestion of routing demand on g. demand is a nodes x nodes
// matrix, row by row, with the flow from the row's node to the column's node. It is >= 0 and 0 on
// the diagonal. capacity is indexed by arc. No arc is a loop, and arc classes have no effect. The
// result depends only on the arguments. It fails if no path joins two nodes with demand.
//
// The memory is one flow per source and arc; paths are not stored. Column generation suits
// callers that need paths, or that have few demands on a large graph.
func MinCongestion(g *Digraph, capacity, demand []float64, o CongestionOptions) (*Congestion, error) {
	if o.Gap == 0 {
		o.Gap = DefaultGap
	}
	if o.Iterations == 0 {
		o.Iterations = DefaultIterations
	}
	total := 0.0
	for _, d := range demand {
		total += d
	}
	if total == 0 {
		return &Congestion{Certified: true}, nil
	}

	b, err := newBushAssignment(g, capacity, demand, total)
	if err != nil {
		return nil, err
	}
	if b.hasSinglePaths() {
		load := b.singlePathLoad(demand)
		return &Congestion{Load: load, Bound: load, Certified: true}, nil
	}

	if o.Check != nil {
		b.check = o.Check
	}
	r := b.solve(o)
	r.Load *= total
	r.Bound = min(r.Bound*total, r.Load)
	return r, nil
}

// hasSinglePaths reports whether no node has two outgoing arcs.
func (b *bushAssignment) hasSinglePaths() bool {
	for u := range b.Nodes() {
		if b.Start[u+1]-b.Start[u] > 1 {
			return false
		}
	}
	return true
}

// singlePathLoad returns the maximum load if every path is unique. It is also the bound, with
// length 1 on the bottleneck.
func (b *bushAssignment) singlePathLoad(demand []float64) float64 {
	n := int32(b.Nodes())
	load := make([]float64, len(b.To))
	for i, d := range demand {
		for u, v := int32(i)/n, int32(i)%n; d > 0 && u != v; u = b.To[b.Start[u]] {
			load[b.Start[u]] += d
		}
	}
	for e, c := range b.capacity {
		load[e] /= c
	}
	return slices.Max(load)
}
