// Package fluid computes how fast an all-to-all can be on one topology when chunks may be split over any number of
// paths and links are shared as fluid: the multi-commodity flow that DirectConnect routes by (paper on reconfiguring
// during a collective, Sec. 5.1). It minimises the largest load of a link and brackets the optimum from both sides:
// from above by a routing, from below by lengths of links (LP duality).
//
// It makes no schedule and no plan; a load is a number of chunks that cross one link, so it is a number of slots where
// nothing waits for anything else.
package fluid

import (
	"errors"
	"fmt"
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
)

// Options bound the effort.
type Options struct {
	// Gap is the relative bracket (Load - Bound) / Bound at which to stop. 0 is DefaultGap.
	Gap float64
	// Iterations is the most sweeps over the sources to make. 0 is DefaultIterations.
	Iterations int
	// Stop is asked now and then; the search ends with halt.ErrHalted when it says so.
	Stop halt.When
}

// What the zero Options stand for. Brackets of a thousandth took 9..103 sweeps on all graphs measured; prices become
// equal ever more slowly, so that much narrower ones take very many.
const (
	DefaultGap        = 1e-3
	DefaultIterations = 200
)

// Result brackets the optimum: Bound <= least possible largest load <= Load.
type Result struct {
	// Load is the largest load of a link, in chunks, under a routing that was found: the sum of what crosses a
	// connection of two GPUs over the number of its links.
	Load float64
	// Bound is what no routing gets below: for some lengths y >= 0 of links, the sum over pairs of demand x distance
	// over the sum of y (weak duality).
	Bound float64
	// Iterations is how many sweeps were made; 0 where there was nothing to choose or the first routing was optimal.
	Iterations int
	// Certified says that the bracket is as narrow as asked. Else the budget ended before.
	Certified bool
}

// ErrDemand says that demands cannot be read or met.
var ErrDemand = errors.New("fluid: no such demand")

// Optimum brackets the least largest load over all fractional routings of demand on t. demand is n x n, row by row: the
// chunks that GPU row sends GPU column, >= 0 and not necessarily whole, 0 on the diagonal. Edges that t lists twice are
// two links, loops carry nothing. The same arguments give the same result.
//
// Errors: an ErrDemand for a matrix of another size, numbers that are none, below 0 or on the diagonal, options out of
// range and for demands between GPUs that no path joins; scaleup.ErrTopology for edges that leave 0..n-1.
func Optimum(t scaleup.Topology, n int, demand []float64, o Options) (_ *Result, err error) {
	defer halt.Caught(&err)
	if o.Gap == 0 {
		o.Gap = DefaultGap
	}
	if o.Iterations == 0 {
		o.Iterations = DefaultIterations
	}
	if !(o.Gap > 0) || o.Iterations < 0 {
		return nil, fmt.Errorf("%w: a gap of %v within %d iterations; both are above 0", ErrDemand, o.Gap, o.Iterations)
	}
	if n < 1 || len(demand) != n*n {
		return nil, fmt.Errorf("%w: %d numbers for %d x %d GPUs", ErrDemand, len(demand), n, n)
	}
	if err := t.Check(n, len(t)); err != nil {
		return nil, err
	}
	total := 0.0
	for i, d := range demand {
		if !(d >= 0) || math.IsInf(d, 1) || d > 0 && i/n == i%n {
			return nil, fmt.Errorf("%w: %v chunks from GPU %d to GPU %d", ErrDemand, d, i/n, i%n)
		}
		total += d
	}
	if math.IsInf(total, 1) {
		return nil, fmt.Errorf("%w: the sum of all exceeds every number", ErrDemand)
	}
	if total == 0 {
		return &Result{Certified: true}, nil
	}
	g := newGraph(t, n)
	if err := g.reaches(demand); err != nil {
		return nil, err
	}
	if g.single() {
		load := g.forced(demand)
		return &Result{Load: load, Bound: load, Certified: true}, nil
	}
	r := newBushes(g, demand, total).solve(o)
	r.Load *= total
	r.Bound = min(r.Bound*total, r.Load)
	return r, nil
}
