// Package flow simulates a task graph on a network at the flow level (fluid
// simulation). Every transfer has a rate. Rates change only when a transfer starts
// or ends, when a link changes, or when two priority levels cross. A Service
// discipline determines how transfers share capacity. The package also computes
// lower bounds on the makespan.
//
// Run simulates a graph once and returns its trace. Evaluator simulates one graph
// repeatedly under different capacities, for policies that search; it also returns
// the bounds (Bound, QueueBound, FairBound, MissesDeadline). UniformEnds is a fast
// path for many messages of one size.
//
// Internally, newModel flattens graph, network and routes into arrays (model). A
// sim runs the event loop on a model (sim.go), or on each of its parts (parts.go). After each event it computes new shares
// within the connected components of changed resources (share.go). For large
// components it updates the previous shares instead (incremental.go). Begin reading
// with sim.runEvents and sim.shareCapacity.
//
// engine/packet simulates packets, policies choose capacities, and workloads define
// what tasks mean.
package flow

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/internal/csr"
)

// Service is the discipline by which transfers share a resource.
type Service uint8

const (
	// MaxMin is weighted max-min fairness. The weight of a transfer is its number of
	// flows.
	MaxMin Service = iota
	// LevelPriority serves the transfer with the highest level first. The level is the
	// transfer's remaining time at full rate plus the longest path from its end to the
	// end of the graph. Transfers of equal level share such that their levels fall at
	// the same rate (docs/model.md, "Bounds").
	LevelPriority
	// TailPriority orders transfers only by the longest path from their end to the end
	// of the graph. This is Jackson's preemptive rule, which is optimal on a single
	// link.
	TailPriority
	// FixedPriority serves the transfer with the largest Task.Priority first.
	FixedPriority
)

var serviceNames = [...]string{"max-min", "level-priority", "tail-priority", "fixed-priority"}

// String returns the name of s in scenarios and results.
func (s Service) String() string { return serviceNames[s] }

// ParseService returns the service with the given name.
func ParseService(name string) (Service, error) {
	if i := slices.Index(serviceNames[:], name); i >= 0 {
		return Service(i), nil
	}
	return 0, fmt.Errorf("flow: unknown service %q, want one of %v", name, serviceNames)
}

// perTick converts bits per second to bits per tick.
const perTick = 1 / float64(engine.Second)

// model holds a graph, a network and routes as flat arrays. Task arrays are indexed
// by task, resource arrays by resource. Rates are in bits per tick. A use is one
// resource used by one transfer. Only transfers with bytes and routes have uses; all
// other tasks have a fixed duration.
type model struct {
	graph      *engine.Graph
	net        *engine.Network
	starts     *engine.MessageStarts // tasks that start messages; nil if the graph has no message overhead
	graphTasks int                   // number of tasks of the caller's graph; start tasks follow them

	tasks, resources int           // numbers of tasks, including start tasks, and of resources
	fixedDuration    []engine.Time // in ticks; -1 for transfers with uses
	bits             []float64     // size of a transfer
	rateLimit        []float64     // maximum rate over all flows; +Inf if unlimited
	weight           []float64     // number of flows: the weight under MaxMin
	hasRateLimits    bool          // some transfer with uses has a finite rateLimit

	useStart  []int32   // the uses of task i are useStart[i] <= u < useStart[i+1]
	useRes    []int32   // resource, indexed by use
	useTask   []int32   // task, indexed by use
	useWeight []float64 // capacity taken per unit of the task's rate, indexed by use
	resStart  []int32   // the uses of resource r are resUse[resStart[r]:resStart[r+1]]
	resUse    []int32   // uses, grouped by resource

	outStart []int32       // the out-edges of task i are outStart[i] <= e < outStart[i+1]
	outTo    []int32       // successor, indexed by edge
	outLag   []engine.Time // lag, indexed by edge
	numPreds []int32       // number of predecessors, indexed by task
}

