package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sim/engine/units"
	"sim/internal/text"
	"sim/policies/collective"
	"sim/workloads/trace"
)

// Keys are those of a workload that is a collective call.
type Keys struct {
	Message units.Bytes `key:"message" doc:"size of the vector that every rank has, puts into a sum or is left with; of an all-to-all what each rank sends each other" default:"64MB" above:"0" max:"1e15"`
	Group   []int       `key:"group" doc:"nodes that take part, rank after rank; none are all that are up, in order" default:"" empty:"" max:"1048576" when:"undivided"`
	Along   []string    `key:"along" doc:"dimensions of a torus along which ranks share a vector: each set of nodes whose other coordinates agree makes a call of its own, all at the same time; none are one call" default:"" choices:"x|y|z" empty:"" when:"on-links"`
	Joined  string      `key:"joined" doc:"which nodes share a vector along one dimension: 'coordinates', those whose other coordinates agree; 'links', those that its links join into a ring, which a twist makes longer" default:"coordinates" choices:"coordinates|links" when:"on-links"`
	Root    int         `key:"root" doc:"rank that a broadcast and a send-receive come from, and that a reduce goes to" default:"0" max:"1048576" when:"workload(root)"`
	Peer    int         `key:"peer" doc:"rank that a send-receive goes to" default:"1" max:"1048576" when:"workload(peer)"`
}

// Call is a collective call, with the algorithm that expands it. Without a group it is among all nodes that are up.
type Call struct {
	collective.Call
	Along     []string // dimensions of the torus that divide it into teams; none are one team
	Linked    bool     // teams are the rings that links along the one dimension form
	Algorithm string
	Options   collective.Options
	// TransferBytes is about how much memory a transfer takes when the call is simulated.
	TransferBytes float64
}

// ErrTooLarge is wrapped, beside collective.ErrUnserved, where a call would take more memory or ports than there are.
var ErrTooLarge = fmt.Errorf("%w: too large", collective.ErrUnserved)

// MaxBytes bounds the memory that a call may take when it is simulated.
const MaxBytes = 2e9

// Fits fails with collective.ErrUnserved if the algorithm does not serve the call, and with ErrTooLarge, naming the number
// of transfers and the memory, if it would take more than MaxBytes. It calls each, which may be nil, with the ranks of each
// transfer of a call that takes no more.
func (c *Call) Fits(ctx context.Context, p *collective.Problem, each func(src, dst int32)) error {
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return err
	}
	most := int(MaxBytes / c.TransferBytes)
	n := 0
	if err = ErrTooLarge; c.leastTransfers(p) <= 2*most {
		err = row.Count(ctx, p, c.Options, func(src, dst int32) error {
			if n++; n <= most && each != nil {
				each(src, dst)
			}
			if n > 2*most { // large enough to be told without an end
				return ErrTooLarge
			}
			return nil
		})
	}
	switch more := ""; {
	case errors.Is(err, ErrTooLarge):
		more, n = "more than ", 2*most
		fallthrough
	case err == nil && n > most:
		err = fmt.Errorf("%s: %w: %s among %d ranks is %s%s transfers, which take %s%.2g GB of memory to simulate; want fewer ranks or larger chunks, for at most %.2g GB",
			row.Name, ErrTooLarge, c.Kind, len(p.Group), more, text.Count(n), more, float64(n)*c.TransferBytes/1e9, MaxBytes/1e9)
	}
	return err
}

// leastTransfers returns a lower bound on the transfers of the call, 0 if none is known without expanding it.
func (c *Call) leastTransfers(p *collective.Problem) int {
	kind, ok := map[collective.Kind]trace.Collective{
		collective.AllReduce: trace.AllReduce, collective.ReduceScatter: trace.ReduceScatter, collective.AllGather: trace.AllGather,
	}[c.Kind]
	if !ok || len(c.Along) > 0 {
		return 0
	}
	return leastTransfers(c.Algorithm, trace.GroupCall{Kind: kind, Bytes: p.Bytes, Nodes: p.Group})
}

// New returns the call that keys describe.
func New(kind collective.Kind, k *Keys, o collective.Options) *Call {
	c := &Call{Call: collective.Call{Kind: kind, Bytes: int64(k.Message), Root: k.Root, Peer: k.Peer}, Along: k.Along, Linked: k.Joined == "links", Options: o}
	for _, node := range k.Group {
		c.Group = append(c.Group, int32(node))
	}
	return c
}

// By returns the call as another algorithm expands it.
func (c *Call) By(algorithm string) *Call {
	one := *c
	one.Algorithm = algorithm
	return &one
}

// Expand has the algorithm expand the call on a problem.
func (c *Call) Expand(ctx context.Context, p *collective.Problem) (*collective.Schedule, error) {
	row, err := collective.ByName(c.Algorithm)
	if err != nil {
		return nil, err
	}
	if !row.Searches { // else counting takes as long, and the number of transfers has a bound of its own
		if err := c.Fits(ctx, p, nil); err != nil {
			return nil, err
		}
	}
	return row.Expand(ctx, p, c.Options)
}

// Words names the call.
func (c *Call) Words() string {
	text := fmt.Sprintf("%s of %v", c.Kind, units.Bytes(c.Bytes))
	if len(c.Along) > 0 {
		text += " along " + strings.Join(c.Along, ", ")
	}
	if len(c.Group) > 0 {
		text += fmt.Sprintf(" among %d ranks", len(c.Group))
	}
	return text
}
