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

// MaxSlots limits the slots of problems with a cost, because the hops between all pairs are
// stored in two bytes each.
const MaxSlots = 8192

// Cost computes the cost of placements of a problem: the sum of bytes x hops, in byte-hops or
// parts of them (PartsPerHop). It is immutable.
type Cost struct {
	problem  *Problem
	numSlots int
	hops     []uint16          // indexed by slot*numSlots+slot
	peers    [][]peer          // indexed by rank, sorted by the other rank
	slotsOf  map[int32][]int32 // slots of an endpoint
}

// peer is a rank with which a rank exchanges bytes.
type peer struct {
	rank    int32
	out, in int64 // bytes to and from it
	total   int64 // out + in
}

// PartsPerHop returns the number of parts that a hop counts.
func (c *Cost) PartsPerHop() int64 { return max(1, c.problem.PartsPerHop) }

// maxCost limits the cost of a placement. Bounds add up twice the cost as weights of an
// Assignment, which must not overflow.
const maxCost = 1 << 60

// NewCost computes the hops between the slots of p. It fails if there are too many slots, if a
// slot is unreachable, or if the cost could overflow.
func NewCost(ctx context.Context, p *Problem) (*Cost, error) {
	if len(p.Slots) > MaxSlots {
		return nil, fmt.Errorf("the hops between %d endpoints are too many; want at most %d endpoints, or a mapping that needs no cost", len(p.Slots), MaxSlots)
	}

	// Distances between slots.
	c := &Cost{
		problem:  p,
		numSlots: len(p.Slots),
		hops:     make([]uint16, len(p.Slots)*len(p.Slots)),
		slotsOf:  map[int32][]int32{},
	}
	for i, e := range p.Slots {
		c.slotsOf[e] = append(c.slotsOf[e], int32(i))
	}
	distances, maxHops := p.Distances, 1.0
	if distances == nil {
		var allLinks func(link int) bool
		distances = p.Network.Hops(allLinks)
	}

	// Each distance must exist and fit its type.
	for i, from := range p.Slots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dist := distances(from)
		for j, to := range p.Slots {
			if dist[to] < 0 || dist[to] > math.MaxUint16 {
				return nil, fmt.Errorf("endpoint %d cannot reach endpoint %d; want a fabric in which all do", from, to)
			}
			c.hops[i*c.numSlots+j] = uint16(dist[to])
			maxHops = max(maxHops, float64(dist[to]))
		}
	}

	// The peers of each rank, from the traffic in both directions.
	c.peers = make([][]peer, p.Ranks())
	sum := 0.0
	for _, f := range p.Demand {
		sum += float64(f.Bytes)
		c.peers[f.Src] = append(c.peers[f.Src], peer{rank: f.Dst, out: f.Bytes})
		c.peers[f.Dst] = append(c.peers[f.Dst], peer{rank: f.Src, in: f.Bytes})
	}

	if sum*maxHops > maxCost {
		return nil, fmt.Errorf("%.2g bytes over %.0f hops are more than can be counted; want fewer micro-batches", sum, maxHops)
	}

	// Join the two directions of each pair.
	for rank, all := range c.peers {
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
			merged[i].total = merged[i].out + merged[i].in
		}
		c.peers[rank] = merged
	}

	return c, nil
}

// Total returns the cost of a placement that Place has verified.
func (c *Cost) Total(endpoints []int32) int64 {
	taken := map[int32]int{}
	slots := make([]int32, len(endpoints))
	for rank, e := range endpoints {
		slots[rank] = c.slotsOf[e][taken[e]]
		taken[e]++
	}
	return c.slotCost(slots)
}

// slotCost returns the cost of the given slots of the ranks.
func (c *Cost) slotCost(slots []int32) int64 {
	sum := int64(0)
	for rank, peers := range c.peers {
		row := c.hops[int(slots[rank])*c.numSlots:]
		for _, e := range peers {
			sum += e.out * int64(row[slots[e.rank]])
		}
	}
	return sum
}

// pairCost returns the cost of the traffic e between a rank on slot a and its peer on slot b.
func (c *Cost) pairCost(e *peer, a, b int32) int64 {
	return e.out*int64(c.hops[int(a)*c.numSlots+int(b)]) + e.in*int64(c.hops[int(b)*c.numSlots+int(a)])
}

// maxAssignmentWork limits the assignment problem that Bound solves: ranks x ranks x slots, which
// is its number of steps. This many take less than a second.
const maxAssignmentWork = 1 << 27

