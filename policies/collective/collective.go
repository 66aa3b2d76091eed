// Package collective expands collective calls, such as all-reduces, into transfers between ranks.
// Each transfer copies or adds ranges of the call's data.
//
// Table lists the algorithms. Row.Expand applies one to a Problem, which is a Call on a network,
// and returns a Schedule: transfers with links and dependencies. Schedule.Append adds these
// transfers to a task graph, and PinPaths assigns paths to them. Problem.Bound returns a lower
// bound on the completion time of a call by any algorithm.
//
// Algorithms only state who sends which data in which order. The builder in schedule.go, where to
// begin reading, derives all dependencies. Tests verify schedules independently with Holdings.
//
// Paths between nodes that no link joins come from policies/routing, and times from the engines.
// Plans that reconfigure switches are in policies/reconfigure.
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
	"sim/fabric/machine"
)

// ErrCall is wrapped by errors about invalid calls, ErrUnserved if an algorithm does not serve a
// valid call.
var (
	ErrCall     = errors.New("collective: no such call")
	ErrUnserved = errors.New("collective: the algorithm does not serve this call")
)

// Kind is the operation of a collective call.
type Kind uint8

const (
	// AllReduce leaves the sum of the vectors of all ranks at every rank.
	AllReduce Kind = iota
	// ReduceScatter leaves a different block of the sum at each rank.
	ReduceScatter
	// AllGather leaves the blocks of all ranks at every rank.
	AllGather
	// AllToAll moves a block from every rank to every other rank.
	AllToAll
	// Broadcast leaves the vector of the root at every rank.
	Broadcast
	// Reduce leaves the sum of the vectors of all ranks at the root.
	Reduce
	// SendReceive moves the vector of the root to one other rank, the peer.
	SendReceive
)

var kindNames = [...]string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast",
	"reduce", "send-receive"}

// String returns the name used in scenarios and results.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("call %d", uint8(k))
}

// ParseKind returns the kind with the given name. The error wraps ErrCall.
func ParseKind(name string) (Kind, error) {
	if k := slices.Index(kindNames[:], name); k >= 0 {
		return Kind(k), nil
	}
	return 0, fmt.Errorf("%w: %q; there are %s", ErrCall, name, strings.Join(kindNames[:], ", "))
}

// Call is a collective call. Its data is a vector of bytes. Each rank holds, contributes or
// receives all blocks of this vector or some of them.
//
// Block i belongs to rank i. Blocks are in the order of ranks, and their sizes differ by a byte
// at most. The vector of an all-to-all consists of the blocks for each pair of ranks, row by row:
// a row has the blocks that one rank sends.
type Call struct {
	Kind  Kind
	Group []int32 // the node of each rank; all different
	// Bytes is the size of the vector; of an all-to-all, the size of the block of each pair.
	Bytes int64
	// Sizes are the block sizes of an all-to-all with different blocks, in bytes, indexed by
	// sender * ranks + receiver. Blocks of a rank for itself do not move. nil means Bytes each.
	Sizes []int64
	// Root is the rank that a broadcast or send-receive starts from, or that a reduce ends at.
	// Peer is the receiver of a send-receive.
	Root, Peer int
	// Teams are the sizes of teams of consecutive ranks. Every team makes the call among its own
	// ranks, all at the same time. Root and Peer are then ranks within a team. nil means one team
	// of all ranks.
	Teams []int
}

// teams returns the first rank of every team, followed by the number of ranks.
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

// Shape is the geometry of a torus that algorithms use; *torus.Torus implements it.
type Shape interface {
	// At returns the coordinates of a node.
	At(node int32) []int
	// Hamiltonian returns a ring over links that passes every node once.
	Hamiltonian() ([]int32, error)
}

// Problem is a call on a network.
type Problem struct {
	Call
	// Network has the links between nodes. Links with rate 0 are down. Not every node needs to be
	// a rank.
	Network *engine.Network
	Torus   Shape // nil if the network is not a torus
	// Domain is the domain of each rank, for hierarchical algorithms. nil means domains by
	// Options.Hierarchical.
	Domain []int
	// SwitchesReduce reports whether switches may add the data of ranks, so that the bound of an
	// all-reduce must hold for them too.
	SwitchesReduce bool
}

