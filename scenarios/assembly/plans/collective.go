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

// collectiveSystem is an all-reduce, all-gather or reduce-scatter on a scale-up
// domain, for which planners make plans in steps. It implements assembly.System.
type collectiveSystem struct {
	s               *Scenario
	problem         *plan.Collective
	completionBound engine.Time // lower bound for all plans in steps
}

// Collective returns the planning problem of s, which must be stepwise.
func (s *Scenario) Collective() *plan.Collective {
	op, _ := collective.ParseKind(s.Workload.Kind)
	return plan.NewCollective(s.Domain(), op, int64(s.Workload.Exchange.Message))
}

// newCollectiveSystem returns the system of a stepwise collective.
func newCollectiveSystem(ctx context.Context, s *Scenario) (*collectiveSystem, error) {
	g := &collectiveSystem{s: s, problem: s.Collective()}
	var err error
	g.completionBound, err = collectives.Bound(g.problem)
	return g, err
}

// Reference returns the lower bound. It implements assembly.System.
func (g *collectiveSystem) Reference() map[string]float64 {
	return map[string]float64{"bound_completion_s": g.completionBound.Seconds()}
}

// Begin marks the outcome as one of planners. It implements assembly.System.
func (g *collectiveSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	o.UsesPlanners = true
	return nil
}

// maxDrawnEdges limits the circuits of all topologies of a plan that are stored
// for its figure.
const maxDrawnEdges = 60_000

// collectiveSchedule returns a plan in steps in the form for figures.
func collectiveSchedule(whole *plan.Plan) *result.Schedule {
	p := whole.Steps
	out := &result.Schedule{
		Origin: whole.Name, GPUs: p.GPUs, Degree: p.Degree, DelayS: p.Delay.Seconds(),
		LatencyS: p.Latency.Seconds(), RateBitsPerS: p.Rate,
	}

	// Topologies are listed in order, as long as the limit allows.
	free := maxDrawnEdges
	for i := range p.Phases {
		phase := &p.Phases[i]
		f := result.SchedulePhase{Kind: phase.Kind.String(), Reused: phase.Reused}
		for _, a := range phase.Offsets {
			f.Offsets = append(f.Offsets, int(a))
		}

		// Equal steps that follow each other are one run.
		for _, b := range phase.MaxMessageBytes {
			if last := len(f.Steps) - 1; last >= 0 && f.Steps[last].Bytes == b {
				f.Steps[last].Count++
				continue
			}
			run := result.ScheduleRun{Count: 1, Bytes: b, StepS: p.StepTime(b).Seconds()}
			f.Steps = append(f.Steps, run)
		}

		// A phase that reuses its topology has no circuits of its own.
		if !f.Reused {
			edges := whole.Topologies[i]
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

// maxReplayedGPUs limits the GPUs of domains whose plans are verified message by
// message.
const maxReplayedGPUs = 256

// Decide calls one planner, and verifies and simulates the plan with the lowest
// cost. It implements assembly.System.
func (g *collectiveSystem) Decide(
	ctx context.Context, name string, _ int, _ float64,
) (*assembly.PolicyResult, error) {
	begin := time.Now()
	isCancelled := func() bool { return ctx.Err() != nil }
	problem := *g.problem
	problem.Stop = isCancelled
	r := reconfigure.ByName(name)
	if r == nil || r.Collective == nil {
		return nil, errors.New("plans all-to-alls alone")
	}

	// Choose the plan with the lowest cost and build it. Unlike an all-to-all, it
	// is needed at every level, because it contains the number of steps.
	list, err := r.Collective(&problem)
	if err != nil {
		return nil, err
	}
	cost := func(c *plan.Candidate) engine.Time { return c.Cost(problem.Delay, 0) }
	chosen, err := plan.Best(list, cost)
	if err != nil {
		return nil, err
	}
	best, err := chosen.Build(0, isCancelled)
	if err != nil {
		return nil, err
	}

	solved := time.Now()

	completion, gap := best.Cost(problem.Delay, 0), 0.0
	if g.completionBound > 0 {
		gap = float64(completion-g.completionBound) / float64(g.completionBound)
	}
	a := &assembly.PolicyResult{Row: result.Row{
		Policy: name,
		Labels: map[string]string{"origin": best.Name, "gap_model": "any plan in steps"},
		Metrics: map[string]float64{
			"completion_s":     completion.Seconds(),
			"reconfigurations": float64(best.Reconfigurations()),
			"steps":            float64(best.TotalSlots()), "gap": gap,
		},
	}}

	// Verify and simulate the plan.
	level := g.s.Engine.Level
	switch {
	case level == "cost": // nothing to verify
	case g.problem.GPUs > maxReplayedGPUs:
		a.Row.Labels["checked"] = fmt.Sprintf("not replayed: more than %d GPUs",
			maxReplayedGPUs)
	default:
		if err := best.SealWithStop(isCancelled); err != nil {
			return nil, err
		}
	}

	if err := addSimulation(ctx, level, g.s.Domain(), best, 0, &a.Row); err != nil {
		return nil, err
	}

	a.Timings = result.PolicyTimings{
		SolveS: solved.Sub(begin).Seconds(), SimulateS: time.Since(solved).Seconds(),
	}
	a.Describe = func(ctx context.Context, o *assembly.Outcome) {
		s := result.Simulation{
			Policy: a.Row.Policy, MakespanS: completion.Seconds(),
			Schedule: collectiveSchedule(best),
		}
		if o.TimelineTasks > 0 {
			s.Timeline = stepTimeline(ctx, best, level == "flow", o.TimelineTasks)
		}
		o.Detail.Policies = append(o.Detail.Policies, s)
		o.PlannerPlans = append(o.PlannerPlans, best)
	}

	return a, nil
}
