package routing

import (
	"context"
	"math"
)

// equilibration splits the demand of each pair over paths such that the maximum load is minimal.
// This is the linear programming relaxation of single paths. For one pair after the other it
// moves demand from costlier to cheaper paths until both cost the same. Costs are sums of lengths
// that grow exponentially with loads.
//
// The method is path equilibration (Dafermos and Sparrow, The Traffic Assignment Problem for a
// General Network, J. Res. NBS 73B, 1969) on the potential of Plotkin, Shmoys and Tardos. If
// little is identical, it needs tens of shortest-path searches per source. Methods that move all
// pairs at once need thousands.
type equilibration struct {
	*pathFinder // finds shortest paths: in (the instance), startSource and findPath
	// candidates has the paths so far; new ones are generated as in column generation.
	candidates   *candidatePaths
	amount       []float64 // demand on a path, indexed by path
	load         []float64 // indexed by orbit
	length       []float64 // marginal cost of load, times load per unit of demand; indexed by orbit
	searchLength []float64 // length at the last path search
	steepness    float64   // exponent of lengths per unit of load
	maxDemand    float64   // largest demand of a pair

	// Scratch of exchange: crossings of the new path minus crossings of the old one, indexed by
	// orbit, and the nonzero ones of these. net is 0 between exchanges.
	net       []int8
	crossings []loadChange

	// dual tries lengths on the links of highest load, to prove bounds. It is nil if the path
	// searches prove good bounds themselves.
	dual *dualBound
	// costExcess is the relative excess of the present cost over shortest paths, at the last
	// path search.
	costExcess float64
	bound      float64   // best lower bound on the maximum load
	bestLength []float64 // lengths that prove bound

	progress *progress // reports of run
}

// newEquilibration starts from a search's best choice and generates further paths in the given
// graph.
func newEquilibration(in *routeInstance, graph *stateGraph, s *pathAssignmentSearch) *equilibration {
	n := in.numOrbits
	x := &equilibration{
		pathFinder: newPathFinder(in, graph),
		candidates: newCandidatePaths(len(in.pairs)),
		maxDemand:  maxOf(in.demand),
	}
	x.load = make([]float64, n)
	x.length = make([]float64, n)
	x.searchLength = make([]float64, n)
	x.bestLength = make([]float64, n)
	x.net = make([]int8, n)

	for i, k := range s.best {
		x.candidates.orbits, x.candidates.steps = append(x.candidates.orbits,
			s.candidates.pathOrbits(k)...), append(x.candidates.steps, s.candidates.pathSteps(k)...)
		x.candidates.add(int32(i))
		x.amount = append(x.amount, in.demand[i])
	}

	x.recount()
	return x
}

// recount recomputes the loads, to remove accumulated rounding errors.
func (x *equilibration) recount() {
	clear(x.load)
	for k, a := range x.amount {
		if a > 0 {
			for _, o := range x.candidates.pathOrbits(int32(k)) {
				x.load[o] += a
			}
		}
	}

	if x.in.loadPerUnit != nil {
		for o := range x.load {
			x.load[o] *= x.in.perUnit(int32(o))
		}
	}
}

// setLengths sets lengths to exp(steepness * (load/maxLoad - 1)).
func (x *equilibration) setLengths(steepness float64) {
	maxLoad := maxOf(x.load)
	x.steepness = steepness / maxLoad
	for o, y := range x.load {
		x.length[o] = math.Exp(max(minExponent, x.steepness*(y-maxLoad))) * x.in.perUnit(int32(o))
	}
}

// exchangeAll lets each pair move demand from all its paths to the cheapest.
func (x *equilibration) exchangeAll() {
	c := x.candidates
	for i := range c.first {
		if c.next[c.first[i]] < 0 {
			continue
		}
		to, minCost := int32(-1), math.Inf(1)
		for k := c.first[i]; k >= 0; k = c.next[k] {
			if sum := x.cost(k, x.length); sum < minCost {
				to, minCost = k, sum
			}
		}

		for k := c.first[i]; k >= 0; k = c.next[k] {
			if k != to && x.amount[k] > 0 {
				x.exchange(k, to)
			}
		}
	}
}

