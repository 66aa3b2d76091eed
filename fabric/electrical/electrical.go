// Package electrical is the ideal fabric: a non-blocking electrical network without latency, in
// which only the NICs limit transfers (DELTA, Sec. V-A.3). The iteration times of all topologies
// are compared with it.
package electrical

import (
	"fmt"

	"sim/engine"
	"sim/fabric"
)

// Connect routes the transfers of g over the ideal network between the pods, whose only
// resources are the groups of p.
func Connect(p *fabric.Pods, g *engine.Graph) (*engine.Network, *engine.Routes, error) {
	return connect(p, g, func(uses []engine.Use, group int32, t *engine.Task) []engine.Use {
		if p.UsesNetwork(t) {
			uses = p.Interfaces(uses, group, t.Src, t.Dst)
		}
		return uses
	})
}

// ConnectInterfaces is like Connect, but transfers inside a pod also use the NICs at both ends, as
// they do on a network of links.
func ConnectInterfaces(p *fabric.Pods, g *engine.Graph) (*engine.Network, *engine.Routes, error) {
	return connect(p, g, func(uses []engine.Use, group int32, t *engine.Task) []engine.Use {
		if t.Kind == engine.Transfer {
			uses = p.NICUses(uses, group, t.Src, t.Dst)
		}
		return uses
	})
}

// connect routes the transfers of g over the groups of p. add appends the uses of a task; group is
// the resource of the first group.
func connect(
	p *fabric.Pods, g *engine.Graph, add func(uses []engine.Use, group int32, t *engine.Task) []engine.Use,
) (*engine.Network, *engine.Routes, error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	n := &engine.Network{Nodes: int32(len(p.Nodes)), Groups: p.Groups(), ResourceNamer: p.GroupName}
	return n, engine.NewRoutes(len(g.Tasks), func(uses []engine.Use, i int32) []engine.Use {
		return add(uses, n.GroupResource(0), &g.Tasks[i])
	}), nil
}

// ConnectNodes routes the transfers of g over an ideal network between the nodes of links. Each
// node sends and receives at the total rate of its links. Therefore no choice of paths over
// links ends g earlier than the best sharing of this network.
//
// For nested tiers, tier returns the tier of a link, and joins the tier that a transfer uses. A
// node then has a separate total rate per tier. Both are nil if there is only one tier.
func ConnectNodes(
	links *engine.Network, g *engine.Graph,
	tier func(link int) int, joins func(src, dst int32) int) (*engine.Network, *engine.Routes) {

	if joins == nil {
		tier, joins = func(int) int { return 0 }, func(_, _ int32) int { return 0 }
	}

	// Groups group(t, v) and group(t, v)+1 are the outgoing and incoming rates of node v on tier t.
	n := &engine.Network{Nodes: links.Nodes}
	group := func(tier int, node int32) int32 { return 2 * (int32(tier)*links.Nodes + node) }
	for i, l := range links.Links {
		t := tier(i)
		numGroups := int(group(t+1, 0)) // of the tiers up to t
		if more := numGroups - len(n.Groups); more > 0 {
			n.Groups = append(n.Groups, make([]engine.Group, more)...)
		}
		n.Groups[group(t, l.From)].Rate += l.Rate
		n.Groups[group(t, l.To)+1].Rate += l.Rate
	}
	n.ResourceNamer = func(r int32) string {
		return fmt.Sprintf("node %d %s", r/2%links.Nodes, [2]string{"out", "in"}[r%2])
	}
	return n, engine.NewRoutes(len(g.Tasks), func(uses []engine.Use, i int32) []engine.Use {
		if t := &g.Tasks[i]; t.Kind == engine.Transfer && t.Src != t.Dst {
			i := joins(t.Src, t.Dst)
			out, in := n.GroupResource(group(i, t.Src)), n.GroupResource(group(i, t.Dst)+1)
			uses = append(uses, engine.Use{Resource: out, Weight: 1}, engine.Use{Resource: in, Weight: 1})
		}
		return uses
	})
}
