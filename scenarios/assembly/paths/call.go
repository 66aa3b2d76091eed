package paths

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric/links"
	algorithm "sim/policies/collective"
	"sim/policies/routing"
	"sim/workloads/collective"
)

// expandedCall is a collective call that an algorithm has expanded. The flows of its load are the pairs of nodes whose
// transfers take the same link, or go as they are routed.
type expandedCall struct {
	*algorithm.Schedule
	flowOfTask   []int32 // by task
	linkOfFlow   []int32 // by flow: the link that it takes, -1 of one that is routed
	routedFlows  []engine.Flow
	routedDemand []float64     // of those
	sendOrder    []int32       // by task: the order of packets on a link; nil where these come as they may
	flowGraph    *engine.Graph // the transfers as routers simulate them, at level "flow"
	// messageOverhead is what starting a transfer costs its sender.
	messageOverhead engine.Time
}

// expandCall has an algorithm expand the call of the scenario. It fails with algorithm.ErrUnserved where that does not
// serve it.
func (r *routingSystem) expandCall(ctx context.Context) (*trafficLoad, error) {
	p, err := r.callProblem()
	if err != nil {
		return nil, err
	}
	p.Network = r.Direct(p.Network)
	s, err := r.s.Workload.Call.Expand(ctx, p)
	if err != nil {
		return nil, err
	}
	return r.newCallLoad(ctx, s)
}

// newCallLoad returns the load of a call's schedule.
func (r *routingSystem) newCallLoad(
	ctx context.Context, s *algorithm.Schedule,
) (*trafficLoad, error) {
	c := &expandedCall{Schedule: s, messageOverhead: r.s.Engine.MessageOverhead}
	type ends struct{ src, dst, link int32 }
	bytes := map[ends]int64{}
	of := func(i int) ends {
		t := &s.Transfers[i]
		return ends{s.Group[t.Src], s.Group[t.Dst], t.Link}
	}

	for i := range s.Transfers {
		bytes[of(i)] += s.Transfers[i].Bytes
	}
	var all []ends
	for e := range bytes {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b ends) int {
		return cmp.Or(cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst),
			cmp.Compare(a.link, b.link))
	})
	t := &collective.Traffic{Name: s.Kind.String(), Nodes: r.numNodes()}
	index := make(map[ends]int32, len(all))
	for f, e := range all {
		index[e] = int32(f)
		t.Flows, t.Bytes = append(t.Flows, engine.Flow{Src: e.src, Dst: e.dst}),
			append(t.Bytes, bytes[e])
		t.Message = max(t.Message, bytes[e], s.Bytes)
		c.linkOfFlow = append(c.linkOfFlow, e.link)
	}

	l := &trafficLoad{flows: t.Flows, demand: t.Demand(),
		parts: []trafficPart{{end: int32(len(t.Flows)), traffic: t}}, call: c}
	for f, link := range c.linkOfFlow {
		if link < 0 {
			c.routedFlows, c.routedDemand = append(c.routedFlows, l.flows[f]),
				append(c.routedDemand, l.demand[f])
		}
	}

	ordersPackets := r.s.Engine.Level == "packet" && r.s.Fabric.Queue != "credit" // whose links take no order
	var err error
	if l.graph, err = c.taskGraph(nil, ordersPackets); err != nil {
		return nil, err
	}
	if c.flowGraph = l.graph; ordersPackets && len(c.routedFlows) > 0 {
		if c.flowGraph, err = c.taskGraph(nil, false); err != nil {
			return nil, err
		}
	}

	c.flowOfTask = make([]int32, len(l.graph.Tasks))
	for i := range s.Transfers {
		c.flowOfTask[i] = index[of(i)]
	}
	if ordersPackets {
		ranks := s.Ranks()
		c.sendOrder = append(ranks, make([]int32, len(l.graph.Tasks)-len(ranks))...)
	}

	return l, ctx.Err()
}

// callProblem is the call on what routers see: of a scenario that names no group, among all nodes that are up, in teams
// along some dimensions.
func (r *routingSystem) callProblem() (*algorithm.Problem, error) {
	p := &algorithm.Problem{Call: r.s.Workload.Call.Call, Network: r.visibleNetwork()}
	if r.Torus != nil {
		p.Torus = r.Torus
	}
	if len(p.Group) == 0 {
		teams, err := r.teams()
		if err != nil {
			return nil, err
		}
		for _, team := range teams {
			first := len(p.Group)
			for _, node := range team {
				if r.Down == nil || !r.Down[node] {
					p.Group = append(p.Group, node)
				}
			}
			switch size := len(p.Group) - first; {
			case len(teams) == 1:
			case size > 1:
				p.Teams = append(p.Teams, size)
			default: // alone, which has nothing to do
				p.Group = p.Group[:first]
			}
		}
	}

	p.Domain = r.Domains(p.Group)
	return p, nil
}

