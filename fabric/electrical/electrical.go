// Package electrical is the ideal reference fabric: a non-blocking electrical network with no delay, in which only the
// NICs limit what is moved (DELTA, Sec. V-A.3). Every topology's iteration time is compared with this one's.
package electrical

import (
	"fmt"

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
		if p.Takes(t) {
			r.Uses = p.Interfaces(r.Uses, n.GroupResource(0), t.Src, t.Dst)
		}
		r.Start[i+1] = int32(len(r.Uses))
	}
	return n, r, nil
}

// Between routes the transfers of g over an ideal network between the nodes of a network of links: each node sends, and
// receives, at the rate of all its links together. So nothing that paths over those links may do ends g sooner than
// sharing this one as well as can be.
func Between(links *engine.Network, g *engine.Graph) (*engine.Network, *engine.Routes) {
	n := &engine.Network{Nodes: links.Nodes, Groups: make([]engine.Group, 2*links.Nodes)}
	for _, l := range links.Links {
		n.Groups[2*l.From].Rate += l.Rate
		n.Groups[2*l.To+1].Rate += l.Rate
	}
	n.ResourceNamer = func(r int32) string { return fmt.Sprintf("node %d %s", r/2, [2]string{"out", "in"}[r%2]) }
	r := &engine.Routes{Start: make([]int32, len(g.Tasks)+1)}
	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == engine.Transfer && t.Src != t.Dst {
			r.Uses = append(r.Uses, engine.Use{Resource: n.GroupResource(2 * t.Src), Weight: 1}, engine.Use{Resource: n.GroupResource(2*t.Dst + 1), Weight: 1})
		}
		r.Start[i+1] = int32(len(r.Uses))
	}
	return n, r
}
