package plans

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sim/engine"
	"sim/policies/collective"
	"sim/policies/reconfigure"
	collectives "sim/policies/reconfigure/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// collectiveSystem is a scenario of an all-reduce, all-gather or reduce-scatter on a scale-up domain, built.
type collectiveSystem struct {
	s               *Scenario
	problem         *plan.Collective
	completionBound engine.Time
}

// Collective returns the collective of s, which Gathers.
func (s *Scenario) Collective() *plan.Collective {
	op, _ := collective.ParseKind(s.Workload.Kind)
	return plan.NewCollective(s.Domain(), op, int64(s.Workload.Exchange.Message))
}

// newCollectiveSystem builds the collective of s.
func newCollectiveSystem(ctx context.Context, s *Scenario) (*collectiveSystem, error) {
	g := &collectiveSystem{s: s, problem: s.Collective()}
	var err error
	g.completionBound, err = collectives.Bound(g.problem)
	return g, err
}

func (g *collectiveSystem) Reference() map[string]float64 {
	return map[string]float64{"bound_completion_s": g.completionBound.Seconds()}
}

func (g *collectiveSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	o.UsesPlanners = true
	return nil
}

// maxDrawnEdges is the most links, of all topologies of a plan, that are kept for its picture.
const maxDrawnEdges = 60_000

// collectiveSchedule describes a plan in steps for its picture.
func collectiveSchedule(pl *plan.Plan) *result.Schedule {
	p := pl.Steps
	out := &result.Schedule{
		Origin: pl.Name, GPUs: p.GPUs, Degree: p.Degree, DelayS: p.Delay.Seconds(),
		LatencyS: p.Latency.Seconds(), RateBitsPerS: p.Rate,
	}

	free := maxDrawnEdges
	for i := range p.Phases {
		from := &p.Phases[i]
		f := result.SchedulePhase{Kind: from.Kind.String(), Reused: from.Reused}
		for _, a := range from.Offsets {
			f.Offsets = append(f.Offsets, int(a))
		}
		for _, b := range from.Longest {
			if last := len(f.Steps) - 1; last >= 0 && f.Steps[last].Bytes == b {
				f.Steps[last].Count++
				continue
			}
			f.Steps = append(f.Steps, result.ScheduleRun{Count: 1, Bytes: b,
				StepS: p.StepTime(b).Seconds()})
		}
		if !f.Reused {
			edges := pl.Topologies[i]
			if free -= len(edges); free < 0 {
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

// maxReplayedGPUs is the most GPUs of a domain whose plans are replayed message by message.
const maxReplayedGPUs = 256

// decide lets one planner plan, and checks the plan that is best for the delay.
func (g *collectiveSystem) Decide(
	ctx context.Context, name string, _ int, _ float64,
) (*assembly.PolicyResult, error) {
	begin := time.Now()
	stop := func() bool { return ctx.Err() != nil }
	problem := *g.problem
	problem.Stop = stop
	r := reconfigure.ByName(name)
	if r == nil || r.Collective == nil {
		return nil, errors.New("plans all-to-alls alone")
	}
	list, err := r.Collective(&problem)
	if err != nil {
		return nil, err
	}
	chosen, err := plan.Best(list, func(c *plan.Candidate) engine.Time { return c.Cost(problem.Delay, 0) })
	if err != nil {
		return nil, err
	}
	best, err := chosen.Build(0, stop)
	if err != nil {
		return nil, err
	}
	solved := time.Now()
	cost, gap := best.Cost(problem.Delay, 0), 0.0
	if g.completionBound > 0 {
		gap = float64(cost-g.completionBound) / float64(g.completionBound)
	}
	a := &assembly.PolicyResult{Row: result.Row{
		Policy: name, Labels: map[string]string{"origin": best.Name,
			"gap_model": "any plan in steps"},
		Metrics: map[string]float64{
			"completion_s":     cost.Seconds(),
			"reconfigurations": float64(best.Reconfigurations()),
			"steps":            float64(best.TotalSlots()), "gap": gap,
		},
	}}

	level := g.s.Engine.Level
	switch {
	case level == "cost":
	case g.problem.GPUs > maxReplayedGPUs:
		a.Row.Labels["checked"] = fmt.Sprintf("not replayed: more than %d GPUs",
			maxReplayedGPUs)
	default:
		if err := best.SealWithStop(stop); err != nil {
			return nil, err
		}
	}

	if err := addSimulation(ctx, level, g.s.Domain(), best, 0, &a.Row); err != nil {
		return nil, err
	}
	a.Timings = result.PolicyTimings{SolveS: solved.Sub(begin).Seconds(),
		SimulateS: time.Since(solved).Seconds()}
	a.Describe = func(ctx context.Context, o *assembly.Outcome) {
		s := result.Simulation{Policy: a.Row.Policy, MakespanS: cost.Seconds(),
			Schedule: collectiveSchedule(best)}
		if o.TimelineTasks > 0 {
			s.Timeline = stepTimeline(ctx, best, level == "flow", o.TimelineTasks)
		}
		o.Detail.Policies = append(o.Detail.Policies, s)
		o.PlannerPlans = append(o.PlannerPlans, best)
	}

	return a, nil
}
