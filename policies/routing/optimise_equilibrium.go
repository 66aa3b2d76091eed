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
	*finder
	c      *choices
	amount []float64 // by path: of the pair's demand
	load   []float64 // by orbit
	length []float64 // by orbit: what a unit more of load costs, times perUnit
	fixed  []float64 // lengths that paths were searched by
	width  float64
	unit   float64    // the greatest demand
	net    []int8     // by orbit: times that one path crosses it more than another; 0 between exchanges
	moved  []crossing // where it is not 0

	proof  *dual     // tries the links that carry most; nil where searches prove as much soon enough
	excess float64   // what demand cost more than on the shortest paths when these were last found, relatively
	value  float64   // bound that the best lengths prove
	best   []float64 // and these

	progress *progress // of run
}

// newEquilibration begins from a search's best choice and takes up paths of w.
func newEquilibration(in *instance, w *stateGraph, s *search) *equilibration {
	n := in.orbits
	x := &equilibration{finder: newFinder(in, w), c: newChoices(len(in.pair)), unit: top(in.demand)}
	x.load, x.length, x.fixed, x.best, x.net = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]int8, n)
	for i, k := range s.best {
		x.c.orbit, x.c.step = append(x.c.orbit, s.c.of(k)...), append(x.c.step, s.c.steps(k)...)
		x.c.add(int32(i))
		x.amount = append(x.amount, in.demand[i])
	}
	x.count()
	return x
}

// count adds up loads anew.
func (x *equilibration) count() {
	clear(x.load)
	for k, a := range x.amount {
		if a > 0 {
			for _, o := range x.c.of(int32(k)) {
				x.load[o] += a
			}
		}
	}
	if x.in.slow != nil {
		for o := range x.load {
			x.load[o] *= x.in.perUnit(int32(o))
		}
	}
}

// measure sets lengths from loads, as sharply as width says relative to the greatest.
func (x *equilibration) measure(width float64) {
	most := top(x.load)
	x.width = width / most
	for o, y := range x.load {
		x.length[o] = math.Exp(max(faintest, x.width*(y-most))) * x.in.perUnit(int32(o))
	}
}