// teams returns the nodes that share a vector in a call, down or not.
func (r *routingSystem) teams() ([][]int32, error) {
	switch c := r.s.Workload.Call; {
	case len(c.Along) == 0:
		all := make([]int32, r.numNodes())
		for node := range all {
			all[node] = int32(node)
		}
		return [][]int32{all}, nil
	case c.AlongLinks:
		return r.Torus.Rings(links.Dims(c.Along)[0])
	default:
		return collective.Slices(r.Torus, links.Dims(c.Along))
	}
}

// CallProblem is the call of s on its hardware.
func (s *Scenario) CallProblem() (*algorithm.Problem, error) {
	hardware, err := s.Fabric.Build()
	if err != nil {
		return nil, err
	}
	for rank, node := range s.Workload.Call.Group {
		if int(node) < len(hardware.Down) && hardware.Down[node] {
			return nil, fmt.Errorf("%w: rank %d is on node %d, which is down or a switch; want nodes that are up and send", algorithm.ErrCall, rank, node)
		}
	}
	return (&routingSystem{s: s, System: hardware}).callProblem()
}

// taskGraph returns the transfers as tasks: transfer i is task i, and arrives so much later than its last bit is sent. Links
// that packets take are told in what order they are planned.
func (c *expandedCall) taskGraph(
	latencies []engine.Time, linksKeepOrder bool,
) (*engine.Graph, error) {
	g := &engine.Graph{MessageOverhead: c.messageOverhead}
	c.Append(g, algorithm.AppendOptions{Latencies: latencies, LinksKeepOrder: linksKeepOrder})
	return g, g.Freeze()
}

// maxChainLength returns the most transfers that wait for each other in a row.
func (c *expandedCall) maxChainLength() float64 {
	length := make([]int32, len(c.Transfers))
	for i := range length {
		for _, w := range c.After(i) {
			length[i] = max(length[i], length[w])
		}
		if b := c.Transfers[i].Previous; b >= 0 {
			length[i] = max(length[i], length[b])
		}
		length[i]++
	}
	return float64(slices.Max(length))
}

// pinCallLinks completes a decision with the links that transfers of a call take by themselves, and returns r with that call.
// Without a call it changes nothing.
func (r *routingSystem) pinCallLinks(
	ctx context.Context, seen *engine.Network, d *routing.Decision,
) (*routingSystem, error) {
	if r.load.call == nil {
		return r, nil
	}
	if d.Paths.Spread != nil {
		return nil, &unservedError{errors.New("it draws links for each packet, and transfers of a collective call take links of their own; want routers of whole paths")}
	}
	r, err := r.balanceCall(ctx, d.Paths)
	if err == nil {
		d.Paths, err = r.load.pinnedPaths(seen, d.Paths)
	}
	return r, err
}

// balanceCall returns r with a call whose transfers over parallel links keep off those that a router's paths take
// (Schedule.Balance); r itself if that changes nothing.
func (r *routingSystem) balanceCall(
	ctx context.Context, paths *engine.Paths,
) (*routingSystem, error) {
	s := r.load.call.Balance(r.load.call.routedFlows, paths)
	if s == r.load.call.Schedule {
		return r, nil
	}
	l, err := r.newCallLoad(ctx, s)
	if err != nil {
		return nil, err
	}
	return &routingSystem{
		s: r.s, System: r.System, load: l, ratesDiffer: r.ratesDiffer, loadBound: r.loadBound,
		shortestHops: r.shortestHops,
		iteration:    r.iteration, nodeOfRank: r.nodeOfRank, ranks: r.ranks,
		IdealReference: r.IdealReference, faultFree: map[string]faultFreeRouting{},
	}, nil
}

// pinnedPaths returns the paths of all flows of a call: a link of those that take one, and of the others what a router has
// chosen.
func (l *trafficLoad) pinnedPaths(n *engine.Network, chosen *engine.Paths) (*engine.Paths, error) {
	g := new(engine.Graph)
	for _, f := range l.flows {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst})
	}
	_, paths, err := algorithm.PinPaths(g, n, l.call.linkOfFlow, l.call.routedFlows, chosen)
	return paths, err
}

// taskPaths returns flows and paths as engines take them for the load's graph: of calls by task, as transfers with the same
// ends may take different links.
func (l *trafficLoad) taskPaths(paths *engine.Paths) ([]engine.Flow, *engine.Paths) {
	if l.call == nil {
		return l.flows, paths
	}
	flows, by := make([]engine.Flow, len(l.graph.Tasks)), *paths
	by.Class = make([]int32, len(flows))
	for i, f := range l.call.flowOfTask {
		flows[i], by.Class[i] = l.flows[f], paths.ClassOf(f)
	}
	return flows, &by
}
