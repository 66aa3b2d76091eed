package mapping

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"sim/internal/numbers"
	"sim/internal/random"
)

// CostSearch is the search for the mapping of least cost, which takes time and needs to know what ranks send.
type CostSearch struct{}

func parseOptimised(text string) Mapping {
	if text != "optimised" {
		return nil
	}
	return CostSearch{}
}

// IsSearch reports whether a text names the search.
func IsSearch(text string) bool {
	_, searched := Parse(text).(CostSearch)
	return searched
}

// Place searches from the best of all orders of dimensions, over nodes in several orders, by exchanges of ranks that
// make the cost smaller, and from random changes of what it has found. Of small problems it proves that there is
// nothing better, by branch and bound; else a lower bound is all that is known.
func (CostSearch) Place(ctx context.Context, p *Problem, o Options) (*Placement, error) {
	c, err := NewCost(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.Block > 1 {
		return c.placeBlocks(ctx, o)
	}
	s := newLocalSearch(ctx, c, o)
	bound := c.Bound()
	s.descendFromOrders()
	if s.bestCost > bound && c.numSlots <= maxExactSlots {
		s.budget = o.Evaluations / 2
		if s.proveOptimal() {
			bound = s.bestCost
		}
	}
	s.budget = o.Evaluations
	for s.bestCost > bound && s.evaluations < s.budget && ctx.Err() == nil {
		s.perturb()
	}
	out := &Placement{At: make([]int32, len(s.bestSlots)), Bound: bound, Evaluations: s.evaluations}
	for rank, slot := range s.bestSlots {
		out.At[rank] = p.Slots[slot]
	}
	return out, ctx.Err()
}

// localSearch is a local search.
type localSearch struct {
	*Cost
	ctx         context.Context
	evaluations int // so far
	budget      int
	random      *rand.Rand

	slotOf    []int32 // slot of each rank
	rankOn    []int32 // rank on each slot, -1 of none
	cost      int64
	bestSlots []int32 // the best
	bestCost  int64

	nearbySlots [][]int32 // by slot: those that it is worth to be near to
	queue       []int32   // ranks that may have somewhere better to go
	isQueued    []bool
}

// mostClose is of how many slots near a peer a rank tries each, where there are more than it tries all of.
const (
	minNearby          = 12
	maxExhaustiveSlots = 96
)

func newLocalSearch(ctx context.Context, c *Cost, o Options) *localSearch {
	s := &localSearch{
		Cost: c, ctx: ctx, budget: o.Evaluations, random: random.Stream(o.Seed, "mapping"), bestCost: -1,
		rankOn: make([]int32, c.numSlots), isQueued: make([]bool, len(c.peers)),
	}
	if c.numSlots <= maxExhaustiveSlots {
		return s
	}
	s.nearbySlots = make([][]int32, c.numSlots)
	for a := range s.nearbySlots {
		row := c.hops[a*c.numSlots : (a+1)*c.numSlots]
		for hops := uint16(0); len(s.nearbySlots[a]) < minNearby; {
			next := uint16(math.MaxUint16) // the least distance beyond
			for _, h := range row {
				if h > hops {
					next = min(next, h)
				}
			}
			hops = next
			for b, h := range row {
				if h == hops && len(s.nearbySlots[a]) < 4*minNearby {
					s.nearbySlots[a] = append(s.nearbySlots[a], int32(b))
				}
			}
		}
	}
	return s
}

// setPlacement has the search go on from a placement, and keeps it where it is the best.
func (s *localSearch) setPlacement(slotOf []int32) {
	s.slotOf = append(s.slotOf[:0], slotOf...)
	for i := range s.rankOn {
		s.rankOn[i] = -1
	}
	for rank, slot := range slotOf {
		s.rankOn[slot] = int32(rank)
	}
	s.cost = s.slotCost(s.slotOf)
	s.evaluations += len(slotOf)
	s.saveBest()
}

func (s *localSearch) saveBest() {
	if s.bestCost < 0 || s.cost < s.bestCost {
		s.bestCost, s.bestSlots = s.cost, append(s.bestSlots[:0], s.slotOf...)
	}
}

// maxStarts is from how many of the best orders the search descends.
const maxStarts = 4

// descendFromOrders descends from the best of the orders of dimensions on slots in each of their orders.
func (s *localSearch) descendFromOrders() {
	type start struct {
		at   []int32
		cost int64
	}
	var all []start
	used := map[int64]bool{} // placements of one cost are likely to be images of each other
	for _, slots := range s.slotOrders() {
		for o := range dimOrders(s.problem.Dims) {
			slotOf := make([]int32, len(s.peers))
			for rank := range slotOf {
				slotOf[rank] = slots[o.number(s.problem, s.problem.coordinates(rank))]
			}
			cost := s.slotCost(slotOf)
			if s.evaluations += len(slotOf); !used[cost] {
				used[cost] = true
				all = append(all, start{slotOf, cost})
			}
			if s.evaluations > s.budget/4 || s.ctx.Err() != nil {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b start) int { return int(max(-1, min(1, a.cost-b.cost))) })
	for _, candidate := range all[:min(len(all), maxStarts)] {
		s.setPlacement(candidate.at)
		if s.evaluations < s.budget {
			s.descend(numbers.Below(int32(len(s.peers))))
		}
	}
}

// dimOrders yields the orders of dimensions that have more than one rank.
func dimOrders(dims []Dim) func(yield func(dimOrder) bool) {
	var names dimOrder
	for _, d := range dims {
		if d.Size > 1 {
			names = append(names, d.Name)
		}
	}
	return func(yield func(dimOrder) bool) {
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

// slotOrders returns orders of the slots: as they are, and of a torus by each order of its axes, each axis from its
// beginning again or to and fro, so that consecutive nodes are neighbours.
func (s *localSearch) slotOrders() [][]int32 {
	plain := numbers.Below(int32(s.numSlots))
	all := [][]int32{plain}
	t := s.problem.Torus
	if t == nil || len(t.Dims) > 4 {
		return all
	}
	axes := numbers.Below(len(t.Dims))
	permute(axes, 0, func(axes []int) bool {
		for _, folded := range []bool{false, true} {
			var slots []int32
			for i := range t.Nodes() {
				coords, rest, odd := make([]int, len(t.Dims)), i, false
				for k := len(axes) - 1; k >= 0; k-- { // the last is the slowest
					stride := 1
					for _, a := range axes[:k] {
						stride *= t.Dims[a]
					}
					c := rest / stride
					if rest %= stride; folded && odd {
						c = t.Dims[axes[k]] - 1 - c
					}
					coords[axes[k]] = c
					odd = odd != (c%2 == 1)
				}
				slots = append(slots, s.slotsOf[t.Node(coords...)]...)
			}
			all = append(all, slots)
		}
		return true
	})
	return all
}

// descend moves ranks, of those given and of those that others' moves concern, to where the cost is smaller by most, in
// exchange for who is there, until none is.
func (s *localSearch) descend(ranks []int32) {
	for _, r := range ranks {
		s.enqueue(r)
	}
	for head := 0; head < len(s.queue) && s.evaluations < s.budget; head++ {
		if head&63 == 0 && s.ctx.Err() != nil {
			break
		}
		r := s.queue[head]
		s.isQueued[r] = false
		best, minChange := int32(-1), int64(0)
		try := func(slot int32) {
			if slot != s.slotOf[r] {
				if d := s.exchangeCost(r, slot); d < minChange {
					best, minChange = slot, d
				}
			}
		}
		if s.nearbySlots == nil {
			for slot := range int32(s.numSlots) {
				try(slot)
			}
		} else {
			for k := range s.peers[r] {
				for _, slot := range s.nearbySlots[s.slotOf[s.peers[r][k].rank]] {
					try(slot)
				}
			}
		}
		if best >= 0 {
			s.exchange(r, best, minChange)
		}
	}
	for _, r := range s.queue {
		s.isQueued[r] = false
	}
	s.queue = s.queue[:0]
	s.saveBest()
}

// enqueue has a rank tried.
func (s *localSearch) enqueue(r int32) {
	if !s.isQueued[r] {
		s.isQueued[r] = true
		s.queue = append(s.queue, r)
	}
}

// exchangeCost returns by how much the cost grows where a rank and who is on a slot, if anyone is, change places.
func (s *localSearch) exchangeCost(r, to int32) int64 {
	s.evaluations++
	from, other := s.slotOf[r], s.rankOn[to]
	d := int64(0)
	for k := range s.peers[r] {
		if e := &s.peers[r][k]; e.rank != other {
			slot := s.slotOf[e.rank]
			d += s.pairCost(e, to, slot) - s.pairCost(e, from, slot)
		} else {
			d += s.pairCost(e, to, from) - s.pairCost(e, from, to)
		}
	}
	if other >= 0 {
		for k := range s.peers[other] {
			if e := &s.peers[other][k]; e.rank != r {
				slot := s.slotOf[e.rank]
				d += s.pairCost(e, from, slot) - s.pairCost(e, to, slot)
			}
		}
	}
	return d
}

// exchange has a rank and who is on a slot change places, which makes the cost grow by so much.
func (s *localSearch) exchange(r, to int32, change int64) {
	from, other := s.slotOf[r], s.rankOn[to]
	s.slotOf[r], s.rankOn[to], s.rankOn[from] = to, r, other
	s.enqueue(r)
	for k := range s.peers[r] {
		s.enqueue(s.peers[r][k].rank)
	}
	if other >= 0 {
		s.slotOf[other] = from
		s.enqueue(other)
		for k := range s.peers[other] {
			s.enqueue(s.peers[other][k].rank)
		}
	}
	s.cost += change
}

// perturb changes some places at random and descends from there; what is no better than the best is taken back.
func (s *localSearch) perturb() {
	var moved []int32
	r := int32(s.random.IntN(len(s.peers)))
	for range 3 + s.random.IntN(6) {
		to := int32(s.random.IntN(s.numSlots))
		if s.nearbySlots != nil { // nearby, where a change costs less
			nearby := s.nearbySlots[s.slotOf[r]]
			to = nearby[s.random.IntN(len(nearby))]
		}
		if to == s.slotOf[r] {
			s.evaluations++
			continue
		}
		other := s.rankOn[to]
		s.exchange(r, to, s.exchangeCost(r, to))
		moved = append(moved, r)
		if other >= 0 {
			moved = append(moved, other)
			r = other
		}
	}
	before := s.bestCost
	s.descend(moved)
	if s.cost > before {
		s.setPlacement(s.bestSlots)
	} else if s.cost == before {
		s.bestSlots = append(s.bestSlots[:0], s.slotOf...)
	}
}