// Keys are the scenario keys about collective calls.
type Keys struct {
	Collective  string   `key:"collective" doc:"algorithm of collective calls, or 'best', the fastest; instead of collectives. For the calls of a training step it may be given per parallel dimension, such as '{ tp = \"ring\", ep = \"direct\" }' or 'tp=ring,ep=direct'; the default is 'ring', and 'hierarchical' for gradients (dp) if domains hold several copies of a parameter; all-to-alls that it does not serve are direct" default:"" choices:"@algorithms" unset:"" when:"expanded"`
	Collectives []string `key:"collectives" all:"" doc:"algorithms, or 'all', to compare, one row each; 'best' is the fastest" else:"all, where policy.collective names none" choices:"@collectives" empty:"" when:"called"`
	Options
}

// BestName names the choice of the fastest algorithm that serves a call.
const BestName = "best"

// Options are the options of all algorithms.
type Options struct {
	Chunk        units.Bytes  `key:"chunk" doc:"chunk size in trees and chains; '0B' selects it by size, rates, latency and depth" default:"0B" when:"read(chunk)"`
	Hierarchical Hierarchical `table:"hierarchical" doc:"Hierarchical collectives." when:"read(hierarchical)"`
	RingOrder    string       `key:"ring_order" doc:"order of ranks in a ring: 'ranks', numerical; 'folded', even ranks upwards and odd ranks downwards; 'hamiltonian', over links through all nodes of a torus; 'auto', 'ranks' unless no link joins the ends of a torus axis, then 'folded'" default:"auto" choices:"auto|ranks|folded|hamiltonian" when:"read(ring_order)"`
	OneWay       bool         `key:"one_way" doc:"whether all parts of the data go around the rings of an axis in one direction, instead of half in each" default:"false" when:"read(one_way)"`
	// Method is the algorithm of the library, as NCCL_ALGO sets it.
	Method string `key:"nccl_algorithm" doc:"algorithm of the library that 'nccl' uses if it serves the call, as the variable NCCL_ALGO; '' means the fastest by its cost model" default:"" choices:"ring|tree|nvls|nvls-tree|direct" unset:"" implicit:"" when:"read(nccl_algorithm)"`
	// Machine is the real machine whose library performs calls, or nil. It is not a key.
	Machine *machine.Profile
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
	Reads []string // keys of the options that it uses
	// IsComposite reports whether other algorithms expand parts of the call.
	IsComposite bool
	// NeedsMachine reports whether the algorithm serves only calls with Options.Machine. Its
	// schedules are pipelined, so it expands no parts of other algorithms.
	NeedsMachine bool
	// Searches reports whether the algorithm searches for rings or trees, which takes long on
	// large networks.
	Searches bool
	// SearchDecides reports whether only this search shows if the algorithm serves a call.
	SearchDecides bool

	expand func(b *builder, j *subCall) error // appends the transfers of a call
}

// chainChunk names the chunk option of algorithms that use it only for calls along a chain.
const chainChunk = "chunk if workload.kind=broadcast|reduce"

// Table is the list of algorithms, in the order in which they are shown.
var Table = []Row{
	{
		Name:   "ring",
		Doc:    "blocks go around a ring of the ranks in order (Patarasuk and Yuan 2009)",
		Reads:  []string{chainChunk, "ring_order"},
		expand: expandRing,
	},
	{
		Name:   "bidirectional-ring",
		Doc:    "half of each block goes around the ring in each direction",
		Reads:  []string{chainChunk, "ring_order"},
		expand: expandBidirectionalRing,
	},
	{
		Name:          "multi-ring",
		Doc:           "parts of each block go in both directions around edge-disjoint rings over all links; best on regular graphs",
		Reads:         []string{chainChunk},
		Searches:      true,
		SearchDecides: true,
		expand:        expandMultiRing,
	},
	{
		Name:   "bucket",
		Doc:    "rings along each axis of a torus in turn, all axes in parallel (Sack and Gropp 2015)",
		Reads:  []string{"ring_order", "one_way"},
		expand: expandBucket,
	},
	{
		Name:   "halving-doubling",
		Doc:    "exchange of halves at distances that halve, and then double (Thakur et al. 2005); powers of two",
		expand: expandHalvingDoubling,
	},
	{
		Name:   "swing",
		Doc:    "exchange of halves at distances 1, 1, 3, 5 ... along all axes in parallel (De Sensi et al. 2024); powers of two",
		expand: expandSwing,
	},
	{Name: "direct", Doc: "each block is sent directly to its destination", expand: expandDirect},
	{
		Name:        "hierarchical",
		Doc:         "inside domains, across domains, and inside again",
		Reads:       []string{"hierarchical", "chunk"},
		IsComposite: true,
		expand:      expandHierarchical,
	},
	{
		Name:     "tree-packing",
		Doc:      "chunks follow spanning trees that load all links equally; groups of connected neighbours",
		Reads:    []string{"chunk"},
		Searches: true,
		expand:   expandTreePacking,
	},
	{
		Name:         "nccl",
		Doc:          "as NCCL or RCCL on the machine: the algorithm and protocol with the lowest predicted time",
		Reads:        []string{"nccl_algorithm"},
		NeedsMachine: true,
		expand:       expandNCCL,
	},
}

