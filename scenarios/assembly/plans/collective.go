package plans

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sim/engine"
	"sim/policies/collective"
	"sim/policies/reconfigure"
	stepplan "sim/policies/reconfigure/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// This file plans and measures collectives other than all-to-alls on a scale-up domain: GPUs
// that are connected by optical circuit switches. A plan in steps is a sequence of phases, with
// one topology each. A phase consists of steps; in a step, each link carries at most one message,
// and the step ends when its longest message has arrived.

// collectiveSystem is an all-reduce, all-gather or reduce-scatter on a scale-up domain, for which
// planners make plans in steps. It implements assembly.System.
type collectiveSystem struct {
	s               *Scenario
	problem         *plan.Collective
	completionBound engine.Time // lower bound on the completion time of all plans in steps
}

// Collective returns the planning problem of s. Plans for its workload must be in steps
// (Scenario.IsStepwise).
func (s *Scenario) Collective() *plan.Collective {
	op, _ := collective.ParseKind(s.Workload.Kind)
	return plan.NewCollective(s.Domain(), op, int64(s.Workload.Exchange.Message))
}

// newCollectiveSystem returns the system of s, with its lower bound.
func newCollectiveSystem(ctx context.Context, s *Scenario) (*collectiveSystem, error) {
	g := &collectiveSystem{s: s, problem: s.Collective()}
	var err error
	g.completionBound, err = stepplan.Bound(g.problem)
	return g, err
}

// Reference returns the lower bound on the completion time. It implements assembly.System.
func (g *collectiveSystem) Reference() map[string]float64 {
	return map[string]float64{"bound_completion_s": g.completionBound.Seconds()}
}

// Begin records in the outcome that its policies are planners. It implements assembly.System.
func (g *collectiveSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	o.UsesPlanners = true
	return nil
}

// maxDrawnLinks limits the number of links, over all phases, that are stored for the figure of a
// plan. A link is a circuit from one GPU to another.
const maxDrawnLinks = 60_000

// collectiveSchedule returns a plan in steps in the form that figures are drawn from.
func collectiveSchedule(p *plan.Plan) *result.Schedule {
	steps := p.Steps
	out := &result.Schedule{
		Origin:       p.Name,
		GPUs:         steps.GPUs,
		Degree:       steps.Degree,
		DelayS:       steps.Delay.Seconds(),
		LatencyS:     steps.Latency.Seconds(),
		RateBitsPerS: steps.Rate,
	}

	numLinks := 0 // links of the phases so far
	for i := range steps.Phases {
		phase := &steps.Phases[i]
		drawn := result.SchedulePhase{
			Kind:   phase.Kind.String(),
			Reused: phase.Reused,
			Steps:  stepRuns(steps, phase),
		}
		for _, a := range phase.Offsets {
			drawn.Offsets = append(drawn.Offsets, int(a))
		}

		// Store the links of the topology, unless the previous phase has the same topology.
		// Above the limit, store only their number.
		if !phase.Reused {
			links := p.Topologies[i]
			numLinks += len(links)
			if numLinks > maxDrawnLinks {
				drawn.Links, links = len(links), nil
			}
			for _, e := range links {
				drawn.Edges = append(drawn.Edges, [2]int{int(e.From), int(e.To)})
			}
		}
		out.Phases = append(out.Phases, drawn)
	}

	return out
}

// stepRuns returns the steps of a phase. Consecutive steps whose longest messages have the same
// size are one run.
func stepRuns(steps *plan.Steps, phase *plan.Phase) (runs []result.ScheduleRun) {
	for _, bytes := range phase.MaxMessageBytes {
		if last := len(runs) - 1; last >= 0 && runs[last].Bytes == bytes {
			runs[last].Count++
			continue
		}
		runs = append(runs, result.ScheduleRun{
			Count: 1,
			Bytes: bytes,
			StepS: steps.StepTime(bytes).Seconds(),
		})
	}
	return runs
}

// maxVerifiedGPUs is the maximum number of GPUs for which plans are verified message by message.
// For more GPUs, a plan has too many messages.
const maxVerifiedGPUs = 256

// Plans in steps have no slots of equal length and do not divide data into chunks. Their
// reconfigurations do not take a whole number of slots either. These values stand for the
// arguments that apply only to plans in slots.
const (
	noSlotTime   = engine.Time(0)
	noDelaySlots = 0
	noChunkBytes = 0
)

// Decide calls one planner, and verifies and simulates the plan with the lowest cost. It
// implements assembly.System. It uses one goroutine for any number of workers. It ignores limit,
// as assembly.System permits.
func (g *collectiveSystem) Decide(
	ctx context.Context, name string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	begin := time.Now()
	isCancelled := func() bool { return ctx.Err() != nil }
	problem := *g.problem
	problem.Stop = isCancelled
	planner := reconfigure.ByName(name)
	if planner == nil || planner.Collective == nil {
		return nil, errors.New("plans all-to-alls alone")
	}

	candidates, err := planner.Collective(&problem)
	if err != nil {
		return nil, err
	}
	cost := func(c *plan.Candidate) engine.Time { return c.Cost(problem.Delay, noSlotTime) }
	chosen, err := plan.Best(candidates, cost)
	if err != nil {
		return nil, err
	}

	// Build the plan even if the scenario compares only costs (Engine.Level is "cost"), because the
	// metric "steps" is taken from the plan.
	best, err := chosen.Build(noDelaySlots, isCancelled)
	if err != nil {
		return nil, err
	}
	solved := time.Now()

	completion, gap := best.Cost(problem.Delay, noSlotTime), 0.0
	if g.completionBound > 0 {
		gap = float64(completion-g.completionBound) / float64(g.completionBound)
	}
	a := &assembly.PolicyResult{Row: result.Row{
		Policy: name,
		Labels: map[string]string{"origin": best.Name, "gap_model": "any plan in steps"},
		Metrics: map[string]float64{
			"completion_s":     completion.Seconds(),
			"reconfigurations": float64(best.Reconfigurations()),
			"steps":            float64(best.TotalSlots()), // plans in steps store their steps as slots
			"gap":              gap,
		},
	}}

	// Verify the plan if it will be simulated, and simulate it.
	level := g.s.Engine.Level
	switch {
	case level == "cost": // not simulated
	case g.problem.GPUs > maxVerifiedGPUs:
		a.Row.Labels["checked"] = fmt.Sprintf("not replayed: more than %d GPUs",
			maxVerifiedGPUs)
	default:
		// SealWithStop sorts the plan's messages and verifies each of them.
		if err := best.SealWithStop(isCancelled); err != nil {
			return nil, err
		}
	}
	if err := addSimulation(ctx, level, g.s.Domain(), best, noChunkBytes, &a.Row); err != nil {
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
		if o.Timeline.Tasks > 0 {
			s.Timeline = stepTimeline(ctx, best, level == "flow", o.Timeline)
		}
		o.Detail.Policies = append(o.Detail.Policies, s)
		o.PlannerPlans = append(o.PlannerPlans, best)
	}

	return a, nil
}
