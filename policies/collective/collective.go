// Package collective decides how collective calls are carried out: algorithms that expand a call among ranks into
// transfers, which reduce or copy ranges of its data and wait for each other.
//
// An algorithm is a row of Table. What it makes is a Schedule, plain data that Append adds to a task graph. The tests
// replay schedules on Holdings, which hold them to what the call asks for. Limit is a lower bound on when any algorithm can complete a call on a network.
// The package leaves paths between nodes that are no neighbours to policies/routing, time to the engines, and plans of
// reconfigurable switches to policies/reconfigure.
package collective

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// ErrCall is wrapped by every error about a call that cannot be, ErrUnserved where an algorithm does not serve one.
var (
	ErrCall     = errors.New("collective: no such call")
	ErrUnserved = errors.New("collective: the algorithm does not serve this call")
)

// Kind is what a call does with its data.
type Kind uint8

const (
	// AllReduce leaves the sum of all ranks' vectors with every rank.
	AllReduce Kind = iota
	// ReduceScatter leaves with every rank its block of the sum.
	ReduceScatter
	// AllGather leaves with every rank the blocks of all.
	AllGather
	// AllToAll moves a block from every rank to every other.
	AllToAll
	// Broadcast leaves the vector of the root with every rank.
	Broadcast
	// Reduce leaves the sum of all ranks' vectors with the root.
	Reduce
	// SendReceive moves the vector of the root to one other rank.
	SendReceive
)

var kindNames = [...]string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "send-receive"}

// String returns the name used in scenarios and results.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("call %d", uint8(k))
}

// ParseKind returns the kind of that name.
func ParseKind(name string) (Kind, error) {
	if k := slices.Index(kindNames[:], name); k >= 0 {
		return Kind(k), nil
	}
	return 0, fmt.Errorf("%w: %q; there are %s", ErrCall, name, strings.Join(kindNames[:], ", "))
}

// Call is a collective call. Its data is a vector of bytes, of which each rank has, puts into a sum or is left with all
// or some blocks. Block i is rank i's: blocks differ in size by a byte at most and are in the order of ranks. The vector
// of an all-to-all is the blocks from every rank to every rank, row by row.
type Call struct {
	Kind  Kind
	Group []int32 // by rank: its node, each once
	// Bytes is the size of the vector, of an all-to-all that of the block of a pair.
	Bytes int64
	// Sizes is of an all-to-all whose blocks differ: from row to column, row by row, of ranks. What a rank sends itself
	// stays where it is. nil is Bytes each.
	Sizes []int64
	// Root is the rank that a broadcast comes from, a reduce goes to and a send/receive comes from, Peer the one that
	// this goes to.
	Root, Peer int
	// Teams divides the ranks into teams of consecutive ranks: Teams[k] is the number of ranks of team k. Every team
	// makes the call among its own ranks, all at the same time. Root and Peer are then ranks within a team. nil is one
	// team of all ranks.
	Teams []int
}

// teams returns the first rank of every team, followed by the number of all ranks.
func (c *Call) teams() []int {
	first := []int{0}
	for _, size := range c.Teams {
		first = append(first, first[len(first)-1]+size)
	}
	if c.Teams == nil {
		first = append(first, len(c.Group))
	}
	return first
}

// Shape is what algorithms ask of a torus. A torus.Torus has it.
type Shape interface {
	// At returns the coordinates of a node.
	At(node int32) []int
	// Hamiltonian returns a ring over links through all nodes.
	Hamiltonian() ([]int32, error)
}

// Problem is a call on a network.
type Problem struct {
	Call
	// Network is the links between nodes; those of no rate are down. Ranks may be some of its nodes.
	Network *engine.Network
	Torus   Shape // nil where the network is none
	Domain  []int // by rank: the part of a partition that it is in, for hierarchical algorithms; nil is by option
}

// Keys are the keys of a scenario about collective calls.
type Keys struct {
	Collective  string   `key:"collective" doc:"algorithm of collective calls, or 'best', the fastest; instead of collectives. For the calls of a training step it may be given per parallel dimension, such as '{ tp = \"ring\", ep = \"direct\" }' or 'tp=ring,ep=direct'; the default is 'ring', and 'hierarchical' for gradients (dp) if domains hold several copies of a parameter; all-to-alls that it does not serve are direct" default:"" choices:"@algorithms" unset:"" when:"expanded"`
	Collectives []string `key:"collectives" doc:"algorithms to compare, one row each; 'best' is the fastest" else:"all, where policy.collective names none" choices:"@collectives" empty:"" when:"called"`
	Options
}

