// Package mapping assigns the ranks of a job to endpoints of a fabric. A Mapping is named by a
// text: an order of the dimensions of parallelism (dimOrder), torus axes per dimension (axisMap),
// a file (fileMapping), or the search for the minimum cost (CostSearch).
//
// The Cost of a mapping is the sum over all transfers of bytes times hops of a shortest path: the
// total load of all links without detours. Cost.Bound is a lower bound. Grouping is the search
// that assigns stages to pods.
//
// Ranks are numbers, and dimensions have names and sizes. A Problem gives the traffic between
// ranks as a matrix; paths and times are decided elsewhere. Start reading with Problem and Place.
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
	Name string // an element of Dims
	Size int
}

// Dims lists the names of all dimensions, in the order in which axes list them.
var Dims = []string{"tp", "cp", "ep", "dp", "pp"}

// Flow is the total traffic from one rank to another.
type Flow struct {
	Src, Dst int32
	Bytes    int64
}

// Problem is a set of ranks to be assigned to endpoints.
type Problem struct {
	// Dims is in the order in which ranks are numbered: the first varies fastest.
	Dims []Dim
	// Slots lists the endpoints for ranks in the order in which a dimOrder fills them. An
	// endpoint takes one rank each time that it is listed.
	Slots   []int32
	Network *engine.Network // on which hops are counted
	// Distances returns the distances of all endpoints from one, instead of hops on Network. nil
	// means hops. A hop is PartsPerHop units. The result is valid until the next call.
	Distances   func(from int32) []int32
	PartsPerHop int64
	Torus       *torus.Torus // nil for other fabrics
	// Block is the number of consecutive ranks that stay together in order. Each block of ranks
	// takes a block of endpoints, which Slots lists completely and consecutively. 0 and 1 mean
	// single ranks.
	Block int
	// VertexTransitive means that the network looks identical from each slot.
	VertexTransitive bool
	// Demand is the traffic between distinct ranks, at most one Flow per ordered pair.
	Demand []Flow
	// Files has the endpoints of the ranks that a file lists, by file name.
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

// size returns the size of a dimension; 0 if there is no such dimension.
func (p *Problem) size(name string) int {
	if i := slices.IndexFunc(p.Dims, func(d Dim) bool { return d.Name == name }); i >= 0 {
		return p.Dims[i].Size
	}
	return 0
}

// coordinates returns the coordinates of a rank, indexed like p.Dims.
func (p *Problem) coordinates(rank int) []int {
	coords := make([]int, len(p.Dims))
	for i, d := range p.Dims {
		coords[i], rank = rank%d.Size, rank/d.Size
	}
	return coords
}

// Placement is an endpoint for every rank.
type Placement struct {
	At []int32 // endpoint, indexed by rank
	// Bound is a lower bound on the cost of all placements that a search has proved; 0 without a
	// search.
	Bound int64
	// Evaluations counts the computed costs of placements and of parts of placements.
	Evaluations int
}

// Mapping assigns ranks to endpoints. The result depends only on the problem and the options. It
// fails if the mapping does not fit the problem. The text of the error has the form
// "problem; want remedy".
type Mapping interface {
	Place(ctx context.Context, p *Problem, o Options) (*Placement, error)
}

// Row is a kind of mapping.
type Row struct {
	Name  string // an example, or the only text of this kind
	Doc   string
	Reads []string // keys of [policy]
	// Parse returns the mapping that a text names; nil if the text is not of this kind.
	Parse func(text string) Mapping
}

// Table lists the kinds of mappings. The last kind accepts every text.
var Table = []Row{
	{Name: "tp-cp-ep-dp-pp", Doc: "an order of the parallel dimensions, innermost first, in which ranks take endpoints (this one is Megatron-LM's)", Parse: parseOrder},
	{Name: "tp=x,dp=yz", Doc: "the torus axes of each parallel dimension, the first of several varying fastest", Parse: parseAxes},
	{Name: "optimised", Doc: "search for minimum bytes times hops, or in pods for the shortest iteration, with a lower bound; proved for small jobs", Reads: []string{"mapping_evaluations", "mapping_trials"}, Parse: parseOptimised},
	{Name: "FILE", Doc: "a file with the endpoint of each rank per line", Parse: parseFile},
}

// Parse returns the mapping that a text names. A text of no other kind is a file name.
func Parse(text string) Mapping {
	for _, r := range Table {
		if m := r.Parse(text); m != nil {
			return m
		}
	}
	return nil
}

// Place parses a text and assigns the ranks of a problem. It verifies the result: every rank has
// a slot of its own.
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

// check verifies that every rank has a slot of its own, and that blocks stay together.
func (p *Problem) check(endpoints []int32) error {
	if n := p.Ranks(); len(endpoints) != n {
		return fmt.Errorf("%d endpoints for %d ranks; want one for each rank", len(endpoints), n)
	}

	// Each slot takes one rank.
	free := map[int32]int{}
	for _, e := range p.Slots {
		free[e]++
	}
	rankOn := map[int32]int{}

	// Each rank takes a slot that is still free.
	for rank, e := range endpoints {
		capacity, known := free[e]
		switch {
		case !known:
			return fmt.Errorf("rank %d is on endpoint %d, which does not exist or is down; want one of the %d that are up", rank, e, len(free))
		case capacity == 0:
			return fmt.Errorf("ranks %d and %d are both on endpoint %d; want an endpoint for each", rankOn[e], rank, e)
		}
		free[e], rankOn[e] = capacity-1, rank
	}

	// The ranks of a block follow each other from a multiple of its size.
	for rank, e := range endpoints {
		if b := max(1, p.Block); int(e)%b != rank%b || e-endpoints[rank-rank%b] != int32(rank%b) {
			return fmt.Errorf("ranks %d to %d make calls inside a domain of %d GPUs, and rank %d is on endpoint %d; want their order kept there, as tp-cp-ep-dp-pp does, "+
				`or workload.collectives = "graph"`, rank-rank%b, rank-rank%b+b-1, b, rank, e)
		}
	}

	return nil
}
