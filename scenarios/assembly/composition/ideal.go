// This file computes the reference of a workload: compute alone and the ideal fabric.
// Normalised communication times (NCT) are relative to it.

package composition

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// IdealReference is the reference that work is compared with: compute alone, and the
// ideal fabric.
type IdealReference struct {
	Times   training.ReferenceTimes
	Bound   engine.Time  // lower bound on the time on the ideal fabric
	Service flow.Service // the service with the shortest time
	// IsFairOnly is set if Service is fair sharing and a priority service exceeded
	// maxPriorityWork.
	IsFairOnly bool
	// IsLeftOut is set if all services exceeded the limit on the work of the reference. There
	// is then no time on the ideal fabric.
	IsLeftOut bool
	// InterfaceRate is the rate in bits per second of the slowest network interface that the
	// transfers use; 0 if they use none.
	InterfaceRate float64
	// FreeBytes is the number of bytes of transfers that use no network interface. They take no
	// time, or use the network inside their pod.
	FreeBytes int64
	// Fair is the simulation of the ideal fabric with fair sharing. It is nil if it did not
	// run, or if another service was faster.
	Fair *FairRun
}

// ReferenceOptions selects how a reference is simulated.
type ReferenceOptions struct {
	MaxWork   int64       // maximum number of steps of all services (flow.Evaluator.Work); 0 means no limit
	Tolerance engine.Time // flow.Options.Tolerance of fair sharing
	Workers   int         // flow.Options.Workers of fair sharing; not used if MaxWork is set
}

// NewIdealReference simulates a graph without communication time, and on the ideal fabric
// with network n and routes r. The ideal fabric may share its links in any manner, so it
// uses the best of several services.
func NewIdealReference(
	ctx context.Context, g *engine.Graph, n *engine.Network, r *engine.Routes, o ReferenceOptions,
) (ref IdealReference, err error) {
	ref.InterfaceRate, ref.FreeBytes = referenceBasis(g, n, r)
	if ref.Times.Compute, err = ComputeMakespan(ctx, g, n); err != nil {
		return ref, err
	}
	e, err := flow.NewEvaluator(g, n, r, flow.LevelPriority)
	if err != nil {
		return ref, err
	}
	e.SetContext(ctx)
	e.SetTolerance(o.Tolerance)
	e.SetWorkers(o.Workers)
	ref.Bound = e.Bound()
	const withRates = false // the trace needs only times
	e.Record(withRates)
	ref.Times.Ideal, ref.Service, ref.IsFairOnly = BestService(e, ref.Bound, o.MaxWork)
	if ref.IsLeftOut = ref.Times.Ideal == engine.Never && o.MaxWork > 0; ref.IsLeftOut {
		return ref, ctx.Err()
	}
	if ref.Service == flow.MaxMin {
		ref.Fair = &FairRun{graph: g, network: n, routes: r, tolerance: o.Tolerance, trace: e.Trace()}
	}
	return ref, ctx.Err()
}

// referenceBasis returns the rate of the slowest interface that the transfers of g use on the
// ideal network n with routes r, and the bytes of transfers that use none. A resource of n is
// one direction of an interface.
func referenceBasis(g *engine.Graph, n *engine.Network, r *engine.Routes) (rate float64, freeBytes int64) {
	for i := range g.Tasks {
		if g.Tasks[i].Kind != engine.Transfer {
			continue
		}
		uses := r.Of(int32(i))
		if len(uses) == 0 {
			freeBytes += g.Tasks[i].Bytes
		}
		for _, u := range uses {
			if v := n.Rate(u.Resource); rate == 0 || v < rate {
				rate = v
			}
		}
	}
	return rate, freeBytes
}

// ComputeMakespan returns the makespan of a graph whose transfers, and the start of whose
// messages, take no time. The graph must be frozen.
func ComputeMakespan(
	ctx context.Context, g *engine.Graph, n *engine.Network,
) (engine.Time, error) {
	compute := *g
	compute.MessageOverhead = 0
	noRoutes := engine.NewRoutes(len(g.Tasks), nil)
	t, err := flow.Run(ctx, &compute, n, noRoutes, flow.Options{})
	if err != nil {
		return 0, fmt.Errorf("simulating compute alone: %w", err)
	}
	return t.Makespan, nil
}

// AddMetrics adds the metrics of the reference. The string end is the name of the metric
// of the time at which the work ends. Iterations also have metrics of compute alone.
func (i *IdealReference) AddMetrics(m map[string]float64, end string, isIteration bool) {
	m["bound_"+end] = i.Bound.Seconds()
	if isIteration {
		m["compute_makespan_s"] = i.Times.Compute.Seconds()
	}
	if i.IsLeftOut {
		return
	}
	m[end] = i.Times.Ideal.Seconds()
	if i.Fair != nil {
		addPerturbation(m, i.Fair.trace.Perturbation)
	}
	if isIteration {
		m["comm_exposed_s"] = (i.Times.Ideal - i.Times.Compute).Seconds()
		m[result.InterfaceRate] = i.InterfaceRate
		m[result.FreeBytes] = float64(i.FreeBytes)
	}
}

