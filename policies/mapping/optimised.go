package mapping

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"sim/internal/numbers"
	"sim/internal/random"
)

// CostSearch is the mapping that searches for the minimum cost. It needs the traffic between
// ranks.
type CostSearch struct{}

// parseOptimised accepts "optimised".
func parseOptimised(text string) Mapping {
	if text != "optimised" {
		return nil
	}
	return CostSearch{}
}

// IsSearch reports whether a text names CostSearch.
func IsSearch(text string) bool {
	_, searched := Parse(text).(CostSearch)
	return searched
}

// Place searches for the placement with the minimum cost. It starts from the best orders of
// dimensions over several orders of the slots, exchanges ranks while the cost falls, and repeats
// from random changes of the best placement. For small problems it attempts a proof of optimality
// by branch and bound. Otherwise the result has a lower bound.
func (CostSearch) Place(ctx context.Context, p *Problem, o Options) (*Placement, error) {
	// The cost of the problem. Blocks are a problem of their own.
	c, err := NewCost(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.Block > 1 {
		return c.placeBlocks(ctx, o)
	}

	// Descend from the orders of dimensions. The bound ends the search if it is met.
	s := newLocalSearch(ctx, c, o)
	bound := c.Bound()
	s.descendFromOrders()

	// On small problems, half of the budget may be spent on a proof.
	if s.bestCost > bound && c.numSlots <= maxExactSlots {
		s.budget = o.Evaluations / 2
		if s.proveOptimal() {
			bound = s.bestCost
		}
	}

	// The rest of the budget improves the placement.
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

// localSearch is a local search over placements. Its steps exchange the slots of two ranks, or
// move a rank to a free slot.
type localSearch struct {
	*Cost       // of the problem
	ctx         context.Context
	evaluations int // so far
	budget      int // maximum of evaluations
	random      *rand.Rand

	// The present placement and the best one.
	slotOf    []int32 // indexed by rank
	rankOn    []int32 // indexed by slot; -1 if free
	cost      int64
	bestSlots []int32 // indexed by rank
	bestCost  int64   // -1 before the first placement

	// State of descend.
	nearbySlots [][]int32 // slots near a slot; nil if all slots are tried
	queue       []int32   // ranks that may have a better slot
	isQueued    []bool    // indexed by rank
}

// Limits of the slots that a rank tries. If there are more than maxExhaustiveSlots, it tries only
// the minNearby or more slots nearest to each of its peers. The effort then grows with the number
// of peers instead of slots.
const (
	minNearby          = 12
	maxExhaustiveSlots = 96
)

// checkPeriod is the number of ranks of a descent between checks whether ctx has ended.
const checkPeriod = 64

// newLocalSearch returns a search without a placement.
func newLocalSearch(ctx context.Context, c *Cost, o Options) *localSearch {
	s := &localSearch{
		Cost:     c,
		ctx:      ctx,
		budget:   o.Evaluations,
		random:   random.Stream(o.Seed, "mapping"),
		bestCost: -1,
		rankOn:   make([]int32, c.numSlots),
		isQueued: make([]bool, len(c.peers)),
	}
	if c.numSlots <= maxExhaustiveSlots {
		return s
	}

	// Collect the slots around each slot by rising distance: complete distances until minNearby
	// are reached, at most four times as many.
	s.nearbySlots = make([][]int32, c.numSlots)
	for a := range s.nearbySlots {
		row := c.hops[a*c.numSlots : (a+1)*c.numSlots]
		for hops := uint16(0); len(s.nearbySlots[a]) < minNearby; {
			next := uint16(math.MaxUint16) // the next larger distance
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

// setPlacement continues with the given placement, and saves it if it is the best.
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

// saveBest saves the present placement if it is the best.
func (s *localSearch) saveBest() {
	if s.bestCost < 0 || s.cost < s.bestCost {
		s.bestCost, s.bestSlots = s.cost, append(s.bestSlots[:0], s.slotOf...)
	}
}

// maxStarts is the number of best orders from which the search descends. Each descent uses a part
// of the budget that perturb could use.
const maxStarts = 4

// descendFromOrders descends from the best orders of dimensions, over slots in each of their
// orders.
func (s *localSearch) descendFromOrders() {
	// start is a placement by an order, with its cost.
	type start struct {
		at   []int32
		cost int64
	}
	var all []start

	// Placements of equal cost are probably equivalent, so only the first one is a start. A quarter
	// of the budget is for costs, the rest for descents.
	used := map[int64]bool{}
	for _, slots := range s.slotOrders() {
		for o := range dimOrders(s.problem.Dims) {
			slotOf := make([]int32, len(s.peers))
			for rank := range slotOf {
				slotOf[rank] = slots[o.number(s.problem, s.problem.coordinates(rank))]
			}
			cost := s.slotCost(slotOf)
			if s.evaluations += len(slotOf); !used[cost] {
				used[cost] = true
				all = append(all, start{at: slotOf, cost: cost})
			}
			if s.evaluations > s.budget/4 || s.ctx.Err() != nil {
				break
			}
		}
	}

	// Descend from the best of them.
	slices.SortStableFunc(all, func(a, b start) int { return int(max(-1, min(1, a.cost-b.cost))) })
	for _, candidate := range all[:min(len(all), maxStarts)] {
		s.setPlacement(candidate.at)
		if s.evaluations < s.budget {
			s.descend(numbers.Below(int32(len(s.peers))))
		}
	}
}

// dimOrders yields the orders of the dimensions with more than one rank.
func dimOrders(dims []Dim) func(yield func(dimOrder) bool) {
	var names dimOrder
	for _, d := range dims {
		if d.Size > 1 {
			names = append(names, d.Name)
		}
	}

	// Permute all names, from the first one on.
	return func(yield func(dimOrder) bool) {
		permute(names, 0, func(all []string) bool { return yield(all) })
	}
}

// permute yields all with each permutation of all[k:]. It returns false if yield does.
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

// maxOrderedAxes is the maximum number of axes of a torus whose slots have several orders. The
// number of orders grows with the factorial of the axes: four have 48.
const maxOrderedAxes = 4

// slotOrders returns several orders of the slots: the given one, and for a torus one per order of
// its axes, straight and boustrophedon. In the latter, consecutive nodes are neighbours.
func (s *localSearch) slotOrders() [][]int32 {
	plain := numbers.Below(int32(s.numSlots))
	all := [][]int32{plain}
	t := s.problem.Torus
	if t == nil || len(t.Dims) > maxOrderedAxes {
		return all
	}

	// Permute all axes, from the first one on.
	axes := numbers.Below(len(t.Dims))
	permute(axes, 0, func(axes []int) bool {
		for _, folded := range []bool{false, true} {
			var slots []int32
			for i := range t.Nodes() {
				// Convert i to coordinates with the last axis of axes slowest. In boustrophedon
				// order, a coordinate runs backwards if the sum of the slower ones is odd.
				coords, rest, odd := make([]int, len(t.Dims)), i, false
				for k := len(axes) - 1; k >= 0; k-- {
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

// descend moves each of the given ranks to its best slot, in exchange with the rank there, until
// no move helps. Ranks whose peers moved are tried again.
func (s *localSearch) descend(ranks []int32) {
	for _, r := range ranks {
		s.enqueue(r)
	}
	for head := 0; head < len(s.queue) && s.evaluations < s.budget; head++ {
		if head%checkPeriod == 0 && s.ctx.Err() != nil {
			break
		}

		// Find the best exchange for a rank: over all slots, or over slots near its peers.
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

		// Make the exchange; the ranks that it concerns are queued again.
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

// enqueue adds a rank to the queue.
func (s *localSearch) enqueue(r int32) {
	if !s.isQueued[r] {
		s.isQueued[r] = true
		s.queue = append(s.queue, r)
	}
}

// exchangeCost returns the change of the cost if a rank moves to a slot, in exchange with the
// rank there, if any.
func (s *localSearch) exchangeCost(r, to int32) int64 {
	s.evaluations++

	// Traffic of r, whose peer may be the other rank, then traffic of the other rank.
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

// exchange moves a rank to a slot, in exchange with the rank there. change is the change of the
// cost.
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

// perturb makes some random exchanges and descends. It returns to the best placement if the
// result is worse.
func (s *localSearch) perturb() {
	// A chain of three to eight exchanges, each starting from the rank that was displaced.
	var moved []int32
	r := int32(s.random.IntN(len(s.peers)))
	for range 3 + s.random.IntN(6) {
		to := int32(s.random.IntN(s.numSlots))
		if s.nearbySlots != nil { // a nearby slot, since the change costs less
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

	// Return if the result is worse. An equal placement replaces the best one.
	before := s.bestCost
	s.descend(moved)
	if s.cost > before {
		s.setPlacement(s.bestSlots)
	} else if s.cost == before {
		s.bestSlots = append(s.bestSlots[:0], s.slotOf...)
	}
}
