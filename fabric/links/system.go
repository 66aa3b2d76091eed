package links

// This file builds the fabric that the keys in Links describe. The result is a System.

import (
	"slices"
	"strconv"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/torus"
)

// System is a built fabric. Slices are indexed by node or link of its networks.
type System struct {
	Torus  *torus.Torus  // nil for other fabrics
	Health *torus.Health // nil for fabrics without a torus
	// Whole has all links up. Known is the network that routers see: without the links that
	// are down or drained, either from the start or after a failure.
	Whole, Known *engine.Network
	// Down marks the nodes that neither send nor receive, which are failed nodes and switches.
	// It is nil if all nodes do.
	Down  []bool
	Cubes *Cubes // nil if no optical switches join cubes
	Tiers *Tiers // nil if the fabric has no inner tiers; otherwise Torus is nil
	First []int  // first link of each tier, indexed by tier, followed by the number of links
}

// Build builds the fabric.
func (l *Links) Build() (z System, err error) {
	if len(l.InnerTiers) > 0 {
		return l.buildTiers()
	}
	// Routers may use two channels on links without credits.
	link := engine.Link{Rate: float64(l.LinkRate), Latency: l.LinkLatency, Channels: 2}
	if l.Queue == "credit" {
		link.Channels = int32(l.Channels)
	}
	if len(l.Dims) == 0 {
		z.Whole, z.Down = l.Graph(link), l.IsSwitch()
		z.Known = z.Whole
		return z, nil
	}

	t, _, err := l.Shape()
	if err != nil {
		return z, err
	}
	f, _, err := l.Faults()
	if err != nil {
		return z, err
	}
	if z.Health, err = t.Health(f); err != nil {
		return z, err
	}
	var allWork *torus.Health // nil
	z.Torus, z.Whole = t, t.Network(allWork, link)
	z.Known = z.Whole
	if z.Cubes, err = l.JoinCubes(t); err != nil {
		return z, err
	}
	if l.Faulty() {
		z.Known = z.without(func(s torus.State) bool { return s != torus.Works })
	}
	z.Down = DownNodes(z.Health)
	return z, nil
}

// without returns the whole network with rate 0 for links whose state satisfies isLost.
func (z *System) without(isLost func(torus.State) bool) *engine.Network {
	n := *z.Whole
	n.Links = slices.Clone(n.Links)
	for i, s := range z.Health.Link {
		if isLost(s) {
			n.Links[i].Rate = 0
		}
	}
	return &n
}

// Graph builds a fabric of kind "graph". Links have the properties of template unless their edge
// overrides them.
func (l *Links) Graph(template engine.Link) *engine.Network {
	n := &engine.Network{Nodes: int32(l.Nodes)}
	for _, e := range l.Edges {
		rate, latency := e[2], e[3]
		link := template
		link.From, link.To = int32(e[0]), int32(e[1])
		if rate > 0 {
			link.Rate = float64(rate)
		}
		if latency != 0 {
			link.Latency = engine.Time(max(0, latency)) // noLatency is negative
		}
		n.Links = append(n.Links, link)
	}
	name := func(node int32) string {
		if len(l.Names) > 0 {
			return l.Names[node]
		}
		return strconv.Itoa(int(node))
	}
	n.ResourceNamer = func(r int32) string { return "link " + name(n.Links[r].From) + " > " + name(n.Links[r].To) }
	return n
}

// switchRoundTrips is the default buffer of a link with credits in round trips if there are switches.
// Packets of many inputs wait for one output there. With one round trip, an all-to-all of 128 KB
// messages on a fat tree of 128 hosts takes 1.4 times as long, and 1.5 times with sprayed packets.
const switchRoundTrips = 10

// Network returns the network that packets of the given size see: with queues and channels, and
// with drained links but without links that are down. Failures during the run are changes of
// links.
func (z *System) Network(l *Links, packet units.Bytes, channels int) (*engine.Network, error) {
	n := *z.Whole
	if z.Health != nil && l.FailAt == 0 {
		n = *z.without(func(s torus.State) bool { return s == torus.Down })
	} else {
		n.Links = append([]engine.Link(nil), n.Links...)
	}
	// Each tier has the queues and channels of its own options.
	first := z.First
	if z.Tiers == nil {
		first = []int{0, len(n.Links)}
	}

	for i, tier := range append(slices.Clone(l.InnerTiers), l) {
		channelCount := channels
		buffer, err := tier.QueueCapacity(packet)
		if err != nil {
			return nil, err
		}
		if tier.Queue == "credit" {
			channelCount, buffer = tier.Channels, tier.Buffer
		}
		for k := first[i]; k < first[i+1]; k++ {
			link := &n.Links[k]
			link.Buffer, link.Channels = int64(buffer), int32(channelCount)
			if tier.Queue == "credit" && buffer == 0 && tier.Switches.From > 0 {
				link.Buffer = int64(switchRoundTrips*2*link.Latency.Seconds()*link.Rate/8) + switchRoundTrips*2*int64(packet)
			}
		}
	}

	// Failures during the run.
	if l.FailAt > 0 {
		for i, s := range z.Health.Link {
			if s == torus.Down {
				n.Changes = append(n.Changes, engine.Change{At: l.FailAt, Link: int32(i)})
			}
		}
	}
	return &n, nil
}

// DownNodes returns whether each node is down, indexed by node; nil if none is.
func DownNodes(h *torus.Health) []bool {
	if !slices.Contains(h.Node, torus.Down) {
		return nil
	}
	down := make([]bool, len(h.Node))
	for n, state := range h.Node {
		down[n] = state == torus.Down
	}
	return down
}
