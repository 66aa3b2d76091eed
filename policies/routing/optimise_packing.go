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
func (in *routeInstance) packingBound() float64 {
	best := 0.0
	out, into := make([][]float64, in.nodes), make([][]float64, in.nodes)
	for i, f := range in.pairs {
		if in.demand[i] > 0 {
			out[f.Src] = append(out[f.Src], in.demand[i])
			into[f.Dst] = append(into[f.Dst], in.demand[i])
		}
	}
	outPerUnit, inPerUnit := make([][]float64, in.nodes), make([][]float64, in.nodes) // what a unit adds to each link
	for k, o := range in.unrestricted().Class {
		from, to := in.out.From[k], in.out.To[k]
		outPerUnit[from], inPerUnit[to] = append(outPerUnit[from], in.perUnit(o)), append(inPerUnit[to], in.perUnit(o))
	}
	for a := range in.nodes {
		best = max(best, binPacking(out[a], outPerUnit[a]), binPacking(into[a], inPerUnit[a]))
	}
	return best
}

// nodeCutBound returns a lower bound on the load of the most loaded link that holds for pairs that spread, too: what
// leaves a node, or comes to it, over all of its links as if they were one.
func (in *routeInstance) nodeCutBound() float64 {
	out, into := make([]float64, in.nodes), make([]float64, in.nodes)
	for i, f := range in.pairs {
		out[f.Src] += in.demand[i]
		into[f.Dst] += in.demand[i]
	}
	leave, arrive := make([]float64, in.nodes), make([]float64, in.nodes) // links, or where rates differ their rates
	for k, o := range in.unrestricted().Class {
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
	bound := 0.0
	if perUnit[0] == perUnit[len(perUnit)-1] {
		links := len(perUnit)
		if links == 1 { // what follows, without its square
			for _, d := range demand {
				bound += d
			}
			return bound * perUnit[0]
		}
		for q := 0; q*links < len(demand); q++ { // of the q*links+1 largest, q+1 are together
			sum := 0.0
			for _, d := range demand[q*links-q : q*links+1] {
				sum += d
			}
			bound = max(bound, sum)
		}
		return bound * perUnit[0]
	}
	// the quickest path to place j demands of at least w: one more each time where it ends lowest
	count := make([]float64, len(perUnit))
	level := 0.0
	for _, w := range demand {
		best := 0
		for l := range perUnit {
			if (count[l]+1)*perUnit[l] < (count[best]+1)*perUnit[best] {
				best = l
			}
		}
		count[best]++
		level = max(level, count[best]*perUnit[best])
		bound = max(bound, level*w)
	}
	return bound
}

// demandUnit returns the greatest number that all demands are multiples of, as those of messages of a few sizes are; 0 where
// there is none but very small ones.
func (in *routeInstance) demandUnit() (unit float64) {
	maxDemand := maxOf(in.demand)
	for _, d := range in.demand {
		for d > roundingTol*maxDemand { // Euclid's algorithm, on numbers that are rounded
			if d < 1e-4*maxDemand {
				return 0
			}
			unit, d = d, math.Abs(math.Remainder(unit, d))
		}
	}
	return unit
}

// roundingTol is how far apart numbers are that rounding may make of one.
const roundingTol = 1e-9

// roundUp raises a bound that holds for pairs that spread to the least load that a link can have where each takes one
// path, all demands being multiples of a unit.
func (in *routeInstance) roundUp(bound, unit float64) float64 {
	if unit == 0 || bound <= 0 {
		return bound
	}
	best, slow := math.Inf(1), in.loadPerUnit
	if slow == nil {
		slow = []float64{1}
	}
	for _, perUnit := range slow {
		best = min(best, math.Ceil(bound*(1-roundingTol)/(unit*perUnit))*unit*perUnit)
	}
	return max(bound, best)
}