// AddExposed adds the exposed communication of an iteration that ends at end, and the
// NCT. If the NCT is undefined, the text exposure completes the reason.
func (i *IdealReference) AddExposed(row *result.Row, end engine.Time, exposure string) {
	row.Metrics["comm_exposed_s"] = (end - i.Times.Compute).Seconds()
	if i.IsLeftOut {
		row.Labels["nct"] = "undefined: the ideal fabric at level flow would take more than a hundredth of the time of the packets"
		return
	}
	nct, ok := i.Times.NCT(end)
	if !ok {
		row.Labels["nct"] = "undefined: the ideal fabric exposes no communication, " + exposure
		return
	}
	row.Metrics["nct"] = nct
	if i.IsFairOnly {
		row.Labels["nct_reference"] = "the ideal fabric shares fairly; serving its transfers by priority takes too much work"
	}
}

// FairRun is a simulation with fair sharing: its input and its trace.
type FairRun struct {
	graph   *engine.Graph
	network *engine.Network
	routes  *engine.Routes
	// tolerance is flow.Options.Tolerance of the simulation.
	tolerance engine.Time
	trace     *engine.Trace
}

// traceOf returns the trace of a graph with routes r on network n under fair sharing if f has
// simulated the same problem: the same graph and tolerance, and resources that differ in their numbers alone.
// Otherwise it returns nil. The caller owns the returned structure, but not its slices.
func (f *FairRun) traceOf(
	g *engine.Graph, n *engine.Network, r *engine.Routes, tolerance engine.Time,
) *engine.Trace {
	if f == nil || f.graph != g || f.tolerance != tolerance || len(n.Changes) > 0 || r.FlowCap != nil ||
		len(f.network.Changes) > 0 || f.routes.FlowCap != nil {
		return nil
	}

	// Each resource of n must correspond to one resource of f.network, and conversely.
	toOwn := slices.Repeat([]int32{-1}, n.Resources())
	fromOwn := slices.Repeat([]int32{-1}, f.network.Resources())
	for task := range int32(len(g.Tasks)) {
		uses, own := r.Of(task), f.routes.Of(task)
		if len(uses) != len(own) {
			return nil
		}
		for k, u := range uses {
			o := own[k]
			if toOwn[u.Resource] < 0 && fromOwn[o.Resource] < 0 {
				toOwn[u.Resource], fromOwn[o.Resource] = o.Resource, u.Resource
			}
			if toOwn[u.Resource] != o.Resource || u.Weight != o.Weight ||
				n.Rate(u.Resource) != f.network.Rate(o.Resource) {
				return nil
			}
		}
	}
	t := *f.trace
	return &t
}

// boundTolerance is the relative distance within which a makespan counts as equal to its
// bound. It covers the rounding of task times to ticks.
const boundTolerance = 1e-9

// MeetsBound reports whether a makespan equals its lower bound, except for rounding.
func MeetsBound(makespan, bound engine.Time) bool {
	return float64(makespan) <= float64(bound)*(1+boundTolerance)
}

// maxPriorityWork limits the work of a priority service in BestService. Priorities order
// all transfers of a component at each event, which takes hundreds of times as long as
// fair sharing if there are thousands. In the shipped scenarios they need at most a
// thirtieth, except in recommendation.toml, where fair sharing is faster than both.
const maxPriorityWork = 1 << 24

// BestService simulates with one service after the other until a makespan meets the
// bound. It returns the shortest makespan and its service. isFairOnly is set if fair sharing
// is the shortest and a priority service was left out because it exceeded maxPriorityWork.
//
// All services together take at most maxWork steps, and priority services a third each; 0 means no
// limit. If no service ends within its limit, the makespan is engine.Never.
func BestService(
	e *flow.Evaluator, bound engine.Time, maxWork int64,
) (best engine.Time, service flow.Service, isFairOnly bool) {
	const unlimited = 0
	defer e.SetMaxWork(unlimited)
	best, service = engine.Never, flow.LevelPriority
	isLeftOut, worked := false, e.Work()
	for _, s := range []flow.Service{flow.LevelPriority, flow.TailPriority, flow.MaxMin} {
		if MeetsBound(best, bound) {
			break
		}
		e.SetService(s)
		limit := int64(maxPriorityWork)
		if maxWork > 0 {
			limit = min(limit, max(1, maxWork/3))
		}
		if s == flow.MaxMin {
			limit = 0
			if maxWork > 0 {
				limit = max(1, maxWork-(e.Work()-worked))
			}
		}
		e.SetMaxWork(limit)
		// Makespan gives up once the time exceeds the best one.
		if makespan, ok := e.Makespan(best); ok {
			best, service = makespan, s
		}
		isLeftOut = isLeftOut || e.ExceededMaxWork()
	}
	return best, service, isLeftOut && service == flow.MaxMin
}
