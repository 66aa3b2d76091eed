// This file holds workloads that are a single collective call: their keys, the limit of
// their size, and their expansion into a schedule of transfers.

package calls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/internal/text"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/workloads/trace"
)

// Keys holds the keys of a workload that is a collective call.
type Keys struct {
	Message units.Bytes `key:"message" doc:"size of the vector that every rank contributes or receives in total; for an all-to-all, the data from each rank to each other" default:"64MB" above:"0" max:"1e15"`
	Group   []int       `key:"group" doc:"nodes of the call in order of rank; an empty list means all working nodes" default:"" empty:"" max:"1048576" when:"undivided"`
	Along   []string    `key:"call_dims" doc:"torus dimensions along which ranks share a vector: nodes with equal other coordinates form a team with a call of its own, all at the same time; an empty list means one call" default:"" choices:"x|y|z" empty:"" when:"on-links"`
	Joined  string      `key:"grouping" doc:"nodes that share a vector along one dimension: 'coordinates', nodes with equal other coordinates; 'links', nodes on one ring of links, which a twist makes longer" default:"coordinates" choices:"coordinates|links" when:"on-links"`
	Root    int         `key:"root" doc:"source rank of a broadcast or send-receive, destination of a reduce" default:"0" max:"1048576" when:"workload(root)"`
	Peer    int         `key:"peer" doc:"destination rank of a send-receive" default:"1" max:"1048576" when:"workload(peer)"`
}

// Call is a collective call with the algorithm that expands it. Without a group, all
// working nodes take part.
type Call struct {
	collective.Call
	Along        []string // torus dimensions that divide the nodes into teams; nil means one team
	AlongLinks   bool     // teams are rings of links along the single dimension
	Algorithm    string
	Options      collective.Options
	TransferCost assembly.Cost // cost of one transfer
	// MayFold reports whether the call may be simulated by classes of identical transfers.
	// The order of packets and the order in which a node starts messages need each transfer.
	MayFold bool
}

// ErrTooLarge means that a call would need more memory or ports than are available. It
// wraps collective.ErrUnserved.
var ErrTooLarge = fmt.Errorf("%w: too large", collective.ErrUnserved)

// maxSchedulesInMemory is the number of schedules of a call, by different algorithms,
// that may use all memory together. A system caches the schedules of several algorithms.
// Schedules of classes take memory only while they are created, one at a time.
const maxSchedulesInMemory = 3

// CheckSize returns an error that wraps collective.ErrUnserved if the algorithm does not
// serve the call. It wraps ErrTooLarge and states the number of transfers and the memory
// if the schedule would take more than its share of the memory of the budget; see
// maxSchedulesInMemory.
//
// If the call may be folded, CheckSize assumes that its transfers have classes. Expand
// repeats the check without this assumption.
//
// It calls visit, unless nil, with the ranks of each transfer, up to the maximum number
// of transfers.
func (c *Call) CheckSize(
	ctx context.Context, p *collective.Problem, visit func(src, dst int32),
) error {
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return err
	}
	unit, maxTransfers := c.limit(p, row)
	return c.checkCount(ctx, p, row, unit, maxTransfers, visit)
}

// limit returns the cost of one transfer of the call, and the maximum number of transfers. It
// assumes that transfers of a call that may be folded have classes.
func (c *Call) limit(p *collective.Problem, row collective.Row) (unit assembly.Cost, maxTransfers int) {
	if c.MayFold && !row.Searches && hasEqualBlocks(p) {
		return assembly.FoldedTransfer, assembly.FoldedTransfer.MaxCount()
	}
	return c.TransferCost, c.maxSingleTransfers()
}

// maxSingleTransfers returns the maximum number of transfers that are simulated one by one.
func (c *Call) maxSingleTransfers() int { return c.TransferCost.MaxCount() / maxSchedulesInMemory }

// hasEqualBlocks reports whether the ranks of each team have blocks of one size. Otherwise few
// transfers are identical.
func hasEqualBlocks(p *collective.Problem) bool {
	switch p.Kind {
	case collective.AllReduce, collective.ReduceScatter, collective.AllGather:
		if p.Teams == nil {
			return p.Bytes%int64(len(p.Group)) == 0
		}
		differs := func(size int) bool { return p.Bytes%int64(size) != 0 }
		return !slices.ContainsFunc(p.Teams, differs)
	}
	return p.Sizes == nil
}

// maxSampledTransfers is the number of transfers whose packets stand for all in Cost. Each may
// take a search of the network.
const maxSampledTransfers = 1 << 12

