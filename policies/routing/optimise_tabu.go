package routing

import (
	"context"
	"math"
)

// tabu is a search that works where loads are too high: on the pairs that cross links above a level, which comes down
// as it is met.
type tabu struct {
	s       *search
	perUnit []float64 // by orbit
	on      [][]int32 // by orbit: what crosses it, as indices of at
	at      []int32   // by pair and hop of its path: its place in on
	hops    int       // places of a pair in at
	level   float64
	over    []int32 // orbits above the level
	place   []int32 // by orbit: its place in over; -1
	until   []int64 // by pair: the step before which it stays
	moved   []int32 // pairs that were moved since the best choice was found or taken again
}

func newTabu(s *search) *tabu {
	n := s.in.orbits
	x := &tabu{s: s, perUnit: make([]float64, n), on: make([][]int32, n), place: make([]int32, n), until: make([]int64, len(s.path))}
	for o := range x.perUnit {
		x.perUnit[o] = s.in.perUnit(int32(o))
	}
	for i := range s.path {
		for k := s.c.first[i]; k >= 0; k = s.c.next[k] {
			x.hops = max(x.hops, len(s.c.of(k)))
		}
	}
	x.at = make([]int32, x.hops*len(s.path))
	return x
}

// How far a level is below the load that there is: less where it was not met, more where it was.
const (
	firstShare = 0.2   // of what the load is above the target,
	firstStep  = 0.005 // and of the load, at most
	mostShare  = 0.5
	leastStep  = 1e-5 // of the load
	grow       = 1.5
	shrink     = 0.7
)

const (
	stubborn   = 32  // pairs that are looked at for a step, at most
	stay       = 10  // steps that a pair stays, at least
	levelSteps = 300 // for a level, and ten a link above it
	manyMoved  = 16  // pairs to one that was moved, at most, where all are noted anew
)

// tabuSearch goes on from the best choice until a target is met or the budget is spent. It takes a link above the level
// at random, and of some pairs that cross it moves the one that most lessens the squares of what is above the level, or
// raises them least; a pair that was moved stays for some steps (tabu search: Glover, ORSA J. Computing 1, 1989). Where
// a level is not met in time the best choice is taken again and the next level is nearer to it.
func (s *search) tabuSearch(ctx context.Context, target float64) error {
	if !s.c.choice() {
		return nil
	}
	x := newTabu(s)
	x.again()
	first := func() float64 { return min(firstShare*(s.value-target), firstStep*s.value) }
	by, now, whole := first(), int64(0), float64(s.budget)
	for s.budget > 0 && s.value > target && s.excess == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.progress.at(1 - float64(s.budget)/whole)
		x.lower(s.value - by)
		for end := now + levelSteps + 10*int64(len(x.over)); now < end && len(x.over) > 0 && s.budget > 0; now++ {
			x.step(now)
		}
		if len(x.over) == 0 {
			before := s.value
			s.recount()
			if s.keep(); s.value >= before {
				return nil // by rounding alone
			}
			x.moved = x.moved[:0]
			by = min(mostShare*(s.value-target), grow*by)
			continue
		}
		if by *= shrink; by < leastStep*s.value {
			by = first()
		}
		x.again()
	}
	x.again()
	return nil
}

// again returns to the best choice: pair by pair where few were moved.
func (x *tabu) again() {
	s := x.s
	defer func() { x.moved = x.moved[:0] }()
	if n := len(x.moved); n > 0 && n < len(s.path)/manyMoved {
		for _, i := range x.moved {
			x.move(i, s.best[i])
		}
		return
	}
	s.again()
	for o := range x.on {
		x.on[o] = x.on[o][:0]
	}
	for i, w := range s.path {
		x.put(int32(i), w)
	}
}

// put notes that a pair crosses the orbits of a path, take that it does not any more.
func (x *tabu) put(pair, path int32) {
	id := pair * int32(x.hops)
	for _, o := range x.s.c.of(path) {
		x.at[id] = int32(len(x.on[o]))
		x.on[o] = append(x.on[o], id)
		id++
	}
}