// BestName names the choice among all algorithms that serve a call by when they end.
const BestName = "best"

// Options are those of all algorithms.
type Options struct {
	Chunk        units.Bytes  `key:"chunk" doc:"chunk size in trees and chains; '0B' selects it by size, rates, latency and depth" default:"0B" when:"read(chunk)"`
	Hierarchical Hierarchical `table:"hierarchical" doc:"Hierarchical collectives." when:"read(hierarchical)"`
	RingOrder    string       `key:"ring_order" doc:"order of ranks in a ring: 'ranks', numerical; 'folded', even ranks upwards and odd ranks downwards; 'hamiltonian', over links through all nodes of a torus; 'auto', 'ranks' unless no link joins the ends of a torus axis, then 'folded'" default:"auto" choices:"auto|ranks|folded|hamiltonian" when:"read(ring_order)"`
	OneWay       bool         `key:"one_way" doc:"whether all parts of the data go around the rings of an axis in one direction, instead of half in each" default:"false" when:"read(one_way)"`
}

// Values of Options.RingOrder.
const (
	AutoOrder        = "auto"
	RankOrder        = "ranks"
	FoldedOrder      = "folded"
	HamiltonianOrder = "hamiltonian"
)

// Row is a named algorithm.
type Row struct {
	Name  string
	Doc   string   // one line
	Reads []string // options that it has
	// IsComposite tells that it has others expand parts of the call.
	IsComposite bool
	// Searches reports whether it looks for rings or trees before it sends, which takes long on large networks.
	Searches bool
	// SearchDecides says that whether it serves a call is known after its search only.
	SearchDecides bool
	expand        func(b *builder, j *subCall) error
}

// chainChunk is the option of algorithms that pass data on in pieces, where they do.
const chainChunk = "chunk if workload.kind=broadcast|reduce"

// Table is the algorithms by name, in the order in which they are listed.
var Table = []Row{
	{Name: "ring", Doc: "blocks go round a ring of the ranks in order (Patarasuk and Yuan 2009)", Reads: []string{chainChunk, "ring_order"}, expand: expandRing},
	{Name: "bidirectional-ring", Doc: "half of each block goes round each way", Reads: []string{chainChunk, "ring_order"}, expand: expandBidirectionalRing},
	{Name: "multi-ring", Doc: "parts of each block go both ways round edge-disjoint rings over all links; regular graphs best", Reads: []string{chainChunk}, Searches: true, SearchDecides: true, expand: expandMultiRing},
	{Name: "bucket", Doc: "rings along each axis of a torus in turn, all axes at once (Sack and Gropp 2015)", Reads: []string{"ring_order", "one_way"}, expand: expandBucket},
	{Name: "halving-doubling", Doc: "halves exchanged at distances that halve, and then double (Thakur et al. 2005); powers of two", expand: expandHalvingDoubling},
	{Name: "swing", Doc: "halves exchanged at distances 1, 1, 3, 5 ... along all axes at once (De Sensi et al. 2024); powers of two", expand: expandSwing},
	{Name: "direct", Doc: "each block goes straight to where it is wanted", expand: expandDirect},
	{Name: "hierarchical", Doc: "inside domains, across them, and inside again", Reads: []string{"hierarchical", "chunk"}, IsComposite: true, expand: expandHierarchical},
	{Name: "tree-packing", Doc: "chunks go along spanning trees that load all links equally; groups of connected neighbours", Reads: []string{"chunk"}, Searches: true, expand: expandTreePacking},
}

// ByName returns the algorithm of that name.
func ByName(name string) (Row, error) {
	for _, r := range Table {
		if r.Name == name {
			return r, nil
		}
	}
	return Row{}, fmt.Errorf("collective: unknown algorithm %q", name)
}

// Expand returns the schedule of a call. It fails with ErrCall on a call that cannot be, with ErrUnserved where the
// algorithm does not serve it or would take more than MaxTransfers (the error says what it serves: "; want ..."), and with
// ctx's error when ctx ends before.
func (r Row) Expand(ctx context.Context, p *Problem, o Options) (*Schedule, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if o.Chunk < 0 {
		return nil, fmt.Errorf("%w: chunks of %s; want at least 0B", ErrCall, o.Chunk)
	}
	b := newBuilder(ctx, p, o)
	if err := r.run(b); err != nil {
		return nil, err
	}
	b.assignLinks(map[linkRound]float64{})
	return b.Schedule, nil
}

