package paths

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/fabric/torus"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

const (
	// maxExplainedLinks is how many of the most loaded links are explained, and of how many pairs each.
	maxExplainedLinks = 5
	maxExplainedPairs = 3
	// maxTracedHops is the most links of all flows' routes that are followed to say who loads a link: some tenths of a
	// second.
	maxTracedHops = 5e7
	// loadTolerance is the relative difference from which loads differ: shares of messages round.
	loadTolerance = 1e-9
)

// explainTraffic says what loads the links and where the time goes; less when ctx ends.
func (a *routingResult) explainTraffic(ctx context.Context) *result.Traffic {
	r := a.system
	out := &result.Traffic{LinkRateBitsPerS: float64(r.s.Fabric.LinkRate), FailAtS: r.s.Fabric.FailAt.Seconds(), Chain: a.criticalChain()}
	out.Groups = a.linkGroups()
	hot := a.addBottlenecks(out)
	if float64(a.loads.SumHops) <= maxTracedHops {
		a.addPairs(ctx, out, hot)
	} else {
		out.PairsUnknown = true
	}
	if s := a.Stats; s != nil && s.Delay.Count > 0 {
		out.Delay = a.delayParts()
	}
	return out
}

// relativeRate returns how much faster than the fabric's rate a link is.
func (r *routingSystem) relativeRate(link int) float64 {
	return r.Whole.Links[link].Rate / float64(r.s.Fabric.LinkRate)
}

// linkGroups adds up the links of each dimension or tier, or all of a graph.
func (a *routingResult) linkGroups() []result.LinkGroup {
	r := a.system
	dims, names := r.linkClasses()
	var groups []result.LinkGroup
	for _, name := range names {
		groups = append(groups, result.LinkGroup{Name: name})
	}
	for i := range r.Whole.Links {
		g := &groups[dims[i]]
		g.Links++
		state := torus.Works
		if r.Health != nil {
			state = r.Health.Link[i]
		}
		load := a.linkLoads[i]
		switch {
		case state == torus.Down:
			g.Down++
		case state == torus.Drained:
			g.Drained++
		}
		if a.visible.Links[i].Rate > 0 {
			g.Capacity += r.relativeRate(i)
			g.MaxLoad = max(g.MaxLoad, load/r.relativeRate(i))
		}
		g.Load += load
		if a.Stats != nil {
			s := &a.Stats.Links[i]
			g.Packets += s.Packets
			g.WaitS += s.Waited.Seconds()
			g.BusyS += s.Busy.Seconds()
		}
	}
	return slices.DeleteFunc(groups, func(g result.LinkGroup) bool { return g.Links == 0 })
}