// Cost estimates the cost of simulating the call by its algorithm. packetBytes is the size
// of packets, and perPacket the cost of a packet between two nodes. perPacket is
// nil without packets. The cost is 0 for algorithms that search. Cost fails if the algorithm
// does not serve the call, or if the call is too large.
func (c *Call) Cost(
	ctx context.Context, p *collective.Problem, packetBytes int64,
	perPacket func(src, dst int32) assembly.Cost,
) (assembly.Cost, error) {
	row, err := collective.ByName(c.Algorithm)
	if err != nil || row.Searches {
		return assembly.Cost{}, err
	}
	unit, maxTransfers := c.limit(p, row)
	known := c.minTransfers(p) // exact if above 0
	if known > maxTransfers {
		return assembly.Cost{}, ErrTooLarge
	}

	// Count the transfers, unless their number is known.
	counted, sampled := 0, assembly.Cost{}
	errEnough := errors.New("enough transfers")
	err = row.Count(ctx, p, c.Options, func(src, dst int32) error {
		if perPacket != nil && counted < maxSampledTransfers {
			sampled = sampled.Add(perPacket(p.Group[src], p.Group[dst]))
		}
		switch counted++; {
		case known > 0 && counted >= maxSampledTransfers:
			return errEnough
		case counted > maxTransfers:
			return ErrTooLarge
		}
		return nil
	})
	transfers := float64(counted)
	switch {
	case errors.Is(err, errEnough):
		transfers = float64(known)
	case err != nil || counted == 0:
		return assembly.Cost{}, err
	}

	if transfers < minFoldedTransfers {
		unit = c.TransferCost
	}
	cost := unit.Scale(transfers)
	if perPacket != nil {
		packets := transfers * math.Ceil(minBytes(p)/transfers/float64(packetBytes))
		cost = cost.Add(sampled.Scale(packets / float64(min(counted, maxSampledTransfers))))
	}
	return cost, nil
}

// HasKnownCount reports whether the number of transfers is known without expanding the call.
func (c *Call) HasKnownCount(p *collective.Problem) bool { return c.minTransfers(p) > 0 }

// minBytes returns the minimum number of bytes that ranks send in a call of equal blocks.
func minBytes(p *collective.Problem) (sum float64) {
	teams := p.Teams
	if teams == nil {
		teams = []int{len(p.Group)}
	}
	for _, size := range teams {
		others := float64(size - 1)
		switch p.Kind {
		case collective.AllReduce:
			sum += 2 * others * float64(p.Bytes)
		case collective.AllToAll:
			sum += others * float64(size) * float64(p.Bytes)
		case collective.SendReceive:
			sum += float64(p.Bytes)
		default:
			sum += others * float64(p.Bytes)
		}
	}
	return sum
}

// checkCount is CheckSize for an algorithm, the cost of one transfer, and the maximum number
// of transfers.
func (c *Call) checkCount(
	ctx context.Context, p *collective.Problem, row collective.Row, unit assembly.Cost,
	maxTransfers int, visit func(src, dst int32),
) error {
	// Transfers are counted up to twice the maximum. Calls beyond that are not counted
	// exactly, and not at all if the lower bound exceeds it.
	n := 0
	err := ErrTooLarge
	if c.minTransfers(p) <= 2*maxTransfers {
		err = row.Count(ctx, p, c.Options, func(src, dst int32) error {
			if n++; n <= maxTransfers && visit != nil {
				visit(src, dst)
			}
			if n > 2*maxTransfers {
				return ErrTooLarge
			}
			return nil
		})
	}

	// The message states the exact number of transfers, or that it is above twice the
	// maximum.
	qualifier := ""
	if errors.Is(err, ErrTooLarge) {
		qualifier, n = "more than ", 2*maxTransfers
	} else if err != nil || n <= maxTransfers {
		return err
	}
	remedy := "fewer ranks or larger chunks"
	if c.MayFold && !row.Searches && !hasEqualBlocks(p) {
		remedy = "a message that is a multiple of the ranks, fewer ranks or larger chunks"
	}
	cost := unit.Scale(float64(n))
	cost.Tasks = 0 // the message already states the number of transfers
	return fmt.Errorf("%s: %w: %s among %d ranks is %s%s transfers, which take %s%v to simulate; "+
		"want %s, for at most %s, or allow more with --max-memory",
		row.Name, ErrTooLarge, c.Kind, len(p.Group), qualifier, text.Count(n),
		qualifier, cost, remedy, text.Count(maxTransfers))
}