// newModel builds a model. It returns an error if n is invalid, or if g, n and r do
// not belong together.
func newModel(g *engine.Graph, n *engine.Network, r *engine.Routes) (*model, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}

	graphTasks := len(g.Tasks)
	tasks := graphTasks
	if len(r.Start) != tasks+1 || r.FlowCap != nil && len(r.FlowCap) != tasks {
		return nil, fmt.Errorf("flow: routes for %d tasks, graph of %d", len(r.Start)-1, tasks)
	}

	starts, err := g.WithMessageStarts()
	if err != nil {
		return nil, err
	}
	if starts != nil {
		g, r = starts.Graph, starts.Routes(r)
		tasks = len(g.Tasks)
	}

	// The numbers of uses and edges are known, so the slices are allocated once.
	m := &model{
		graph: g, net: n, starts: starts,
		graphTasks: graphTasks, tasks: tasks, resources: n.Resources(),
		fixedDuration: make([]engine.Time, tasks), bits: make([]float64, tasks),
		rateLimit: make([]float64, tasks), weight: make([]float64, tasks),
		useStart: make([]int32, tasks+1), outStart: make([]int32, tasks+1), numPreds: make([]int32, tasks),
	}
	m.outTo, m.outLag = make([]int32, 0, g.EdgeCount()), make([]engine.Time, 0, g.EdgeCount())
	m.useRes, m.useTask, m.useWeight =
		make([]int32, 0, len(r.Uses)), make([]int32, 0, len(r.Uses)), make([]float64, 0, len(r.Uses))

	// Convert one task after the other, with its uses and edges.
	for i := range g.Tasks {
		t, id := &g.Tasks[i], int32(i)
		m.fixedDuration[i] = -1
		m.bits[i] = 8 * float64(t.Bytes)
		m.weight[i] = float64(t.Flows)
		m.rateLimit[i] = r.Cap(id, t.Flows) * perTick
		var uses []engine.Use
		if t.Kind == engine.Transfer {
			uses = r.Of(id)
		}
		switch {
		case t.Kind == engine.Compute:
			m.fixedDuration[i] = t.Duration
		case len(uses) == 0 || t.Bytes == 0:
			d, err := engine.FromSeconds(m.bits[i] / r.Cap(id, t.Flows))
			if err != nil {
				return nil, fmt.Errorf("flow: %s: %w", g.Name(id), err)
			}
			m.fixedDuration[i] = d
			uses = nil
		}

		m.hasRateLimits = m.hasRateLimits || len(uses) > 0 && !math.IsInf(m.rateLimit[i], 1)
		for _, u := range uses {
			if u.Resource < 0 || int(u.Resource) >= m.resources || !(u.Weight > 0) {
				return nil, fmt.Errorf("flow: %s uses resource %d of %d with weight %g",
					g.Name(id), u.Resource, m.resources, u.Weight)
			}
			m.useRes = append(m.useRes, u.Resource)
			m.useTask = append(m.useTask, id)
			m.useWeight = append(m.useWeight, u.Weight)
		}

		m.useStart[i+1] = int32(len(m.useRes))
		for _, e := range g.Out(id) {
			m.outTo = append(m.outTo, e.To)
			m.outLag = append(m.outLag, e.Lag)
			m.numPreds[e.To]++
		}
		m.outStart[i+1] = int32(len(m.outTo))
	}
	m.resStart, m.resUse = csr.Index(m.useRes, m.resources)
	return m, nil
}

// extendTails extends tails, the longest paths from the tasks' ends to the end of the graph,
// from the tasks of the caller's graph to all tasks of the model. Start tasks get tail 0. nil
// stays nil. It returns an error if the number of tails differs from the number of tasks.
func (m *model) extendTails(tails []float64) ([]float64, error) {
	switch {
	case tails == nil:
		return nil, nil
	case len(tails) != m.graphTasks:
		return nil, fmt.Errorf("flow: %d tails for a graph of %d tasks", len(tails), m.graphTasks)
	case m.starts == nil:
		return tails, nil
	}
	return append(slices.Clone(tails), make([]float64, m.tasks-m.graphTasks)...), nil
}
