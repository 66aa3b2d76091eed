// This file derives the data of figures from the result of a router: the network with
// its loads, the paths of all pairs, and detours around faults.

package paths

import (
	"bytes"
	"context"
	"encoding/csv"
	"slices"
	"strconv"

	"sim/engine"
	"sim/fabric/torus"
	"sim/internal/csvfield"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// maxDrawnNodes limits the nodes of a torus or graph that figures show: a 16x16x16 torus.
// Larger networks have no such figure.
const maxDrawnNodes = 4096

// describe adds the data of figures, the files of links and queues, and the paths
// to an outcome. It implements PolicyResult.Describe.
func (a *routingResult) describe(ctx context.Context, o *assembly.Outcome) {
	p := result.Simulation{Policy: a.Row.Policy, Traffic: a.explainTraffic(ctx)}
	switch {
	case a.system.Torus == nil:
		p.Graph = a.graphDetail(ctx)
	case a.system.Torus.Nodes() <= maxDrawnNodes:
		p.Torus = a.torusDetail(ctx)
	}

	if a.Trace != nil {
		p.Perturbation = composition.DescribePerturbation(a.Trace.Perturbation)
	}
	if s := a.Stats; s != nil {
		p.MakespanS = s.End.Seconds()
		o.Files = append(o.Files, a.DescribePackets(&p)...)
	} else if a.finishTime > 0 {
		o.Files = append(o.Files, a.linkFile())
	}

	a.addTimeline(ctx, &p, o.Timeline)
	o.Detail.Policies = append(o.Detail.Policies, p)

	routes := assembly.Routes{
		Policy: a.Row.Policy, Network: a.system.Known, Flows: a.system.load.flows, Paths: a.paths,
	}
	if a.sums != nil { // not all paths were computed
		routes.ComputePaths = func() (*engine.Paths, error) {
			router := routing.ByName(a.Row.Policy).Router
			problem := a.system.routingProblem(a.routerNetwork)
			d, err := routing.RouteSystem(ctx, &a.system.System, router, problem, a.system.s.options())
			if err != nil {
				return nil, err
			}
			return d.Paths, nil
		}
	}

	o.Routes = append(o.Routes, routes)
}

// linkFile returns a CSV file with one row per link of a simulation at level flow: the bytes
// that it carries, the time that they take at its rate, and the share of this time in the
// completion time.
func (a *routingResult) linkFile() result.File {
	r := a.system
	messageBits := 8 * float64(r.load.parts[0].traffic.Message)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	rows := [][]string{{"link", "from", "to", "bytes", "busy_s", "utilisation"}}
	for i, l := range r.Whole.Links {
		bits := a.linkLoads[i] * messageBits
		busy := bits / l.Rate
		rows = append(rows, csvfield.Safe(
			r.Whole.ResourceName(int32(i)), strconv.Itoa(int(l.From)), strconv.Itoa(int(l.To)),
			number(bits/8), number(busy), number(busy/a.finishTime.Seconds()),
		))
	}
	var b bytes.Buffer
	csv.NewWriter(&b).WriteAll(rows) // writes to a buffer never fail
	return result.File{Name: "links-" + a.Row.Policy + ".csv", Data: b.Bytes()}
}

// torusDetail returns the torus with the loads of its links, examples of detours
// around faults, and the paths of all pairs.
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

// graphDetail returns a graph or tiers with the loads of its links. It is nil if
// the network is too large for a figure.
func (a *routingResult) graphDetail(ctx context.Context) *result.Graph {
	r := a.system
	if int(r.Whole.Nodes) > maxDrawnNodes || len(r.Whole.Links) > maxDrawnLinks {
		return nil
	}
	g := &result.Graph{Unit: "messages", Pairs: a.pairPaths(ctx)}

	// A node without flows is drawn as a switch.
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

// Limits of the data for figures. Beyond them, the graph or the paths are omitted.
const (
	maxDrawnLinks = 8192   // links of a graph: two per node of the largest one
	maxStoredHops = 60_000 // links of all stored paths; each takes one byte of the HTML report
	firstPort     = '0'    // character of the first link of a node in stored paths
)

// pairPaths returns the paths of all pairs of nodes in the form of
// result.Torus.Pairs. It is nil if the paths are too many, or if packets draw
// their links.
func (a *routingResult) pairPaths(ctx context.Context) []string {
	r, flows, paths := a.system, a.system.load.flows, a.paths
	hops := a.pathLoads.SumHops // of all messages; with demands, a flow may have several
	tooMany := len(flows) > maxStoredHops || r.load.demand == nil && hops > maxStoredHops
	if tooMany || paths.Spread != nil {
		return nil
	}
	if a.sums != nil {
		var err error
		if paths, err = a.sums.Paths(ctx, flows); err != nil { // ctx was cancelled
			return nil
		}
	}

	// A printable character stands for each outgoing link of a node.
	portOf := make([]byte, len(r.Whole.Links))
	next := slices.Repeat([]byte{firstPort}, int(r.Whole.Nodes))
	for i, l := range r.Whole.Links {
		if portOf[i] = next[l.From]; portOf[i] > '~' {
			return nil
		}
		next[l.From]++
	}

	// Store one path of each pair, until there are too many links.
	nodes := int(r.Whole.Nodes)
	ports := make([][]byte, nodes*nodes) // path of each pair, by source and destination
	free := maxStoredHops
	for f, flow := range flows {
		class := paths.ClassOf(int32(f))
		first, end := paths.Of(class)
		pair := int(flow.Src)*nodes + int(flow.Dst)
		if first >= end || paths.Start[first] < 0 || ports[pair] != nil {
			continue
		}

		largest := first // the path with the largest share
		for k := first; k < end; k++ {
			if paths.ShareOf(class, k) > paths.ShareOf(class, largest) {
				largest = k
			}
		}

		for link := range paths.Links(flow.Src, largest, r.Whole.Links) {
			ports[pair] = append(ports[pair], portOf[link])
		}
		if free -= len(ports[pair]); free < 0 {
			return nil
		}
	}

	// A row has the paths from one node, separated by spaces.
	var rows []string
	for row := range slices.Chunk(ports, nodes) {
		rows = append(rows, string(bytes.Join(row, []byte{' '})))
	}
	return rows
}

// maxDetours is the number of pairs whose detours around faults are shown.
const maxDetours = 3

// addDetours adds examples of pairs whose path without faults uses a failed link,
// each with this path and with its actual path: the shortest, the longest and one
// in between. If paths are not stored, the pairs start at one node next to a
// failed link.
func (a *routingResult) addDetours(ctx context.Context, t *result.Torus) {
	r, flows, paths := a.system, a.system.load.flows, a.paths
	faultFree := r.faultFreePaths(a.Row.Policy)
	failed := slices.Index(r.Health.Link, torus.Down)
	if faultFree == nil || paths.Spread != nil || failed < 0 {
		return
	}

	// Compute the paths that are not stored.
	if sums := r.faultFree[a.Row.Policy].sums; sums != nil {
		var err error
		if a.sums != nil {
			src := r.Whole.Links[failed].From
			otherSource := func(f engine.Flow) bool { return f.Src != src }
			flows = slices.DeleteFunc(slices.Clone(flows), otherSource)
			paths, err = a.sums.Paths(ctx, flows)
		}
		if err == nil {
			faultFree, err = sums.Paths(ctx, flows)
		}
		if err != nil { // ctx was cancelled
			return
		}
	}

	// Find the flows whose path without faults uses a failed link, ordered by its
	// length.
	type brokenPath struct {
		flow int32
		hops int
	}
	var broken []brokenPath
	for f, flow := range flows {
		if first, end := paths.Of(paths.ClassOf(int32(f))); first >= end {
			continue
		}
		first, _ := faultFree.Of(faultFree.ClassOf(int32(f)))
		for link := range faultFree.Links(flow.Src, first, r.Whole.Links) {
			if r.Health.Link[link] == torus.Down {
				broken = append(broken, brokenPath{int32(f), len(faultFree.Steps(first))})
				break
			}
		}
	}
	if len(broken) == 0 {
		return
	}
	slices.SortStableFunc(broken, func(a, b brokenPath) int { return a.hops - b.hops })

	// Choose examples from the shortest to the longest path, evenly spaced in the
	// list.
	var examples []int32
	for k := range maxDetours {
		f := broken[k*(len(broken)-1)/max(1, maxDetours-1)].flow
		if slices.Contains(examples, f) {
			continue
		}
		examples = append(examples, f)
		before := a.firstRoute(faultFree, f, flows[f])
		before.FaultFree = true
		t.Routes = append(t.Routes, before, a.firstRoute(paths, f, flows[f]))
	}
}

// firstRoute returns the first path of flow f, whose ends are given.
func (a *routingResult) firstRoute(
	paths *engine.Paths, f int32, ends engine.Flow,
) result.TorusRoute {
	route := result.TorusRoute{Src: int(ends.Src), Dst: int(ends.Dst)}
	first, _ := paths.Of(paths.ClassOf(f))
	for link := range paths.Links(ends.Src, first, a.system.Whole.Links) {
		route.Links = append(route.Links, int(link))
	}
	return route
}

// faultFreePaths returns the paths of a router without faults. They are nil if
// they were not computed, or if other pairs of nodes communicate without faults,
// because an algorithm of collective calls avoids the faults.
func (r *routingSystem) faultFreePaths(policy string) *engine.Paths {
	r.mu.Lock()
	defer r.mu.Unlock()
	reference, ok := r.faultFree[policy]
	if !ok {
		return nil
	}
	if reference.system == r || slices.Equal(reference.system.load.flows, r.load.flows) {
		return reference.paths
	}
	return nil
}
