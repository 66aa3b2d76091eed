package paths

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/fabric/torus"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// criticalChain says what sets the end of the transfers that were simulated; nil where none were.
func (a *routingResult) criticalChain() *result.Chain {
	g, t, packet := a.Graph, a.Trace, 0.0
	if t == nil {
		return nil
	}
	if a.Stats != nil {
		packet = float64(a.system.s.Workload.Packet)
	}
	chain := &result.Chain{EndS: t.Makespan.Seconds(), Computes: a.system.iteration != nil}
	at := map[string]int{}
	dims, names := a.system.linkClasses()
	before, last, flows := engine.Time(0), 0, a.taskFlows(g)
	for _, id := range t.CriticalPath(g) {
		k := &g.Tasks[id]
		start, end := t.Start[id], t.End[id]
		if k.Kind != engine.Transfer || start == engine.Never || end == engine.Never {
			continue
		}
		flow := flows[id]
		over, alone, late := a.uncontendedTime(dims, names, flow, float64(k.Bytes), packet)
		if g.IsMessage(id) {
			late += g.MessageOverhead.Seconds()
		}
		i, ok := at[over]
		if !ok {
			i = len(chain.Parts)
			at[over] = i
			chain.Parts = append(chain.Parts,
				result.ChainPart{Over: over,
					Src: a.system.nodeName(a.system.load.flows[flow].Src)})
		}
		p := &chain.Parts[i]
		took := (end - start).Seconds()
		late = min(late, took)
		alone = min(alone, took-late)
		p.Transfers++
		p.Bytes += k.Bytes
		p.Dst = a.system.nodeName(a.system.load.flows[flow].Dst)
		p.LatencyS += late + (start - before).Seconds()
		p.UnsharedS += alone
		if more := took - late - alone; more > assembly.TickSeconds {
			p.SharingS += more
		} else {
			p.UnsharedS += more
		}
		before, last = end, i
	}

	if chain.Parts == nil {
		return nil
	}
	chain.Parts[last].LatencyS += (t.Makespan - before).Seconds() // of what the last transfer brought
	return chain
}

// uncontendedTime returns the dimensions or the tier that a flow's routes take, how long bytes take along them with nothing else
// on them, and the latency. As fluid all links of all routes carry them at once, and a graph's edges have the latency;
// packets are stored at every node, those of a flow being taken for all on its longest route.
func (a *routingResult) uncontendedTime(
	dims []int, names []string, flow int32, bytes, packet float64,
) (over string, alone, late float64) {
	r := a.system
	taken, use := map[int]bool{}, map[int32]float64{}
	r.newLinkVisitor()(a.paths, flow, func(link int32, share float64) {
		use[link] += share
		taken[dims[link]] = true
	})

	slowest := math.Inf(1)
	for link, share := range use {
		slowest = min(slowest, r.Whole.Links[link].Rate/share)
	}
	for d, name := range names {
		if taken[d] {
			over = strings.TrimPrefix(over+" "+name, " ")
		}
	}

	if alone = bytes * 8 / slowest; packet == 0 || math.IsInf(slowest, 1) {
		return over, alone, 0
	}
	store := 0.0
	for _, route := range a.flowPaths(flow) {
		stored, lat := -min(packet, bytes)*8/slowest, 0.0
		for _, link := range route {
			stored += min(packet, bytes) * 8 / r.Whole.Links[link].Rate
			lat += r.Whole.Links[link].Latency.Seconds()
		}
		store, late = max(store, stored), max(late, lat)
	}

	return over, alone + store, late
}

// flowPaths lists the links of each of a flow's routes; of one whose packets draw their links, of one that they may take.
func (a *routingResult) flowPaths(flow int32) (routes [][]int32) {
	ends := a.system.load.flows[flow]
	if s := a.paths.Spread; s != nil {
		var route []int32
		for at := ends.Src; at != ends.Dst; at = a.system.Whole.Links[route[len(route)-1]].To {
			route = append(route, s.Next(at, ends.Dst, 0))
		}
		return [][]int32{route}
	}
	first, end := a.paths.Of(a.paths.ClassOf(flow))
	for w := first; w < end; w++ {
		routes = append(routes, slices.Collect(a.paths.Links(ends.Src, w, a.system.Whole.Links)))
	}
	return routes
}

// linkClasses returns the dimension of every link of a torus, or the tier, and what these are called; of a graph there is
// one.
func (r *routingSystem) linkClasses() (of []int, names []string) {
	of = make([]int, len(r.Whole.Links))
	switch {
	case r.Torus != nil:
		for i, l := range r.Torus.Links() {
			of[i] = int(l.Dim)
		}
		for d := range r.Torus.Dims {
			names = append(names, torus.DimName(d))
		}
	case r.Tiers != nil:
		for i := range of {
			of[i] = r.TierOf(int32(i))
		}
		for i, kind := range r.s.Fabric.Kinds() {
			names = append(names, fmt.Sprintf("tier %d %s", i+1, kind))
		}
	default:
		names = []string{"all"}
	}

	return of, names
}

// taskFlows returns by transfer of a graph the flow whose paths it takes: of a folded graph the first of its class, else the flow of
// its number where the ends are the same, and the first with its ends.
func (a *routingResult) taskFlows(g *engine.Graph) []int32 {
	if a.system.load.call != nil {
		return a.system.load.call.flowOfTask
	}
	folded := a.classGraph != nil && g == a.classGraph.Graph
	flows, of := a.system.load.flows, make([]int32, len(g.Tasks))
	first := map[engine.Flow]int32{}
	for f := len(flows) - 1; f >= 0; f-- {
		if folded {
			of[a.paths.ClassOf(int32(f))] = int32(f)
		} else {
			first[flows[f]] = int32(f)
		}
	}

	if folded {
		return of
	}
	for i, t := range g.Tasks {
		ends := engine.Flow{Src: t.Src, Dst: t.Dst}
		if of[i] = first[ends]; i < len(flows) && flows[i] == ends {
			of[i] = int32(i)
		}
	}

	return of
}
