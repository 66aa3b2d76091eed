package composition

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// Ideal is what work is compared with: compute alone, and the ideal fabric.
type Ideal struct {
	Times   training.ReferenceTimes
	Bound   engine.Time  // on the time on the ideal fabric
	Service flow.Service // that it was simulated with
}

// NewIdeal simulates a graph without communication time, and on an ideal fabric that is given, as any optimum may share
// it.
func NewIdeal(ctx context.Context, g *engine.Graph, n *engine.Network, r *engine.Routes) (out Ideal, err error) {
	if out.Times.Compute, err = ComputeAlone(ctx, g, n); err != nil {
		return out, err
	}
	e, err := flow.NewEvaluator(g, n, r, flow.LevelPriority)
	if err != nil {
		return out, err
	}
	e.SetContext(ctx)
	out.Bound = e.Bound()
	out.Times.Ideal, out.Service = BestService(e, out.Bound)
	return out, ctx.Err()
}

// ComputeAlone returns when a graph ends in which transfers take no time: nor does starting them. g must be frozen.
func ComputeAlone(ctx context.Context, g *engine.Graph, n *engine.Network) (engine.Time, error) {
	alone := *g
	alone.MessageOverhead = 0
	t, err := flow.Run(ctx, &alone, n, engine.NewRoutes(len(g.Tasks), nil), flow.Options{})
	if err != nil {
		return 0, fmt.Errorf("playing compute alone: %w", err)
	}
	return t.Makespan, nil
}

// Metrics adds those of the ideal fabric, on which the end has a name, and of the compute of an iteration alone.
func (i *Ideal) Metrics(m map[string]float64, end string, iteration bool) {
	m[end], m["bound_"+end] = i.Times.Ideal.Seconds(), i.Bound.Seconds()
	if iteration {
		m["compute_makespan_s"] = i.Times.Compute.Seconds()
		m["comm_exposed_s"] = (i.Times.Ideal - i.Times.Compute).Seconds()
	}
}

// Exposed adds what communication an iteration that ends at end exposes, beside the ideal fabric's. What does so is
// named where that exposes none.
func (i *Ideal) Exposed(row *result.Row, end engine.Time, what string) {
	row.Metrics["comm_exposed_s"] = (end - i.Times.Compute).Seconds()
	if nct, ok := i.Times.NCT(end); ok {
		row.Metrics["nct"] = nct
	} else {
		row.Labels["nct"] = "undefined: the ideal fabric exposes no communication, " + what
	}
}

// met is the relative distance within which a makespan counts as meeting its bound: what rounding to ticks leaves.
const met = 1e-9

// Meets reports whether a makespan is its bound but for rounding.
func Meets(c, bound engine.Time) bool { return float64(c) <= float64(bound)*(1+met) }

// BestService simulates by whichever service is best, until one meets the bound.
func BestService(e *flow.Evaluator, bound engine.Time) (engine.Time, flow.Service) {
	best, by := engine.Never, flow.LevelPriority
	for _, service := range []flow.Service{flow.LevelPriority, flow.TailPriority, flow.MaxMin} {
		if Meets(best, bound) {
			break
		}
		e.SetService(service)
		if c, ok := e.Makespan(best); ok {
			best, by = c, service
		}
	}
	return best, by
}
