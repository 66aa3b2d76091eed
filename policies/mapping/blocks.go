package mapping

import (
	"context"
	"slices"
)

// placeBlocks searches for the mapping of least cost of whole blocks of ranks to blocks of endpoints: a problem of its
// own, in which two blocks are as far apart as their first endpoints. Its bound holds where that is all there is:
// blocks exchange bytes between ranks of one place in both, which are as far apart as the first.
func (c *Cost) placeBlocks(ctx context.Context, o Options) (*Placement, error) {
	p, b := c.problem, c.problem.Block
	q := &Problem{Dims: []Dim{{Name: "ep", Size: 1}}, VertexTransitive: p.VertexTransitive}
	for _, d := range p.Dims { // those inside a stage are the first
		if d.Name == "dp" || d.Name == "pp" {
			q.Dims = append(q.Dims, d)
		} else {
			q.Dims[0].Size *= d.Size
		}
	}
	q.Dims[0].Size /= b
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
	exact := true
	for i, h := range c.hops {
		from, to := i/c.numSlots, i%c.numSlots
		exact = exact && (from%b != to%b || h == c.hops[(from-from%b)*c.numSlots+to-to%b])
	}
	bytes := map[[2]int32]int64{}
	for _, f := range p.Demand {
		if from, to := f.Src/int32(b), f.Dst/int32(b); from != to {
			bytes[[2]int32{from, to}] += f.Bytes
			exact = exact && int(f.Src)%b == int(f.Dst)%b
		} else {
			exact = false // what a block exchanges inside is no part of q
		}
	}
	for from := range int32(q.Ranks()) {
		for to := range int32(q.Ranks()) {
			if n := bytes[[2]int32{from, to}]; n > 0 {
				q.Demand = append(q.Demand, Flow{Src: from, Dst: to, Bytes: n})
			}
		}
	}
	result, err := (CostSearch{}).Place(ctx, q, o)
	if err != nil {
		return nil, err
	}
	out := &Placement{Evaluations: result.Evaluations}
	if exact {
		out.Bound = result.Bound
	}
	for _, block := range result.At {
		out.At = slices.Concat(out.At, p.Slots[int(block)*b:(int(block)+1)*b])
	}
	return out, nil
}