// Count calls each with the ranks of every transfer of the schedule that Expand would return. It keeps none, so it takes
// little memory. It fails as Expand does, but for the number of transfers, and with the first error of each.
func (r Row) Count(ctx context.Context, p *Problem, o Options, each func(src, dst int32) error) error {
	if err := p.check(); err != nil {
		return err
	}
	b := newBuilder(ctx, p, o)
	b.visit = each
	return r.run(b)
}

// run expands the call of every team.
func (r Row) run(b *builder) error {
	first := b.teams()
	for k := range len(first) - 1 {
		if err := cmp.Or(r.expand(b, b.teamCall(first[k], first[k+1])), b.err, b.ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	return nil
}

// A CallError says what of a call cannot be. It wraps ErrCall.
type CallError struct {
	// Field is the field of the call that is at fault, in lower case: "group", "bytes", "sizes", "root" or "peer", or ""
	// if there are too few ranks or the kind is not known.
	Field string
	text  string
}

func (e *CallError) Error() string { return ErrCall.Error() + ": " + e.text }
func (e *CallError) Unwrap() error { return ErrCall }

// check fails with a *CallError on a call that cannot be among so many nodes.
func (c *Call) check(nodes int32) error {
	n := len(c.Group)
	bad := func(field, format string, a ...any) error {
		return &CallError{field, c.Kind.String() + " " + fmt.Sprintf(format, a...)}
	}
	if int(c.Kind) >= len(kindNames) {
		return &CallError{"", "the kind is not known"}
	}
	if n < 2 {
		return bad("", "among %d ranks; want at least 2", n)
	}
	used := make(map[int32]bool, n)
	for r, a := range c.Group {
		if a < 0 || a >= nodes || used[a] {
			return bad("group", "has rank %d on node %d, which is out of 0 to %d or has another rank; want ranks on nodes that there are, each node once", r, a, nodes-1)
		}
		used[a] = true
	}
	maxBytes := int64(math.MaxInt64 / 16 / n)
	if c.Kind == AllToAll {
		maxBytes /= int64(n)
	}
	minRanks := n // of the ranks of a team
	if c.Teams != nil {
		if minRanks = slices.Min(append(c.Teams, n)); minRanks < 2 || c.teams()[len(c.Teams)] != n || c.Sizes != nil {
			return bad("group", "of teams of %d ranks of %d in all; want teams of at least 2, and blocks of one size", c.Teams, n)
		}
	}
	if c.Bytes < 1 && c.Sizes == nil || c.Bytes > maxBytes {
		return bad("bytes", "of %d B among %d ranks; want 1 to %d B", c.Bytes, n, maxBytes)
	}
	if c.Sizes != nil {
		if c.Kind != AllToAll || len(c.Sizes) != n*n {
			return bad("sizes", "of %d sizes among %d ranks; want %d, of an %s alone", len(c.Sizes), n, n*n, AllToAll)
		}
		for i, s := range c.Sizes {
			if s < 0 || s > maxBytes {
				return bad("sizes", "of %d B from rank %d to %d; want 0 to %d B", s, i/n, i%n, maxBytes)
			}
		}
	}
	switch rooted, paired := c.Kind >= Broadcast, c.Kind == SendReceive; {
	case rooted && (c.Root < 0 || c.Root >= minRanks):
		return bad("root", "has root %d, and ranks 0 to %d; want one of these", c.Root, minRanks-1)
	case paired && (c.Peer < 0 || c.Peer >= minRanks):
		return bad("peer", "has peer %d, and ranks 0 to %d; want one of these", c.Peer, minRanks-1)
	case paired && c.Peer == c.Root:
		return bad("peer", "goes from rank %d to itself; want two ranks", c.Root)
	}
	return nil
}

// check fails on a problem that cannot be.
func (p *Problem) check() error {
	if err := p.Call.check(p.Network.Nodes); err != nil {
		return err
	}
	if err := p.Network.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrCall, err)
	}
	if p.Domain != nil && len(p.Domain) != len(p.Group) {
		return fmt.Errorf("%w: domains of %d ranks, not of %d", ErrCall, len(p.Domain), len(p.Group))
	}
	return nil
}
