// This file calls one planner for an all-to-all, builds and simulates the best plan,
// and measures it.

package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/simulate"
	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// planningResult is the plan of one planner, with its simulation and its metrics.
type planningResult struct {
	system    *exchangeSystem
	candidate *plan.Candidate // the plan before it is built
	plan      *plan.Plan      // the built plan; nil at level cost and for fluid schedules
	assembly.PolicyResult
}

// Decide calls one planner, and simulates the candidate with the lowest cost. It
// implements assembly.System.
func (d *exchangeSystem) Decide(
	ctx context.Context, name string, _ int, _ float64,
) (*assembly.PolicyResult, error) {
	a, err := d.decide(ctx, name)
	if err != nil {
		return nil, err
	}
	return &a.PolicyResult, nil
}

// decide implements Decide. If the planner has no plan, the result is a rejection.
func (d *exchangeSystem) decide(ctx context.Context, name string) (*planningResult, error) {
	begin := time.Now()
	candidate, err := d.bestCandidate(ctx, name)

	// A planner without a plan for the problem is not an error of the run.
	if errors.Is(err, reconfigure.ErrUnserved) {
		rejected := assembly.RejectedResult(name, err.Error(), func() schema.Diagnostic {
			return d.unservedDiagnostic(name, err)
		})
		return &planningResult{PolicyResult: *rejected}, nil
	}

	if err != nil {
		return nil, err
	}

	a := &planningResult{system: d, candidate: candidate}
	a.Row = result.Row{
		Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{},
	}
	a.Describe = a.describe

	// Scenarios share candidates. The run of a planner counts once.
	solved := time.Now()
	a.Timings.SolveS = max(d.planning.Took(name), solved.Sub(begin)).Seconds()

	if err := a.addMetrics(); err != nil {
		return nil, err
	}

	// Fluid schedules have no plan to build.
	if d.s.Engine.Level != "cost" && candidate.Build != nil {
		if err := a.buildPlan(ctx, name); err != nil {
			return nil, err
		}
	}

	if err := a.simulate(ctx); err != nil {
		return nil, err
	}
	a.Timings.SimulateS = time.Since(solved).Seconds()
	return a, nil
}

// bestCandidate returns the candidate of a planner with the lowest exposed time.
// If the scenario limits the number of topologies, it returns the one with the
// smallest number of slots among the candidates within the limit.
func (d *exchangeSystem) bestCandidate(ctx context.Context, name string) (*plan.Candidate, error) {
	// Candidates with more topologies than allowed never win.
	maxTopologies, cost := d.s.Policy.Reconfigurations, d.exposedTime
	if maxTopologies > 0 {
		cost = func(c *plan.Candidate) engine.Time {
			if c.Reconfigurations > maxTopologies {
				return plan.Never
			}
			return c.Cost(noDelay, d.slot) // compares slots only
		}
	}

	best, err := d.planning.Best(ctx, name, cost)

	// All candidates may have more topologies than allowed.
	if maxTopologies > 0 && errors.Is(err, plan.ErrNoCandidate) {
		return nil, fmt.Errorf("%w: all take more than policy.reconfigurations = %d topologies",
			reconfigure.ErrUnserved, maxTopologies)
	}

	return best, err
}

// noDelay is the delay of a reconfiguration that is not needed or not counted.
const noDelay = engine.Time(0)

// cost returns the duration of a candidate. Without a topology that is set up
// already, it starts with a reconfiguration.
func (d *exchangeSystem) cost(c *plan.Candidate) engine.Time {
	if d.keepsTopology(c) {
		return c.Cost(noDelay, d.slot)
	}
	return c.Cost(d.domain.Delay, d.slot)
}

// keepsTopology reports whether the topology of a candidate is set up already, by
// the preceding all-to-all.
func (d *exchangeSystem) keepsTopology(c *plan.Candidate) bool {
	return d.isRepeated && c.Reconfigurations == 1
}

