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
	p, err := d.Packets(ctx, j, d)
	if err != nil {
		return nil, err
	}
	p.Options.Stop = func() bool { return ctx.Err() != nil }
	r := &Result{Packets: p}
	if j.Sources != nil {
		r.Stats, err = inject(j, d, p)
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
	if d.Follow != nil {
		times := d.times
		if times == 0 {
			times = 1
		}
		r.Trace, err = d.Follow(ctx, j.Graph, times)
		return r, err
	}
	routes, err := d.Routes(j.Graph)
	if err != nil {
		return nil, err
	}
	var late []engine.Time
	if d.Late != nil {
		late = d.Late(j.Graph)
	}
	if r.Graph, err = j.delayed(late); err != nil {
		return nil, err
	}
	sent := r.Graph
	if d.Merge != nil {
		if sent, routes, err = d.Merge(sent, routes); err != nil {
			return nil, err
		}
	}
	if r.Trace, err = flow.Run(ctx, sent, d.Network, routes, d.Flow); err != nil {
		return nil, err
	}
	for i, by := range late {
		r.Trace.Makespan = max(r.Trace.Makespan, r.Trace.End[i]+by)
	}
	return r, nil
}

// inject simulates packet sources. Flows whose task in the job's graph is no transfer end where they begin: they take no
// link and no time.
func inject(j *Job, d *Decision, p *Packets) (*packet.Stats, error) {
	sources, err := j.Sources(d.Load())
	if err != nil {
		return nil, err
	}
	w := &packet.Work{Flows: p.Flows, Paths: p.Paths, Sources: sources}
	if rests := func(f int32) bool { return j.Graph.Tasks[f].Kind != engine.Transfer }; j.Graph != nil {
		w.Flows, w.Paths = resting(p.Flows, p.Paths, rests)
	}
	return packet.Run(p.Network, w, p.Options)
}

// resting returns flows of which some end where they begin, and paths that lead them so; the same if all take links.
func resting(flows []engine.Flow, paths *engine.Paths, rests func(f int32) bool) ([]engine.Flow, *engine.Paths) {
	led, none := *paths, int32(-1)
	for f := range flows {
		if !rests(int32(f)) {
			continue
		}
		if none < 0 {
			flows, led.Class = slices.Clone(flows), make([]int32, len(flows))
			for i := range led.Class {
				led.Class[i] = paths.ClassOf(int32(i))
			}
			led.Start, led.Step = slices.Clone(paths.Start), slices.Clone(paths.Step)
			none = led.Add()
			if paths.First != nil { // classes are not the paths themselves
				led.First = append(slices.Clone(paths.First), none+1)
				if paths.Share != nil {
					led.Share = append(slices.Clone(paths.Share), 1)
				}
				none = int32(len(led.First) - 2)
			}
		}
		led.Class[f], flows[f].Dst = none, flows[f].Src
	}
	return flows, &led
}
