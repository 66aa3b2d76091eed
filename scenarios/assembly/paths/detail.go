package paths

import (
	"bytes"
	"context"
	"slices"

	"sim/engine"
	"sim/fabric/torus"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// maxDrawnNodes is the most nodes of a torus that figures show.
const maxDrawnNodes = 4096

// describe adds what figures need, and the files of links and queues.
func (a *routingResult) describe(ctx context.Context, o *assembly.Outcome) {
	p := result.Simulation{Policy: a.Row.Policy, Traffic: a.explainTraffic(ctx)}
	switch {
	case a.system.Torus == nil:
		p.Graph = a.graphDetail(ctx)
	case a.system.Torus.Nodes() <= maxDrawnNodes:
		p.Torus = a.torusDetail(ctx)
	}

	if s := a.Stats; s != nil {
		p.MakespanS = s.End.Seconds()
		o.Files = append(o.Files, a.DescribePackets(&p)...)
	}

	a.addTimeline(&p, o.TimelineTasks)
	o.Detail.Policies = append(o.Detail.Policies, p)
	routes := assembly.Routes{Policy: a.Row.Policy, Network: a.system.Known,
		Flows: a.system.load.flows, Paths: a.paths}
	if a.sums != nil {
		routes.ComputePaths = func() (*engine.Paths, error) {
			d, err := routing.RouteSystem(ctx, &a.system.System,
				routing.ByName(a.Row.Policy).Router, a.system.routingProblem(a.visible),
				a.system.s.options())
			if err != nil {
				return nil, err
			}
			return d.Paths, nil
		}
	}

	o.Routes = append(o.Routes, routes)
}

// torusDetail describes the torus, what its links carry, and ways round what is down.
func (a *routingResult) torusDetail(ctx context.Context) *result.Torus {
	t, h := a.system.Torus, a.system.Health
	l := &result.Torus{Dims: t.Dims, Unit: "messages"}
	for i, link := range t.Links() {
		one := result.TorusLink{
			From: int(link.From), To: int(link.To), Dim: int(link.Dim), Up: link.Up,
			Wrap: link.Wrap, Load: a.linkLoads[i],
		}
		switch h.Link[i] {
		case torus.Down:
			one.State = "down"
		case torus.Drained:
			one.State = "drained"
		}
		l.Links = append(l.Links, one)
	}

	a.addDetours(ctx, l)
	l.Pairs = a.pairPaths(ctx)
	return l
}

// graphDetail describes a graph or tiers, and what its links carry; nil of one that is too large to be drawn.
func (a *routingResult) graphDetail(ctx context.Context) *result.Graph {
	r := a.system
	if int(r.Whole.Nodes) > maxDrawnNodes || len(r.Whole.Links) > maxDrawnLinks {
		return nil
	}
	g := &result.Graph{Unit: "messages", Pairs: a.pairPaths(ctx)}
	for n := range r.Whole.Nodes {
		g.Nodes = append(g.Nodes, result.GraphNode{Name: r.nodeName(n), Switch: true})
	}
	for _, f := range r.load.flows {
		g.Nodes[f.Src].Switch, g.Nodes[f.Dst].Switch = false, false
	}
	for i, l := range r.Whole.Links {
		g.Links = append(g.Links, result.GraphLink{From: int(l.From), To: int(l.To),
			Load: a.linkLoads[i], Speed: r.relativeRate(i)})
	}

	return g
}

const (
	maxDrawnLinks = 8192   // links of a graph that figures show
	maxStoredHops = 60_000 // of all routes that are kept for them
	firstPort     = '0'    // the first link out of a node
)

// pairPaths writes out the routes of all pairs of nodes, as result.Torus.Pairs has them; nil where they are too many, or
// packets draw their links.
func (a *routingResult) pairPaths(ctx context.Context) []string {
	r, flows, walks := a.system, a.system.load.flows, a.paths
	hops := a.loads.SumHops // of all messages, of which a flow may have several
	if len(flows) > maxStoredHops || r.load.demand == nil && hops > maxStoredHops ||
		walks.Spread != nil {
		return nil
	}
	if a.sums != nil {
		var err error
		if walks, err = a.sums.Paths(ctx, flows); err != nil { // as ctx ended
			return nil
		}
	}

	port := make([]byte, len(r.Whole.Links))
	next := slices.Repeat([]byte{firstPort}, int(r.Whole.Nodes))
	for i, l := range r.Whole.Links {
		if port[i] = next[l.From]; port[i] > '~' {
			return nil
		}
		next[l.From]++
	}

	ports := make([][]byte, int(r.Whole.Nodes)*int(r.Whole.Nodes)) // by source and destination
	free := maxStoredHops
	for f, flow := range flows {
		class := walks.ClassOf(int32(f))
		first, end := walks.Of(class)
		pair := int(flow.Src)*int(r.Whole.Nodes) + int(flow.Dst)
		if first >= end || walks.Start[first] < 0 || ports[pair] != nil {
			continue
		}
		largest := first
		for k := first; k < end; k++ {
			if walks.ShareOf(class, k) > walks.ShareOf(class, largest) {
				largest = k
			}
		}
		for link := range walks.Links(flow.Src, largest, r.Whole.Links) {
			ports[pair] = append(ports[pair], port[link])
		}
		if free -= len(ports[pair]); free < 0 {
			return nil
		}
	}

	var out []string
	for row := range slices.Chunk(ports, int(r.Whole.Nodes)) {
		out = append(out, string(bytes.Join(row, []byte{' '})))
	}
	return out
}

// maxDetours is how many pairs are shown on their ways round what is down.
const maxDetours = 3

// addDetours adds pairs whose usual path passes a link that is down, with it and the one that they take instead: the
// nearest, the farthest and one between. Where paths are not kept they are those of a node beside one.
func (a *routingResult) addDetours(ctx context.Context, l *result.Torus) {
	flows, walks, usual := a.system.load.flows, a.paths, a.system.faultFreePaths(a.Row.Policy)
	down := slices.Index(a.system.Health.Link, torus.Down)
	if usual == nil || walks.Spread != nil || down < 0 { // or every packet takes its own path
		return
	}
	if sums := a.system.faultFree[a.Row.Policy].sums; sums != nil {
		var err error
		if a.sums != nil {
			beside := a.system.Whole.Links[down].From
			flows = slices.DeleteFunc(slices.Clone(flows),
				func(f engine.Flow) bool { return f.Src != beside })
			walks, err = a.sums.Paths(ctx, flows)
		}
		if err == nil {
			usual, err = sums.Paths(ctx, flows)
		}
		if err != nil { // as ctx ended
			return
		}
	}

	type crossing struct {
		flow int32
		hops int
	}

	var found []crossing
	for f, flow := range flows {
		if first, end := walks.Of(walks.ClassOf(int32(f))); first >= end {
			continue
		}
		first, _ := usual.Of(usual.ClassOf(int32(f)))
		for link := range usual.Links(flow.Src, first, a.system.Whole.Links) {
			if a.system.Health.Link[link] == torus.Down {
				found = append(found, crossing{int32(f), len(usual.Steps(first))})
				break
			}
		}
	}

	if len(found) == 0 {
		return
	}
	slices.SortStableFunc(found, func(a, b crossing) int { return a.hops - b.hops })
	picked := []int32{}
	for k := range maxDetours {
		f := found[k*(len(found)-1)/max(1, maxDetours-1)].flow
		if slices.Contains(picked, f) {
			continue
		}
		picked = append(picked, f)
		for _, w := range []struct {
			walks *engine.Paths
			usual bool
		}{{usual, true}, {walks, false}} {
			flow := flows[f]
			way := result.TorusRoute{Src: int(flow.Src), Dst: int(flow.Dst),
				FaultFree: w.usual}
			first, _ := w.walks.Of(w.walks.ClassOf(f))
			for link := range w.walks.Links(flow.Src, first, a.system.Whole.Links) {
				way.Links = append(way.Links, int(link))
			}
			l.Routes = append(l.Routes, way)
		}
	}
}

// faultFreePaths returns the paths of a router where nothing is down, nil where they were not looked for, and where other pairs
// send there, as algorithms of collectives that go round faults have it.
func (r *routingSystem) faultFreePaths(policy string) *engine.Paths {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, ok := r.faultFree[policy]; ok &&
		(h.system == r || slices.Equal(h.system.load.flows, r.load.flows)) {
		return h.paths
	}
	return nil
}
