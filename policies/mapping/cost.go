package mapping

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"sim/internal/numbers"
	"sim/policies/graph"
)

// MostSlots bounds the slots of a problem whose cost is asked for: the hops between all pairs are kept.
const MostSlots = 8192

// Cost is the cost of placements of a problem: the sum of bytes x hops, in byte-hops or parts of these (Unit). It is
// not changed once it is made.
type Cost struct {
	p     *Problem
	slots int
	hops  []uint16 // from slot to slot
	near  [][]peer // by rank, ordered by the other
	slot  map[int32][]int32
}

// peer is another rank that a rank exchanges bytes with.
type peer struct {
	rank     int32
	out, in  int64
	together int64 // out + in
}

// Unit returns in how many parts a hop is counted.
func (c *Cost) Unit() int64 { return max(1, c.p.Unit) }

// NewCost counts the hops between the slots of p. It fails where there are too many, one cannot be reached, or the cost
// would be more than can be counted.
func NewCost(ctx context.Context, p *Problem) (*Cost, error) {
	if len(p.Slots) > MostSlots {
		return nil, fmt.Errorf("the hops between %d endpoints are too many; want at most %d endpoints, or a mapping that needs no cost", len(p.Slots), MostSlots)
	}
	c := &Cost{p: p, slots: len(p.Slots), hops: make([]uint16, len(p.Slots)*len(p.Slots)), slot: map[int32][]int32{}}
	for i, e := range p.Slots {
		c.slot[e] = append(c.slot[e], int32(i))
	}
	far, farthest := p.Far, 1.0
	if far == nil {
		far = p.Network.Hops(nil)
	}
	for i, from := range p.Slots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dist := far(from)
		for j, to := range p.Slots {
			if dist[to] < 0 || dist[to] > math.MaxUint16 {
				return nil, fmt.Errorf("endpoint %d cannot reach endpoint %d; want a fabric in which all do", from, to)
			}
			c.hops[i*c.slots+j] = uint16(dist[to])
			farthest = max(farthest, float64(dist[to]))
		}
	}
	c.near = make([][]peer, p.Ranks())
	sum := 0.0
	for _, f := range p.Demand {
		sum += float64(f.Bytes)
		c.near[f.Src] = append(c.near[f.Src], peer{rank: f.Dst, out: f.Bytes})
		c.near[f.Dst] = append(c.near[f.Dst], peer{rank: f.Src, in: f.Bytes})
	}
	if sum*farthest > 1<<60 { // twice that is counted
		return nil, fmt.Errorf("%.2g bytes over %.0f hops are more than can be counted; want fewer micro-batches", sum, farthest)
	}
	for rank, all := range c.near {
		slices.SortStableFunc(all, func(a, b peer) int { return cmp.Compare(a.rank, b.rank) })
		merged := all[:0]
		for _, e := range all {
			if last := len(merged) - 1; last >= 0 && merged[last].rank == e.rank {
				merged[last].out += e.out
				merged[last].in += e.in
				continue
			}
			merged = append(merged, e)
		}
		for i := range merged {
			merged[i].together = merged[i].out + merged[i].in
		}
		c.near[rank] = merged
	}
	return c, nil
}

// Of returns the cost of a placement that Place has checked.
func (c *Cost) Of(at []int32) int64 {
	taken := map[int32]int{}
	slots := make([]int32, len(at))
	for rank, e := range at {
		slots[rank] = c.slot[e][taken[e]]
		taken[e]++
	}
	return c.of(slots)
}

func (c *Cost) of(at []int32) int64 {
	sum := int64(0)
	for rank, near := range c.near {
		row := c.hops[int(at[rank])*c.slots:]
		for _, e := range near {
			sum += e.out * int64(row[at[e.rank]])
		}
	}
	return sum
}

