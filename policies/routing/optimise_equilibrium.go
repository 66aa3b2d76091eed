package routing

import (
	"context"
	"math"
)

// equilibration is a choice of how much of each pair's demand takes which path: what pairs that spread reach. It is
// made better pair by pair: of two routes of a pair the dearer gives to the cheaper, by lengths that grow exponentially
// with loads, until both are as dear (path equilibration: Dafermos and Sparrow, The Traffic Assignment Problem for a
// General Network, J. Res. NBS 73B, 1969; on the potential of Plotkin, Shmoys and Tardos). Where little is identical
// this reaches the optimum of the linear program in tens of searches of shortest paths a source, where moving all pairs
// at once takes thousands.
type equilibration struct {
	*pathFinder
	candidates   *candidatePaths
	amount       []float64 // by path: of the pair's demand
	load         []float64 // by orbit
	length       []float64 // by orbit: what a unit more of load costs, times perUnit
	searchLength []float64 // lengths that paths were searched by
	steepness    float64
	maxDemand    float64    // the greatest demand
	net          []int8     // by orbit: times that one path crosses it more than another; 0 between exchanges
	crossings    []crossing // where it is not 0

	dual       *dualBound // tries the links that carry most; nil where searches prove as much soon enough
	costExcess float64    // what demand cost more than on the shortest paths when these were last found, relatively
	bound      float64    // bound that the best lengths prove
	bestLength []float64  // and these

	progress *progress // of run
}

// newEquilibration begins from a search's best choice and takes up paths of w.
func newEquilibration(in *routeInstance, graph *stateGraph, s *pathAssignmentSearch) *equilibration {
	n := in.numOrbits
	x := &equilibration{pathFinder: newPathFinder(in, graph), candidates: newCandidatePaths(len(in.pairs)), maxDemand: maxOf(in.demand)}
	x.load, x.length, x.searchLength, x.bestLength, x.net = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]int8, n)
	for i, k := range s.best {
		x.candidates.orbits, x.candidates.steps = append(x.candidates.orbits, s.candidates.pathOrbits(k)...), append(x.candidates.steps, s.candidates.pathSteps(k)...)
		x.candidates.add(int32(i))
		x.amount = append(x.amount, in.demand[i])
	}
	x.recount()
	return x
}

// recount adds up loads anew.
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

// setLengths sets lengths from loads, as sharply as width says relative to the greatest.
func (x *equilibration) setLengths(steepness float64) {
	maxLoad := maxOf(x.load)
	x.steepness = steepness / maxLoad
	for o, y := range x.load {
		x.length[o] = math.Exp(max(minExponent, x.steepness*(y-maxLoad))) * x.in.perUnit(int32(o))
	}
}

// exchangeAll has the paths of every pair exchange demand.
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

// cost returns the sum of lengths of a path.
func (x *equilibration) cost(path int32, length []float64) float64 {
	sum := 0.0
	for _, o := range x.candidates.pathOrbits(path) {
		sum += length[o]
	}
	return sum
}

// exchange moves demand from a path to another until both are as dear, links that are on both aside.
func (x *equilibration) exchange(from, to int32) {
	a, b := x.candidates.pathOrbits(from), x.candidates.pathOrbits(to)
	for _, o := range a {
		x.net[o]--
	}
	for _, o := range b {
		x.net[o]++
	}
	x.crossings = x.crossings[:0]
	fromCost, fromSlope, toCost, toSlope := 0.0, 0.0, 0.0, 0.0 // what the two cost, and how fast that falls and grows
	for _, path := range [][]int32{a, b} {
		for _, o := range path {
			n := float64(x.net[o])
			if n == 0 {
				continue
			}
			x.net[o] = 0
			loadPerUnit := n * x.in.perUnit(o)
			x.crossings = append(x.crossings, crossing{o, loadPerUnit})
			if n < 0 {
				fromCost, fromSlope = fromCost-n*x.length[o], fromSlope+n*loadPerUnit*x.length[o]
			} else {
				toCost, toSlope = toCost+n*x.length[o], toSlope+n*loadPerUnit*x.length[o]
			}
		}
	}
	if !(fromCost > toCost && toCost > 0) {
		return
	}
	// until dear*exp(-width*by) = cheap*exp(width*by), where a unit of demand changes all loads by as much: else a step
	// of Newton's method on the logarithm of what one costs over the other, which is nearly straight
	amount := min(x.amount[from], math.Log(fromCost/toCost)/(x.steepness*(fromSlope/fromCost+toSlope/toCost)))
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
	if x.amount[from] -= amount; x.amount[from] < x.maxDemand*1e-12 {
		x.amount[from] = 0
	}
	x.amount[to] += amount
}

// crossing is an orbit whose load a unit of demand that changes its path raises so many times; negative lowers it.
type crossing struct {
	orbit       int32
	loadPerUnit float64
}

