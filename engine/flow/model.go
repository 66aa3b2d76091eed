// Package flow simulates a task graph on a network as fluid: every transfer has a rate, rates change only when a
// transfer starts or ends or a link changes, and capacity is shared by a Service discipline. It also computes lower
// bounds on the makespan that hold for every discipline.
//
// It leaves packets to engine/packet, the choice of capacities to policies, and the meaning of tasks to workloads.
package flow

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/internal/csr"
)

// Service says how transfers that want the same capacity share it.
type Service uint8

const (
	// MaxMin is max-min fairness a flow: a transfer's weight is its number of flows.
	MaxMin Service = iota
	// LevelPriority serves the transfer with the highest level first: its remaining time at full rate plus the longest
	// path from its end to the end of the graph. Equal levels share, so that they fall together (docs/model.md,
	// "Bounds").
	LevelPriority
	// TailPriority is LevelPriority without the transfer's own remaining time: Jackson's preemptive rule, optimal on a
	// single link.
	TailPriority
	// FixedPriority serves the transfer with the largest Task.Priority first.
	FixedPriority
)

var serviceNames = [...]string{"max-min", "level-priority", "tail-priority", "fixed-priority"}

// String returns the name used in scenarios and results.
func (s Service) String() string { return serviceNames[s] }

// ParseService returns the service of that name.
func ParseService(name string) (Service, error) {
	if i := slices.Index(serviceNames[:], name); i >= 0 {
		return Service(i), nil
	}
	return 0, fmt.Errorf("flow: unknown service %q, want one of %v", name, serviceNames)
}

// perTick converts bits per second to bits per tick.
const perTick = 1 / float64(engine.Second)

// model is graph, network and routes as flat arrays, rates in bits a tick.
type model struct {
	graph      *engine.Graph
	net        *engine.Network
	starts     *engine.Starts // tasks of graph that start messages; nil if that takes no time
	graphTasks int            // tasks of the graph without starts, which come first

	tasks, resources int
	fixedDuration    []engine.Time // duration of tasks that use no resource; -1 for the others
	bits             []float64
	rateLimit        []float64 // rate limit of a transfer
	weight           []float64 // share under the fair service: its flows
	hasRateLimits    bool      // some that use resources have limits

	useStart  []int32 // uses of task i: useRes, useWeight[useStart[i]:useStart[i+1]]
	useRes    []int32
	useTask   []int32
	useWeight []float64
	resStart  []int32 // uses of resource r: resUse[resStart[r]:resStart[r+1]]
	resUse    []int32

	outStart []int32 // successors
	outTo    []int32
	outLag   []engine.Time
	numPreds []int32 // number of predecessors
}

func newModel(g *engine.Graph, n *engine.Network, r *engine.Routes) (*model, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	graphTasks := len(g.Tasks)
	tasks := graphTasks
	if len(r.Start) != tasks+1 || r.FlowCap != nil && len(r.FlowCap) != tasks {
		return nil, fmt.Errorf("flow: routes for %d tasks, graph of %d", len(r.Start)-1, tasks)
	}
	starts, err := g.WithStarts()
	if err != nil {
		return nil, err
	}
	if starts != nil {
		g, r = starts.Graph, starts.Routes(r)
		tasks = len(g.Tasks)
	}
	m := &model{
		graph: g, net: n, starts: starts, graphTasks: graphTasks, tasks: tasks, resources: n.Resources(),
		fixedDuration: make([]engine.Time, tasks), bits: make([]float64, tasks),
		rateLimit: make([]float64, tasks), weight: make([]float64, tasks),
		useStart: make([]int32, tasks+1), outStart: make([]int32, tasks+1), numPreds: make([]int32, tasks),
	}
	m.outTo, m.outLag = make([]int32, 0, g.EdgeCount()), make([]engine.Time, 0, g.EdgeCount())
	m.useRes, m.useTask, m.useWeight = make([]int32, 0, len(r.Uses)), make([]int32, 0, len(r.Uses)), make([]float64, 0, len(r.Uses))
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
				return nil, fmt.Errorf("flow: %s uses resource %d of %d with weight %g", g.Name(id), u.Resource, m.resources, u.Weight)
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

// extendTails returns tails by task of the graph without starts as those of all tasks; nil is none. It fails where they are of
// another graph.
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
