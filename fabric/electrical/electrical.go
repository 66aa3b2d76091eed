// Package electrical is the ideal reference fabric: a non-blocking electrical network with no delay, in which only the
// NICs limit what is moved (DELTA, Sec. V-A.3). Every topology's iteration time is compared with this one's.
package electrical

import (
	"sim/engine"
	"sim/fabric"
)

// Connect routes the transfers of g over the ideal network between the pods.
func Connect(p *fabric.Pods, g *engine.Graph) (*engine.Network, *engine.Routes, error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	n := &engine.Network{Nodes: int32(len(p.Nodes)), Groups: p.Groups(), ResourceNamer: p.GroupName}
	r := &engine.Routes{Start: make([]int32, len(g.Tasks)+1)}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if p.Moves(t) {
			r.Uses = p.Interfaces(r.Uses, n.GroupResource(0), t.Src, t.Dst)
		}
		r.Start[i+1] = int32(len(r.Uses))
	}
	return n, r, nil
}
