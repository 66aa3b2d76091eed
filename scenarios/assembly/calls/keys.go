package calls

import (
	"context"
	"fmt"

	"sim/engine/units"
	"sim/policies/collective"
)

// Keys are those of a workload that is a collective call.
type Keys struct {
	Message units.Bytes `key:"message" doc:"size of the vector that every rank has, puts into a sum or is left with; of an all-to-all what each rank sends each other" default:"64MB" above:"0" max:"1e15"`
	Group   []int       `key:"group" doc:"nodes that take part, rank after rank; none are all that are up, in order" default:"" empty:"" max:"1048576" when:"undivided"`
	Root    int         `key:"root" doc:"rank that a broadcast and a send-receive come from, and that a reduce goes to" default:"0" max:"1048576" when:"workload.kind=broadcast|reduce|send-receive"`
	Peer    int         `key:"peer" doc:"rank that a send-receive goes to" default:"1" max:"1048576" when:"workload.kind=send-receive"`
}

// Call is a collective call, with the algorithm that expands it. Without a group it is among all nodes that are up.
type Call struct {
	collective.Call
	Algorithm string
	Options   collective.Options
}

// New returns the call that keys describe.
func New(kind collective.Kind, k *Keys, o collective.Options) *Call {
	c := &Call{Call: collective.Call{Kind: kind, Bytes: int64(k.Message), Root: k.Root, Peer: k.Peer}, Options: o}
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
	return row.Expand(ctx, p, c.Options)
}

// Words names the call.
func (c *Call) Words() string {
	text := fmt.Sprintf("%s of %v", c.Kind, units.Bytes(c.Bytes))
	if len(c.Group) > 0 {
		text += fmt.Sprintf(" among %d ranks", len(c.Group))
	}
	return text
}