// give has the paths of every pair exchange demand.
func (x *equilibration) give() {
	c := x.c
	for i := range c.first {
		if c.next[c.first[i]] < 0 {
			continue
		}
		to, least := int32(-1), math.Inf(1)
		for k := c.first[i]; k >= 0; k = c.next[k] {
			if sum := x.cost(k, x.length); sum < least {
				to, least = k, sum
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
	for _, o := range x.c.of(path) {
		sum += length[o]
	}
	return sum
}

// exchange moves demand from a path to another until both are as dear, links that are on both aside.
func (x *equilibration) exchange(from, to int32) {
	a, b := x.c.of(from), x.c.of(to)
	for _, o := range a {
		x.net[o]--
	}
	for _, o := range b {
		x.net[o]++
	}
	x.moved = x.moved[:0]
	dear, dearer, cheap, cheaper := 0.0, 0.0, 0.0, 0.0 // what the two cost, and how fast that falls and grows
	for _, path := range [][]int32{a, b} {
		for _, o := range path {
			n := float64(x.net[o])
			if n == 0 {
				continue
			}
			x.net[o] = 0
			times := n * x.in.perUnit(o)
			x.moved = append(x.moved, crossing{o, times})
			if n < 0 {
				dear, dearer = dear-n*x.length[o], dearer+n*times*x.length[o]
			} else {
				cheap, cheaper = cheap+n*x.length[o], cheaper+n*times*x.length[o]
			}
		}
	}
	if !(dear > cheap && cheap > 0) {
		return
	}
	// until dear*exp(-width*by) = cheap*exp(width*by), where a unit of demand changes all loads by as much: else a step
	// of Newton's method on the logarithm of what one costs over the other, which is nearly straight
	by := min(x.amount[from], math.Log(dear/cheap)/(x.width*(dearer/dear+cheaper/cheap)))
	up := math.Exp(x.width * by)
	for _, m := range x.moved {
		x.load[m.orbit] += m.times * by
		switch m.times {
		case 1:
			x.length[m.orbit] *= up
		case -1:
			x.length[m.orbit] *= 1 / up
		default:
			x.length[m.orbit] *= math.Exp(x.width * m.times * by)
		}
	}
	if x.amount[from] -= by; x.amount[from] < x.unit*1e-12 {
		x.amount[from] = 0
	}
	x.amount[to] += by
}

// crossing is an orbit whose load a unit of demand that changes its path raises so many times; negative lowers it.
type crossing struct {
	orbit int32
	times float64
}

// generate adds the shortest paths by the present lengths, and keeps these if they prove more than the best (as dual
// does; it adopts what the same lengths prove).
func (x *equilibration) generate(ctx context.Context) {
	copy(x.fixed, x.length)
	total, sum := 0.0, 0.0
	for o, l := range x.fixed {
		sum += l / x.in.perUnit(int32(o))
	}
	faint := 0.0 // what paths cost that no better ones are sought for
	if x.between != nil && x.proof == nil {
		demand := 0.0
		for _, d := range x.in.demand {
			demand += d
		}
		faint = dearness * x.spent() / demand
	}
	for s := range x.in.sources {
		if ctx.Err() != nil {
			return // as run does
		}
		x.source(s, x.fixed, false)
		for i := x.in.first[s]; i < x.in.first[s+1]; i++ {
			least := math.Inf(1)
			for k := x.c.first[i]; k >= 0; k = x.c.next[k] {
				least = min(least, x.cost(k, x.fixed))
			}
			if least < faint {
				continue
			}
			d := x.find(i, least)
			total += x.in.demand[i] * d
			if d < least*(1-dearness) && len(x.c.step) < mostSteps {
				if k := x.into(x.c, i); int(k) == len(x.amount) {
					x.amount = append(x.amount, 0)
				}
			}
		}
	}
	x.excess = 1 - total/x.spent()
	if v := total / sum; v > x.value {
		x.value = v
		copy(x.best, x.fixed)
	}
}

const (
	dearness      = 1e-3 // how much cheaper paths must be to be taken up, relatively
	solved        = 1e-5 // relative gap of the linear program at which it counts as solved
	gentlest      = 20.0 // widths that lengths begin and end with
	steepest      = 1e5
	settled       = 0.5   // what loads fall by in a round when they have, over width, relatively, or large graphs' excess
	faintest      = -300. // least exponent of lengths
	exchanges     = 3     // rounds of exchanges between searches of paths,
	manyExchanges = 10    // and on large graphs, where searches take longer
	roundness     = 4.    // exponent of costs for the greatest demand where one path is chosen
	patience      = 4     // rounds at a width, at least, and up to four times as many
)

// takeUp spreads demand as another does, as far as its paths are allowed here.
func (x *equilibration) takeUp(other *equilibration) {
	for i, p := range x.in.pair {
		for k := other.c.first[i]; k >= 0; k = other.c.next[k] {
			if a := other.amount[k]; a > 0 {
				if x.arcs = x.t.w.follow(p.Src, other.c.steps(k), x.arcs[:0]); x.arcs == nil {
					continue
				}
				own := x.t.w.into(x.c, int32(i), x.arcs)
				if int(own) == len(x.amount) {
					x.amount = append(x.amount, 0)
				}
				x.amount[x.c.first[i]] -= a
				x.amount[own] += a
			}
		}
		if first := x.c.first[i]; x.amount[first] < x.unit*1e-12 {
			x.amount[first] = 0 // they differ by rounding
		}
	}
}

// spent returns what all demand costs by the lengths that paths are searched by.
func (x *equilibration) spent() (cost float64) {
	for o, l := range x.fixed {
		cost += l / x.in.perUnit(int32(o)) * x.load[o]
	}
	return cost
}

// prove has the links that carry most show what they prove alone, by lengths that fall the more steeply with loads the
// more of them there are.
func (x *equilibration) prove(ctx context.Context) {
	for width := steepest; width >= gentlest; width /= 4 {
		if x.measure(width); !x.proof.try(ctx, x.length, true) {
			return
		}
		x.value = max(x.value, x.proof.value)
	}
}

// run spreads demand until the program is solved, a target is proved, rounds are over or so many arcs were looked at; it
// returns the rounds that are left.
func (x *equilibration) run(ctx context.Context, rounds, work int) (int, error) {
	large, n := x.between != nil, exchanges
	if x.proof != nil {
		n = manyExchanges
	}
	// a soft maximum is log(orbits)/width above the greatest load, relatively: less than that is not to be gained at
	// the first width
	whole := float64(rounds)
	far := max(solved, 1-x.value/max(top(x.load), x.value))
	for width := max(gentlest, math.Log(float64(x.in.orbits))/far); width <= steepest; width *= 2 {
		last := math.Inf(1)
		for k := 0; ; k++ {
			if err := ctx.Err(); err != nil {
				return rounds, err
			}
			x.count()
			most := top(x.load)
			if x.proof != nil && most > 0 {
				x.prove(ctx)
			}
			if rounds <= 0 || x.work > work || most == 0 || most-x.value <= solved*most {
				return rounds, nil
			}
			balanced := k >= patience && most > last*(1-settled/width)
			if large {
				balanced = k > 0 && x.excess < settled/width
			}
			if balanced || k >= 4*patience {
				break
			}
			last = most
			if large && x.proof == nil { // the target is known
				width = max(width, math.Log(float64(x.in.orbits))/max(solved, 1-x.value/most))
			}
			x.measure(width)
			x.generate(ctx)
			rounds--
			x.progress.at(max(1-float64(rounds)/whole, math.Log2(width/gentlest)/math.Log2(steepest/gentlest)))
			for range n {
				x.give()
			}
		}
	}
	return rounds, nil
}

// round has a search choose one path for each pair, of those that carry its demand, and keep that if it is better than
// its best choice: pair after pair the one that costs least, what is spread of others being on all of theirs.
func (x *equilibration) round(s *search) {
	copy(s.load, x.load)
	beta, most := roundness/x.unit, top(x.load)
	for i := range s.path {
		for k := x.c.first[i]; k >= 0; k = x.c.next[k] {
			for _, o := range x.c.of(k) {
				s.load[o] -= x.amount[k] * x.in.perUnit(o)
			}
		}
		best, least := int32(-1), math.Inf(1)
		for k := x.c.first[i]; k >= 0; k = x.c.next[k] {
			if x.amount[k] == 0 {
				continue
			}
			sum := 0.0
			for _, o := range x.c.of(k) {
				sum += math.Exp(beta*(s.load[o]-most)) * math.Expm1(beta*x.in.demand[i]*x.in.perUnit(o))
			}
			if sum < least {
				best, least = k, sum
			}
		}
		s.path[i] = s.c.find(int32(i), x.c.steps(best))
		for _, o := range x.c.of(best) {
			s.load[o] += x.in.demand[i] * x.in.perUnit(o)
		}
	}
	s.recount()
	s.keep()
}

// spread adds the paths that carry some demand to choices.
func (x *equilibration) spread(c *choices) {
	for i := range x.c.first {
		for k := x.c.first[i]; k >= 0; k = x.c.next[k] {
			if x.amount[k] > 0 {
				c.orbit = append(c.orbit, x.c.of(k)...)
				c.step = append(c.step, x.c.steps(k)...)
				c.add(int32(i))
			}
		}
	}
}
