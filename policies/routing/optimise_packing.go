package routing

import (
	"cmp"
	"math"
	"slices"
)

// Demands that take one path each cannot share links as finely as linear programs have it. What follows bounds loads by
// that.

// packingBound returns a lower bound on the load of the most loaded link that holds as every pair takes one path: of
// the j largest demands out of a node, or into it, a link can carry but so many whole ones, so that some link carries
// ceil(j/links) of them or more (the pigeonhole bounds of bin packing; with one demand it is the largest).
func (in *instance) packingBound() float64 {
	best := 0.0
	out, into := make([][]float64, in.nodes), make([][]float64, in.nodes)
	for i, f := range in.pair {
		if in.demand[i] > 0 {
			out[f.Src] = append(out[f.Src], in.demand[i])
			into[f.Dst] = append(into[f.Dst], in.demand[i])
		}
	}
	ends, arrives := make([][]float64, in.nodes), make([][]float64, in.nodes) // what a unit adds to each link
	for k, o := range in.free().Class {
		from, to := in.out.From[k], in.out.To[k]
		ends[from], arrives[to] = append(ends[from], in.perUnit(o)), append(arrives[to], in.perUnit(o))
	}
	for a := range in.nodes {
		best = max(best, binPacking(out[a], ends[a]), binPacking(into[a], arrives[a]))
	}
	return best
}

// nodeCutBound returns a lower bound on the load of the most loaded link that holds for pairs that spread, too: what
// leaves a node, or comes to it, over all of its links as if they were one.
func (in *instance) nodeCutBound() float64 {
	out, into := make([]float64, in.nodes), make([]float64, in.nodes)
	for i, f := range in.pair {
		out[f.Src] += in.demand[i]
		into[f.Dst] += in.demand[i]
	}
	leave, arrive := make([]float64, in.nodes), make([]float64, in.nodes) // links, or where rates differ their rates
	for k, o := range in.free().Class {
		leave[in.out.From[k]] += 1 / in.perUnit(o)
		arrive[in.out.To[k]] += 1 / in.perUnit(o)
	}
	best := 0.0
	for a := range in.nodes {
		if out[a] > 0 {
			best = max(best, out[a]/leave[a])
		}
		if into[a] > 0 {
			best = max(best, into[a]/arrive[a])
		}
	}
	return best
}

// binPacking returns a lower bound on the greatest load of links that whole demands are spread over, each on one;
// perUnit is what a unit adds to a link's load.
func binPacking(demand, perUnit []float64) float64 {
	if len(demand) == 0 || len(perUnit) == 0 {
		return 0
	}
	slices.SortFunc(demand, func(a, b float64) int { return -cmp.Compare(a, b) })
	slices.Sort(perUnit)
	best := 0.0
	if perUnit[0] == perUnit[len(perUnit)-1] {
		links := len(perUnit)
		if links == 1 { // what follows, without its square
			for _, d := range demand {
				best += d
			}
			return best * perUnit[0]
		}
		for q := 0; q*links < len(demand); q++ { // of the q*links+1 largest, q+1 are together
			sum := 0.0
			for _, d := range demand[q*links-q : q*links+1] {
				sum += d
			}
			best = max(best, sum)
		}
		return best * perUnit[0]
	}
	// the quickest path to place j demands of at least w: one more each time where it ends lowest
	count := make([]float64, len(perUnit))
	level := 0.0
	for _, w := range demand {
		least := 0
		for l := range perUnit {
			if (count[l]+1)*perUnit[l] < (count[least]+1)*perUnit[least] {
				least = l
			}
		}
		count[least]++
		level = max(level, count[least]*perUnit[least])
		best = max(best, level*w)
	}
	return best
}

// unit returns the greatest number that all demands are multiples of, as those of messages of a few sizes are; 0 where
// there is none but very small ones.
func (in *instance) unit() (unit float64) {
	most := top(in.demand)
	for _, d := range in.demand {
		for d > near*most { // Euclid's algorithm, on numbers that are rounded
			if d < 1e-4*most {
				return 0
			}
			unit, d = d, math.Abs(math.Remainder(unit, d))
		}
	}
	return unit
}

// near is how far apart numbers are that rounding may make of one.
const near = 1e-9

// roundUp raises a bound that holds for pairs that spread to the least load that a link can have where each takes one
// path, all demands being multiples of a unit.
func (in *instance) roundUp(bound, unit float64) float64 {
	if unit == 0 || bound <= 0 {
		return bound
	}
	best, slow := math.Inf(1), in.slow
	if slow == nil {
		slow = []float64{1}
	}
	for _, perUnit := range slow {
		best = min(best, math.Ceil(bound*(1-near)/(unit*perUnit))*unit*perUnit)
	}
	return max(bound, best)
}
