package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sim/engine/units"
	"sim/internal/text"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/workloads/trace"
)

// Keys are those of a workload that is a collective call.
type Keys struct {
	Message units.Bytes `key:"message" doc:"size of the vector that every rank contributes or receives in total; for an all-to-all, the data from each rank to each other" default:"64MB" above:"0" max:"1e15"`
	Group   []int       `key:"group" doc:"nodes of the call in order of rank; an empty list means all working nodes" default:"" empty:"" max:"1048576" when:"undivided"`
	Along   []string    `key:"along" doc:"torus dimensions along which ranks share a vector: nodes with equal other coordinates form a team with a call of its own, all at the same time; an empty list means one call" default:"" choices:"x|y|z" empty:"" when:"on-links"`
	Joined  string      `key:"joined" doc:"nodes that share a vector along one dimension: 'coordinates', nodes with equal other coordinates; 'links', nodes on one ring of links, which a twist makes longer" default:"coordinates" choices:"coordinates|links" when:"on-links"`
	Root    int         `key:"root" doc:"source rank of a broadcast or send-receive, destination of a reduce" default:"0" max:"1048576" when:"workload(root)"`
	Peer    int         `key:"peer" doc:"destination rank of a send-receive" default:"1" max:"1048576" when:"workload(peer)"`
}

// Call is a collective call, with the algorithm that expands it. Without a group it is among all nodes that are up.
type Call struct {
	collective.Call
	Along        []string // dimensions of the torus that divide it into teams; none are one team
	AlongLinks   bool     // teams are the rings that links along the one dimension form
	Algorithm    string
	Options      collective.Options
	TransferCost assembly.Cost // of a transfer
}

// ErrTooLarge is wrapped, beside collective.ErrUnserved, where a call would take more memory or ports than there are.
var ErrTooLarge = fmt.Errorf("%w: too large", collective.ErrUnserved)

// maxSchedulesInMemory is how many algorithms of a call may take all memory together: a system keeps what several expand it to.
const maxSchedulesInMemory = 3

// CheckSize fails with collective.ErrUnserved if the algorithm does not serve the call, and with ErrTooLarge, naming the number
// of transfers and the memory, if it would take more than 1/maxExpanded of assembly.MaxBytes. It calls each, which may be nil,
// with the ranks of each transfer of a call that takes no more.
func (c *Call) CheckSize(ctx context.Context, p *collective.Problem, visit func(src, dst int32)) error {
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return err
	}
	maxTransfers := c.TransferCost.MaxCount() / maxSchedulesInMemory
	n := 0
	if err = ErrTooLarge; c.minTransfers(p) <= 2*maxTransfers {
		err = row.Count(ctx, p, c.Options, func(src, dst int32) error {
			if n++; n <= maxTransfers && visit != nil {
				visit(src, dst)
			}
			if n > 2*maxTransfers { // large enough to be told without an end
				return ErrTooLarge
			}
			return nil
		})
	}
	switch qualifier := ""; {
	case errors.Is(err, ErrTooLarge):
		qualifier, n = "more than ", 2*maxTransfers
		fallthrough
	case err == nil && n > maxTransfers:
		cost := c.TransferCost.Scale(float64(n))
		cost.Tasks = 0 // which are the transfers
		err = fmt.Errorf("%s: %w: %s among %d ranks is %s%s transfers, which take %s%v to simulate; want fewer ranks or larger chunks, for at most %s",
			row.Name, ErrTooLarge, c.Kind, len(p.Group), qualifier, text.Count(n), qualifier, cost, text.Count(maxTransfers))
	}
	return err
}

// minTransfers returns a lower bound on the transfers of the call, 0 if none is known without expanding it.
func (c *Call) minTransfers(p *collective.Problem) int {
	kind, ok := map[collective.Kind]trace.Collective{
		collective.AllReduce: trace.AllReduce, collective.ReduceScatter: trace.ReduceScatter, collective.AllGather: trace.AllGather,
	}[c.Kind]
	if !ok || len(c.Along) > 0 {
		return 0
	}
	return minTransfers(c.Algorithm, trace.GroupCall{Kind: kind, Bytes: p.Bytes, Nodes: p.Group})
}

// New returns the call that keys describe.
func New(kind collective.Kind, k *Keys, o collective.Options) *Call {
	c := &Call{Call: collective.Call{Kind: kind, Bytes: int64(k.Message), Root: k.Root, Peer: k.Peer}, Along: k.Along, AlongLinks: k.Joined == "links", Options: o}
	for _, node := range k.Group {
		c.Group = append(c.Group, int32(node))
	}
	return c
}

// WithAlgorithm returns the call as another algorithm expands it.
func (c *Call) WithAlgorithm(algorithm string) *Call {
	out := *c
	out.Algorithm = algorithm
	return &out
}

// Expand has the algorithm expand the call on a problem.
func (c *Call) Expand(ctx context.Context, p *collective.Problem) (*collective.Schedule, error) {
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return nil, err
	}
	if !row.Searches { // else counting takes as long, and the number of transfers has a bound of its own
		if err := c.CheckSize(ctx, p, nil); err != nil {
			return nil, err
		}
	}
	return row.Expand(ctx, p, c.Options)
}

// Description names the call.
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
