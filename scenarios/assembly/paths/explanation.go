// This file explains the result of a router: the sums over groups of links, the links that
// are busy for the longest time (bottlenecks), the pairs of nodes whose flows use them, and
// the parts of the mean delay of packets.
//
// Two networks occur. routingSystem.Whole is the fabric with all links up; its link rates
// are nominal rates. routingResult.routerNetwork is the network for which the router
// chose paths; a link that was down at that time has rate 0 in it. Links have the same
// indices in both.

package paths

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/fabric/torus"
	"sim/scenarios/result"
)

// Limits of explanations.
const (
	maxExplainedLinks = 5 // links with the largest loads
	maxExplainedPairs = 3 // pairs of nodes per explained link
	// maxTracedHops limits the total length of the paths, in links, that are followed to
	// find the node pairs that use a bottleneck. Following that many takes some tenths of
	// a second.
	maxTracedHops = 5e7
	// loadTolerance is the relative difference below which loads count as equal.
	// Loads that are sums of shares have rounding errors.
	loadTolerance = 1e-9
)

// explainTraffic returns which traffic loads the links and which times add up to
// the completion time. The result is incomplete if ctx is cancelled.
func (a *routingResult) explainTraffic(ctx context.Context) *result.Traffic {
	r := a.system
	out := &result.Traffic{
		LinkRateBitsPerS: float64(r.s.Fabric.LinkRate),
		FailAtS:          r.s.Fabric.FailAt.Seconds(),
		Chain:            a.criticalChain(),
		Groups:           a.linkGroups(),
	}

	// The node pairs whose flows use the bottlenecks are known only if following all
	// paths is fast enough.
	bottlenecks := a.addBottlenecks(out)
	if float64(a.pathLoads.SumHops) <= maxTracedHops {
		a.addPairs(ctx, out, bottlenecks)
	} else {
		out.PairsUnknown = true
	}

	if s := a.Stats; s != nil && s.Delay.Count > 0 {
		out.Delay = a.delayParts()
	}
	return out
}

// relativeRate returns the nominal rate of a link relative to the link rate of the fabric.
func (r *routingSystem) relativeRate(link int) float64 {
	return r.Whole.Links[link].Rate / float64(r.s.Fabric.LinkRate)
}

// linkGroups returns the sums over the links of each dimension or tier, or over
// all links of a graph.
func (a *routingResult) linkGroups() []result.LinkGroup {
	r := a.system
	classOf, names := r.linkClasses()
	var groups []result.LinkGroup
	for _, name := range names {
		groups = append(groups, result.LinkGroup{Name: name})
	}
	for i := range r.Whole.Links {
		g := &groups[classOf[i]]
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

		// Links that were down when paths were chosen have no capacity.
		if a.routerNetwork.Links[i].Rate > 0 {
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

// addBottlenecks adds the maxExplainedLinks links that are busy for the longest time, and
// returns their indices. out.NumTied counts all links that are busy for the maximum time.
func (a *routingResult) addBottlenecks(out *result.Traffic) []int32 {
	var links []int32 // links with a load
	for i := range a.system.Whole.Links {
		if a.linkLoads[i] > 0 {
			links = append(links, int32(i))
		}
	}

	// Sort the links by the time for which they are busy, the busiest first. Links with
	// equal times stay in the order of their indices.
	//
	// busyTime is in units of the time for which a link of the fabric's link rate carries
	// one message.
	busyTime := func(link int32) float64 {
		return a.linkLoads[link] / a.system.relativeRate(int(link))
	}
	slices.SortStableFunc(links, func(i, j int32) int {
		x, y := busyTime(i), busyTime(j)
		if math.Abs(x-y) > loadTolerance*max(x, y) {
			return cmp.Compare(y, x)
		}
		return 0
	})

	// Count the links that are busy for as long as the first.
	for _, i := range links {
		if busyTime(i) < busyTime(links[0])*(1-loadTolerance) {
			break
		}
		out.NumTied++
	}

	links = links[:min(len(links), maxExplainedLinks)]
	for _, i := range links {
		l := a.system.Whole.Links[i]
		bottleneck := result.LoadedLink{
			Name: a.system.linkName(i),
			From: a.system.nodeName(l.From), To: a.system.nodeName(l.To),
			Load: a.linkLoads[i], Speed: a.system.relativeRate(int(i)),
		}
		if a.Stats != nil {
			busy := a.Stats.Utilisation(i)
			bottleneck.Busy = &busy
		}
		out.Bottlenecks = append(out.Bottlenecks, bottleneck)
	}
	return links
}

// linkName returns the name of a link in tables, such as "17 x+" or "leaf of pod 0 > spine 1".
func (r *routingSystem) linkName(link int32) string {
	return strings.TrimPrefix(r.Whole.ResourceName(link), "link ")
}

// nodeName returns the coordinates of a node on a torus, or the name of a node if it has
// one, or its number.
func (r *routingSystem) nodeName(node int32) string {
	switch {
	case r.Torus != nil:
		coordinates := make([]string, len(r.Torus.Dims))
		for d, c := range r.Torus.At(node) {
			coordinates[d] = strconv.Itoa(c)
		}
		return "(" + strings.Join(coordinates, ",") + ")"
	case r.Tiers != nil:
		return r.NodeName(node)
	case len(r.s.Fabric.Names) > 0:
		return r.s.Fabric.Names[node]
	}
	return strconv.Itoa(int(node))
}

// delayParts divides the mean delay of packets into serialisation, link latency
// and waiting. The parts are exact if all packets were delivered and measured.
func (a *routingResult) delayParts() *result.DelayParts {
	s := a.Stats

	// Sum over all links and packets.
	var hops int64
	var busy, latency engine.Time
	for i, l := range s.Links {
		hops += l.Packets
		busy += l.Busy
		latency += a.Packets.Network.Links[i].Latency * engine.Time(l.Packets)
	}

	// Divide by the number of packets that have left the network. It includes dropped
	// packets, because these have loaded links too. The rest of the measured mean delay is
	// waiting.
	d := &result.DelayParts{Exact: s.Delivered == s.Injected && s.Delay.Count == s.Injected}
	if left := float64(s.Delivered + s.Dropped); left > 0 {
		d.Hops = float64(hops) / left
		d.SerialS = busy.Seconds() / left
		d.LatencyS = latency.Seconds() / left
	}
	d.WaitS = s.Delay.MeanSeconds() - d.SerialS - d.LatencyS

	// The rest is negative if the measured packets crossed fewer links than the mean, or
	// because of rounding. Then there is no waiting, and the two other parts are scaled so
	// that they add up to the mean delay.
	if d.WaitS < 0 {
		scale := 1 + d.WaitS/(d.SerialS+d.LatencyS)
		d.SerialS, d.LatencyS, d.WaitS = d.SerialS*scale, d.LatencyS*scale, 0
	}
	return d
}