func (x *tabu) take(pair, path int32) {
	id := pair * int32(x.hops)
	for _, o := range x.s.c.of(path) {
		on := x.on[o]
		last := on[len(on)-1]
		on[x.at[id]], x.at[last] = last, x.at[id]
		x.on[o] = on[:len(on)-1]
		id++
	}
}

// lower sets the level.
func (x *tabu) lower(level float64) {
	x.level, x.over = level, x.over[:0]
	for o := range x.place {
		x.place[o] = -1
	}
	for o := range x.place {
		x.sort(int32(o))
	}
}

// sort notes whether an orbit is above the level.
func (x *tabu) sort(o int32) {
	p, over := x.place[o], x.s.load[o] > x.level
	switch {
	case over && p < 0:
		x.place[o] = int32(len(x.over))
		x.over = append(x.over, o)
	case !over && p >= 0:
		last := x.over[len(x.over)-1]
		x.over[p], x.place[last] = last, p
		x.over = x.over[:len(x.over)-1]
		x.place[o] = -1
	}
}

// step moves a pair.
func (x *tabu) step(now int64) {
	s := x.s
	on := x.on[x.over[s.rng.IntN(len(x.over))]]
	pair, path, least := int32(-1), int32(-1), math.Inf(1)
	from := s.rng.IntN(len(on))
	for k := range min(len(on), stubborn) {
		i := on[(from+k)%len(on)] / int32(x.hops)
		if s.budget -= s.c.work(s.path[i]); x.until[i] > now {
			continue
		}
		old, d := s.path[i], s.in.demand[i]
		gain := x.charge(old, -d)
		for k := s.c.first[i]; k >= 0; k = s.c.next[k] {
			if k == old || s.in.near[i] && s.most > 0 && x.full(old, k) {
				continue
			}
			s.budget -= s.c.work(k)
			if add := gain + x.weigh(k, d); add < least {
				pair, path, least = i, k, add
			}
		}
		x.charge(old, d)
	}
	if pair < 0 {
		return
	}
	old := s.path[pair]
	x.move(pair, path)
	x.moved = append(x.moved, pair)
	for _, o := range s.c.of(old) {
		x.sort(o)
	}
	for _, o := range s.c.of(path) {
		x.sort(o)
	}
	x.until[pair] = now + stay + int64(s.rng.IntN(stay))
}

// move leads a pair along another path.
func (x *tabu) move(pair, path int32) {
	s := x.s
	s.addLoad(pair, s.path[pair], -1)
	x.take(pair, s.path[pair])
	s.path[pair] = path
	s.addLoad(pair, path, 1)
	x.put(pair, path)
}

// charge adds demand along a path, and returns by how much squares of what is above the level grow.
func (x *tabu) charge(path int32, d float64) float64 {
	sum := 0.0
	for _, o := range x.s.c.of(path) {
		a := max(0, x.s.load[o]-x.level)
		x.s.load[o] += d * x.perUnit[o]
		b := max(0, x.s.load[o]-x.level)
		sum += b*b - a*a
	}
	return sum
}

// weigh returns what charge would, of a path that comes to no orbit twice.
func (x *tabu) weigh(path int32, d float64) float64 {
	sum := 0.0
	for _, o := range x.s.c.of(path) {
		y := x.s.load[o] - x.level
		if b := y + d*x.perUnit[o]; b > 0 {
			sum += b * b
			if y > 0 {
				sum -= y * y
			}
		}
	}
	return sum
}

// full reports whether neighbours' units that move to a path would be too many on it.
func (x *tabu) full(old, path int32) bool {
	s := x.s
	for _, o := range s.c.of(path) {
		if s.near[o] >= float64(s.most) {
			own := false
			for _, p := range s.c.of(old) {
				own = own || p == o
			}
			if !own {
				return true
			}
		}
	}
	return false
}
