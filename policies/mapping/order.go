package mapping

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// dimOrder is an order of dimensions in which ranks take slots, innermost first (Megatron-LM:
// --use-tp-pp-dp-mapping and the order of its RankGenerator).
type dimOrder []string

// parseOrder parses names of dimensions that are joined by hyphens.
func parseOrder(text string) Mapping {
	names := strings.Split(text, "-")
	for _, name := range names {
		if !slices.Contains(Dims, name) {
			return nil
		}
	}
	return dimOrder(names)
}

// Place assigns slot i to the rank with number i in the order. Dimensions of size 1 may be left
// out.
func (o dimOrder) Place(_ context.Context, p *Problem, _ Options) (*Placement, error) {
	for i, name := range o {
		if slices.Contains(o[:i], name) {
			return nil, fmt.Errorf("it names %s twice; want every dimension once", name)
		}
	}

	// Ranks that differ only in a dimension that is left out would share a slot.
	for _, d := range p.Dims {
		if d.Size > 1 && !slices.Contains(o, d.Name) {
			return nil, fmt.Errorf("it leaves out %s, of %d ranks, which would have no endpoint; want every dimension, such as %s", d.Name, d.Size, Default)
		}
	}

	out := &Placement{At: make([]int32, p.Ranks())}
	for rank := range out.At {
		out.At[rank] = p.Slots[o.number(p, p.coordinates(rank))]
	}
	return out, nil
}

// number returns the position in the order of the rank with the given coordinates.
func (o dimOrder) number(p *Problem, coords []int) int {
	n, stride := 0, 1
	for _, name := range o {
		for i, d := range p.Dims {
			if d.Name == name {
				n += coords[i] * stride
				stride *= d.Size
			}
		}
	}
	return n
}

// Orders returns all orders of the dimensions with more than one rank.
func Orders(dims []Dim) (all []string) {
	for o := range dimOrders(dims) {
		all = append(all, strings.Join(o, "-"))
	}
	return all
}
