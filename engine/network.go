package engine

import (
	"fmt"
	"math"
)

// Link is one directed channel of a Network.
type Link struct {
	From, To int32   // nodes; -1 where the link stands for many
	Rate     float64 // bits per second; 0 is a link that is down
	// Peak is the highest rate that the link is meant to have, where none of its changes may lead to it: priorities and
	// cut-offs of fluids go by the highest of all.
	Peak     float64
	Latency  Time
	Buffer   int64 // bytes of queue; 0 is unbounded. Used at packet level.
	Channels int32 // virtual channels; 0 means 1. Used at packet level.
}

// Group is capacity that several routes share beside their links, such as a network interface.
type Group struct {
	Rate float64 // bits per second
}

// Change sets the rate of a link at a time: how circuits are reconfigured and how links fail and come back in mid-run.
type Change struct {
	At   Time
	Link int32
	Rate float64 // bits per second
	// Planned is a change that senders know of: at packet level what waits before a link that goes down stays there, and
	// what is being sent still arrives, rather than being lost.
	Planned bool
}

// Network is the hardware that a graph is simulated on. Resources are numbered links first, then groups: group g is
// resource len(Links)+g.
type Network struct {
	Nodes   int32
	Links   []Link
	Groups  []Group
	Changes []Change // ordered by At
	// ResourceNamer names a link or group in messages. nil names it by number.
	ResourceNamer func(resource int32) string
}

// Resources returns the number of links and groups.
func (n *Network) Resources() int { return len(n.Links) + len(n.Groups) }

// GroupResource returns the resource number of group g.
func (n *Network) GroupResource(g int32) int32 { return int32(len(n.Links)) + g }

// Rate returns the rate of a resource in bits per second at the start.
func (n *Network) Rate(resource int32) float64 {
	if int(resource) < len(n.Links) {
		return n.Links[resource].Rate
	}
	return n.Groups[int(resource)-len(n.Links)].Rate
}

// ResourceName names a link or group.
func (n *Network) ResourceName(resource int32) string {
	if n.ResourceNamer != nil {
		return n.ResourceNamer(resource)
	}
	if int(resource) < len(n.Links) {
		return fmt.Sprintf("link %d", resource)
	}
	return fmt.Sprintf("group %d", int(resource)-len(n.Links))
}

// Validate fails on a rate that is negative or not finite, and on changes that are out of order or name no link.
func (n *Network) Validate() error {
	bad := func(r float64) bool { return r < 0 || math.IsNaN(r) || math.IsInf(r, 0) }
	for r := range int32(n.Resources()) {
		if bad(n.Rate(r)) {
			return fmt.Errorf("engine: %s has rate %g b/s, want a finite number of at least 0", n.ResourceName(r), n.Rate(r))
		}
	}
	for i, c := range n.Changes {
		switch {
		case c.Link < 0 || int(c.Link) >= len(n.Links):
			return fmt.Errorf("engine: change %d names link %d of %d", i, c.Link, len(n.Links))
		case bad(c.Rate) || c.At < 0:
			return fmt.Errorf("engine: change %d of %s to %g b/s at %v", i, n.ResourceName(c.Link), c.Rate, c.At)
		case i > 0 && c.At < n.Changes[i-1].At:
			return fmt.Errorf("engine: change %d is earlier than the one before it", i)
		}
	}
	return nil
}

// Use is a share of a resource: a transfer at rate r takes Weight*r of it.
type Use struct {
	Resource int32
	Weight   float64
}

// Routes says for each transfer which resources it uses, and how fast one of its flows may go at most. A transfer with
// no uses takes no time.
type Routes struct {
	Start   []int32   // uses of task i are Uses[Start[i]:Start[i+1]]
	Uses    []Use     //
	FlowCap []float64 // by task, bits per second a flow; nil or 0 is no cap
}

// Of returns the uses of a task. Read only.
func (r *Routes) Of(task int32) []Use { return r.Uses[r.Start[task]:r.Start[task+1]] }

// Cap returns the rate limit of a task over all its flows in bits per second, +Inf where there is none.
func (r *Routes) Cap(task int32, flows int32) float64 {
	if r.FlowCap == nil || r.FlowCap[task] == 0 {
		return math.Inf(1)
	}
	return r.FlowCap[task] * float64(flows)
}

// Hops returns a function that returns the links of shortest paths from a node to each over links that are up, -1 where
// there are none: over all, or those that of has. It searches anew when asked for another node than the last, and
// overwrites what it returned.
func (n *Network) Hops(include func(link int) bool) func(from int32) []int32 {
	out := make([][]int32, n.Nodes)
	for i, l := range n.Links {
		if l.Rate > 0 && (include == nil || include(i)) {
			out[l.From] = append(out[l.From], l.To)
		}
	}
	hops, queue, last := make([]int32, n.Nodes), make([]int32, 0, n.Nodes), int32(-1)
	return func(from int32) []int32 {
		if from == last {
			return hops
		}
		for i := range hops {
			hops[i] = -1
		}
		last, hops[from], queue = from, 0, append(queue[:0], from)
		for head := 0; head < len(queue); head++ {
			for _, to := range out[queue[head]] {
				if hops[to] < 0 {
					hops[to] = hops[queue[head]] + 1
					queue = append(queue, to)
				}
			}
		}
		return hops
	}
}