// addMetrics adds the cost of the candidate and the gaps to two bounds: the bound
// for its number of topologies, and the bound for any number.
func (a *planningResult) addMetrics() error {
	c, d, m := a.candidate, a.system, a.Row.Metrics
	m["completion_s"] = d.cost(c).Seconds()
	m["reconfigurations"] = float64(c.Reconfigurations)
	m["slots"] = float64(c.Slots)
	if c.Fluid > 0 {
		m["slots"] = c.Fluid
		m["bound_slots_fluid"] = c.FluidBound
		m["bound_completion_fluid_s"] = d.completionBound(ofFluidPlans).Seconds()
		a.Row.Labels["schedule"] = "fluid"
	}

	// The slots of every plan with as many topologies are at least these bounds.
	b, err := d.bounds.At(c.Reconfigurations)
	if err != nil {
		return err
	}
	if b.Round > 0 {
		m["bound_slots_round"] = float64(b.Round)
	}
	m["bound_slots_forward"] = float64(b.Forward)
	m["bound_slots_relay"] = float64(b.Relay)

	// gap compares slots with the bound for this number of topologies, and
	// gap_completion compares completion times with the bound for any number.
	gap, model, err := d.bounds.Gap(c)
	if err != nil {
		return err
	}
	m["gap"] = gap
	a.Row.Labels["gap_model"], a.Row.Labels["origin"] = model, c.Origin
	if c.Proved && gap > 0 {
		a.Row.Labels["proved"] = proofDescription(c)
	}

	if bound := d.completionBound(c.Fluid > 0).Seconds(); bound > 0 {
		m["gap_completion"] = (d.cost(c).Seconds() - bound) / bound
		a.Row.Labels["gap_completion_model"] = d.rules().Model()
		if c.Fluid > 0 {
			a.Row.Labels["gap_completion_model"] = plan.FluidModel
		}
	}

	// Plans for independent switches have their own reconfigurations.
	if c.Switches != nil {
		a.Row.Labels["reconfigure"] = "independent"
	}
	return nil
}

// proofDescription returns the class of plans in which a candidate is proved to
// have the smallest number of slots.
func proofDescription(c *plan.Candidate) string {
	text := "no plan on as many circulants in which all GPUs do alike takes fewer slots"
	if !c.Relay {
		text += " without relaying"
	}
	return text
}

// maxTransmissions limits the transmissions of a plan that is built. Each takes 28
// bytes, so that a plan takes at most 3.8 GB.
const maxTransmissions = 1 << 27

// buildPlan builds and checks the plan. If the plan is too large, it adds a label
// with the reason instead.
func (a *planningResult) buildPlan(ctx context.Context, name string) error {
	d := a.system
	c, circuits := a.candidate, float64(d.domain.GPUs*d.domain.Switches)

	// Every circuit may be busy in every slot.
	transmissions := float64(c.Slots) * circuits
	if transmissions > maxTransmissions || c.Slots > plan.MaxSlotsPerPhase {
		a.Row.Labels["plan"] = fmt.Sprintf("not written out: %.3g transmissions in %d slots; larger chunks are fewer",
			transmissions, c.Slots)
		return nil
	}

	// The delays of independent switches are whole slots of the plan.
	isCancelled := func() bool { return ctx.Err() != nil }
	delaySlots := int64((d.domain.Delay + d.slot - 1) / d.slot)
	built, err := c.Build(delaySlots, isCancelled)
	if err != nil {
		return err
	}

	// Change the name in a copy, because planners may share an imported plan.
	p := new(plan.Plan)
	*p = *built
	p.Name = name + ": " + c.Origin
	if reconfigure.ByName(name).IsImported {
		p.Name = built.Name
	}

	// Sealing verifies the plan, and counts its chunks in buffers.
	if err := p.SealWithStop(isCancelled); err != nil {
		return fmt.Errorf("the plan of %s: %w", c.Origin, err)
	}
	if slots := p.TotalSlots(); c.Switches == nil && slots != c.Slots {
		return fmt.Errorf("the plan of %s takes %d slots and not %d", c.Origin, slots, c.Slots)
	}

	a.plan = p
	a.Row.Metrics["buffer_chunks"] = float64(p.Buffer)
	return nil
}

// simulate simulates the plan at the level of the scenario.
func (a *planningResult) simulate(ctx context.Context) error {
	if a.plan != nil {
		return addSimulation(ctx, a.system.s.Engine.Level, a.domain(), a.plan, a.system.chunk, &a.Row)
	}

	// A label with the reason replaces the metric.
	metrics := map[string]string{"packet": "synchronised_s", "flow": "fluid_s"}
	if metric := metrics[a.system.s.Engine.Level]; metric != "" {
		a.Row.Labels[metric] = cmp.Or(a.Row.Labels["plan"],
			"a fluid schedule has no plan to play")
	}
	return nil
}

// domain returns the domain for the simulation. It has no delay if the topology is
// set up already.
func (a *planningResult) domain() *scaleup.Domain {
	d := *a.system.domain
	if a.system.keepsTopology(a.candidate) {
		d.Delay = 0
	}
	return &d
}

