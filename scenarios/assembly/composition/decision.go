package composition

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// Decision says how the transfers of a job use a network, in the form that engines take.
type Decision struct {
	// Network has changes over time if links fail.
	Network *engine.Network
	// Routes returns the resources of every transfer of the job's graph or of a variant with the same tasks.
	Routes func(g *engine.Graph) (*engine.Routes, error)
	// ArrivalDelays returns by how many ticks every transfer arrives after its last bit is sent, indexed by task. Late is nil, or
	// returns nil, if no link has a latency that dependencies do not hold already.
	ArrivalDelays func(g *engine.Graph) []engine.Time
	// Merge combines transfers that share one rate at level "flow", with the same tasks; nil if there are none.
	Merge func(g *engine.Graph, r *engine.Routes) (*engine.Graph, *engine.Routes, error)
	// Flow holds the service discipline at level "flow" and what traces record.
	Flow flow.Options
	// SimulateMoves simulates a graph with the tasks of the job at level "flow" if circuits move when tasks end, with times the
	// rate of every link; nil if the network does not depend on the run.
	SimulateMoves func(ctx context.Context, g *engine.Graph, times float64) (*engine.Trace, error)
	// ToPackets lowers a job for level "packet" under d, which is the decision or a variant of it.
	ToPackets func(ctx context.Context, j *Job, d *Decision) (*Packets, error)
	// Loads holds the load of every link in messages, if sources pace their packets by the largest; indexed by link. Rate
	// is the rate of a link that loads are compared at: a link of twice this rate counts half.
	Loads         []float64
	ReferenceRate float64

	rateFactor float64 // the factor of ScaleRates for all resources; 0 means 1
	scaling    func(n *engine.Network) *engine.Network
}

// Packets is a job under a decision in the form that engine/packet takes.
type Packets struct {
	Graph   *engine.Graph
	Network *engine.Network
	Flows   []engine.Flow
	Paths   *engine.Paths
	Bytes   int32                             // size of a packet on the wire
	Options packet.Options                    // order of tasks, flow control, bit errors, rewiring, seed
	Trace   func(*engine.Trace) *engine.Trace // maps a trace to the tasks of the job; nil if they are the same
}

// NewRouteDecision leads the transfers of one graph over the resources of r, at level "flow".
func NewRouteDecision(n *engine.Network, r *engine.Routes, o flow.Options) *Decision {
	return &Decision{Network: n, Routes: func(*engine.Graph) (*engine.Routes, error) { return r, nil }, Flow: o}
}

// NewPathDecision leads the transfers of jobs over paths, as engine.RoutesOf and packet.RunGraph assign them. Packets find
// the same network.
func NewPathDecision(n *engine.Network, flows []engine.Flow, paths *engine.Paths, bytes int32, o packet.Options) *Decision {
	return &Decision{
		Network: n,
		Routes:  func(g *engine.Graph) (*engine.Routes, error) { return engine.RoutesOf(g, n, paths, flows) },
		ToPackets: func(_ context.Context, j *Job, d *Decision) (*Packets, error) {
			return &Packets{Graph: j.Graph, Network: d.Network, Flows: flows, Paths: paths, Bytes: bytes, Options: o}, nil
		},
	}
}

// ScaleRates returns the decision on resources with times the rate: those that has selects, all if it is nil.
func (d *Decision) ScaleRates(factor float64, selects func(resource int32) bool) *Decision {
	out := *d
	if selects == nil {
		out.rateFactor = factor
	}
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

// ScaleNetwork returns n, a network with the resources of d.Network, with their rates scaled as d.Network is.
func (d *Decision) ScaleNetwork(n *engine.Network) *engine.Network {
	if d.scaling == nil {
		return n
	}
	return d.scaling(n)
}

// ScaleNetworkRates returns a network with times the rate of the resources that has selects, of all if it is nil.
func ScaleNetworkRates(n *engine.Network, factor float64, selects func(resource int32) bool) *engine.Network {
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

// withoutLoads returns the decision with no load on the links that has selects.
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

// BottleneckLoad returns the load, in messages, of the link that takes longest to carry its own, as if it had the rate d.Rate.
func (d *Decision) BottleneckLoad() float64 {
	maxLoad := 0.0
	for i, load := range d.Loads {
		if load > 0 {
			maxLoad = math.Max(maxLoad, load*d.ReferenceRate/d.Network.Links[i].Rate)
		}
	}
	return maxLoad
}
