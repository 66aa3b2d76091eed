package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/policies/reconfigure/gather"
	"sim/scenarios/result"
	"sim/workloads/collective"
)

// gathered is a scenario of an all-reduce, all-gather or reduce-scatter on a scale-up domain, built.
type gathered struct {
	s       *Scenario
	problem *gather.Problem
	bound   engine.Time
}

var gatherOps = map[string]collective.Op{allReduce: collective.AllReduce, reduceScatter: collective.ReduceScatter, allGather: collective.AllGather}

// buildGathered builds the collective of s.
func buildGathered(ctx context.Context, s *Scenario) (*gathered, error) {
	g := &gathered{s: s, problem: gather.On(s.domain(), gatherOps[s.Workload.Kind], int64(s.Workload.Exchange.Message))}
	var err error
	g.bound, err = gather.Bound(g.problem)
	return g, err
}

func (g *gathered) referenceMetrics() map[string]float64 {
	return map[string]float64{"bound_completion_s": g.bound.Seconds()}
}

func (g *gathered) tasks() int { return g.problem.GPUs }

func (g *gathered) begin(ctx context.Context, o *Outcome) error {
	o.Planned = true
	return nil
}

// gatheredAnswer is a planner's plan of such a collective, checked.
type gatheredAnswer struct {
	plan    *gather.Plan
	row     result.Row
	timings result.PolicyTimings
}

func (a *gatheredAnswer) measured() (result.Row, result.PolicyTimings) { return a.row, a.timings }

func (a *gatheredAnswer) describe(ctx context.Context, o *Outcome) {
	o.Detail.Policies = append(o.Detail.Policies, result.Play{
		Policy: a.row.Policy, MakespanS: a.row.Metrics["completion_s"], Schedule: gatherSchedule(a.plan),
	})
	o.Gathers = append(o.Gathers, a.plan)
}

// mostEdges is the most links, of all topologies of a plan, that are kept for its picture.
const mostEdges = 60_000

// gatherSchedule describes a plan for its picture.
func gatherSchedule(pl *gather.Plan) *result.Schedule {
	p := &pl.Problem
	out := &result.Schedule{
		Origin: pl.Name, GPUs: p.GPUs, Degree: p.Degree, DelayS: p.Delay.Seconds(), LatencyS: p.Latency.Seconds(), RateBitsPerS: p.Rate,
	}
	room := mostEdges
	for i := range pl.Phases {
		from := &pl.Phases[i]
		f := result.SchedulePhase{Kind: from.Kind.String(), Reused: from.Reused}
		for _, a := range from.Offsets {
			f.Offsets = append(f.Offsets, int(a))
		}
		for _, b := range from.Longest {
			if last := len(f.Steps) - 1; last >= 0 && f.Steps[last].Bytes == b {
				f.Steps[last].Count++
				continue
			}
			f.Steps = append(f.Steps, result.ScheduleRun{Count: 1, Bytes: b, StepS: p.StepTime(b).Seconds()})
		}
		if !f.Reused {
			edges := pl.Topology(i)
			if room -= len(edges); room < 0 {
				f.Links, edges = len(edges), nil
			}
			for _, e := range edges {
				f.Edges = append(f.Edges, [2]int{int(e.From), int(e.To)})
			}
		}
		out.Phases = append(out.Phases, f)
	}
	return out
}

// mostReplayed is the most GPUs of a domain whose plans are replayed message by message.
const mostReplayed = 256

// decide lets one planner plan, and checks the plan that is best for the delay.
func (g *gathered) decide(ctx context.Context, name string, _ int) (answer, error) {
	begin := time.Now()
	problem := *g.problem
	problem.Stop = func() bool { return ctx.Err() != nil }
	var best *gather.Plan
	var err error
	switch name {
	case "static-ring":
		best, err = gather.StaticRing(&problem)
	case "reconfigure-during+":
		best, err = gather.Best(&problem)
	default:
		err = fmt.Errorf("plans all-to-alls alone")
	}
	if err != nil {
		return nil, err
	}
	solved := time.Now()
	gap, err := best.Gap()
	if err != nil {
		return nil, err
	}
	a := &gatheredAnswer{plan: best, row: result.Row{
		Policy: name, Labels: map[string]string{"origin": best.Name, "gap_model": "any plan in steps"},
		Metrics: map[string]float64{
			"completion_s": best.Cost().Seconds(), "reconfigurations": float64(best.Reconfigurations()), "steps": float64(best.Steps()), "gap": gap,
		},
	}}
	a.timings.SolveS = solved.Sub(begin).Seconds()
	if err := g.play(ctx, a); err != nil {
		return nil, err
	}
	a.timings.PlayS = time.Since(solved).Seconds()
	return a, nil
}

// play checks a plan and plays it as the scenario asks.
func (g *gathered) play(ctx context.Context, a *gatheredAnswer) error {
	level := g.s.Engine.Level
	if level == "cost" {
		return nil
	}
	if g.problem.GPUs > mostReplayed {
		a.row.Labels["checked"] = fmt.Sprintf("not replayed: more than %d GPUs", mostReplayed)
	} else if err := a.plan.Check(); err != nil {
		return err
	}
	for _, how := range []struct {
		level, metric string
		free          bool
	}{{"packet", "synchronised_s", false}, {"packet", "free_running_s", true}, {"flow", "fluid_s", true}} {
		if level != how.level {
			continue
		}
		w, err := a.plan.Work(0, len(a.plan.Phases), how.free)
		if err != nil {
			return err
		}
		var trace *engine.Trace
		if level == "packet" { // each message a packet, up to the largest
			o := packet.Options{Stop: func() bool { return ctx.Err() != nil }}
			trace, _, err = packet.RunGraph(w.Graph, w.Network, w.Flows, w.Walks, int32(min(g.problem.Bytes, 1<<28)), o)
		} else {
			var routes *engine.Routes
			if routes, err = engine.RoutesOf(w.Graph, w.Network, w.Walks, w.Flows); err == nil {
				trace, err = flow.Run(ctx, w.Graph, w.Network, routes, flow.Options{})
			}
		}
		if errors.Is(err, packet.ErrStopped) {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		a.row.Metrics[how.metric] = trace.Makespan.Seconds()
	}
	return nil
}
