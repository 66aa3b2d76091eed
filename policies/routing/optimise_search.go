package routing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// candidatePaths are the paths that pairs may take; more can be added at any time.
type candidatePaths struct {
	first, last []int32 // by pair: its paths, which next links
	next        []int32 // by path; -1 at the end
	start       []int64 // by path, one more than there are: orbits and steps begin[k]..begin[k+1]-1
	orbits      []int32
	steps       []engine.Step
}

func newCandidatePaths(pairs int) *candidatePaths {
	return &candidatePaths{first: slices.Repeat([]int32{-1}, pairs), last: slices.Repeat([]int32{-1}, pairs), start: []int64{0}}
}

// add ends the path whose orbits and steps were appended and gives it to a pair. A path that the pair has already is
// dropped; its number is returned either way.
func (c *candidatePaths) add(pair int32) int32 {
	from := c.start[len(c.start)-1]
	if k := c.find(pair, c.steps[from:]); k >= 0 {
		c.steps, c.orbits = c.steps[:from], c.orbits[:from]
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

// find returns the path of a pair that takes some steps; -1 where there is none.
func (c *candidatePaths) find(pair int32, steps []engine.Step) int32 {
	k := c.first[pair]
	for k >= 0 && !slices.Equal(c.pathSteps(k), steps) {
		k = c.next[k]
	}
	return k
}

// hasAlternatives reports whether any pair has more than one path.
func (c *candidatePaths) hasAlternatives() bool { return len(c.next) > len(c.first) }

// reserve makes room for so many times what there is.
func (c *candidatePaths) reserve(times int) {
	times += times / 8
	c.orbits, c.steps = slices.Grow(c.orbits, times*len(c.orbits)), slices.Grow(c.steps, times*len(c.steps))
	c.start, c.next = slices.Grow(c.start, times*len(c.start)), slices.Grow(c.next, times*len(c.next))
}

// pathOrbits returns the orbits of a path.
func (c *candidatePaths) pathOrbits(path int32) []int32 {
	return c.orbits[c.start[path]:c.start[path+1]]
}

// hopsPerEvaluation is the hops of a path that are as much work to weigh as a short one.
const hopsPerEvaluation = 16

// evaluationCost returns what weighing a path takes off the budget.
func (c *candidatePaths) evaluationCost(path int32) int64 {
	return 1 + (c.start[path+1]-c.start[path])/hopsPerEvaluation
}

// pathSteps returns the steps of a path.
func (c *candidatePaths) pathSteps(path int32) []engine.Step {
	return c.steps[c.start[path]:c.start[path+1]]
}

// pathAssignmentSearch is a choice of one path a pair, and what it lays on the orbits of links.
type pathAssignmentSearch struct {
	in            *routeInstance
	candidates    *candidatePaths
	path          []int32   // by pair
	load          []float64 // by orbit
	neighbourLoad []float64 // by orbit: of one unit from every node to each of its neighbours
	neighbourCap  int       // neighbours' units that an orbit may carry; 0 is any

	beta  float64
	noise float64   // costs of paths are up to this fraction greater than they are, at random
	cost  []float64 // by orbit: exp(beta*(load-level))
	level float64

	progress       *progress // of run
	rng            *rand.Rand
	budget         int64 // paths that may be weighed yet
	best           []int32
	bestLoad       float64   // load of the most loaded link under best
	bestExcess     float64   // neighbours' units beyond most under best
	maxDemand      float64   // what a pair adds to a load, the most
	addedCost      []float64 // by kind of rate: what a unit adds to costs, relatively
	revisitsOrbits bool      // paths may go over an orbit more than once
}

func newPathAssignmentSearch(in *routeInstance, c *candidatePaths, seed uint64, neighbourCap int, budget int64) *pathAssignmentSearch {
	s := &pathAssignmentSearch{in: in, candidates: c, neighbourCap: neighbourCap, budget: budget, bestLoad: math.Inf(1), bestExcess: math.Inf(1)}
	s.path = slices.Clone(c.first)
	s.load, s.neighbourLoad, s.cost = make([]float64, in.numOrbits), make([]float64, in.numOrbits), make([]float64, in.numOrbits)
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

// Exponents of costs for a unit of load, from the first sweep of a descent to the last.
const (
	minBeta = 0.02
	maxBeta = 20
)

// noiseLevels are the noise of one descent after the other.
var noiseLevels = []float64{0, 0.05, 0.2, 0.5, 1}

const optimiseStream = 0x6f7074696d697365 // "optimise"

// addLoad adds a path of a pair to the loads, or takes it away (sign -1).
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

// setBeta sets how fast costs grow with loads.
func (s *pathAssignmentSearch) setBeta(beta float64) {
	s.beta, s.level = beta, maxOf(s.load)
	for o, x := range s.load {
		s.cost[o] = math.Exp(beta * (x - s.level))
	}
}

// sweep moves every pair, in random order, to the path that costs least.
func (s *pathAssignmentSearch) sweep(order []int32) {
	if len(order) > maxPairs && !s.in.isUniform {
		s.budget -= int64(len(order)) / 4 // pairs of one path are work too
	}
	s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, i := range order {
		s.improvePair(i)
	}
}

// improvePair takes a pair off its path and gives it the one that costs least, the present one among equal ones half the time.
func (s *pathAssignmentSearch) improvePair(i int32) {
	c, previous := s.candidates, s.path[i]
	if c.next[c.first[i]] < 0 {
		return
	}
	up, ratesDiffer := math.Exp(s.beta*s.in.demand[i]), s.in.loadPerUnit != nil
	if ratesDiffer {
		s.addLoad(i, previous, -1)
		s.priceRemoved(i, previous)
	} else {
		for _, o := range c.pathOrbits(previous) {
			s.cost[o] /= up
		}
		s.addLoad(i, previous, -1)
	}
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

// priceRemoved prices the loads of a path that a pair was taken off where rates differ, and sets what a unit of the pair adds
// by the rate of a link.
func (s *pathAssignmentSearch) priceRemoved(i, path int32) {
	for _, o := range s.candidates.pathOrbits(path) {
		s.cost[o] = math.Exp(s.beta * (s.load[o] - s.level))
	}
	s.addedCost = s.addedCost[:0]
	for _, slow := range s.in.loadPerUnit {
		s.addedCost = append(s.addedCost, math.Expm1(s.beta*s.in.demand[i]*slow))
	}
}

// pathCostByRate is weigh where rates differ, and a unit adds more to some loads than to others: a path costs what it adds.
func (s *pathAssignmentSearch) pathCostByRate(i, path int32) float64 {
	sum, orbits := 0.0, s.candidates.pathOrbits(path)
	for _, o := range orbits {
		sum += s.cost[o] * s.addedCost[s.in.rateKind[o]]
	}
	return sum + s.overloadPenalty(i, orbits)
}

// pathCost returns what a path of a pair costs.
func (s *pathAssignmentSearch) pathCost(i, path int32, up float64) float64 {
	sum, orbits := 0.0, s.candidates.pathOrbits(path)
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

// overloadPenalty is the price of the neighbours' units that a path of a pair puts on orbits beyond what these may carry. A path
// may take several links of an orbit.
func (s *pathAssignmentSearch) overloadPenalty(i int32, orbits []int32) (price float64) {
	if s.in.isNeighbour[i] && s.neighbourCap > 0 {
		for _, o := range orbits {
			if s.neighbourLoad[o] >= float64(s.neighbourCap) {
				price += 1e6
			}
			s.neighbourLoad[o]++
		}
		for _, o := range orbits {
			s.neighbourLoad[o]--
		}
	}
	return price
}

// overload returns by how much neighbours' units are more than they may be on links.
func (s *pathAssignmentSearch) overload() float64 {
	excess := 0.0
	if s.neighbourCap > 0 {
		for _, x := range s.neighbourLoad {
			excess += max(0, x-float64(s.neighbourCap))
		}
	}
	return excess
}

// saveBest remembers the present choice if it is the best.
func (s *pathAssignmentSearch) saveBest() {
	value, excess := maxOf(s.load), s.overload()
	if excess < s.bestExcess || excess == s.bestExcess && value < s.bestLoad {
		s.bestLoad, s.bestExcess = value, excess
		s.best = append(s.best[:0], s.path...)
	}
}

// withBest is the search with its present choice as the best.
func (s *pathAssignmentSearch) withBest() *pathAssignmentSearch {
	s.saveBest()
	return s
}

// run searches until a target is met or the budget is spent: sweeps at costs that grow sharper, again and again. Before
// each sweep more is called, if not nil, which may add paths.
func (s *pathAssignmentSearch) run(ctx context.Context, target float64, addPaths func() error) error {
	order := numbers.Below(int32(len(s.path)))
	s.saveBest()
	if addPaths == nil && !s.candidates.hasAlternatives() {
		return nil
	}
	fullBudget := float64(s.budget)
	for round := 0; s.budget > 0 && (s.bestLoad > target || s.bestExcess > 0); round++ {
		s.noise = noiseLevels[round%len(noiseLevels)]
		steps := int(min(40, max(8, s.budget/int64(len(s.candidates.next)+1))))
		stale, lastLoad := 0, math.Inf(1)
		for k := 0; k < steps && s.budget > 0 && stale < 8; k++ {
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

// restrict goes on with fewer paths: pairs whose present one is not among them are moved to the ones that cost least, the
// others stay.
func (s *pathAssignmentSearch) restrict(c *candidatePaths) {
	s.candidates, s.best, s.bestLoad, s.bestExcess = c, s.best[:0], math.Inf(1), math.Inf(1)
	clear(s.load)
	clear(s.neighbourLoad)
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

// recount adds up the loads of the present choice anew.
func (s *pathAssignmentSearch) recount() {
	clear(s.load)
	clear(s.neighbourLoad)
	for i, w := range s.path {
		s.addLoad(int32(i), w, 1)
	}
}

// restoreBest returns to the best choice.
func (s *pathAssignmentSearch) restoreBest() {
	s.path = append(s.path[:0], s.best...)
	s.recount()
}