// addSimulation simulates a plan with chunks of the given bytes, or a plan in
// steps, and adds the times to row. At level packet it simulates packets twice:
// synchronised with the slots or steps, and starting as soon as links are free. At
// level flow it simulates rates.
func addSimulation(
	ctx context.Context, level string, d *scaleup.Domain, p *plan.Plan, chunk int64,
	row *result.Row,
) error {
	switch level {
	case "packet":
		end, err := simulate.Synchronised(ctx, d, p, chunk)
		if err != nil {
			return err
		}
		free, err := simulate.Free(ctx, d, p, chunk)
		if err != nil {
			return err
		}
		row.Metrics["synchronised_s"] = end.Seconds()
		row.Metrics["free_running_s"] = free.Completion.Seconds()
		if p.Steps == nil {
			row.Metrics["largest_queue"] = float64(free.LargestQueue)
		}
	case "flow":
		fluid, err := simulate.Fluid(ctx, d, p, chunk)
		if err != nil {
			return err
		}
		row.Metrics["fluid_s"] = fluid.Completion.Seconds()
	}

	return nil
}

// maxDrawnTransmissions limits the transmissions of a plan that are stored for its
// figure, six numbers each, to about 1 MB of text.
const maxDrawnTransmissions = 60_000

// describe adds the plan, its timeline and the data of its figure to an outcome.
func (a *planningResult) describe(ctx context.Context, o *assembly.Outcome) {
	d := a.system

	// A plan that is not built has no timeline. The reason takes its place.
	p := result.Simulation{Policy: a.Row.Policy, MakespanS: d.cost(a.candidate).Seconds()}
	if a.plan != nil && o.Timeline.Tasks > 0 {
		p.Timeline = slotTimeline(a.plan, a.domain(), d.slot, d.chunk, o.Timeline)
	} else if o.Timeline.Tasks > 0 {
		reason := cmp.Or(a.Row.Labels["plan"], "the schedule is fluid")
		p.Timeline = &result.Timeline{Omitted: "all, as there is no plan in slots: " + reason}
	}

	if a.plan != nil {
		p.Schedule = slotSchedule(a.plan, a.candidate.Origin, d.slot, a.domain().Delay)
		o.PlannerPlans = append(o.PlannerPlans, a.plan)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
}

// slotSchedule returns a plan in slots in the form for figures.
func slotSchedule(p *plan.Plan, origin string, slot, delay engine.Time) *result.Schedule {
	out := &result.Schedule{
		Origin: origin, GPUs: p.GPUs, Degree: p.Degree, SlotS: slot.Seconds(),
		DelayS: delay.Seconds(), Intervals: p.Switches != nil,
	}

	for i, t := range p.Topologies {
		f := result.SchedulePhase{Slots: int(p.Slots[i]), Busy: make([]int, p.Slots[i])}
		for _, e := range t {
			f.Edges = append(f.Edges, [2]int{int(e.From), int(e.To)})
		}
		out.Phases = append(out.Phases, f)
	}

	// Busy counts all transmissions; a figure lists them only if they are few.
	for _, t := range p.Tx {
		f := &out.Phases[t.Phase]
		f.Busy[t.Slot]++
		if len(p.Tx) <= maxDrawnTransmissions {
			f.Sent = append(f.Sent, [6]int{
				int(t.Slot), int(t.From), int(t.To), int(t.Src), int(t.Dst), int(t.Chunk),
			})
		}
	}

	return out
}

// Description returns one line that describes the workload and the domain.
func (s *Scenario) Description() string {
	f, w := &s.Fabric.ScaleUp, &s.Workload

	switches := "1 optical switch"
	if f.Switches > 1 {
		switches = fmt.Sprintf("%d optical switches", f.Switches)
	}
	text := fmt.Sprintf("%s on %d GPUs with %s, links of %v, %s to reconfigure",
		w.Kind, f.GPUs, switches, f.LinkRate, units.ShortTime(f.Delay))

	if s.Title != "" {
		text = s.Title + ": " + text
	}

	// Append the sizes of messages.
	switch {
	case w.IsTraining:
		return text + fmt.Sprintf(", %s of %s a stage, %d stages, %d micro-batches, %s sizes",
			assembly.Plural(w.EP, "expert rank"), w.Arch.Name, w.PP, w.Microbatches,
			w.Exchange.Sizes)
	case s.IsStepwise():
		return text + fmt.Sprintf(", %v", w.Exchange.Message)
	case w.Exchange.Sizes == input.ListedSizes:
		return text + fmt.Sprintf(", sizes from a matrix in chunks of %v", w.Exchange.Chunk)
	}

	return text + fmt.Sprintf(", %s sizes of %v in chunks of %v", w.Exchange.Sizes,
		w.Exchange.Message, w.Exchange.Chunk)
}
