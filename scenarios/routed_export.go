package scenarios

import (
	"fmt"

	"sim/engine"
	"sim/policies/routing"
)

// Routes are the paths of a policy's flows, for export.
type Routes struct {
	Policy  string
	network *engine.Network
	flows   []engine.Flow
	walks   *engine.Walks
}

// Compile returns the forwarding tables of the chips and the tags that packets carry. It fails on paths that come to a node
// twice, which no tables lead.
func (r *Routes) Compile() (*routing.Forwarding, error) {
	t, err := routing.Compile(r.network, r.flows, r.walks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Policy, err)
	}
	return t, nil
}
