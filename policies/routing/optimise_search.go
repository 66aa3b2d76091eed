package routing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// candidatePaths holds the paths that each pair may take. Each pair has a linked list of paths,
// which can grow at any time.
type candidatePaths struct {
	first, last []int32 // ends of the list, indexed by pair; -1 if empty
	next        []int32 // indexed by path; -1 at the end
	// Path k has orbits and steps start[k] up to start[k+1].
	start  []int64
	orbits []int32       // link orbits of all paths
	steps  []engine.Step // steps of all paths
}

// newCandidatePaths returns empty lists for the given number of pairs.
func newCandidatePaths(pairs int) *candidatePaths {
	return &candidatePaths{
		first: slices.Repeat([]int32{-1}, pairs),
		last:  slices.Repeat([]int32{-1}, pairs),
		start: []int64{0},
	}
}

// add ends the path whose orbits and steps were appended, and gives it to a pair. If the pair
// already has the path, the new copy is removed. It returns the index of the path.
func (c *candidatePaths) add(pair int32) int32 {
	from := c.start[len(c.start)-1]
	if k := c.find(pair, c.steps[from:]); k >= 0 {
		c.steps = c.steps[:from]
		c.orbits = c.orbits[:from]
		return k
	}

	k := int32(len(c.next))
	c.start = append(c.start, int64(len(c.steps)))
	c.next = append(c.next, -1)
	if c.last[pair] >= 0 {
		c.next[c.last[pair]] = k
	} else {
		c.first[pair] = k
	}

	c.last[pair] = k
	return k
}

// find returns the path of a pair with the given steps; -1 if the pair has no such path.
func (c *candidatePaths) find(pair int32, steps []engine.Step) int32 {
	k := c.first[pair]
	for k >= 0 && !slices.Equal(c.pathSteps(k), steps) {
		k = c.next[k]
	}
	return k
}

// hasAlternatives reports whether some pair has more than one path.
func (c *candidatePaths) hasAlternatives() bool {
	return len(c.next) > len(c.first)
}

// reserve allocates memory for times the present paths, with a margin of 1/8.
func (c *candidatePaths) reserve(times int) {
	times += times / 8
	c.orbits, c.steps = slices.Grow(c.orbits, times*len(c.orbits)), slices.Grow(c.steps, times*len(c.steps))
	c.start, c.next = slices.Grow(c.start, times*len(c.start)), slices.Grow(c.next, times*len(c.next))
}

// pathOrbits returns the link orbits of a path.
func (c *candidatePaths) pathOrbits(path int32) []int32 {
	return c.orbits[c.start[path]:c.start[path+1]]
}

// hopsPerEvaluation is the number of hops that adds one evaluation to the cost of a path.
const hopsPerEvaluation = 16

// evaluationCost returns the budget that the evaluation of a path uses.
func (c *candidatePaths) evaluationCost(path int32) int64 {
	return 1 + (c.start[path+1]-c.start[path])/hopsPerEvaluation
}

// pathSteps returns the steps of a path.
func (c *candidatePaths) pathSteps(path int32) []engine.Step {
	return c.steps[c.start[path]:c.start[path+1]]
}

// pathAssignmentSearch is a local search that assigns one path to each pair. Orbits cost
// exp(beta*load), so for large beta the cheapest assignment has the smallest maximum load. Pair
// by pair moves to its cheapest path (sweep), with beta rising from sweep to sweep (run).
type pathAssignmentSearch struct {
	in         *routeInstance
	candidates *candidatePaths // paths to choose from
	path       []int32         // present path, indexed by pair
	load       []float64       // present load, indexed by orbit
	// neighbourLoad is the load if every node sends one unit to each neighbour, indexed by orbit.
	neighbourLoad []float64
	neighbourCap  int // maximum of neighbourLoad; 0 means no cap

	// Costs of the present sweep.
	beta  float64   // exponent per unit of load
	noise float64   // costs of paths are raised at random by up to this fraction
	cost  []float64 // exp(beta*(load-level)), indexed by orbit
	level float64   // maximum load when beta was set; avoids overflow

	progress   *progress // reports of run
	rng        *rand.Rand
	budget     int64   // remaining path evaluations
	best       []int32 // best assignment so far, indexed by pair
	bestLoad   float64 // maximum load under best
	bestExcess float64 // sum of neighbour loads above the cap under best
	// maxDemand is the largest load that a pair adds to an orbit with one crossing.
	maxDemand float64
	// addedCost is the relative cost increase of the present pair, indexed by rate kind.
	addedCost      []float64
	revisitsOrbits bool // paths may cross an orbit repeatedly
}

