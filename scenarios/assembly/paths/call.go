// This file expands collective calls into transfers, and combines the links that their
// algorithms prescribe with the paths that routers choose.

package paths

import (
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

// expandedCall is a collective call after its expansion to transfers by an
// algorithm. Each flow of its load is a pair of nodes whose transfers use the same
// link, or that a router leads. A pair may have several flows, on parallel links.
type expandedCall struct {
	*algorithm.Schedule
	flowOfTask []int32 // index of the flow, by task
	linkOfFlow []int32 // link that the algorithm prescribes, by flow; -1 if a router decides

	routerFlows  []engine.Flow // the flows that a router leads
	routerDemand []float64     // demand of routerFlows, in messages
	// sendOrder is the order in which a link sends packets, by task. It is nil if
	// links send packets in the order of their arrival.
	sendOrder []int32
	flowGraph *engine.Graph // task graph that routers simulate, at level flow
	// messageOverhead is the time for which a sender is busy with starting a
	// transfer.
	messageOverhead engine.Time
	// foldedRoutes are the routes of a schedule with classes, once paths are known; nil
	// for other schedules.
	foldedRoutes *engine.Routes
}

// expandCall expands the collective call of the scenario. The error is
// algorithm.ErrUnserved if the algorithm does not support the call on this fabric.
func (r *routingSystem) expandCall(ctx context.Context) (*trafficLoad, error) {
	p, err := r.callProblem()
	if err != nil {
		return nil, err
	}
	p.Network = r.Direct(p.Network)
	call := r.s.Workload.Call
	var ownClasses func(engine.Flow) int32 // found by the expansion
	s, err := call.ExpandClasses(ctx, p, ownClasses)
	if errors.Is(err, engine.ErrAsymmetric) {
		s, err = call.Expand(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return r.newCallLoad(ctx, s)
}

// newCallLoad returns the traffic of a schedule of transfers. Transfers between
// the same nodes over the same link are one flow.
func (r *routingSystem) newCallLoad(
	ctx context.Context, s *algorithm.Schedule,
) (*trafficLoad, error) {
	c := &expandedCall{Schedule: s, messageOverhead: r.s.Engine.MessageOverhead}
	t := &collective.Traffic{Name: s.Kind.String(), Nodes: r.numNodes()}
	pairs, pairOf := s.Pairs()
	for _, pair := range pairs {
		t.Flows = append(t.Flows, pair.Flow)
		t.Bytes = append(t.Bytes, pair.Bytes)
		t.Message = max(t.Message, pair.Bytes, s.Bytes)
		c.linkOfFlow = append(c.linkOfFlow, pair.Link)
	}

	l := &trafficLoad{
		flows: t.Flows, demand: t.Demand(), call: c,
		parts: []trafficPart{{end: int32(len(t.Flows)), traffic: t}},
	}

	// Separate the flows that a router leads.
	for f, link := range c.linkOfFlow {
		if link < 0 {
			c.routerFlows = append(c.routerFlows, l.flows[f])
			c.routerDemand = append(c.routerDemand, l.demand[f])
		}
	}

	// Packets keep the planned order on a link, except with credit-based flow
	// control.
	ordersPackets := r.s.Engine.Level == "packet" && r.s.Fabric.Queue != "credit"
	var err error
	if l.graph, err = c.taskGraph(noLatencies, ordersPackets); err != nil {
		return nil, err
	}
	c.flowGraph = l.graph
	if ordersPackets && len(c.routerFlows) > 0 {
		if c.flowGraph, err = c.taskGraph(noLatencies, anyOrder); err != nil {
			return nil, err
		}
	}

	// Tasks after the transfers are barriers, which have no flow and no place in
	// the order of packets.
	c.flowOfTask = make([]int32, len(l.graph.Tasks))
	copy(c.flowOfTask, pairOf)
	if ordersPackets {
		ranks := s.Ranks()
		c.sendOrder = append(ranks, make([]int32, len(l.graph.Tasks)-len(ranks))...)
	}

	return l, ctx.Err()
}

// callProblem returns the collective call on the network that routers see at the
// start. If the scenario names no group, all nodes that are up take part, in one
// team for each line along the given dimensions.
func (r *routingSystem) callProblem() (*algorithm.Problem, error) {
	p := &algorithm.Problem{Call: r.s.Workload.Call.Call, Network: r.visibleNetwork()}
	p.SwitchesReduce = r.s.Workload.Call.Options.Machine.SwitchesReduce()
	if r.Torus != nil {
		p.Torus = r.Torus
	}
	if len(p.Group) > 0 {
		p.Domain = r.Domains(p.Group)
		return p, nil
	}

	teams, err := r.teams()
	if err != nil {
		return nil, err
	}

	// Nodes that are down do not take part. A team needs at least two nodes.
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
		default: // a single node has nothing to communicate
			p.Group = p.Group[:first]
		}
	}

	p.Domain = r.Domains(p.Group)
	return p, nil
}

// teams returns the groups of nodes that take part in one call each, including
// nodes that are down.
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

// CallProblem returns the collective call of s on its fabric. It fails if a rank
// is on a node that cannot send.
func (s *Scenario) CallProblem() (*algorithm.Problem, error) {
	hardware, err := s.Fabric.Build()
	if err != nil {
		return nil, err
	}

	// Nodes that are down, and switches, cannot send.
	for rank, node := range s.Workload.Call.Group {
		if int(node) < len(hardware.Down) && hardware.Down[node] {
			return nil, fmt.Errorf(
				"%w: rank %d is on node %d, which is down or a switch; want nodes that are up and send",
				algorithm.ErrCall, rank, node)
		}
	}
	return (&routingSystem{s: s, System: hardware}).callProblem()
}

// Values of the arguments of taskGraph.
var noLatencies []engine.Time // transfers arrive when their last bit is sent
const anyOrder = false        // links send packets in the order of their arrival

// taskGraph returns the transfers as tasks; transfer i is task i. A transfer
// arrives latencies[i] after its last bit is sent. linksKeepOrder adds the order in
// which links are planned to send packets.
func (c *expandedCall) taskGraph(
	latencies []engine.Time, linksKeepOrder bool,
) (*engine.Graph, error) {
	g := &engine.Graph{MessageOverhead: c.messageOverhead}
	c.Append(g, algorithm.AppendOptions{Latencies: latencies, LinksKeepOrder: linksKeepOrder})
	return g, g.Freeze()
}

// maxChainLength returns the largest number of transfers in a chain of
// dependencies.
func (c *expandedCall) maxChainLength() float64 {
	length := make([]int32, len(c.Transfers))
	for i := range length {
		for _, w := range c.After(i) {
			length[i] = max(length[i], length[w])
		}
		if previous := c.Transfers[i].Previous; previous >= 0 {
			length[i] = max(length[i], length[previous])
		}
		length[i]++
	}
	return float64(slices.Max(length))
}

// pinCallLinks completes the paths of a decision with the links that the algorithm
// of a collective call prescribes. It returns r, or a copy of r with a balanced
// call (see balanceCall). Without a call, it changes nothing.
func (r *routingSystem) pinCallLinks(
	ctx context.Context, visible *engine.Network, d *routing.Decision,
) (*routingSystem, error) {
	if r.load.call == nil {
		return r, nil
	}
	if d.Paths.Spread != nil {
		return nil, &unservedError{errors.New("it draws links for each packet, and transfers of a " +
			"collective call take links of their own; want routers of whole paths")}
	}

	r, err := r.balanceCall(ctx, d.Paths)
	if err == nil {
		d.Paths, err = r.load.pinnedPaths(visible, d.Paths)
	}
	if err == nil && r.load.call.HasClasses() {
		r, err = r.foldCall(ctx, visible, d.Paths)
	}
	return r, err
}

// balanceCall chooses again among parallel links, so that transfers with
// prescribed links avoid the links that the paths of other transfers use
// (Schedule.Balance). It returns r if nothing changes, and otherwise a copy with
// the new call.
func (r *routingSystem) balanceCall(
	ctx context.Context, paths *engine.Paths,
) (*routingSystem, error) {
	s := r.load.call.Balance(r.load.call.routerFlows, paths)
	if s == r.load.call.Schedule {
		return r, nil
	}

	return r.withSchedule(ctx, s)
}

// withSchedule returns the system with another schedule of its call.
func (r *routingSystem) withSchedule(
	ctx context.Context, s *algorithm.Schedule,
) (*routingSystem, error) {
	l, err := r.newCallLoad(ctx, s)
	if err != nil {
		return nil, err
	}
	return &routingSystem{
		s: r.s, System: r.System, load: l,
		ratesDiffer: r.ratesDiffer, loadBound: r.loadBound, shortestHops: r.shortestHops,
		iteration: r.iteration, nodeOfRank: r.nodeOfRank, ranks: r.ranks,
		IdealReference: r.IdealReference, faultFree: map[string]faultFreeRouting{},
	}, nil
}

// pinnedPaths returns the paths of all flows of a call: the prescribed link if
// there is one, and otherwise the path that a router has chosen.
func (l *trafficLoad) pinnedPaths(n *engine.Network, chosen *engine.Paths) (*engine.Paths, error) {
	g := new(engine.Graph)
	for _, f := range l.flows {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst})
	}
	_, paths, err := algorithm.PinPaths(g, n, l.call.linkOfFlow, l.call.routerFlows, chosen)
	return paths, err
}

// taskPaths returns the flows and paths of the load's graph in the form that
// engines take. For a collective call they are indexed by task, because transfers
// between the same nodes may use different links.
func (l *trafficLoad) taskPaths(paths *engine.Paths) ([]engine.Flow, *engine.Paths) {
	if l.call == nil {
		return l.flows, paths
	}
	flows, taskPaths := make([]engine.Flow, len(l.graph.Tasks)), *paths
	taskPaths.Class = make([]int32, len(flows))

	// Each task is a flow of its own, with the class of its pair.
	for i, f := range l.call.flowOfTask {
		flows[i], taskPaths.Class[i] = l.flows[f], paths.ClassOf(f)
	}
	return flows, &taskPaths
}