// cost returns the sum of lengths along a path.
func (x *equilibration) cost(path int32, length []float64) float64 {
	sum := 0.0
	for _, o := range x.candidates.pathOrbits(path) {
		sum += length[o]
	}
	return sum
}

// exchange moves demand between two paths until both cost the same. Links of both paths do not
// change.
func (x *equilibration) exchange(from, to int32) {
	a := x.candidates.pathOrbits(from)
	b := x.candidates.pathOrbits(to)
	for _, o := range a {
		x.net[o]--
	}
	for _, o := range b {
		x.net[o]++
	}

	// Costs of both paths without their common links, and the derivatives of the costs by the
	// moved demand.
	x.crossings = x.crossings[:0]
	fromCost, fromSlope, toCost, toSlope := 0.0, 0.0, 0.0, 0.0
	for _, path := range [][]int32{a, b} {
		for _, o := range path {
			n := float64(x.net[o])
			if n == 0 {
				continue
			}
			x.net[o] = 0
			loadPerUnit := n * x.in.perUnit(o)
			x.crossings = append(x.crossings, loadChange{orbit: o, loadPerUnit: loadPerUnit})

			if n < 0 {
				fromCost = fromCost - n*x.length[o]
				fromSlope = fromSlope + n*loadPerUnit*x.length[o]
			} else {
				toCost = toCost + n*x.length[o]
				toSlope = toSlope + n*loadPerUnit*x.length[o]
			}
		}
	}

	if !(fromCost > toCost && toCost > 0) {
		return
	}

	// Move the amount after which both costs are equal. If each unit changes all loads by 1, this is
	// the exact solution of fromCost*exp(-steepness*amount) = toCost*exp(steepness*amount).
	// Otherwise it is a Newton step on the logarithm of the ratio of costs, which is nearly linear.
	amount := min(x.amount[from], math.Log(fromCost/toCost)/(x.steepness*(fromSlope/fromCost+toSlope/toCost)))

	// Update loads and lengths. Most links change by one crossing, which shares one exponential.
	factor := math.Exp(x.steepness * amount)
	for _, m := range x.crossings {
		x.load[m.orbit] += m.loadPerUnit * amount
		switch m.loadPerUnit {
		case 1:
			x.length[m.orbit] *= factor
		case -1:
			x.length[m.orbit] *= 1 / factor
		default:
			x.length[m.orbit] *= math.Exp(x.steepness * m.loadPerUnit * amount)
		}
	}

	// Tiny remainders are rounding errors.
	if x.amount[from] -= amount; x.amount[from] < x.maxDemand*1e-12 {
		x.amount[from] = 0
	}
	x.amount[to] += amount
}

// loadChange is the change of the load of an orbit if demand moves to another path. loadPerUnit
// is the change per unit of demand, negative if the load falls.
type loadChange struct {
	orbit       int32
	loadPerUnit float64
}

// addPaths generates the shortest path of each pair by the present lengths. It keeps the lengths
// if they improve the bound, which it proves in the same searches (see dualBound).
func (x *equilibration) addPaths(ctx context.Context) {

	// sum is the sum of the lengths of all links, total the sum of demand times shortest distance.
	copy(x.searchLength, x.length)
	total, sum := 0.0, 0.0
	for o, l := range x.searchLength {
		sum += l / x.in.perUnit(int32(o))
	}
	minCostSearched := 0.0 // no better path is sought for cheaper pairs
	if x.between != nil && x.dual == nil {
		demand := 0.0
		for _, d := range x.in.demand {
			demand += d
		}
		minCostSearched = minSaving * x.totalCost() / demand
	}

	// One search per source. A pair gets the path found if it is cheaper than all its present
	// paths.
	for s := range x.in.sources {
		if ctx.Err() != nil {
			return // run reports the error
		}
		x.startSource(s, x.searchLength, givenLengths)
		for i := x.in.firstPair[s]; i < x.in.firstPair[s+1]; i++ {
			minCost := math.Inf(1)
			for k := x.candidates.first[i]; k >= 0; k = x.candidates.next[k] {
				minCost = min(minCost, x.cost(k, x.searchLength))
			}
			if minCost < minCostSearched {
				continue
			}
			d := x.findPath(i, minCost)
			total += x.in.demand[i] * d

			if d < minCost*(1-minSaving) && len(x.candidates.steps) < maxStoredSteps {
				if k := x.addPath(x.candidates, i); int(k) == len(x.amount) {
					x.amount = append(x.amount, 0)
				}
			}
		}
	}

	// The bound of the searched lengths.
	x.costExcess = 1 - total/x.totalCost()
	if v := total / sum; v > x.bound {
		x.bound = v
		copy(x.bestLength, x.searchLength)
	}
}