// Arguments of newPathAssignmentSearch for an assignment that is not searched, or not limited.
const (
	noBudget = 0
	noCap    = 0
	anySeed  = 0 // without a search, no random numbers are drawn
)

// newPathAssignmentSearch returns a search that starts with the first candidate of each pair.
func newPathAssignmentSearch(
	in *routeInstance,
	c *candidatePaths,
	seed uint64,
	neighbourCap int,
	budget int64,
) *pathAssignmentSearch {
	s := &pathAssignmentSearch{
		in:           in,
		candidates:   c,
		neighbourCap: neighbourCap,
		budget:       budget,
		bestLoad:     math.Inf(1),
		bestExcess:   math.Inf(1),
	}

	s.path = slices.Clone(c.first)
	s.load = make([]float64, in.numOrbits)
	s.neighbourLoad = make([]float64, in.numOrbits)
	s.cost = make([]float64, in.numOrbits)
	s.rng = rand.New(rand.NewPCG(seed, optimiseStream))
	s.revisitsOrbits = in.symmetry != nil && 4*len(in.symmetry.Sources) < in.nodes
	for i, w := range s.path {
		s.maxDemand = max(s.maxDemand, in.demand[i])
		s.addLoad(int32(i), w, 1)
	}

	if in.loadPerUnit != nil {
		s.maxDemand *= slices.Min(in.loadPerUnit)
	}
	return s
}

// minBeta and maxBeta are the values of beta, times maxDemand, in the first and the last sweep of a
// descent. At maxBeta, one unit of demand more multiplies the cost by e^20, so only the maximum
// load matters.
const (
	minBeta = 0.02
	maxBeta = 20
)

// noiseLevels are the values of noise of consecutive descents.
var noiseLevels = []float64{0, 0.05, 0.2, 0.5, 1}

// optimiseStream is combined with the seed (see the other streams).
const optimiseStream = 0x6f7074696d697365 // "optimise"

// addLoad adds a path of a pair to the loads; sign -1 removes it.
func (s *pathAssignmentSearch) addLoad(pair, path int32, sign float64) {
	d := sign * s.in.demand[pair]
	if s.in.loadPerUnit == nil {
		for _, o := range s.candidates.pathOrbits(path) {
			s.load[o] += d
		}
	} else {
		for _, o := range s.candidates.pathOrbits(path) {
			s.load[o] += d * s.in.loadPerUnit[s.in.rateKind[o]]
		}
	}

	if s.in.isNeighbour[pair] {
		for _, o := range s.candidates.pathOrbits(path) {
			s.neighbourLoad[o] += sign
		}
	}
}

// setBeta sets beta and recomputes all costs.
func (s *pathAssignmentSearch) setBeta(beta float64) {
	s.beta, s.level = beta, maxOf(s.load)
	for o, x := range s.load {
		s.cost[o] = math.Exp(beta * (x - s.level))
	}
}

// sweep moves every pair to its cheapest path, in random order.
func (s *pathAssignmentSearch) sweep(order []int32) {
	if len(order) > maxPairs && !s.in.isUniform {
		s.budget -= int64(len(order)) / 4 // even pairs with one path take time
	}
	s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, i := range order {
		s.improvePair(i)
	}
}

