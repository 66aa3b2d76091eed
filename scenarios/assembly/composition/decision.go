// This file defines Decision, the use of a network by a job, and variants of a decision
// with scaled link rates or without some loads.

package composition

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// Decision describes how the transfers of a job use a network, in the form that the
// engines take. Its functions accept the graph of the job and variants of it with the
// same tasks, in which some transfers are replaced by tasks that take no time.
type Decision struct {
	// Network has changes over time if links fail.
	Network *engine.Network
	// Routes returns the resources that every transfer uses.
	Routes func(g *engine.Graph) (*engine.Routes, error)
	// ArrivalDelays returns the delay of every transfer between sending its last bit and
	// its arrival, in ticks, indexed by task. The function or its result is nil if links
	// have no latencies, or if the dependencies of the graph include them.
	ArrivalDelays func(g *engine.Graph) []engine.Time
	// Merge combines transfers that share one rate at level flow, without changing the
	// number of tasks. It is nil if no transfers can be merged.
	Merge func(g *engine.Graph, r *engine.Routes) (*engine.Graph, *engine.Routes, error)
	// Flow holds the service at level flow, and what traces record.
	Flow flow.Options
	// Known is an earlier simulation. Its trace replaces the simulation at level flow if both
	// have the same input. It may be nil.
	Known *FairRun
	// SimulateMoves simulates a graph at level flow if circuits move when tasks end. All
	// link rates are multiplied by rateFactor. It is nil if the network does not depend
	// on the run.
	SimulateMoves func(
		ctx context.Context, g *engine.Graph, rateFactor float64,
	) (*engine.Trace, error)
	// ToPackets lowers a job to level packet under d, which is this decision or a variant
	// of it.
	ToPackets func(ctx context.Context, j *Job, d *Decision) (*Packets, error)
	// Loads holds the load of every link in messages, indexed by link, if sources pace
	// their packets by the largest load. Loads are compared at ReferenceRate: the load of
	// a link with twice this rate counts half.
	Loads         []float64
	ReferenceRate float64

	rateFactor float64 // factor of all rates of ScaleRates; 0 means 1
	// scaling scales the rates of a network as ScaleRates has scaled Network; nil if it
	// has not.
	scaling func(n *engine.Network) *engine.Network
}

// Packets is a job under a decision, in the form that engine/packet takes.
type Packets struct {
	Graph   *engine.Graph
	Network *engine.Network
	Flows   []engine.Flow
	Paths   *engine.Paths
	Bytes   int32          // size of a packet on the wire
	Options packet.Options // order of tasks, flow control, bit errors, rewiring, seed
	// Trace maps a trace of Graph to the tasks of the job; nil if they are the same.
	Trace func(*engine.Trace) *engine.Trace
}

// NewRouteDecision returns a decision for a single graph, whose routes are r. It supports
// only level flow.
func NewRouteDecision(n *engine.Network, r *engine.Routes, o flow.Options) *Decision {
	return &Decision{
		Network: n,
		Routes:  func(*engine.Graph) (*engine.Routes, error) { return r, nil },
		Flow:    o,
	}
}

// NewPathDecision returns a decision by which transfers follow paths, as engine.RoutesOf
// and packet.RunGraph assign them. Both levels use the same network. Packets have the
// given size.
func NewPathDecision(
	n *engine.Network, flows []engine.Flow, paths *engine.Paths, bytes int32, o packet.Options,
) *Decision {
	toPackets := func(_ context.Context, j *Job, d *Decision) (*Packets, error) {
		return &Packets{
			Graph:   j.Graph,
			Network: d.Network,
			Flows:   flows,
			Paths:   paths,
			Bytes:   bytes,
			Options: o,
		}, nil
	}
	return &Decision{
		Network: n,
		Routes: func(g *engine.Graph) (*engine.Routes, error) {
			return engine.RoutesOf(g, n, paths, flows)
		},
		ToPackets: toPackets,
	}
}

// ScaleRates returns the decision with the rates of the selected resources multiplied by
// factor. If selects is nil, all resources are selected.
func (d *Decision) ScaleRates(factor float64, selects func(resource int32) bool) *Decision {
	out := *d
	// SimulateMoves supports only a common factor of all rates.
	if selects == nil {
		out.rateFactor = factor
	}

	// Networks that are built later get the same factors, through ScaleNetwork.
	out.scaling = func(n *engine.Network) *engine.Network {
		if d.scaling != nil {
			n = d.scaling(n)
		}
		return ScaleNetworkRates(n, factor, selects)
	}
	if d.Network != nil {
		out.Network = ScaleNetworkRates(d.Network, factor, selects)
	}
	return &out
}

// ScaleNetwork scales the rates of a network as ScaleRates has scaled d.Network. Both
// networks have the same resources.
func (d *Decision) ScaleNetwork(n *engine.Network) *engine.Network {
	if d.scaling == nil {
		return n
	}
	return d.scaling(n)
}

// ScaleNetworkRates returns a copy of a network with the rates of the selected resources
// multiplied by factor. If selects is nil, all resources are selected.
func ScaleNetworkRates(
	n *engine.Network, factor float64, selects func(resource int32) bool,
) *engine.Network {
	f := *n
	f.Links, f.Groups = slices.Clone(n.Links), slices.Clone(n.Groups)
	for i := range f.Links {
		if selects == nil || selects(int32(i)) {
			f.Links[i].Rate *= factor
		}
	}
	for i := range f.Groups {
		if selects == nil || selects(n.GroupResource(int32(i))) {
			f.Groups[i].Rate *= factor
		}
	}
	return &f
}

// withoutLoads returns the decision with loads of 0 on the selected links.
func (d *Decision) withoutLoads(selects func(resource int32) bool) *Decision {
	out := *d
	out.Loads = slices.Clone(d.Loads)
	for i := range out.Loads {
		if selects(int32(i)) {
			out.Loads[i] = 0
		}
	}
	return &out
}

// BottleneckLoad returns the number of messages on the link with the longest busy time,
// scaled to ReferenceRate.
func (d *Decision) BottleneckLoad() float64 {
	maxLoad := 0.0
	for i, load := range d.Loads {
		if load > 0 {
			maxLoad = math.Max(maxLoad, load*d.ReferenceRate/d.Network.Links[i].Rate)
		}
	}
	return maxLoad
}
