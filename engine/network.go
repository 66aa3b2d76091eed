package engine

// This file defines the hardware that all simulators share: a Network of links, and the Routes
// with which the flow level uses it.

import (
	"fmt"
	"math"
)

// Link is a directed link of a Network.
type Link struct {
	From, To int32   // nodes; -1 if this end is not a node of the network
	Rate     float64 // bits per second; 0 if the link is down
	// Peak is a rate that the link may have during a run, in bits per second, in addition to
	// Rate and the rates in Network.Changes; 0 means no further rate. At the flow level,
	// priorities and cut-offs use the highest of these rates.
	Peak     float64
	Latency  Time  // propagation delay
	Buffer   int64 // queue capacity in bytes, packet level only; 0 means unbounded
	Channels int32 // number of virtual channels, packet level only; 0 means 1
}

// Group is a capacity that several routes share in addition to their links, such as a network
// interface.
type Group struct {
	Rate float64 // bits per second
}

// Change sets the rate of a link at a time. Changes model reconfigured circuits and links that fail
// and recover during a run.
type Change struct {
	At   Time
	Link int32
	Rate float64 // bits per second
	// Planned means that senders are informed of the change. If a link goes down at the packet
	// level, waiting packets then stay in its queue and the packet being sent still arrives;
	// otherwise both are lost.
	Planned bool
}

// Network is the hardware on which a graph is simulated. A resource is a link or a group. Links are
// numbered first: group g is resource len(Links)+g.
type Network struct {
	Nodes   int32 // number of nodes
	Links   []Link
	Groups  []Group
	Changes []Change // in order of At
	// ResourceNamer returns the name of a resource in messages. If nil, the name contains its
	// number.
	ResourceNamer func(resource int32) string
}

// Resources returns the number of links and groups.
func (n *Network) Resources() int { return len(n.Links) + len(n.Groups) }

// GroupResource returns the resource number of group g.
func (n *Network) GroupResource(g int32) int32 { return int32(len(n.Links)) + g }

// Rate returns the rate of a resource at the start of a run, in bits per second.
func (n *Network) Rate(resource int32) float64 {
	if int(resource) < len(n.Links) {
		return n.Links[resource].Rate
	}
	return n.Groups[int(resource)-len(n.Links)].Rate
}

// ResourceName returns the name of a resource.
func (n *Network) ResourceName(resource int32) string {
	if n.ResourceNamer != nil {
		return n.ResourceNamer(resource)
	}
	if int(resource) < len(n.Links) {
		return fmt.Sprintf("link %d", resource)
	}
	return fmt.Sprintf("group %d", int(resource)-len(n.Links))
}

// Validate returns an error if a rate is negative or not finite, or if changes are out of order or
// refer to a link that does not exist.
func (n *Network) Validate() error {
	bad := func(r float64) bool { return r < 0 || math.IsNaN(r) || math.IsInf(r, 0) }
	for r := range int32(n.Resources()) {
		if bad(n.Rate(r)) {
			return fmt.Errorf("engine: %s has rate %g b/s, want a finite number of at least 0",
				n.ResourceName(r), n.Rate(r))
		}
	}

	for i, c := range n.Changes {
		switch {
		case c.Link < 0 || int(c.Link) >= len(n.Links):
			return fmt.Errorf("engine: change %d names link %d of %d", i, c.Link, len(n.Links))
		case bad(c.Rate) || c.At < 0:
			return fmt.Errorf("engine: change %d of %s to %g b/s at %v",
				i, n.ResourceName(c.Link), c.Rate, c.At)
		case i > 0 && c.At < n.Changes[i-1].At:
			return fmt.Errorf("engine: change %d is earlier than the one before it", i)
		}
	}
	return nil
}

// Use is the use of a resource by a transfer: at rate r the transfer takes Weight*r of its
// capacity.
type Use struct {
	Resource int32
	Weight   float64
}

// Routes lists the resources that each transfer uses and the rate limit of its flows. A transfer
// without uses takes no time.
type Routes struct {
	Start []int32 // the uses of task i are Uses[Start[i]:Start[i+1]]
	Uses  []Use   // grouped by task
	// FlowCap is the maximum rate of one flow in bits per second, indexed by task; nil or 0
	// means no limit.
	FlowCap []float64
}

// NewRoutes returns the routes of the given number of tasks. The function add appends the uses of a
// task. If add is nil, no task has uses.
func NewRoutes(tasks int, add func(uses []Use, task int32) []Use) *Routes {
	r := &Routes{Start: make([]int32, tasks+1)}
	for i := range tasks {
		if add == nil {
			break
		}
		r.Uses = add(r.Uses, int32(i))
		r.Start[i+1] = int32(len(r.Uses))
	}
	return r
}

// Of returns the uses of a task. The slice must not be modified.
func (r *Routes) Of(task int32) []Use { return r.Uses[r.Start[task]:r.Start[task+1]] }

// Cap returns the rate limit of a task over all its flows in bits per second, +Inf if it has none.
func (r *Routes) Cap(task int32, flows int32) float64 {
	if r.FlowCap == nil || r.FlowCap[task] == 0 {
		return math.Inf(1)
	}
	return r.FlowCap[task] * float64(flows)
}

// Hops returns a function that computes the number of links on shortest paths from a node to
// every node, -1 for nodes that cannot be reached. Paths use links that are up and for which the
// argument of Hops returns true; nil includes all links. Both end nodes of these links must be
// known (not -1). The function caches the result for the
// last node and overwrites it when called for another one.
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
