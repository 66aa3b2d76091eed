// Package composition has the types that all combinations of workload, fabric and policy
// share.
//
//   - A Job is work: tasks or packet sources.
//   - A Decision describes how the job uses a network.
//   - Simulate simulates the job under the decision, at level flow or packet.
//   - A Run combines job, decision and result. All measures take a Run.
//
// The package imports no policy and names no kind of workload or fabric. Start reading
// with Job and Simulate.
package composition

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/workloads/training"
)

// Job is work as tasks between endpoints. It names no links and no rates.
type Job struct {
	// Graph holds the tasks. A dependency on a transfer is met when its last bit is sent;
	// see Decision.ArrivalDelays. If Sources is set, Graph is nil, or task f represents
	// everything that flow f sends.
	Graph *engine.Graph
	// Step is the training step whose tasks Graph holds, with their metadata; nil for
	// traffic, calls, and traces between pods.
	Step *training.Iteration
	// Base holds the tasks of Step before calls inside inner tiers lengthened its passes;
	// nil without inner tiers.
	Base []engine.Task
	// WithArrivalDelays returns Graph with transfers that arrive delays[task] ticks after
	// their last bit. If it is nil, every dependency that needs the data of a transfer is
	// delayed. Collective schedules set it, because some of their dependencies wait for a
	// link, not for data.
	WithArrivalDelays func(delays []engine.Time) (*engine.Graph, error)
	// Sources returns the packet sources at level packet if the bottleneck link carries
	// load messages; nil if tasks send everything.
	Sources func(load float64) ([]packet.Source, error)
}

// PassExtension returns the time by which collective calls lengthen the passes of virtual
// stage v. A nil PassExtension lengthens no pass.
type PassExtension func(ctx context.Context, v int, pass training.Phase) (engine.Time, error)

// Lengthen lengthens the passes of an iteration. It returns the original tasks, or nil if
// extension is nil.
func (extension PassExtension) Lengthen(
	ctx context.Context, it *training.Iteration,
) (base []engine.Task, err error) {
	if extension == nil {
		return nil, nil
	}
	base = slices.Clone(it.Graph.Tasks)
	return base, it.Lengthen(func(v int, pass training.Phase) (engine.Time, error) {
		return extension(ctx, v, pass)
	})
}

// WithPassExtension returns the job with the passes of Base lengthened by another
// extension.
func (j *Job) WithPassExtension(ctx context.Context, extension PassExtension) (*Job, error) {
	step, g, out := *j.Step, *j.Graph, *j
	g.Tasks = slices.Clone(j.Base)
	step.Graph, out.Graph, out.Step = &g, &g, &step
	_, err := extension.Lengthen(ctx, &step)
	return &out, err
}

// WithoutCalls returns the job with collective calls of a dimension that take no time;
// nil if there are no such calls.
func (j *Job) WithoutCalls(dim training.Phase) *Job {
	out := *j
	if out.Graph = j.Step.WithoutCalls(dim); out.Graph == nil {
		return nil
	}
	return &out
}

// WithoutTransfers returns the job with selected transfers that take no time.
func (j *Job) WithoutTransfers(selects func(task int32) bool) *Job {
	out := *j
	out.Graph = withoutTransfers(j.Graph, selects)
	if j.WithArrivalDelays != nil {
		out.WithArrivalDelays = func(delays []engine.Time) (*engine.Graph, error) {
			g, err := j.WithArrivalDelays(delays)
			if err != nil {
				return nil, err
			}
			return withoutTransfers(g, selects), nil
		}
	}
	return &out
}

// withoutTransfers replaces selected transfers by tasks that take no time. Dependencies
// stay.
func withoutTransfers(g *engine.Graph, selects func(task int32) bool) *engine.Graph {
	out := *g
	out.Tasks = slices.Clone(g.Tasks)
	for i := range out.Tasks {
		if out.Tasks[i].Kind == engine.Transfer && selects(int32(i)) {
			out.Tasks[i] = engine.Task{}
		}
	}
	return &out
}

// delayedGraph returns the graph with transfers that arrive delays[task] ticks after
// their last bit.
func (j *Job) delayedGraph(delays []engine.Time) (*engine.Graph, error) {
	switch {
	case delays == nil || j.Graph.EdgeCount() == 0:
		return j.Graph, nil
	case j.WithArrivalDelays != nil:
		return j.WithArrivalDelays(delays)
	}
	return DelayArrivals(j.Graph, delays)
}

// DelayArrivals returns a graph in which tasks that need the data of a transfer wait
// until it has arrived, delays[task] ticks after its end. Tasks on the node that sends
// the data do not wait for its arrival (engine.Graph.NeedsArrival).
func DelayArrivals(g *engine.Graph, delays []engine.Time) (*engine.Graph, error) {
	out := &engine.Graph{
		Namer:           g.Namer,
		Tasks:           g.Tasks,
		Contention:      g.Contention,
		MessageOverhead: g.MessageOverhead,
	}
	for i, delay := range delays {
		for _, e := range g.Out(int32(i)) {
			if g.NeedsArrival(e) {
				e.Lag += delay
			}
			out.AddEdge(e.From, e.To, e.Lag)
		}
	}
	return out, out.Freeze()
}