// addPaths adds the shortest paths by the present lengths, and keeps these if they prove more than the best (as dual
// does; it adopts what the same lengths prove).
func (x *equilibration) addPaths(ctx context.Context) {
	copy(x.searchLength, x.length)
	total, sum := 0.0, 0.0
	for o, l := range x.searchLength {
		sum += l / x.in.perUnit(int32(o))
	}
	minCostSearched := 0.0 // what paths cost that no better ones are sought for
	if x.between != nil && x.dual == nil {
		demand := 0.0
		for _, d := range x.in.demand {
			demand += d
		}
		minCostSearched = minSaving * x.totalCost() / demand
	}
	for s := range x.in.sources {
		if ctx.Err() != nil {
			return // as run does
		}
		x.startSource(s, x.searchLength, false)
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
	x.costExcess = 1 - total/x.totalCost()
	if v := total / sum; v > x.bound {
		x.bound = v
		copy(x.bestLength, x.searchLength)
	}
}

const (
	minSaving             = 1e-3 // how much cheaper paths must be to be taken up, relatively
	solvedGap             = 1e-5 // relative gap of the linear program at which it counts as solved
	minSteepness          = 20.0 // widths that lengths begin and end with
	maxSteepness          = 1e5
	settledDecrease       = 0.5   // what loads fall by in a round when they have, over width, relatively, or large graphs' excess
	minExponent           = -300. // least exponent of lengths
	exchangeRounds        = 3     // rounds of exchanges between searches of paths,
	largeExchangeRounds   = 10    // and on large graphs, where searches take longer
	roundingExponent      = 4.    // exponent of costs for the greatest demand where one path is chosen
	minRoundsPerSteepness = 4     // rounds at a width, at least, and up to four times as many
)

// copyFrom spreads demand as another does, as far as its paths are allowed here.
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
			x.amount[firstPath] = 0 // they differ by rounding
		}
	}
}

// totalCost returns what all demand costs by the lengths that paths are searched by.
func (x *equilibration) totalCost() (cost float64) {
	for o, l := range x.searchLength {
		cost += l / x.in.perUnit(int32(o)) * x.load[o]
	}
	return cost
}

// proveBound has the links that carry most show what they prove alone, by lengths that fall the more steeply with loads the
// more of them there are.
func (x *equilibration) proveBound(ctx context.Context) {
	for steepness := maxSteepness; steepness >= minSteepness; steepness /= 4 {
		if x.setLengths(steepness); !x.dual.tryLengths(ctx, x.length, true) {
			return
		}
		x.bound = max(x.bound, x.dual.value)
	}
}

// run spreads demand until the program is solved, a target is proved, rounds are over or so many arcs were looked at; it
// returns the rounds that are left.
func (x *equilibration) run(ctx context.Context, rounds, maxArcs int) (int, error) {
	isLarge, numExchanges := x.between != nil, exchangeRounds
	if x.dual != nil {
		numExchanges = largeExchangeRounds
	}
	// a soft maximum is log(orbits)/width above the greatest load, relatively: less than that is not to be gained at
	// the first width
	allRounds := float64(rounds)
	gap := max(solvedGap, 1-x.bound/max(maxOf(x.load), x.bound))
	for steepness := max(minSteepness, math.Log(float64(x.in.numOrbits))/gap); steepness <= maxSteepness; steepness *= 2 {
		last := math.Inf(1)
		for k := 0; ; k++ {
			if err := ctx.Err(); err != nil {
				return rounds, err
			}
			x.recount()
			maxLoad := maxOf(x.load)
			if x.dual != nil && maxLoad > 0 {
				x.proveBound(ctx)
			}
			if rounds <= 0 || x.arcsScanned > maxArcs || maxLoad == 0 || maxLoad-x.bound <= solvedGap*maxLoad {
				return rounds, nil
			}
			balanced := k >= minRoundsPerSteepness && maxLoad > last*(1-settledDecrease/steepness)
			if isLarge {
				balanced = k > 0 && x.costExcess < settledDecrease/steepness
			}
			if balanced || k >= 4*minRoundsPerSteepness {
				break
			}
			last = maxLoad
			if isLarge && x.dual == nil { // the target is known
				steepness = max(steepness, math.Log(float64(x.in.numOrbits))/max(solvedGap, 1-x.bound/maxLoad))
			}
			x.setLengths(steepness)
			x.addPaths(ctx)
			rounds--
			x.progress.update(max(1-float64(rounds)/allRounds, math.Log2(steepness/minSteepness)/math.Log2(maxSteepness/minSteepness)))
			for range numExchanges {
				x.exchangeAll()
			}
		}
	}
	return rounds, nil
}

// roundToPaths has a search choose one path for each pair, of those that carry its demand, and keep that if it is better than
// its best choice: pair after pair the one that costs least, what is spread of others being on all of theirs.
func (x *equilibration) roundToPaths(s *pathAssignmentSearch) {
	copy(s.load, x.load)
	beta, maxLoad := roundingExponent/x.maxDemand, maxOf(x.load)
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

// addUsedPaths adds the paths that carry some demand to choices.
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
