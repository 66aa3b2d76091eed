package composition

import (
	"context"
	"errors"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// Result is a simulation of a job under a decision at one level.
type Result struct {
	Graph   *engine.Graph // with latencies on the dependencies at level "flow"
	Trace   *engine.Trace // indexed by task of the job; nil of packet sources, and if the simulation was cut off
	Stats   *packet.Stats // nil at level "flow"
	Packets *Packets      // that were simulated; nil at level "flow"
}

// End returns when the job ends, or false if it does not: the simulation was cut off, or packets were lost.
func (r *Result) End() (end engine.Time, ended bool) {
	switch s := r.Stats; {
	case s != nil && (s.Dropped > 0 || s.InFlight() > 0):
		return 0, false
	case r.Trace != nil:
		return r.Trace.Makespan, true
	case r.Graph != nil || s == nil:
		return 0, false
	default:
		return s.End, true
	}
}

// Simulate simulates a job under a decision at level "flow" or "packet". It returns the context's error if ctx ends.
func Simulate(ctx context.Context, level string, j *Job, d *Decision) (*Result, error) {
	if level != "packet" {
		return simulateFlow(ctx, j, d)
	}
	p, err := d.ToPackets(ctx, j, d)
	if err != nil {
		return nil, err
	}
	p.Options.Stop = func() bool { return ctx.Err() != nil }
	r := &Result{Packets: p}
	if j.Sources != nil {
		r.Stats, err = injectSources(j, d, p)
	} else if r.Trace, r.Stats, err = packet.RunGraph(p.Graph, p.Network, p.Flows, p.Paths, p.Bytes, p.Options); err == nil {
		r.Graph = j.Graph
		if slices.Contains(r.Trace.End, engine.Never) {
			r.Trace = nil
		} else if p.Trace != nil {
			r.Trace = p.Trace(r.Trace)
		}
	}
	if errors.Is(err, packet.ErrStopped) {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// simulateFlow simulates a job as fluid. Transfers arrive late by the latencies of the decision.
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
	if r.Trace, err = flow.Run(ctx, simulated, d.Network, routes, d.Flow); err != nil {
		return nil, err
	}
	for i, delay := range delays {
		r.Trace.Makespan = max(r.Trace.Makespan, r.Trace.End[i]+delay)
	}
	return r, nil
}

// injectSources simulates packet sources. Flows whose task in the job's graph is no transfer end where they begin: they take no
// link and no time.
func injectSources(j *Job, d *Decision, p *Packets) (*packet.Stats, error) {
	sources, err := j.Sources(d.BottleneckLoad())
	if err != nil {
		return nil, err
	}
	w := &packet.Work{Flows: p.Flows, Paths: p.Paths, Sources: sources}
	if isIdle := func(f int32) bool { return j.Graph.Tasks[f].Kind != engine.Transfer }; j.Graph != nil {
		w.Flows, w.Paths = keepAtSource(p.Flows, p.Paths, isIdle)
	}
	return packet.Run(p.Network, w, p.Options)
}

// keepAtSource returns flows of which some end where they begin, and paths that lead them so; the same if all take links.
func keepAtSource(flows []engine.Flow, paths *engine.Paths, isIdle func(f int32) bool) ([]engine.Flow, *engine.Paths) {
	out, emptyClass := *paths, int32(-1)
	for f := range flows {
		if !isIdle(int32(f)) {
			continue
		}
		if emptyClass < 0 {
			flows, out.Class = slices.Clone(flows), make([]int32, len(flows))
			for i := range out.Class {
				out.Class[i] = paths.ClassOf(int32(i))
			}
			out.Start, out.Step = slices.Clone(paths.Start), slices.Clone(paths.Step)
			emptyClass = out.Add()
			if paths.First != nil { // classes are not the paths themselves
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
