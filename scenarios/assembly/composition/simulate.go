// This file simulates jobs under decisions, at level flow or packet.

package composition

import (
	"context"
	"errors"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// Result is the simulation of a job under a decision, at one level.
type Result struct {
	// Graph is the simulated graph. At level flow, its dependencies include latencies. It
	// is nil for packet sources.
	Graph *engine.Graph
	// Trace is indexed by task of the job. It is nil for packet sources, or if some tasks
	// did not end.
	Trace   *engine.Trace
	Stats   *packet.Stats // nil at level flow
	Packets *Packets      // the simulated form of the job; nil at level flow
}

// End returns the time at which the job ends. It returns false if the simulation was cut
// off or packets were lost.
func (r *Result) End() (end engine.Time, ended bool) {
	switch s := r.Stats; {
	case s != nil && s.Transport == nil && (s.Dropped > 0 || s.InFlight() > 0):
		return 0, false
	case r.Trace != nil:
		return r.Trace.Makespan, true
	case r.Graph != nil || s == nil:
		return 0, false
	default:
		return s.End, true
	}
}

// MaxPacketBytes limits the memory of simulations at level packet.
var MaxPacketBytes int64 = packet.DefaultMaxBytes

// Simulate simulates a job under a decision at level "flow" or "packet". It returns the
// error of ctx if ctx is cancelled.
func Simulate(ctx context.Context, level string, j *Job, d *Decision) (*Result, error) {
	if level != "packet" {
		return simulateFlow(ctx, j, d)
	}

	p, err := d.ToPackets(ctx, j, d)
	if err != nil {
		return nil, err
	}
	p.Options.MaxBytes = MaxPacketBytes
	p.Options.Stop = func() bool { return ctx.Err() != nil }
	p.Options.Progress = engine.Progress(ctx)
	r := &Result{Packets: p}
	if j.Sources != nil {
		r.Stats, err = injectSources(j, d, p)
	} else {
		err = r.simulateTasks(j)
	}
	if errors.Is(err, packet.ErrStopped) {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// simulateTasks simulates the tasks of a job at level packet, in the form of r.Packets.
func (r *Result) simulateTasks(j *Job) (err error) {
	p := r.Packets
	r.Trace, r.Stats, err = packet.RunGraph(p.Graph, p.Network, p.Flows, p.Paths, p.Bytes, p.Options)
	if err != nil {
		return err
	}
	r.Graph = j.Graph
	if slices.Contains(r.Trace.End, engine.Never) {
		r.Trace = nil
	} else if p.Trace != nil {
		r.Trace = p.Trace(r.Trace)
	}
	return nil
}

// simulateFlow simulates a job at level flow. Transfers arrive after the latencies of the
// decision.
func simulateFlow(ctx context.Context, j *Job, d *Decision) (r *Result, err error) {
	r = &Result{Graph: j.Graph}
	if d.SimulateMoves != nil {
		factor := d.rateFactor
		if factor == 0 {
			factor = 1
		}
		r.Trace, err = d.SimulateMoves(ctx, j.Graph, factor)
		return r, err
	}

	routes, err := d.Routes(j.Graph)
	if err != nil {
		return nil, err
	}
	var delays []engine.Time
	if d.ArrivalDelays != nil {
		delays = d.ArrivalDelays(j.Graph)
	}
	if r.Graph, err = j.delayedGraph(delays); err != nil {
		return nil, err
	}

	simulated := r.Graph
	if d.Merge != nil {
		if simulated, routes, err = d.Merge(simulated, routes); err != nil {
			return nil, err
		}
	}
	if o := &d.Flow; o.Service == flow.MaxMin && !o.Rates && o.Tails == nil {
		r.Trace = d.Known.traceOf(simulated, d.Network, routes, o.Tolerance)
	}
	if r.Trace == nil {
		o := d.Flow
		o.Progress = engine.Progress(ctx)
		if r.Trace, err = flow.Run(ctx, simulated, d.Network, routes, o); err != nil {
			return nil, err
		}
	}
	// The work ends when the last transfer has arrived.
	for i, delay := range delays {
		r.Trace.Makespan = max(r.Trace.Makespan, r.Trace.End[i]+delay)
	}
	return r, nil
}

// injectSources simulates packet sources. If the job has a graph, flow f exists only if
// its task f is a transfer. Packets of other flows are delivered at their source and take
// no time.
func injectSources(j *Job, d *Decision, p *Packets) (*packet.Stats, error) {
	sources, err := j.Sources(d.BottleneckLoad())
	if err != nil {
		return nil, err
	}
	w := &packet.Work{Flows: p.Flows, Paths: p.Paths, Sources: sources}
	if j.Graph != nil {
		isIdle := func(f int32) bool { return j.Graph.Tasks[f].Kind != engine.Transfer }
		w.Flows, w.Paths = keepAtSource(p.Flows, p.Paths, isIdle)
	}
	return packet.Run(p.Network, w, p.Options)
}

// keepAtSource returns flows and paths in which idle flows end at their source, over an
// empty path. If no flow is idle, it returns its arguments.
//
// In engine.Paths, all flows of a class have the same paths. Class maps flows to classes.
// Start and Step hold the links of the paths, one path after the other.
func keepAtSource(
	flows []engine.Flow, paths *engine.Paths, isIdle func(f int32) bool,
) ([]engine.Flow, *engine.Paths) {
	out, emptyClass := *paths, int32(-1)
	for f := range flows {
		if !isIdle(int32(f)) {
			continue
		}
		// With the first idle flow, copy flows and paths and add a class with an empty
		// path.
		if emptyClass < 0 {
			flows, out.Class = slices.Clone(flows), make([]int32, len(flows))
			for i := range out.Class {
				out.Class[i] = paths.ClassOf(int32(i))
			}
			out.Start, out.Step = slices.Clone(paths.Start), slices.Clone(paths.Step)
			emptyClass = out.Add()
			// If a class has several paths, First holds the first path of each class.
			if paths.First != nil {
				out.First = append(slices.Clone(paths.First), emptyClass+1)
				if paths.Share != nil {
					out.Share = append(slices.Clone(paths.Share), 1)
				}
				emptyClass = int32(len(out.First) - 2)
			}
		}
		out.Class[f], flows[f].Dst = emptyClass, flows[f].Src
	}
	return flows, &out
}
