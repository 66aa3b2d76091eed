package routing

import (
	"cmp"
	"math"
	"slices"
)

// packingBound returns a lower bound on the maximum link load if every pair takes one path.
// Demands then cannot share links as finely as in the linear program. Of the j largest demands
// out of a node, or into it, some link carries ceil(j/links) or more (the pigeonhole bound of bin
// packing; for one demand it is the demand itself).
func (in *routeInstance) packingBound() float64 {
	best := 0.0
	out := make([][]float64, in.nodes)
	into := make([][]float64, in.nodes)
	for i, f := range in.pairs {
		if in.demand[i] > 0 {
			out[f.Src] = append(out[f.Src], in.demand[i])
			into[f.Dst] = append(into[f.Dst], in.demand[i])
		}
	}

	outPerUnit := make([][]float64, in.nodes)
	inPerUnit := make([][]float64, in.nodes) // load per unit of demand of each link
	for k, o := range in.unrestricted().Class {
		from, to := in.out.From[k], in.out.To[k]
		outPerUnit[from], inPerUnit[to] = append(outPerUnit[from], in.perUnit(o)), append(inPerUnit[to],
			in.perUnit(o))
	}

	for a := range in.nodes {
		best = max(best, binPacking(out[a], outPerUnit[a]), binPacking(into[a], inPerUnit[a]))
	}
	return best
}

// nodeCutBound returns a lower bound on the maximum link load that also holds for split pairs. It
// is the traffic out of a node, or into it, divided by the capacity of all its links.
func (in *routeInstance) nodeCutBound() float64 {
	out := make([]float64, in.nodes)
	into := make([]float64, in.nodes)
	for i, f := range in.pairs {
		out[f.Src] += in.demand[i]
		into[f.Dst] += in.demand[i]
	}

	leave := make([]float64, in.nodes)
	arrive := make([]float64, in.nodes) // number of links, or their relative rates if rates differ
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

// binPacking returns a lower bound on the maximum load of links over which whole demands are
// distributed. perUnit is the load that a unit of demand adds to each link. It sorts its
// arguments.
func binPacking(demand, perUnit []float64) float64 {
	if len(demand) == 0 || len(perUnit) == 0 {
		return 0
	}
	slices.SortFunc(demand, func(a, b float64) int { return -cmp.Compare(a, b) })
	slices.Sort(perUnit)
	bound := 0.0
	if perUnit[0] == perUnit[len(perUnit)-1] {
		links := len(perUnit)
		if links == 1 { // a special case without the quadratic loop
			for _, d := range demand {
				bound += d
			}
			return bound * perUnit[0]
		}

		// Of the q*links+1 largest demands, q+1 share a link.
		for q := 0; q*links < len(demand); q++ {
			sum := 0.0
			for _, d := range demand[q*links-q : q*links+1] {
				sum += d
			}
			bound = max(bound, sum)
		}

		return bound * perUnit[0]
	}

	// Place j demands of at least w: each time the link with the smallest resulting load takes
	// one more.
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

// demandUnit returns the largest number that divides all demands, for example if messages have a
// small number of sizes. It returns 0 if there is no such number above 1e-4 of the largest
// demand.
func (in *routeInstance) demandUnit() (unit float64) {
	maxDemand := maxOf(in.demand)
	for _, d := range in.demand {
		for d > roundingTol*maxDemand { // Euclid's algorithm on rounded numbers
			if d < 1e-4*maxDemand {
				return 0
			}
			unit, d = d, math.Abs(math.Remainder(unit, d))
		}
	}
	if unit == 0 {
		return 0
	}

	// Remainders amplify rounding errors. The unit divides the largest demand exactly, and must
	// divide the others closely enough for roundUp.
	unit = maxDemand / math.Round(maxDemand/unit)
	for _, d := range in.demand {
		if math.Abs(d-math.Round(d/unit)*unit) > roundingTol/2*d {
			return 0
		}
	}

	return unit
}

// roundingTol is the relative difference up to which numbers count as equal, to allow for
// rounding errors.
const roundingTol = 1e-9

// roundUp raises a bound for split pairs to the smallest possible load of a link if each pair
// takes one path, when all demands are multiples of unit.
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
