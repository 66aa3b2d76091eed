// Package mapping puts ranks of a job on endpoints of a fabric. A mapping is named by a text: an order of the dimensions
// of parallelism, the axes of a torus that each dimension takes, a file, or the search for the cheapest one. The cost of
// a mapping is the sum over all transfers of their bytes times the hops of a shortest path between their ends: what the
// links carry in all, where packets take no detours.
//
// It knows ranks by number, and dimensions by name and size. What ranks send each other is given as a matrix; how they
// send it, over which paths and when, is decided elsewhere.
package mapping

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric/torus"
)

// Dim is a dimension of parallelism.
type Dim struct {
	Name string // one of Dims
	Size int
}

// Dims are the dimensions that there are, in the order in which axes name them.
var Dims = []string{"tp", "cp", "ep", "dp", "pp"}

// Flow is what one rank sends another in all.
type Flow struct {
	Src, Dst int32
	Bytes    int64
}

// Problem is ranks that are to be put on endpoints.
type Problem struct {
	Dims []Dim // as ranks are numbered: the first varies fastest
	// Slots are the endpoints that take ranks, in the order in which an order of dimensions fills them. Each takes one
	// rank as often as it is listed.
	Slots   []int32
	Network *engine.Network // that hops are counted on
	// Distances, where it is not nil, returns how far endpoints are from one, in place of hops on Network: in parts of a hop,
	// of which Unit are one. What it returns holds until it is called again.
	Distances   func(from int32) []int32
	PartsPerHop int64
	Torus       *torus.Torus // nil of other fabrics
	// Block is how many ranks stay together, in order: each block of them takes a block of as many endpoints, of which
	// Slots then has whole ones, one after the other. 0 and 1 are ranks by themselves.
	Block int
	// VertexTransitive says that the network looks the same from each slot.
	VertexTransitive bool
	Demand           []Flow // between different ranks, each pair at most once
	// Files holds by name of a file the endpoints that it lists, rank by rank.
	Files map[string][]int32
}

// Ranks returns the number of ranks.
func (p *Problem) Ranks() int {
	n := 1
	for _, d := range p.Dims {
		n *= d.Size
	}
	return n
}

// size returns the size of a dimension, 0 of one that there is not.
func (p *Problem) size(name string) int {
	if i := slices.IndexFunc(p.Dims, func(d Dim) bool { return d.Name == name }); i >= 0 {
		return p.Dims[i].Size
	}
	return 0
}

// coordinates returns the place of a rank in each of p.Dims.
func (p *Problem) coordinates(rank int) []int {
	coords := make([]int, len(p.Dims))
	for i, d := range p.Dims {
		coords[i], rank = rank%d.Size, rank/d.Size
	}
	return coords
}

// Placement is an endpoint for every rank.
type Placement struct {
	At []int32 // by rank
	// Bound is a lower bound on the cost of every placement that a search has proved, 0 of none.
	Bound       int64
	Evaluations int // of a search: costs of placements, or of parts of one, that were looked at
}

// Mapping places ranks. What it decides depends on the problem and the options alone. It fails where it does not fit the
// problem; the text of the error is "what is wrong; want what would be right".
type Mapping interface {
	Place(ctx context.Context, p *Problem, o Options) (*Placement, error)
}

// Row is a sort of mapping.
type Row struct {
	Name  string // an example, or all that there is
	Doc   string
	Reads []string // options of [policy]
	// Parse returns the mapping that a text names, nil where it names none of this sort.
	Parse func(text string) Mapping
}

// Table is all sorts of mappings. The last takes every text.
var Table = []Row{
	{Name: "tp-cp-ep-dp-pp", Doc: "an order of the dimensions of parallelism, the innermost first: ranks take endpoints in it (this one is Megatron-LM's)", Parse: parseOrder},
	{Name: "tp=x,dp=yz", Doc: "the axes of a torus that each dimension takes, the first of several varying fastest", Parse: parseAxes},
	{Name: "optimised", Doc: "the least bytes times hops that a search finds, or in pods the shortest iteration, with a lower bound: proved for small jobs", Reads: []string{"mapping_evaluations", "mapping_trials"}, Parse: parseOptimised},
	{Name: "FILE", Doc: "a file with a line for each rank: its endpoint", Parse: parseFile},
}

// Parse returns the mapping that a text names: a file where nothing else fits.
func Parse(text string) Mapping {
	for _, r := range Table {
		if m := r.Parse(text); m != nil {
			return m
		}
	}
	return nil
}

// Place parses a text and places the ranks of a problem. It fails where a rank has no endpoint, or one that is no slot
// or is taken: what a mapping returns is checked.
func Place(ctx context.Context, text string, p *Problem, o Options) (*Placement, error) {
	if n := p.Ranks(); n > len(p.Slots) {
		return nil, fmt.Errorf("%d ranks on %d endpoints leave %d without one; want more endpoints", n, len(p.Slots), n-len(p.Slots))
	}
	out, err := Parse(text).Place(ctx, p, o)
	if err != nil {
		return nil, err
	}
	return out, p.check(out.At)
}

// check holds that every rank has a slot of its own.
func (p *Problem) check(endpoints []int32) error {
	if n := p.Ranks(); len(endpoints) != n {
		return fmt.Errorf("%d endpoints for %d ranks; want one for each rank", len(endpoints), n)
	}
	free := map[int32]int{}
	for _, e := range p.Slots {
		free[e]++
	}
	rankOn := map[int32]int{}
	for rank, e := range endpoints {
		capacity, known := free[e]
		switch {
		case !known:
			return fmt.Errorf("rank %d is on endpoint %d, which there is not or is down; want one of the %d that are up", rank, e, len(free))
		case capacity == 0:
			return fmt.Errorf("ranks %d and %d are both on endpoint %d; want an endpoint for each", rankOn[e], rank, e)
		}
		free[e], rankOn[e] = capacity-1, rank
	}
	for rank, e := range endpoints {
		if b := max(1, p.Block); int(e)%b != rank%b || e-endpoints[rank-rank%b] != int32(rank%b) {
			return fmt.Errorf("ranks %d to %d make calls inside a domain of %d GPUs, and rank %d is on endpoint %d; want their order kept there, as tp-cp-ep-dp-pp does, "+
				`or workload.collectives = "graph"`, rank-rank%b, rank-rank%b+b-1, b, rank, e)
		}
	}
	return nil
}
