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
	in     *instance
	t      *tree
	c      *choices
	amount []float64 // by path: of the pair's demand
	load   []float64 // by orbit
	length []float64 // by orbit: what a unit more of load costs, times perUnit
	fixed  []float64 // lengths that paths were searched by
	width  float64
	unit   float64    // the greatest demand
	net    []int8     // by orbit: times that one path crosses it more than another; 0 between exchanges
	moved  []crossing // where it is not 0
	arcs   []int32

	value float64   // bound that the best lengths prove
	best  []float64 // and these
}

// newEquilibration begins from a search's best choice and takes up paths of w.
func newEquilibration(in *instance, w *stateGraph, s *search) *equilibration {
	n := in.orbits
	x := &equilibration{in: in, t: newTree(w), c: newChoices(len(in.pair)), unit: top(in.demand)}
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
	for s, src := range x.in.sources {
		if ctx.Err() != nil {
			return // as run does
		}
		x.t.grow(src, x.fixed)
		for i := x.in.first[s]; i < x.in.first[s+1]; i++ {
			at := x.t.end(x.in.pair[i].Dst)
			d := x.t.Dist[at]
			total += x.in.demand[i] * d
			least := math.Inf(1)
			for k := x.c.first[i]; k >= 0; k = x.c.next[k] {
				least = min(least, x.cost(k, x.fixed))
			}
			if d < least*(1-dearness) && len(x.c.step) < mostSteps {
				x.arcs = x.t.Path(at, x.arcs[:0])
				for _, k := range x.arcs {
					x.c.orbit = append(x.c.orbit, x.t.Class[k])
					x.c.step = append(x.c.step, x.t.w.step[k])
				}
				if k := x.c.add(i); int(k) == len(x.amount) {
					x.amount = append(x.amount, 0)
				}
			}
		}
	}
	if v := total / sum; v > x.value {
		x.value = v
		copy(x.best, x.fixed)
	}
}

const (
	dearness  = 1e-3 // how much cheaper paths must be to be taken up, relatively
	solved    = 1e-5 // relative gap of the linear program at which it counts as solved
	gentlest  = 20.0 // widths that lengths begin and end with
	steepest  = 1e5
	settled   = 0.5   // what loads fall by in a round when they have, over width, relatively
	faintest  = -300. // least exponent of lengths
	exchanges = 3     // rounds of exchanges between searches of paths
	patience  = 4     // rounds at a width, at least, and up to four times as many
)

// run spreads demand until the program is solved, a target is proved or rounds are over; it returns the rounds that are
// left.
func (x *equilibration) run(ctx context.Context, rounds int) (int, error) {
	// a soft maximum is log(orbits)/width above the greatest load, relatively: less than that is not to be gained at
	// the first width
	far := max(solved, 1-x.value/max(top(x.load), x.value))
	for width := max(gentlest, math.Log(float64(x.in.orbits))/far); width <= steepest; width *= 2 {
		last := math.Inf(1)
		for k := 0; ; k++ {
			if err := ctx.Err(); err != nil {
				return rounds, err
			}
			x.count()
			most := top(x.load)
			if rounds <= 0 || most == 0 || most-x.value <= solved*most {
				return rounds, nil
			}
			if k >= patience && (most > last*(1-settled/width) || k >= 4*patience) {
				break
			}
			last = most
			x.measure(width)
			x.generate(ctx)
			rounds--
			for range exchanges {
				x.give()
			}
		}
	}
	return rounds, nil
}

// into adds the paths that carry some demand to choices.
func (x *equilibration) into(c *choices) {
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
