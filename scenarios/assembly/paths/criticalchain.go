// This file explains the completion time of traffic by its critical path: a chain of
// dependent transfers that is as long as the makespan. The time of each transfer is divided
// into latency, transmission time on links without other traffic, and the additional time
// because other traffic shares its links.

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

// criticalChain returns the critical path of the simulation, summed up by the sets of
// dimensions or tiers that transfers use. It is nil if there is no trace.
func (a *routingResult) criticalChain() *result.Chain {
	r, g, t := a.system, a.Graph, a.Trace
	if t == nil {
		return nil
	}
	packetBytes := 0.0 // 0 at level flow
	if a.Stats != nil {
		packetBytes = float64(r.s.Workload.Packet)
	}

	// There is one part per set of dimensions or tiers that a transfer uses.
	chain := &result.Chain{EndS: t.Makespan.Seconds(), Computes: r.iteration != nil}
	indexOf := map[string]int{} // index in chain.Parts, by names of dimensions
	classOf, names := r.linkClasses()
	flows := a.taskFlows(g)
	previousEnd, last := engine.Time(0), 0 // end of the previous transfer, and index of its part
	for _, id := range t.CriticalPath(g) {
		task := &g.Tasks[id]
		start, end := t.Start[id], t.End[id]
		if task.Kind != engine.Transfer || start == engine.Never || end == engine.Never {
			continue
		}

		flow := flows[id]
		over, alone, latency := a.uncontendedTime(classOf, names, flow, float64(task.Bytes), packetBytes)
		if g.IsMessage(id) {
			latency += g.MessageOverhead.Seconds()
		}

		i, ok := indexOf[over]
		if !ok {
			i = len(chain.Parts)
			indexOf[over] = i
			src := r.nodeName(r.load.flows[flow].Src)
			chain.Parts = append(chain.Parts, result.ChainPart{Over: over, Src: src})
		}

		// The time that exceeds the uncontended time is due to sharing. Below a
		// tick it is a rounding error.
		p := &chain.Parts[i]
		duration := (end - start).Seconds()
		latency = min(latency, duration)
		alone = min(alone, duration-latency)
		p.Transfers++
		p.Bytes += task.Bytes
		p.Dst = r.nodeName(r.load.flows[flow].Dst)
		p.LatencyS += latency + (start - previousEnd).Seconds()
		p.UnsharedS += alone

		if rest := duration - latency - alone; rest > assembly.TickSeconds {
			p.SharingS += rest
		} else {
			p.UnsharedS += rest
		}
		previousEnd, last = end, i
	}

	if chain.Parts == nil {
		return nil
	}

	// The last transfer arrives after its end by its latency.
	chain.Parts[last].LatencyS += (t.Makespan - previousEnd).Seconds()
	return chain
}

// uncontendedTime returns the names of the dimensions or tiers that a flow uses,
// and the time in seconds in which the flow transfers bytes if nothing else uses
// its links.
//
// At level flow (packetBytes is 0), all links of all paths carry the bytes at the same
// time, and the latency is part of the graph's edges. At level packet, each node
// stores and forwards packets; the latency and the forwarding time are the maxima
// over paths.
func (a *routingResult) uncontendedTime(
	classOf []int, names []string, flow int32, bytes, packetBytes float64,
) (over string, alone, latency float64) {
	links := a.system.Whole.Links
	usesClass, shareOf := map[int]bool{}, map[int32]float64{}
	a.system.newLinkVisitor()(a.paths, flow, func(link int32, share float64) {
		shareOf[link] += share
		usesClass[classOf[link]] = true
	})

	// Find the rate of the flow: a link that carries a share of the flow limits it to the
	// rate of the link divided by the share.
	rate := math.Inf(1)
	for link, share := range shareOf {
		rate = min(rate, links[link].Rate/share)
	}

	// The names are in the order of classes.
	for class, name := range names {
		if usesClass[class] {
			over = strings.TrimPrefix(over+" "+name, " ")
		}
	}

	alone = bytes * 8 / rate
	if packetBytes == 0 || math.IsInf(rate, 1) {
		return over, alone, 0
	}

	// The first packet is sent again on each link. Its time on the slowest link is
	// part of alone already.
	bits := min(packetBytes, bytes) * 8
	forwarding := 0.0
	for _, path := range a.flowPaths(flow) {
		pathForwarding, pathLatency := -bits/rate, 0.0
		for _, link := range path {
			pathForwarding += bits / links[link].Rate
			pathLatency += links[link].Latency.Seconds()
		}
		forwarding, latency = max(forwarding, pathForwarding), max(latency, pathLatency)
	}
	return over, alone + forwarding, latency
}

// flowPaths returns the links of each path of a flow. If packets draw their links,
// it returns one possible path.
func (a *routingResult) flowPaths(flow int32) (paths [][]int32) {
	links, ends := a.system.Whole.Links, a.system.load.flows[flow]
	if s := a.paths.Spread; s != nil {
		var path []int32
		const random = 0 // in place of a random number: selects the first link at each node
		for node := ends.Src; node != ends.Dst; node = links[path[len(path)-1]].To {
			path = append(path, s.Next(node, ends.Dst, random))
		}
		return [][]int32{path}
	}

	first, end := a.paths.Of(a.paths.ClassOf(flow))
	for k := first; k < end; k++ {
		paths = append(paths, slices.Collect(a.paths.Links(ends.Src, k, links)))
	}
	return paths
}

// linkClasses returns the class of each link and the names of the classes:
// dimensions of a torus, or tiers. All links of a graph are in one class.
func (r *routingSystem) linkClasses() (classOf []int, names []string) {
	classOf = make([]int, len(r.Whole.Links))
	switch {
	case r.Torus != nil:
		for i, l := range r.Torus.Links() {
			classOf[i] = int(l.Dim)
		}
		for d := range r.Torus.Dims {
			names = append(names, torus.DimName(d))
		}
	case r.Tiers != nil:
		for i := range classOf {
			classOf[i] = r.TierOf(int32(i))
		}
		for i, kind := range r.s.Fabric.Kinds() {
			names = append(names, fmt.Sprintf("tier %d %s", i+1, kind))
		}
	default:
		names = []string{"all"}
	}

	return classOf, names
}

// taskFlows returns the flow whose paths each transfer of g uses, indexed by task.
// A task of classGraph uses the first flow of its class. Otherwise task i uses
// flow i if their ends are equal, or else the first flow with its ends.
func (a *routingResult) taskFlows(g *engine.Graph) []int32 {
	if a.system.load.call != nil {
		return a.system.load.call.flowOfTask
	}
	flows, flowOf := a.system.load.flows, make([]int32, len(g.Tasks))
	if a.classGraph != nil && g == a.classGraph.Graph {
		for f := len(flows) - 1; f >= 0; f-- {
			flowOf[a.paths.ClassOf(int32(f))] = int32(f)
		}
		return flowOf
	}

	first := map[engine.Flow]int32{} // first flow, by ends
	for f := len(flows) - 1; f >= 0; f-- {
		first[flows[f]] = int32(f)
	}
	for i, t := range g.Tasks {
		ends := engine.Flow{Src: t.Src, Dst: t.Dst}
		flowOf[i] = first[ends]
		if i < len(flows) && flows[i] == ends {
			flowOf[i] = int32(i)
		}
	}
	return flowOf
}