// Parameters of equilibration.
const (
	// minSaving is the relative saving of cost from which on a path is added.
	minSaving = 1e-3
	// solvedGap is the relative gap at which the linear program counts as solved.
	solvedGap = 1e-5
	// minSteepness and maxSteepness are the first and the last steepness of lengths.
	minSteepness = 20.0
	maxSteepness = 1e5
	// settledDecrease determines when loads have settled at a steepness: if a round lowers the
	// maximum load by less than settledDecrease / steepness, relatively. On large graphs, costExcess
	// must be less than this.
	settledDecrease = 0.5
	// minExponent is the smallest exponent of lengths. exp(-300) is above underflow.
	minExponent = -300.
	// exchangeRounds is the number of rounds of exchanges between path searches. Large graphs have
	// largeExchangeRounds, because their path searches take longer.
	exchangeRounds      = 3
	largeExchangeRounds = 10
	// roundingExponent is the exponent of costs per largest demand in roundToPaths.
	roundingExponent = 4.
	// minRoundsPerSteepness is the minimum number of rounds at a steepness. The maximum is
	// maxRoundsPerSteepness.
	minRoundsPerSteepness = 4
	maxRoundsPerSteepness = 4 * minRoundsPerSteepness
)

// copyFrom splits demand as another equilibration does, as far as the graph of x allows its
// paths.
func (x *equilibration) copyFrom(other *equilibration) {
	for i, p := range x.in.pairs {
		for k := other.candidates.first[i]; k >= 0; k = other.candidates.next[k] {
			if a := other.amount[k]; a > 0 {
				if x.arcs = x.tree.w.follow(p.Src, other.candidates.pathSteps(k), x.arcs[:0]); x.arcs == nil {
					continue
				}
				path := x.tree.w.addPath(x.candidates, int32(i), x.arcs)
				if int(path) == len(x.amount) {
					x.amount = append(x.amount, 0)
				}
				x.amount[x.candidates.first[i]] -= a
				x.amount[path] += a
			}
		}

		if firstPath := x.candidates.first[i]; x.amount[firstPath] < x.maxDemand*1e-12 {
			x.amount[firstPath] = 0 // a rounding error
		}
	}
}

// totalCost returns the cost of all demand by the lengths of the last path search.
func (x *equilibration) totalCost() (cost float64) {
	for o, l := range x.searchLength {
		cost += l / x.in.perUnit(int32(o)) * x.load[o]
	}
	return cost
}

// proveBound tries lengths that concentrate on the links of highest load, for falling steepness,
// while their distances are cheap to compute.
func (x *equilibration) proveBound(ctx context.Context) {
	for steepness := maxSteepness; steepness >= minSteepness; steepness /= 4 {
		if x.setLengths(steepness); !x.dual.tryLengths(ctx, x.length, contractedLengths) {
			return
		}
		x.bound = max(x.bound, x.dual.value)
	}
}

