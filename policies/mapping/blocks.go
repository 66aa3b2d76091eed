package mapping

import (
	"context"
	"slices"
)

// placeBlocks searches for the minimum-cost mapping of blocks of ranks to blocks of endpoints.
// This is a problem of its own, in which the distance of two blocks is the distance of their
// first endpoints. Its bound holds for the original problem if blocks exchange bytes only between
// ranks of equal position, which are as far apart as the first ones.
func (c *Cost) placeBlocks(ctx context.Context, o Options) (*Placement, error) {
	p, b := c.problem, c.problem.Block

	// q is the problem of blocks of b ranks. Dimension ep counts the blocks of a stage. The
	// dimensions inside a stage come first in p.
	q := &Problem{Dims: []Dim{{Name: "ep", Size: 1}}, VertexTransitive: p.VertexTransitive}
	for _, d := range p.Dims {
		if d.Name == "dp" || d.Name == "pp" {
			q.Dims = append(q.Dims, d)
		} else {
			q.Dims[0].Size *= d.Size
		}
	}
	q.Dims[0].Size /= b

	// Distances between the first endpoints of blocks.
	blocks := c.numSlots / b
	dist := make([]int32, blocks)
	q.Distances = func(from int32) []int32 {
		for to := range dist {
			dist[to] = int32(c.hops[int(from)*b*c.numSlots+to*b])
		}
		return dist
	}

	for i := range int32(blocks) {
		q.Slots = append(q.Slots, i)
	}

	// exact reports whether the bound of q holds for p: ranks of equal position are as far apart
	// as the first ones, and exchange all bytes.
	exact := true
	for i, h := range c.hops {
		from, to := i/c.numSlots, i%c.numSlots
		exact = exact && (from%b != to%b || h == c.hops[(from-from%b)*c.numSlots+to-to%b])
	}

	// Traffic between blocks.
	bytes := map[[2]int32]int64{}
	for _, f := range p.Demand {
		if from, to := f.Src/int32(b), f.Dst/int32(b); from != to {
			bytes[[2]int32{from, to}] += f.Bytes
			exact = exact && int(f.Src)%b == int(f.Dst)%b
		} else {
			exact = false // q excludes the traffic inside blocks
		}
	}

	// Traffic in a fixed order, as maps have none.
	for from := range int32(q.Ranks()) {
		for to := range int32(q.Ranks()) {
			if n := bytes[[2]int32{from, to}]; n > 0 {
				q.Demand = append(q.Demand, Flow{Src: from, Dst: to, Bytes: n})
			}
		}
	}

	// Solve the problem of blocks, which has no blocks itself.
	result, err := (CostSearch{}).Place(ctx, q, o)
	if err != nil {
		return nil, err
	}

	// Expand the placement of blocks to their endpoints.
	out := &Placement{Evaluations: result.Evaluations}
	if exact {
		out.Bound = result.Bound
	}
	for _, block := range result.At {
		out.At = slices.Concat(out.At, p.Slots[int(block)*b:(int(block)+1)*b])
	}
	return out, nil
}