// Bound returns a lower bound on the cost of every placement (Gilmore, 1962; Lawler, 1963). Half
// of the traffic of a rank costs at least as much as if its heaviest peers were on the nearest
// slots. The bound is the minimum sum over assignments of ranks to slots. For large problems each
// rank takes its best slot independently.
func (c *Cost) Bound() int64 {
	free := numbers.Below(int32(c.numSlots))
	all := numbers.Below(int32(len(c.peers)))
	b := newGilmoreLawler(c)
	var nonePlaced []int32
	b.setMinCosts(all, free, nonePlaced)

	// Twice the bound.
	twice := int64(0)
	if ranks := float64(len(all)); ranks*ranks*float64(len(free)) <= maxAssignmentWork {
		twice = b.solveAssignment(len(all), len(free))
	} else {
		for i := range all {
			twice += slices.Min(b.minCost[i*len(free) : (i+1)*len(free)])
		}
	}

	return (twice + 1) / 2
}

// gilmoreLawler computes the Gilmore-Lawler bound on the cost of the ranks that are not placed
// yet. Its memory is reused.
type gilmoreLawler struct {
	cost       *Cost
	assignment graph.Assignment // solves the linear assignment problem
	// minCost is twice the minimum cost of a free rank on a free slot, indexed by
	// rank*slots+slot.
	minCost []int64
	weight  []int64 // -minCost
	to      []int32 // slot of each free rank
	bytes   []int64 // scratch: traffic of a rank with free ranks, falling
	hops    []int64 // scratch: distances to the nearest free slots, rising
}

// newGilmoreLawler returns a bound without ranks.
func newGilmoreLawler(c *Cost) *gilmoreLawler { return &gilmoreLawler{cost: c} }

// setMinCosts sets minCost of the given ranks on the free slots. It is twice the traffic with
// placed ranks (slotByRank >= 0), plus the traffic with the other ranks if these are as near as
// possible. slotByRank may be nil.
func (b *gilmoreLawler) setMinCosts(ranks, free, slotByRank []int32) {
	c := b.cost

	// The largest number of peers limits the distances that are needed.
	b.minCost = slices.Grow(b.minCost[:0], len(ranks)*len(free))[:len(ranks)*len(free)]
	maxPeers := 0
	for _, r := range ranks {
		maxPeers = max(maxPeers, len(c.peers[r]))
	}

	// The distances from each slot to the nearest others, in the shorter direction.
	maxPeers = min(maxPeers, len(free)-1)
	b.hops = slices.Grow(b.hops[:0], len(free)*maxPeers)[:len(free)*maxPeers]
	row := make([]int64, 0, len(free))
	for i, a := range free {
		row = row[:0]
		for j, z := range free {
			if i != j {
				row = append(row, int64(min(c.hops[int(a)*c.numSlots+int(z)], c.hops[int(z)*c.numSlots+int(a)])))
			}
		}
		slices.Sort(row)
		copy(b.hops[i*maxPeers:(i+1)*maxPeers], row)
	}

	for i, r := range ranks {
		// Traffic with ranks that have no slot, heaviest first, meets the nearest slots.
		b.bytes = b.bytes[:0]
		for k := range c.peers[r] {
			if e := &c.peers[r][k]; slotByRank == nil || slotByRank[e.rank] < 0 {
				b.bytes = append(b.bytes, e.total)
			}
		}

		slices.SortFunc(b.bytes, func(x, y int64) int { return cmp.Compare(y, x) })

		// Add the traffic with ranks that have a slot, if any. Each byte counts twice there, since
		// the other rank has no row for it.
		for j, a := range free {
			sum := int64(0)
			for k, v := range b.bytes {
				sum += v * b.hops[j*maxPeers+k]
			}
			if slotByRank != nil {
				for k := range c.peers[r] {
					if e := &c.peers[r][k]; slotByRank[e.rank] >= 0 {
						sum += 2 * c.pairCost(e, a, slotByRank[e.rank])
					}
				}
			}
			b.minCost[i*len(free)+j] = sum
		}
	}
}

// solveAssignment returns the minimum sum of minCost over assignments of all ranks to free slots.
func (b *gilmoreLawler) solveAssignment(ranks, free int) int64 {
	// Solve maximises, so costs are negated.
	b.weight = slices.Grow(b.weight[:0], len(b.minCost))[:len(b.minCost)]
	for i, v := range b.minCost {
		b.weight[i] = -v
	}
	b.to = slices.Grow(b.to[:0], ranks)[:ranks]
	var noCheck func()
	b.assignment.Solve(ranks, free, b.weight, b.to, noCheck)
	sum := int64(0)
	for i, j := range b.to {
		sum += b.minCost[i*free+int(j)]
	}
	return sum
}
