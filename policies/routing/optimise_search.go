package routing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// choices are the paths that pairs may take; more can be added at any time.
type choices struct {
	first, last []int32 // by pair: its paths, which next links
	next        []int32 // by path; -1 at the end
	begin       []int64 // by path, one more than there are: orbits and steps begin[k]..begin[k+1]-1
	orbit       []int32
	step        []engine.Step
}

func newChoices(pairs int) *choices {
	return &choices{first: slices.Repeat([]int32{-1}, pairs), last: slices.Repeat([]int32{-1}, pairs), begin: []int64{0}}
}

// add ends the path whose orbits and steps were appended and gives it to a pair. A path that the pair has already is
// dropped; its number is returned either way.
func (c *choices) add(pair int32) int32 {
	from := c.begin[len(c.begin)-1]
	if k := c.find(pair, c.step[from:]); k >= 0 {
		c.step, c.orbit = c.step[:from], c.orbit[:from]
		return k
	}
	k := int32(len(c.next))
	c.begin = append(c.begin, int64(len(c.step)))
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
func (c *choices) find(pair int32, steps []engine.Step) int32 {
	k := c.first[pair]
	for k >= 0 && !slices.Equal(c.steps(k), steps) {
		k = c.next[k]
	}
	return k
}

// choice reports whether any pair has more than one path.
func (c *choices) choice() bool { return len(c.next) > len(c.first) }

// reserve makes room for so many times what there is.
func (c *choices) reserve(times int) {
	times += times / 8
	c.orbit, c.step = slices.Grow(c.orbit, times*len(c.orbit)), slices.Grow(c.step, times*len(c.step))
	c.begin, c.next = slices.Grow(c.begin, times*len(c.begin)), slices.Grow(c.next, times*len(c.next))
}

// of returns the orbits of a path.
func (c *choices) of(path int32) []int32 { return c.orbit[c.begin[path]:c.begin[path+1]] }

// longPath is the hops of a path that are as much work to weigh as a short one.
const longPath = 16

// work returns what weighing a path takes off the budget.
func (c *choices) work(path int32) int64 { return 1 + (c.begin[path+1]-c.begin[path])/longPath }

// steps returns the steps of a path.
func (c *choices) steps(path int32) []engine.Step { return c.step[c.begin[path]:c.begin[path+1]] }

// search is a choice of one path a pair, and what it lays on the orbits of links.
type search struct {
	in   *instance
	c    *choices
	path []int32   // by pair
	load []float64 // by orbit
	near []float64 // by orbit: of one unit from every node to each of its neighbours
	most int       // neighbours' units that an orbit may carry; 0 is any

	beta  float64
	noise float64   // costs of paths are up to this fraction greater than they are, at random
	cost  []float64 // by orbit: exp(beta*(load-level))
	level float64

	progress *progress // of run
	rng      *rand.Rand
	budget   int64 // paths that may be weighed yet
	best     []int32
	value    float64   // load of the most loaded link under best
	excess   float64   // neighbours' units beyond most under best
	unit     float64   // what a pair adds to a load, the most
	more     []float64 // by kind of rate: what a unit adds to costs, relatively
	repeats  bool      // paths may go over an orbit more than once
}

func newSearch(in *instance, c *choices, seed uint64, most int, budget int64) *search {
	s := &search{in: in, c: c, most: most, budget: budget, value: math.Inf(1), excess: math.Inf(1)}
	s.path = slices.Clone(c.first)
	s.load, s.near, s.cost = make([]float64, in.orbits), make([]float64, in.orbits), make([]float64, in.orbits)
	s.rng = rand.New(rand.NewPCG(seed, optimiseStream))
	s.repeats = in.symmetry != nil && 4*len(in.symmetry.Sources) < in.nodes
	for i, w := range s.path {
		s.unit = max(s.unit, in.demand[i])
		s.addLoad(int32(i), w, 1)
	}
	if in.slow != nil {
		s.unit *= slices.Min(in.slow)
	}
	return s
}

// Exponents of costs for a unit of load, from the first sweep of a descent to the last.
const (
	blunt = 0.02
	sharp = 20
)

// noises are the noise of one descent after the other.
var noises = []float64{0, 0.05, 0.2, 0.5, 1}

const optimiseStream = 0x6f7074696d697365 // "optimise"

// addLoad adds a path of a pair to the loads, or takes it away (sign -1).
func (s *search) addLoad(pair, path int32, sign float64) {
	d := sign * s.in.demand[pair]
	if s.in.slow == nil {
		for _, o := range s.c.of(path) {
			s.load[o] += d
		}
	} else {
		for _, o := range s.c.of(path) {
			s.load[o] += d * s.in.slow[s.in.kind[o]]
		}
	}
	if s.in.near[pair] {
		for _, o := range s.c.of(path) {
			s.near[o] += sign
		}
	}
}

// sharpen sets how fast costs grow with loads.
func (s *search) sharpen(beta float64) {
	s.beta, s.level = beta, top(s.load)
	for o, x := range s.load {
		s.cost[o] = math.Exp(beta * (x - s.level))
	}
}

// sweep moves every pair, in random order, to the path that costs least.
func (s *search) sweep(order []int32) {
	if len(order) > mostPairs && !s.in.uniform {
		s.budget -= int64(len(order)) / 4 // pairs of one path are work too
	}
	s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, i := range order {
		s.move(i)
	}
}

// move takes a pair off its path and gives it the one that costs least, the present one among equal ones half the time.
func (s *search) move(i int32) {
	c, old := s.c, s.path[i]
	if c.next[c.first[i]] < 0 {
		return
	}
	up, over := math.Exp(s.beta*s.in.demand[i]), s.in.slow != nil
	if over {
		s.addLoad(i, old, -1)
		s.unload(i, old)
	} else {
		for _, o := range c.of(old) {
			s.cost[o] /= up
		}
		s.addLoad(i, old, -1)
	}
	best, least := old, math.Inf(1)
	for k := c.first[i]; k >= 0; k = c.next[k] {
		s.budget -= s.c.work(k)
		x := 0.0
		if over {
			x = s.weighOver(i, k)
		} else {
			x = s.weigh(i, k, up)
		}
		if s.noise > 0 {
			x *= 1 + s.noise*s.rng.Float64()
		}
		if x < least || x == least && s.rng.Uint64()&1 == 0 {
			best, least = k, x
		}
	}
	s.path[i] = best
	s.addLoad(i, best, 1)
	for _, o := range c.of(best) {
		s.cost[o] = math.Exp(s.beta * (s.load[o] - s.level))
	}
	if best != old {
		for _, o := range c.of(old) {
			s.cost[o] = math.Exp(s.beta * (s.load[o] - s.level))
		}
	}
}

// unload prices the loads of a path that a pair was taken off where rates differ, and sets what a unit of the pair adds
// by the rate of a link.
func (s *search) unload(i, path int32) {
	for _, o := range s.c.of(path) {
		s.cost[o] = math.Exp(s.beta * (s.load[o] - s.level))
	}
	s.more = s.more[:0]
	for _, slow := range s.in.slow {
		s.more = append(s.more, math.Expm1(s.beta*s.in.demand[i]*slow))
	}
}

// weighOver is weigh where rates differ, and a unit adds more to some loads than to others: a path costs what it adds.
func (s *search) weighOver(i, path int32) float64 {
	sum, of := 0.0, s.c.of(path)
	for _, o := range of {
		sum += s.cost[o] * s.more[s.in.kind[o]]
	}
	return sum + s.crowded(i, of)
}

// weigh returns what a path of a pair costs.
func (s *search) weigh(i, path int32, up float64) float64 {
	sum, of := 0.0, s.c.of(path)
	if s.repeats {
		for _, o := range of {
			sum += s.cost[o]
			s.cost[o] *= up
		}
		for _, o := range of {
			s.cost[o] /= up
		}
	} else {
		for _, o := range of {
			sum += s.cost[o]
		}
	}
	return sum + s.crowded(i, of)
}

// crowded is the price of the neighbours' units that a path of a pair puts on orbits beyond what these may carry. A path
// may take several links of an orbit.
func (s *search) crowded(i int32, of []int32) (price float64) {
	if s.in.near[i] && s.most > 0 {
		for _, o := range of {
			if s.near[o] >= float64(s.most) {
				price += 1e6
			}
			s.near[o]++
		}
		for _, o := range of {
			s.near[o]--
		}
	}
	return price
}

// crowd returns by how much neighbours' units are more than they may be on links.
func (s *search) crowd() float64 {
	excess := 0.0
	if s.most > 0 {
		for _, x := range s.near {
			excess += max(0, x-float64(s.most))
		}
	}
	return excess
}

// keep remembers the present choice if it is the best.
func (s *search) keep() {
	value, excess := top(s.load), s.crowd()
	if excess < s.excess || excess == s.excess && value < s.value {
		s.value, s.excess = value, excess
		s.best = append(s.best[:0], s.path...)
	}
}

// kept is the search with its present choice as the best.
func (s *search) kept() *search {
	s.keep()
	return s
}

// run searches until a target is met or the budget is spent: sweeps at costs that grow sharper, again and again. Before
// each sweep more is called, if not nil, which may add paths.
func (s *search) run(ctx context.Context, target float64, more func() error) error {
	order := numbers.Below(int32(len(s.path)))
	s.keep()
	if more == nil && !s.c.choice() {
		return nil
	}
	whole := float64(s.budget)
	for round := 0; s.budget > 0 && (s.value > target || s.excess > 0); round++ {
		s.noise = noises[round%len(noises)]
		steps := int(min(40, max(8, s.budget/int64(len(s.c.next)+1))))
		stale, last := 0, math.Inf(1)
		for k := 0; k < steps && s.budget > 0 && stale < 8; k++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.sharpen(blunt * math.Pow(sharp/blunt, float64(k)/float64(steps-1)) / s.unit)
			if more != nil {
				if err := more(); err != nil {
					return err
				}
			}
			s.sweep(order)
			s.keep()
			s.progress.at(1 - float64(s.budget)/whole)
			if s.value <= target && s.excess == 0 {
				return nil
			}
			if now := top(s.load); now < last {
				last, stale = now, 0
			} else if s.beta*s.unit > 1 {
				stale++
			}
		}
	}
	return nil
}

// reset goes on with fewer paths: pairs whose present one is not among them are moved to the ones that cost least, the
// others stay.
func (s *search) reset(c *choices) {
	s.c, s.best, s.value, s.excess = c, s.best[:0], math.Inf(1), math.Inf(1)
	clear(s.load)
	clear(s.near)
	var gone []int32
	for i, w := range s.path {
		k := c.first[i]
		for k >= 0 && k != w {
			k = c.next[k]
		}
		if k < 0 {
			gone = append(gone, int32(i))
			s.path[i] = c.first[i]
		}
		s.addLoad(int32(i), s.path[i], 1)
	}
	s.noise = 0
	s.sharpen(1 / s.unit)
	s.sweep(gone)
	s.keep()
}

// recount adds up the loads of the present choice anew.
func (s *search) recount() {
	clear(s.load)
	clear(s.near)
	for i, w := range s.path {
		s.addLoad(int32(i), w, 1)
	}
}

// again returns to the best choice.
func (s *search) again() {
	s.path = append(s.path[:0], s.best...)
	s.recount()
}