// run splits demand until the program is solved, the bound equals the maximum load, or rounds or
// maxArcs (scanned arcs) are used up. It returns the remaining rounds.
func (x *equilibration) run(ctx context.Context, rounds, maxArcs int) (int, error) {
	isLarge := x.between != nil
	numExchanges := exchangeRounds
	if x.dual != nil {
		numExchanges = largeExchangeRounds
	}

	// The soft maximum exceeds the maximum load by at most log(orbits)/steepness, relatively. The
	// first steepness makes this as small as the gap.
	allRounds := float64(rounds)
	gap := max(solvedGap, 1-x.bound/max(maxOf(x.load), x.bound))
	for steepness := max(minSteepness, math.Log(float64(x.in.numOrbits))/gap); steepness <= maxSteepness; steepness *= 2 {
		last := math.Inf(1)
		for k := 0; ; k++ {
			if err := ctx.Err(); err != nil {
				return rounds, err
			}
			x.recount()

			// Stop if the program is solved, or a limit is reached.
			maxLoad := maxOf(x.load)
			if x.dual != nil && maxLoad > 0 {
				x.proveBound(ctx)
			}
			if rounds <= 0 || x.arcsScanned > maxArcs || maxLoad == 0 || maxLoad-x.bound <= solvedGap*maxLoad {
				return rounds, nil
			}

			// Change the steepness when loads have settled, at the latest after
			// maxRoundsPerSteepness rounds.
			balanced := k >= minRoundsPerSteepness && maxLoad > last*(1-settledDecrease/steepness)
			if isLarge {
				balanced = k > 0 && x.costExcess < settledDecrease/steepness
			}
			if balanced || k >= maxRoundsPerSteepness {
				break
			}
			last = maxLoad
			if isLarge && x.dual == nil { // the bound is known, so steepness can follow the gap
				steepness = max(steepness, math.Log(float64(x.in.numOrbits))/max(solvedGap, 1-x.bound/maxLoad))
			}
			x.setLengths(steepness)
			x.addPaths(ctx)
			rounds--
			x.progress.update(max(1-float64(rounds)/allRounds,
				math.Log2(steepness/minSteepness)/math.Log2(maxSteepness/minSteepness)))
			for range numExchanges {
				x.exchangeAll()
			}
		}
	}

	return rounds, nil
}

// roundToPaths lets a search choose one path per pair among the paths with demand, and saves the
// choice if it is the best. Pair after pair takes the path of minimum cost, while later pairs
// still split their demand.
func (x *equilibration) roundToPaths(s *pathAssignmentSearch) {
	copy(s.load, x.load)
	beta := roundingExponent / x.maxDemand
	maxLoad := maxOf(x.load)
	for i := range s.path {
		for k := x.candidates.first[i]; k >= 0; k = x.candidates.next[k] {
			for _, o := range x.candidates.pathOrbits(k) {
				s.load[o] -= x.amount[k] * x.in.perUnit(o)
			}
		}

		best, minCost := int32(-1), math.Inf(1)
		for k := x.candidates.first[i]; k >= 0; k = x.candidates.next[k] {
			if x.amount[k] == 0 {
				continue
			}
			sum := 0.0
			for _, o := range x.candidates.pathOrbits(k) {
				sum += math.Exp(beta*(s.load[o]-maxLoad)) * math.Expm1(beta*x.in.demand[i]*x.in.perUnit(o))
			}
			if sum < minCost {
				best, minCost = k, sum
			}
		}

		s.path[i] = s.candidates.find(int32(i), x.candidates.pathSteps(best))
		for _, o := range x.candidates.pathOrbits(best) {
			s.load[o] += x.in.demand[i] * x.in.perUnit(o)
		}
	}

	s.recount()
	s.saveBest()
}

// addUsedPaths adds the paths with demand to candidates.
func (x *equilibration) addUsedPaths(candidates *candidatePaths) {
	for i := range x.candidates.first {
		for k := x.candidates.first[i]; k >= 0; k = x.candidates.next[k] {
			if x.amount[k] > 0 {
				candidates.orbits = append(candidates.orbits, x.candidates.pathOrbits(k)...)
				candidates.steps = append(candidates.steps, x.candidates.pathSteps(k)...)
				candidates.add(int32(i))
			}
		}
	}
}