// minTransfers returns a lower bound on the number of transfers of the call; 0 if none is
// known without expanding it.
func (c *Call) minTransfers(p *collective.Problem) int {
	kind, ok := map[collective.Kind]trace.Collective{
		collective.AllReduce:     trace.AllReduce,
		collective.ReduceScatter: trace.ReduceScatter,
		collective.AllGather:     trace.AllGather,
	}[c.Kind]
	if !ok || len(c.Along) > 0 {
		return 0
	}
	call := trace.GroupCall{Kind: kind, Bytes: p.Bytes, Nodes: p.Group}
	return minTransfers(c.Algorithm, call)
}

// New returns the call that keys describe.
func New(kind collective.Kind, k *Keys, o collective.Options) *Call {
	c := &Call{
		Call: collective.Call{
			Kind:  kind,
			Bytes: int64(k.Message),
			Root:  k.Root,
			Peer:  k.Peer,
		},
		Along:      k.Along,
		AlongLinks: k.Joined == "links",
		Options:    o,
	}
	for _, node := range k.Group {
		c.Group = append(c.Group, int32(node))
	}
	return c
}

// WithAlgorithm returns the call with another algorithm.
func (c *Call) WithAlgorithm(algorithm string) *Call {
	out := *c
	out.Algorithm = algorithm
	return &out
}

// Expand returns the schedule by which the algorithm performs the call.
func (c *Call) Expand(
	ctx context.Context, p *collective.Problem,
) (*collective.Schedule, error) {
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return nil, err
	}
	// Algorithms that search limit the number of transfers themselves. Counting would
	// repeat the search.
	if !row.Searches {
		var visitNone func(src, dst int32)
		if err := c.checkCount(ctx, p, row, c.TransferCost, c.maxSingleTransfers(), visitNone); err != nil {
			return nil, err
		}
	}
	return row.Expand(ctx, p, c.Options)
}

// ExpandForOutput is Expand for outputs that list each transfer of a call that is simulated by
// classes. Its error states the number of transfers and the memory budget that they need.
func (c *Call) ExpandForOutput(
	ctx context.Context, p *collective.Problem,
) (*collective.Schedule, error) {
	s, err := c.Expand(ctx, p)
	if !errors.Is(err, ErrTooLarge) {
		return s, err
	}

	// Count the transfers, at least as far as classes are allowed to represent them.
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return nil, err
	}
	n, maxTransfers := 0, assembly.FoldedTransfer.MaxCount()
	err = row.Count(ctx, p, c.Options, func(int32, int32) error {
		if n++; n > maxTransfers {
			return ErrTooLarge
		}
		return nil
	})
	const hundredMB = 1e8
	need := math.Ceil(float64(n)*maxSchedulesInMemory*c.TransferCost.Bytes/hundredMB) * hundredMB
	qualifier, remedy := "", fmt.Sprintf("--max-memory %.1fGB or fewer ranks", need/1e9)
	if errors.Is(err, ErrTooLarge) {
		qualifier, remedy = "more than ", "fewer ranks"
	} else if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("the call is simulated by classes of identical transfers, and one by one "+
		"its %s%s transfers do not fit the memory; want %s", qualifier, text.Count(n), remedy)
}

// minFoldedTransfers is the number of transfers from which calls are simulated by classes.
// Smaller calls take less than a second in any case, and every transfer then appears in
// explanations and timelines.
const minFoldedTransfers = 1 << 16

// ExpandClasses returns the schedule of the call with one transfer for each class of
// identical transfers; see collective.Row.ExpandClasses for classOf. The error wraps
// engine.ErrAsymmetric if few transfers are identical, or if there are too few to be
// divided into classes.
func (c *Call) ExpandClasses(
	ctx context.Context, p *collective.Problem, classOf func(engine.Flow) int32,
) (*collective.Schedule, error) {
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return nil, err
	}
	if !c.MayFold {
		return nil, fmt.Errorf("%w: each transfer is needed", engine.ErrAsymmetric)
	}
	if row.Searches {
		return nil, fmt.Errorf("%w: %s searches for its transfers", engine.ErrAsymmetric, row.Name)
	}
	s, err := row.ExpandClasses(ctx, p, c.Options, classOf)
	if err == nil && s.NumTransfers() < minFoldedTransfers {
		return nil, fmt.Errorf("%w: %d transfers; want at least %d", engine.ErrAsymmetric,
			s.NumTransfers(), minFoldedTransfers)
	}
	return s, err
}

// Description describes the call in a few words.
func (c *Call) Description() string {
	text := fmt.Sprintf("%s of %v", c.Kind, units.Bytes(c.Bytes))
	if len(c.Along) > 0 {
		text += " along " + strings.Join(c.Along, ", ")
	}
	if len(c.Group) > 0 {
		text += fmt.Sprintf(" among %d ranks", len(c.Group))
	}
	return text
}