// between returns the cost of what two ranks exchange, the first of which has e.
func (c *Cost) between(e *peer, a, b int32) int64 {
	return e.out*int64(c.hops[int(a)*c.slots+int(b)]) + e.in*int64(c.hops[int(b)*c.slots+int(a)])
}

// mostAssigned bounds the work of an assignment, ranks x ranks x slots, that Bound solves.
const mostAssigned = 1 << 27

// Bound returns a lower bound on the cost of every placement (Gilmore, 1962; Lawler, 1963): half of what each rank
// exchanges with all others costs at least as much as if those with most were nearest, on the best assignment of ranks
// to slots. Of large problems each rank has the slot that is best for it.
func (c *Cost) Bound() int64 {
	free := numbers.Below(int32(c.slots))
	all := numbers.Below(int32(len(c.near)))
	b := newBounder(c)
	b.fill(all, free, nil)
	twice := int64(0)
	if ranks := float64(len(all)); ranks*ranks*float64(len(free)) <= mostAssigned {
		twice = b.assign(len(all), len(free))
	} else {
		for i := range all {
			twice += slices.Min(b.least[i*len(free) : (i+1)*len(free)])
		}
	}
	return (twice + 1) / 2
}

// bounder bounds what the rest of a placement costs. Its memory is reused.
type bounder struct {
	c          *Cost
	assignment graph.Assignment
	least      []int64 // by rank and slot that are free: at least twice what the rank costs there
	weight     []int64
	to         []int32
	bytes      []int64
	hops       []int64
}

func newBounder(c *Cost) *bounder { return &bounder{c: c} }

// fill bounds what each of some ranks costs on each of some slots: twice what it exchanges with ranks that have a slot
// already, at[rank] >= 0, and what it exchanges with the others if these are as near as can be. at may be nil.
func (b *bounder) fill(ranks, free, at []int32) {
	c := b.c
	b.least = slices.Grow(b.least[:0], len(ranks)*len(free))[:len(ranks)*len(free)]
	most := 0
	for _, r := range ranks {
		most = max(most, len(c.near[r]))
	}
	// the hops from each slot to the nearest others, in either direction
	most = min(most, len(free)-1)
	b.hops = slices.Grow(b.hops[:0], len(free)*most)[:len(free)*most]
	row := make([]int64, 0, len(free))
	for i, a := range free {
		row = row[:0]
		for j, z := range free {
			if i != j {
				row = append(row, int64(min(c.hops[int(a)*c.slots+int(z)], c.hops[int(z)*c.slots+int(a)])))
			}
		}
		slices.Sort(row)
		copy(b.hops[i*most:(i+1)*most], row)
	}
	for i, r := range ranks {
		b.bytes = b.bytes[:0]
		for k := range c.near[r] {
			if e := &c.near[r][k]; at == nil || at[e.rank] < 0 {
				b.bytes = append(b.bytes, e.together)
			}
		}
		slices.SortFunc(b.bytes, func(x, y int64) int { return cmp.Compare(y, x) })
		for j, a := range free {
			sum := int64(0)
			for k, v := range b.bytes {
				sum += v * b.hops[j*most+k]
			}
			if at != nil {
				for k := range c.near[r] {
					if e := &c.near[r][k]; at[e.rank] >= 0 {
						sum += 2 * c.between(e, a, at[e.rank])
					}
				}
			}
			b.least[i*len(free)+j] = sum
		}
	}
}

// assign returns the least sum of what fill found over assignments of all ranks.
func (b *bounder) assign(ranks, free int) int64 {
	b.weight = slices.Grow(b.weight[:0], len(b.least))[:len(b.least)]
	for i, v := range b.least {
		b.weight[i] = -v
	}
	b.to = slices.Grow(b.to[:0], ranks)[:ranks]
	b.assignment.Solve(ranks, free, b.weight, b.to, nil)
	sum := int64(0)
	for i, j := range b.to {
		sum += b.least[i*free+int(j)]
	}
	return sum
}