// improvePair removes a pair and assigns its cheapest path. Among equal ones it takes a random
// one.
func (s *pathAssignmentSearch) improvePair(i int32) {
	c, previous := s.candidates, s.path[i]
	if c.next[c.first[i]] < 0 {
		return
	}

	// Remove the pair.
	up := math.Exp(s.beta * s.in.demand[i])
	ratesDiffer := s.in.loadPerUnit != nil
	if ratesDiffer {
		s.addLoad(i, previous, -1)
		s.priceRemoved(i, previous)
	} else {
		for _, o := range c.pathOrbits(previous) {
			s.cost[o] /= up
		}
		s.addLoad(i, previous, -1)
	}

	// Select the cheapest path, with noise.
	best, minCost := previous, math.Inf(1)
	for k := c.first[i]; k >= 0; k = c.next[k] {
		s.budget -= s.candidates.evaluationCost(k)
		x := 0.0
		if ratesDiffer {
			x = s.pathCostByRate(i, k)
		} else {
			x = s.pathCost(i, k, up)
		}
		if s.noise > 0 {
			x *= 1 + s.noise*s.rng.Float64()
		}
		if x < minCost || x == minCost && s.rng.Uint64()&1 == 0 {
			best, minCost = k, x
		}
	}

	// Assign it and update the costs along both paths.
	s.path[i] = best
	s.addLoad(i, best, 1)
	for _, o := range c.pathOrbits(best) {
		s.cost[o] = math.Exp(s.beta * (s.load[o] - s.level))
	}
	if best != previous {
		for _, o := range c.pathOrbits(previous) {
			s.cost[o] = math.Exp(s.beta * (s.load[o] - s.level))
		}
	}
}

// priceRemoved updates the costs along a path after the removal of its pair if rates differ. It
// also sets the relative cost increase of the pair for each rate.
func (s *pathAssignmentSearch) priceRemoved(i, path int32) {
	for _, o := range s.candidates.pathOrbits(path) {
		s.cost[o] = math.Exp(s.beta * (s.load[o] - s.level))
	}
	s.addedCost = s.addedCost[:0]
	for _, slow := range s.in.loadPerUnit {
		s.addedCost = append(s.addedCost, math.Expm1(s.beta*s.in.demand[i]*slow))
	}
}

// pathCostByRate is pathCost if rates differ, so that a unit adds more to some loads than to
// others. It returns the increase of the total cost.
func (s *pathAssignmentSearch) pathCostByRate(i, path int32) float64 {
	sum := 0.0
	orbits := s.candidates.pathOrbits(path)
	for _, o := range orbits {
		sum += s.cost[o] * s.addedCost[s.in.rateKind[o]]
	}
	return sum + s.overloadPenalty(i, orbits)
}

// pathCost returns the cost of a path for a pair that was removed from the loads. A repeated
// crossing of an orbit sees the load of the first one; up is the factor by which one crossing
// raises the cost.
func (s *pathAssignmentSearch) pathCost(i, path int32, up float64) float64 {
	sum := 0.0
	orbits := s.candidates.pathOrbits(path)
	if s.revisitsOrbits {
		for _, o := range orbits {
			sum += s.cost[o]
			s.cost[o] *= up
		}
		for _, o := range orbits {
			s.cost[o] /= up
		}
	} else {
		for _, o := range orbits {
			sum += s.cost[o]
		}
	}

	return sum + s.overloadPenalty(i, orbits)
}

// overloadPenalty returns the price of the neighbour load that a path adds above the cap. The
// path may cross an orbit several times.
func (s *pathAssignmentSearch) overloadPenalty(i int32, orbits []int32) (price float64) {
	if s.in.isNeighbour[i] && s.neighbourCap > 0 {
		for _, o := range orbits {
			if s.neighbourLoad[o] >= float64(s.neighbourCap) {
				price += 1e6 // exceeds all costs of loads
			}
			s.neighbourLoad[o]++
		}

		for _, o := range orbits {
			s.neighbourLoad[o]--
		}
	}

	return price
}

// overload returns the sum of neighbour loads above the cap.
func (s *pathAssignmentSearch) overload() float64 {
	excess := 0.0
	if s.neighbourCap > 0 {
		for _, x := range s.neighbourLoad {
			excess += max(0, x-float64(s.neighbourCap))
		}
	}
	return excess
}

