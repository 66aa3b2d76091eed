package mapping

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"sim/internal/numbers"
	"sim/internal/random"
)

// Searched is the search for the mapping of least cost, which takes time and needs to know what ranks send.
type Searched struct{}

func parseOptimised(text string) Mapping {
	if text != "optimised" {
		return nil
	}
	return Searched{}
}

// Searches reports whether a text names the search.
func Searches(text string) bool {
	_, searched := Parse(text).(Searched)
	return searched
}

// Place searches from the best of all orders of dimensions, over nodes in several orders, by exchanges of ranks that
// make the cost smaller, and from random changes of what it has found. Of small problems it proves that there is
// nothing better, by branch and bound; else a lower bound is all that is known.
func (Searched) Place(ctx context.Context, p *Problem, o Options) (*Placement, error) {
	c, err := NewCost(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.Block > 1 {
		return c.placeBlocks(ctx, o)
	}
	s := newSearch(ctx, c, o)
	bound := c.Bound()
	s.starts()
	if s.best > bound && c.slots <= mostExact {
		s.allowed = o.Evaluations / 2
		if s.prove() {
			bound = s.best
		}
	}
	s.allowed = o.Evaluations
	for s.best > bound && s.evaluations < s.allowed && ctx.Err() == nil {
		s.kick()
	}
	out := &Placement{At: make([]int32, len(s.found)), Bound: bound, Evaluations: s.evaluations}
	for rank, slot := range s.found {
		out.At[rank] = p.Slots[slot]
	}
	return out, ctx.Err()
}

// search is a local search.
type search struct {
	*Cost
	ctx         context.Context
	evaluations int // so far
	allowed     int
	random      *rand.Rand

	at    []int32 // slot of each rank
	by    []int32 // rank on each slot, -1 of none
	cost  int64
	found []int32 // the best
	best  int64

	close   [][]int32 // by slot: those that it is worth to be near to
	waiting []int32   // ranks that may have somewhere better to go
	queued  []bool
}

// mostClose is of how many slots near a peer a rank tries each, where there are more than it tries all of.
const (
	mostClose = 12
	mostTried = 96
)

func newSearch(ctx context.Context, c *Cost, o Options) *search {
	s := &search{
		Cost: c, ctx: ctx, allowed: o.Evaluations, random: random.Stream(o.Seed, "mapping"), best: -1,
		by: make([]int32, c.slots), queued: make([]bool, len(c.near)),
	}
	if c.slots <= mostTried {
		return s
	}
	s.close = make([][]int32, c.slots)
	for a := range s.close {
		row := c.hops[a*c.slots : (a+1)*c.slots]
		for hops := uint16(0); len(s.close[a]) < mostClose; {
			next := uint16(math.MaxUint16) // the least distance beyond
			for _, h := range row {
				if h > hops {
					next = min(next, h)
				}
			}
			hops = next
			for b, h := range row {
				if h == hops && len(s.close[a]) < 4*mostClose {
					s.close[a] = append(s.close[a], int32(b))
				}
			}
		}
	}
	return s
}

// take has the search go on from a placement, and keeps it where it is the best.
func (s *search) take(at []int32) {
	s.at = append(s.at[:0], at...)
	for i := range s.by {
		s.by[i] = -1
	}
	for rank, slot := range at {
		s.by[slot] = int32(rank)
	}
	s.cost = s.of(s.at)
	s.evaluations += len(at)
	s.keep()
}

func (s *search) keep() {
	if s.best < 0 || s.cost < s.best {
		s.best, s.found = s.cost, append(s.found[:0], s.at...)
	}
}

// mostStarts is from how many of the best orders the search descends.
const mostStarts = 4

// starts descends from the best of the orders of dimensions on slots in each of their orders.
func (s *search) starts() {
	type start struct {
		at   []int32
		cost int64
	}
	var all []start
	used := map[int64]bool{} // placements of one cost are likely to be images of each other
	for _, slots := range s.fillings() {
		for o := range orders(s.p.Dims) {
			at := make([]int32, len(s.near))
			for rank := range at {
				at[rank] = slots[o.number(s.p, s.p.coordinates(rank))]
			}
			cost := s.of(at)
			if s.evaluations += len(at); !used[cost] {
				used[cost] = true
				all = append(all, start{at, cost})
			}
			if s.evaluations > s.allowed/4 || s.ctx.Err() != nil {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b start) int { return int(max(-1, min(1, a.cost-b.cost))) })
	for _, one := range all[:min(len(all), mostStarts)] {
		s.take(one.at)
		if s.evaluations < s.allowed {
			s.descend(numbers.Below(int32(len(s.near))))
		}
	}
}

// orders yields the orders of dimensions that have more than one rank.
func orders(dims []Dim) func(yield func(order) bool) {
	var names order
	for _, d := range dims {
		if d.Size > 1 {
			names = append(names, d.Name)
		}
	}
	return func(yield func(order) bool) {
		permute(names, 0, func(all []string) bool { return yield(all) })
	}
}

// permute yields the permutations of all from k on; it returns false where yield has had enough.
func permute[T any](all []T, k int, yield func([]T) bool) bool {
	if k >= len(all)-1 {
		return yield(all)
	}
	for i := k; i < len(all); i++ {
		all[k], all[i] = all[i], all[k]
		more := permute(all, k+1, yield)
		all[k], all[i] = all[i], all[k]
		if !more {
			return false
		}
	}
	return true
}

// fillings returns orders of the slots: as they are, and of a torus by each order of its axes, each axis from its
// beginning again or to and fro, so that consecutive nodes are neighbours.
func (s *search) fillings() [][]int32 {
	plain := numbers.Below(int32(s.slots))
	all := [][]int32{plain}
	t := s.p.Torus
	if t == nil || len(t.Dims) > 4 {
		return all
	}
	axes := numbers.Below(len(t.Dims))
	permute(axes, 0, func(axes []int) bool {
		for _, folded := range []bool{false, true} {
			var slots []int32
			for i := range t.Nodes() {
				at, rest, odd := make([]int, len(t.Dims)), i, false
				for k := len(axes) - 1; k >= 0; k-- { // the last is the slowest
					stride := 1
					for _, a := range axes[:k] {
						stride *= t.Dims[a]
					}
					c := rest / stride
					if rest %= stride; folded && odd {
						c = t.Dims[axes[k]] - 1 - c
					}
					at[axes[k]] = c
					odd = odd != (c%2 == 1)
				}
				slots = append(slots, s.slot[t.Node(at...)]...)
			}
			all = append(all, slots)
		}
		return true
	})
	return all
}

// descend moves ranks, of those given and of those that others' moves concern, to where the cost is smaller by most, in
// exchange for who is there, until none is.
func (s *search) descend(ranks []int32) {
	for _, r := range ranks {
		s.wait(r)
	}
	for head := 0; head < len(s.waiting) && s.evaluations < s.allowed; head++ {
		if head&63 == 0 && s.ctx.Err() != nil {
			break
		}
		r := s.waiting[head]
		s.queued[r] = false
		to, by := int32(-1), int64(0)
		try := func(slot int32) {
			if slot != s.at[r] {
				if d := s.change(r, slot); d < by {
					to, by = slot, d
				}
			}
		}
		if s.close == nil {
			for slot := range int32(s.slots) {
				try(slot)
			}
		} else {
			for k := range s.near[r] {
				for _, slot := range s.close[s.at[s.near[r][k].rank]] {
					try(slot)
				}
			}
		}
		if to >= 0 {
			s.move(r, to, by)
		}
	}
	for _, r := range s.waiting {
		s.queued[r] = false
	}
	s.waiting = s.waiting[:0]
	s.keep()
}

// wait has a rank tried.
func (s *search) wait(r int32) {
	if !s.queued[r] {
		s.queued[r] = true
		s.waiting = append(s.waiting, r)
	}
}

// change returns by how much the cost grows where a rank and who is on a slot, if anyone is, change places.
func (s *search) change(r, to int32) int64 {
	s.evaluations++
	from, other := s.at[r], s.by[to]
	d := int64(0)
	for k := range s.near[r] {
		if e := &s.near[r][k]; e.rank != other {
			at := s.at[e.rank]
			d += s.between(e, to, at) - s.between(e, from, at)
		} else {
			d += s.between(e, to, from) - s.between(e, from, to)
		}
	}
	if other >= 0 {
		for k := range s.near[other] {
			if e := &s.near[other][k]; e.rank != r {
				at := s.at[e.rank]
				d += s.between(e, from, at) - s.between(e, to, at)
			}
		}
	}
	return d
}

// move has a rank and who is on a slot change places, which makes the cost grow by so much.
func (s *search) move(r, to int32, by int64) {
	from, other := s.at[r], s.by[to]
	s.at[r], s.by[to], s.by[from] = to, r, other
	s.wait(r)
	for k := range s.near[r] {
		s.wait(s.near[r][k].rank)
	}
	if other >= 0 {
		s.at[other] = from
		s.wait(other)
		for k := range s.near[other] {
			s.wait(s.near[other][k].rank)
		}
	}
	s.cost += by
}

// kick changes some places at random and descends from there; what is no better than the best is taken back.
func (s *search) kick() {
	var moved []int32
	r := int32(s.random.IntN(len(s.near)))
	for range 3 + s.random.IntN(6) {
		to := int32(s.random.IntN(s.slots))
		if s.close != nil { // nearby, where a change costs less
			near := s.close[s.at[r]]
			to = near[s.random.IntN(len(near))]
		}
		if to == s.at[r] {
			s.evaluations++
			continue
		}
		other := s.by[to]
		s.move(r, to, s.change(r, to))
		moved = append(moved, r)
		if other >= 0 {
			moved = append(moved, other)
			r = other
		}
	}
	before := s.best
	s.descend(moved)
	if s.cost > before {
		s.take(s.found)
	} else if s.cost == before {
		s.found = append(s.found[:0], s.at...)
	}
}
