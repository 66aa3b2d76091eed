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

// called is a collective call that an algorithm has expanded. The flows of its load are the pairs of nodes whose
// transfers take the same link, or go as they are routed.
type called struct {
	*algorithm.Schedule
	flow   []int32 // by task
	link   []int32 // by flow: the link that it takes, -1 of one that is routed
	routed []engine.Flow
	demand []float64     // of those
	ranks  []int32       // by task: the order of packets on a link; nil where these come as they may
	fluid  *engine.Graph // the transfers as routers simulate them, at level "flow"
	// overhead is what starting a transfer costs its sender.
	overhead engine.Time
}

// expand has an algorithm expand the call of the scenario. It fails with algorithm.ErrUnserved where that does not
// serve it.
func (r *routed) expand(ctx context.Context) (*load, error) {
	p, err := r.callProblem()
	if err != nil {
		return nil, err
	}
	p.Network = r.Direct(p.Network)
	s, err := r.s.Workload.Call.Expand(ctx, p)
	if err != nil {
		return nil, err
	}
	return r.callLoad(ctx, s)
}

// callLoad returns the load of a call's schedule.
func (r *routed) callLoad(ctx context.Context, s *algorithm.Schedule) (*load, error) {
	c := &called{Schedule: s, overhead: r.s.Engine.MessageOverhead}
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
		return cmp.Or(cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst), cmp.Compare(a.link, b.link))
	})
	t := &collective.Traffic{Name: s.Kind.String(), Nodes: r.nodes()}
	index := make(map[ends]int32, len(all))
	for f, e := range all {
		index[e] = int32(f)
		t.Flows, t.Bytes = append(t.Flows, engine.Flow{Src: e.src, Dst: e.dst}), append(t.Bytes, bytes[e])
		t.Message = max(t.Message, bytes[e], s.Bytes)
		c.link = append(c.link, e.link)
	}
	l := &load{flows: t.Flows, demand: t.Demand(), parts: []part{{end: int32(len(t.Flows)), traffic: t}}, call: c}
	for f, link := range c.link {
		if link < 0 {
			c.routed, c.demand = append(c.routed, l.flows[f]), append(c.demand, l.demand[f])
		}
	}
	ranked := r.s.Engine.Level == "packet" && r.s.Fabric.Queue != "credit" // whose links take no order
	var err error
	if l.graph, err = c.graph(nil, ranked); err != nil {
		return nil, err
	}
	if c.fluid = l.graph; ranked && len(c.routed) > 0 {
		if c.fluid, err = c.graph(nil, false); err != nil {
			return nil, err
		}
	}
	c.flow = make([]int32, len(l.graph.Tasks))
	for i := range s.Transfers {
		c.flow[i] = index[of(i)]
	}
	if ranked {
		ranks := s.Ranks()
		c.ranks = append(ranks, make([]int32, len(l.graph.Tasks)-len(ranks))...)
	}
	return l, ctx.Err()
}

// callProblem is the call on what routers see: of a scenario that names no group, among all nodes that are up, in teams
// along some dimensions.
func (r *routed) callProblem() (*algorithm.Problem, error) {
	p := &algorithm.Problem{Call: r.s.Workload.Call.Call, Network: r.seen()}
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
func (r *routed) teams() ([][]int32, error) {
	switch c := r.s.Workload.Call; {
	case len(c.Along) == 0:
		all := make([]int32, r.nodes())
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

// Problem is the call of s on its hardware.
func (s *Scenario) Problem() (*algorithm.Problem, error) {
	hardware, err := s.Fabric.Build()
	if err != nil {
		return nil, err
	}
	for rank, node := range s.Workload.Call.Group {
		if int(node) < len(hardware.Down) && hardware.Down[node] {
			return nil, fmt.Errorf("%w: rank %d is on node %d, which is down or a switch; want nodes that are up and send", algorithm.ErrCall, rank, node)
		}
	}
	return (&routed{s: s, System: hardware}).callProblem()
}

// graph returns the transfers as tasks: transfer i is task i, and arrives so much later than its last bit is sent. Links
// that packets take are told in what order they are planned.
func (c *called) graph(late []engine.Time, packets bool) (*engine.Graph, error) {
	g := &engine.Graph{MessageOverhead: c.overhead}
	c.Append(g, algorithm.AppendOptions{Latencies: late, LinksKeepOrder: packets})
	return g, g.Freeze()
}

// depth returns the most transfers that wait for each other in a row.
func (c *called) depth() float64 {
	deep := make([]int32, len(c.Transfers))
	for i := range deep {
		for _, w := range c.After(i) {
			deep[i] = max(deep[i], deep[w])
		}
		if b := c.Transfers[i].Previous; b >= 0 {
			deep[i] = max(deep[i], deep[b])
		}
		deep[i]++
	}
	return float64(slices.Max(deep))
}

// pinned completes a decision with the links that transfers of a call take by themselves, and returns r with that call.
// Without a call it changes nothing.
func (r *routed) pinned(ctx context.Context, seen *engine.Network, d *routing.Decision) (*routed, error) {
	if r.load.call == nil {
		return r, nil
	}
	if d.Paths.Spread != nil {
		return nil, &unservable{errors.New("it draws links for each packet, and transfers of a collective call take links of their own; want routers of whole paths")}
	}
	r, err := r.balanced(ctx, d.Paths)
	if err == nil {
		d.Paths, err = r.load.lead(seen, d.Paths)
	}
	return r, err
}

// balanced returns r with a call whose transfers over parallel links keep off those that a router's paths take
// (Schedule.Balance); r itself if that changes nothing.
func (r *routed) balanced(ctx context.Context, paths *engine.Paths) (*routed, error) {
	s := r.load.call.Balance(r.load.call.routed, paths)
	if s == r.load.call.Schedule {
		return r, nil
	}
	l, err := r.callLoad(ctx, s)
	if err != nil {
		return nil, err
	}
	return &routed{
		s: r.s, System: r.System, load: l, overRates: r.overRates, least: r.least, shortest: r.shortest,
		it: r.it, at: r.at, placed: r.placed, IdealReference: r.IdealReference, healthy: map[string]unharmed{},
	}, nil
}

// lead returns the paths of all flows of a call: a link of those that take one, and of the others what a router has
// chosen.
func (l *load) lead(n *engine.Network, chosen *engine.Paths) (*engine.Paths, error) {
	g := new(engine.Graph)
	for _, f := range l.flows {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst})
	}
	_, paths, err := algorithm.PinPaths(g, n, l.call.link, l.call.routed, chosen)
	return paths, err
}

// byTask returns flows and paths as engines take them for the load's graph: of calls by task, as transfers with the same
// ends may take different links.
func (l *load) byTask(paths *engine.Paths) ([]engine.Flow, *engine.Paths) {
	if l.call == nil {
		return l.flows, paths
	}
	flows, by := make([]engine.Flow, len(l.graph.Tasks)), *paths
	by.Class = make([]int32, len(flows))
	for i, f := range l.call.flow {
		flows[i], by.Class[i] = l.flows[f], paths.ClassOf(f)
	}
	return flows, &by
}