// ByName returns the algorithm with the given name.
func ByName(name string) (Row, error) {
	for _, r := range Table {
		if r.Name == name {
			return r, nil
		}
	}
	return Row{}, fmt.Errorf("collective: unknown algorithm %q", name)
}

// Expand returns the schedule of a call. The error wraps ErrCall if the call is invalid, and
// ErrUnserved if the algorithm does not serve it or would need more than MaxTransfers; its text
// ends with "; want" and the accepted calls. If ctx ends first, Expand returns the error of ctx.
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

// Count calls each with the source and destination rank of every transfer that Expand would
// return, but stores none, so it takes little memory. It returns the errors of Expand, except for
// the number of transfers, and the first error of each.
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
		if err := cmp.Or(r.expand(b, b.teamCall(first[k], first[k+1])), b.err,
			b.ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}

	return nil
}

// CallError describes the invalid part of a call. It wraps ErrCall.
type CallError struct {
	// Field is the name of the invalid field in lower case: "group", "bytes", "sizes", "root" or
	// "peer". It is "" if there are too few ranks or the kind is unknown.
	Field string
	text  string
}

func (e *CallError) Error() string { return ErrCall.Error() + ": " + e.text }
func (e *CallError) Unwrap() error { return ErrCall }

// check returns a *CallError if the call is invalid on a network with this number of nodes.
func (c *Call) check(nodes int32) error {
	// bad returns the error of a field. Its text begins with the kind of call.
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

	// Each rank is on a node of its own.
	used := make(map[int32]bool, n)
	for r, a := range c.Group {
		if a < 0 || a >= nodes || used[a] {
			return bad("group", "has rank %d on node %d; want a node from 0 to %d without another rank", r, a, nodes-1)
		}
		used[a] = true
	}

	// 8 bits per byte and sums over all ranks must not overflow.
	maxBytes := int64(math.MaxInt64 / 16 / n)
	if c.Kind == AllToAll {
		maxBytes /= int64(n)
	}

	// Teams have at least two ranks, and together all.
	minRanks := n // in the smallest team
	if c.Teams != nil {
		if minRanks = slices.Min(append(c.Teams, n)); minRanks < 2 ||
			c.teams()[len(c.Teams)] != n || c.Sizes != nil {
			return bad("group", "with teams of %d ranks, %d in total; want at least 2 ranks per team, and blocks of one size", c.Teams, n)
		}
	}

	// The sizes of blocks.
	if c.Bytes < 1 && c.Sizes == nil || c.Bytes > maxBytes {
		return bad("bytes", "of %d B among %d ranks; want 1 to %d B", c.Bytes, n, maxBytes)
	}
	if c.Sizes != nil {
		if c.Kind != AllToAll || len(c.Sizes) != n*n {
			return bad("sizes", "with %d sizes among %d ranks; want %d, and only for an %s",
				len(c.Sizes), n, n*n, AllToAll)
		}
		for i, s := range c.Sizes {
			if s < 0 || s > maxBytes {
				return bad("sizes", "of %d B from rank %d to %d; want 0 to %d B", s, i/n, i%n, maxBytes)
			}
		}
	}

	// The kinds from Broadcast on have a root.
	switch rooted, paired := c.Kind >= Broadcast, c.Kind == SendReceive; {
	case rooted && (c.Root < 0 || c.Root >= minRanks):
		return bad("root", "has root %d; want a rank from 0 to %d", c.Root, minRanks-1)
	case paired && (c.Peer < 0 || c.Peer >= minRanks):
		return bad("peer", "has peer %d; want a rank from 0 to %d", c.Peer, minRanks-1)
	case paired && c.Peer == c.Root:
		return bad("peer", "goes from rank %d to itself; want two ranks", c.Root)
	}

	return nil
}

// check returns an error that wraps ErrCall if the problem is invalid.
func (p *Problem) check() error {
	if err := p.Call.check(p.Network.Nodes); err != nil {
		return err
	}
	if err := p.Network.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrCall, err)
	}
	if p.Domain != nil && len(p.Domain) != len(p.Group) {
		return fmt.Errorf("%w: domains for %d ranks; want %d", ErrCall, len(p.Domain), len(p.Group))
	}
	return nil
}