// saveBest saves the present assignment if it is the best. Overload takes precedence over load.
func (s *pathAssignmentSearch) saveBest() {
	value, excess := maxOf(s.load), s.overload()
	if excess < s.bestExcess || excess == s.bestExcess && value < s.bestLoad {
		s.bestLoad, s.bestExcess = value, excess
		s.best = append(s.best[:0], s.path...)
	}
}

// withBest saves the present assignment and returns s.
func (s *pathAssignmentSearch) withBest() *pathAssignmentSearch {
	s.saveBest()
	return s
}

const (
	// minSweeps and maxSweeps limit the sweeps of a descent. Between them, a descent has as many
	// sweeps as the budget can pay.
	minSweeps = 8
	maxSweeps = 40
	// maxStaleSweeps is the number of sweeps without a lower load after which a descent ends.
	maxStaleSweeps = 8
)

// run searches until the maximum load is at most target or the budget is spent. Each descent is a
// sequence of sweeps with rising beta, with noise from the second descent on. If addPaths is not
// nil, it is called before each sweep and may add candidates.
func (s *pathAssignmentSearch) run(ctx context.Context, target float64, addPaths func() error) error {
	order := numbers.Below(int32(len(s.path)))
	s.saveBest()
	if addPaths == nil && !s.candidates.hasAlternatives() {
		return nil
	}
	fullBudget := float64(s.budget)
	for round := 0; s.budget > 0 && (s.bestLoad > target || s.bestExcess > 0); round++ {
		// A descent: sweeps with rising beta, until the budget is spent or the load has stopped
		// falling.
		s.noise = noiseLevels[round%len(noiseLevels)]
		steps := int(min(maxSweeps, max(minSweeps, s.budget/int64(len(s.candidates.next)+1))))
		stale, lastLoad := 0, math.Inf(1)
		for k := 0; k < steps && s.budget > 0 && stale < maxStaleSweeps; k++ {
			if err := ctx.Err(); err != nil {
				return err
			}

			s.setBeta(minBeta * math.Pow(maxBeta/minBeta, float64(k)/float64(steps-1)) / s.maxDemand)
			if addPaths != nil {
				if err := addPaths(); err != nil {
					return err
				}
			}

			s.sweep(order)
			s.saveBest()
			s.progress.update(1 - float64(s.budget)/fullBudget)
			if s.bestLoad <= target && s.bestExcess == 0 {
				return nil
			}
			if maxLoad := maxOf(s.load); maxLoad < lastLoad {
				lastLoad, stale = maxLoad, 0
			} else if s.beta*s.maxDemand > 1 {
				stale++
			}
		}
	}

	return nil
}

// restrict continues with fewer candidates. Pairs whose path is no longer a candidate move to
// their cheapest path; other pairs keep theirs.
func (s *pathAssignmentSearch) restrict(c *candidatePaths) {
	s.candidates = c
	s.best = s.best[:0]
	s.bestLoad = math.Inf(1)
	s.bestExcess = math.Inf(1)
	clear(s.load)
	clear(s.neighbourLoad)

	// Recompute the loads, and collect the pairs that lose their path.
	var removed []int32
	for i, w := range s.path {
		k := c.first[i]
		for k >= 0 && k != w {
			k = c.next[k]
		}
		if k < 0 {
			removed = append(removed, int32(i))
			s.path[i] = c.first[i]
		}
		s.addLoad(int32(i), s.path[i], 1)
	}

	s.noise = 0
	s.setBeta(1 / s.maxDemand)
	s.sweep(removed)
	s.saveBest()
}

// recount recomputes the loads of the present assignment, to remove accumulated rounding errors.
func (s *pathAssignmentSearch) recount() {
	clear(s.load)
	clear(s.neighbourLoad)
	for i, w := range s.path {
		s.addLoad(int32(i), w, 1)
	}
}

// restoreBest returns to the best assignment.
func (s *pathAssignmentSearch) restoreBest() {
	s.path = append(s.path[:0], s.best...)
	s.recount()
}