// addBottlenecks adds the links that take longest, and returns their numbers.
func (a *routingResult) addBottlenecks(out *result.Traffic) []int32 {
	var hot []int32
	over := func(link int32) float64 { return a.linkLoads[link] / a.system.relativeRate(int(link)) }
	for i := range a.system.Whole.Links {
		if a.linkLoads[i] > 0 {
			hot = append(hot, int32(i))
		}
	}
	slices.SortStableFunc(hot, func(i, j int32) int {
		if x, y := over(i), over(j); math.Abs(x-y) > loadTolerance*max(x, y) {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(i, j)
	})
	for _, i := range hot {
		if over(i) < over(hot[0])*(1-loadTolerance) {
			break
		}
		out.NumTied++
	}
	hot = hot[:min(len(hot), maxExplainedLinks)]
	for _, i := range hot {
		l := a.system.Whole.Links[i]
		one := result.LoadedLink{
			Name: strings.TrimPrefix(a.system.Whole.ResourceName(i), "link "), From: a.system.nodeName(l.From), To: a.system.nodeName(l.To),
			Load: a.linkLoads[i], Speed: a.system.relativeRate(int(i)),
		}
		if a.Stats != nil {
			busy := a.Stats.Utilisation(i)
			one.Busy = &busy
		}
		out.Bottlenecks = append(out.Bottlenecks, one)
	}
	return hot
}

// nodeName is a node in words: its coordinates, its name, or its number.
func (r *routingSystem) nodeName(node int32) string {
	switch {
	case r.Torus != nil:
		at := make([]string, len(r.Torus.Dims))
		for d, c := range r.Torus.At(node) {
			at[d] = strconv.Itoa(c)
		}
		return "(" + strings.Join(at, ",") + ")"
	case r.Tiers != nil:
		return r.NodeName(node)
	case len(r.s.Fabric.Names) > 0:
		return r.s.Fabric.Names[node]
	}
	return strconv.Itoa(int(node))
}

// linkUsers gathers who loads a link.
type linkUsers struct {
	numPairs         int
	fromNode, toNode []float64  // by node
	heaviest         []pairLoad // in order of load
	faultFreeLoad    float64
	detours          map[string]float64
}

// pairLoad is the messages of a flow on a link.
type pairLoad struct {
	flow int32
	load float64
}

// addPairs says which pairs load the links hot, and which of them do so because of what is down or drained.
func (a *routingResult) addPairs(ctx context.Context, out *result.Traffic, hot []int32) {
	r := a.system
	at := slices.Repeat([]int{-1}, len(r.Whole.Links)) // by link: place in hot
	of := make([]linkUsers, len(hot))
	for k, link := range hot {
		at[link] = k
		of[k] = linkUsers{fromNode: make([]float64, r.Whole.Nodes), toNode: make([]float64, r.Whole.Nodes), detours: map[string]float64{}}
	}
	usual := r.faultFreePaths(a.Row.Policy)
	var causes []string
	if usual != nil {
		causes = r.faultCauses()
	}
	follow := r.newLinkVisitor()
	now, before := make([]float64, len(hot)), make([]float64, len(hot)) // of a flow, by hot link
	for f, flow := range r.load.flows {
		if f&(1<<12-1) == 0 && ctx.Err() != nil {
			return
		}
		demand := 1.0
		if r.load.demand != nil {
			demand = r.load.demand[f]
		}
		clear(now)
		follow(a.paths, int32(f), func(link int32, share float64) {
			if k := at[link]; k >= 0 {
				now[k] += share * demand
			}
		})
		cause := ""
		if usual != nil {
			clear(before)
			follow(usual, int32(f), func(link int32, share float64) {
				if k := at[link]; k >= 0 {
					before[k] += share * demand
				}
				if c := causes[link]; c != "" && cause == "" {
					cause = c
				}
			})
		}
		for k, load := range now {
			z := &of[k]
			z.faultFreeLoad += before[k]
			if load > 0 {
				z.add(int32(f), flow, load)
			}
			if more := load - before[k]; usual != nil && more > loadTolerance {
				z.detours[cause] += more
			}
		}
	}
	for k := range of {
		of[k].describe(r, &out.Bottlenecks[k], usual != nil)
	}
}

// newLinkVisitor returns a function that calls do with every link of a flow's routes, and the share of the flow that takes it
// there.
func (r *routingSystem) newLinkVisitor() func(w *engine.Paths, flow int32, do func(link int32, share float64)) {
	reach, mark := make([]float64, r.Whole.Nodes), make([]bool, r.Whole.Nodes)
	return func(w *engine.Paths, flow int32, do func(link int32, share float64)) {
		ends := r.load.flows[flow]
		if w.Spread != nil {
			w.Spread.VisitLinks(ends.Src, ends.Dst, reach, mark, do)
			return
		}
		class := w.ClassOf(flow)
		first, end := w.Of(class)
		for k := first; k < end; k++ {
			if w.Start[k] < 0 {
				continue
			}
			for link := range w.Links(ends.Src, k, r.Whole.Links) {
				do(link, w.ShareOf(class, k))
			}
		}
	}
}

// add counts a flow that crosses the link.
func (z *linkUsers) add(f int32, flow engine.Flow, load float64) {
	z.numPairs++
	z.fromNode[flow.Src] += load
	z.toNode[flow.Dst] += load
	if n := len(z.heaviest); n == maxExplainedPairs && load <= z.heaviest[n-1].load {
		return
	}
	k, _ := slices.BinarySearchFunc(z.heaviest, load, func(p pairLoad, load float64) int {
		if p.load >= load {
			return -1 // of equal ones the first flow is kept
		}
		return 1
	})
	z.heaviest = slices.Insert(z.heaviest, k, pairLoad{f, load})
	z.heaviest = z.heaviest[:min(len(z.heaviest), maxExplainedPairs)]
}

func (z *linkUsers) describe(r *routingSystem, to *result.LoadedLink, usual bool) {
	count := func(loads []float64) (n int, most result.NodeLoad) {
		for node, load := range loads {
			if load > 0 {
				n++
			}
			if load > most.Load*(1+loadTolerance) {
				most = result.NodeLoad{Node: r.nodeName(int32(node)), Load: load}
			}
		}
		return n, most
	}
	to.Pairs = z.numPairs
	to.Sources, to.TopSource = count(z.fromNode)
	to.Destinations, to.TopDestination = count(z.toNode)
	if r.load.demand != nil {
		for _, p := range z.heaviest {
			flow := r.load.flows[p.flow]
			to.TopPairs = append(to.TopPairs, result.PairLoad{Src: r.nodeName(flow.Src), Dst: r.nodeName(flow.Dst), Load: p.load})
		}
	}
	if !usual {
		return
	}
	to.FaultFreeLoad = &z.faultFreeLoad
	for cause, load := range z.detours {
		to.Detours = append(to.Detours, result.Detour{Cause: cause, Load: load})
	}
	slices.SortFunc(to.Detours, func(a, b result.Detour) int {
		return cmp.Or(cmp.Compare(b.Load, a.Load), cmp.Compare(a.Cause, b.Cause))
	})
	to.Detours = to.Detours[:min(len(to.Detours), maxExplainedLinks)]
}

// faultCauses names, by link, what takes it down or drains it; "" of links that routers may use.
func (r *routingSystem) faultCauses() []string {
	out := make([]string, len(r.Whole.Links))
	if r.Health == nil {
		return out
	}
	f, _, err := r.s.Fabric.Faults()
	if err != nil {
		return out // which the fabric was built from
	}
	mark := func(name string, one torus.Faults) {
		h, err := r.Torus.Health(one)
		if err != nil {
			return
		}
		for i, state := range h.Link {
			if state != torus.Works && out[i] == "" {
				out[i] = name
			}
		}
	}
	for _, s := range f.Switches {
		mark("switch "+s.String(), torus.Faults{Switches: []torus.Switch{s}})
	}
	for _, l := range f.Links {
		mark("link "+l.String(), torus.Faults{Links: []torus.Hop{l}})
	}
	for _, l := range f.Drained {
		mark("drained link "+l.String(), torus.Faults{Drained: []torus.Hop{l}})
	}
	for _, m := range f.Machines {
		mark("machine "+strconv.Itoa(m), torus.Faults{Machines: []int{m}})
	}
	for _, c := range f.Chips {
		mark("chip "+strconv.Itoa(int(c)), torus.Faults{Chips: []int32{c}})
	}
	return out
}

// delayParts splits the mean delay of the packets.
func (a *routingResult) delayParts() *result.DelayParts {
	s := a.Stats
	var packets int64
	var busy, late engine.Time
	for i, l := range s.Links {
		packets += l.Packets
		busy += l.Busy
		late += a.Packets.Network.Links[i].Latency * engine.Time(l.Packets)
	}
	d := &result.DelayParts{Exact: s.Delivered == s.Injected && s.Delay.Count == s.Injected}
	if of := float64(s.Injected - s.InFlight()); of > 0 {
		d.Hops, d.SerialS, d.LatencyS = float64(packets)/of, busy.Seconds()/of, late.Seconds()/of
	}
	d.WaitS = s.Delay.MeanSeconds() - d.SerialS - d.LatencyS
	if d.WaitS < 0 { // those that are measured pass fewer links than all, or it is rounding
		by := 1 + d.WaitS/(d.SerialS+d.LatencyS)
		d.SerialS, d.LatencyS, d.WaitS = d.SerialS*by, d.LatencyS*by, 0
	}
	return d
}

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
			chain.Parts = append(chain.Parts, result.ChainPart{Over: over, Src: a.system.nodeName(a.system.load.flows[flow].Src)})
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
func (a *routingResult) uncontendedTime(dims []int, names []string, flow int32, bytes, packet float64) (over string, alone, late float64) {
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
