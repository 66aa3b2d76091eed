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
	out := &result.Traffic{LinkRateBitsPerS: float64(r.s.Fabric.LinkRate),
		FailAtS: r.s.Fabric.FailAt.Seconds(), Chain: a.criticalChain()}
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
			Name: strings.TrimPrefix(a.system.Whole.ResourceName(i), "link "),
			From: a.system.nodeName(l.From), To: a.system.nodeName(l.To),
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
		d.Hops, d.SerialS, d.LatencyS = float64(packets)/of, busy.Seconds()/of,
			late.Seconds()/of
	}
	d.WaitS = s.Delay.MeanSeconds() - d.SerialS - d.LatencyS
	if d.WaitS < 0 { // those that are measured pass fewer links than all, or it is rounding
		by := 1 + d.WaitS/(d.SerialS+d.LatencyS)
		d.SerialS, d.LatencyS, d.WaitS = d.SerialS*by, d.LatencyS*by, 0
	}
	return d
}
