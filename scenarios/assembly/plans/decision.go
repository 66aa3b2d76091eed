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

// planningResult is a planner's plan, simulated and measured.
type planningResult struct {
	system    *exchangeSystem
	candidate *plan.Candidate
	plan      *plan.Plan // nil at level cost and of fluid schedules
	assembly.PolicyResult
}

// Decide lets one planner plan, and simulates the plan that is best for the delay.
func (d *exchangeSystem) Decide(
	ctx context.Context, name string, _ int, _ float64,
) (*assembly.PolicyResult, error) {
	a, err := d.decide(ctx, name)
	if err != nil {
		return nil, err
	}
	return &a.PolicyResult, nil
}

// decide is Decide with the plan; without one the answer has a fault.
func (d *exchangeSystem) decide(ctx context.Context, name string) (*planningResult, error) {
	begin := time.Now()
	chosen, err := d.bestCandidate(ctx, name)
	if errors.Is(err, reconfigure.ErrUnserved) {
		return &planningResult{PolicyResult: *assembly.RejectedResult(name, err.Error(),
			func() schema.Diagnostic { return d.unservedDiagnostic(name, err) })}, nil
	}

	if err != nil {
		return nil, err
	}
	a := &planningResult{system: d, candidate: chosen}
	a.Row, a.Describe = result.Row{Policy: name, Metrics: map[string]float64{},
		Labels: map[string]string{}}, a.describe
	solved := time.Now()
	a.Timings.SolveS = max(d.planning.Took(name), solved.Sub(begin)).Seconds()
	if err := a.addMetrics(); err != nil {
		return nil, err
	}
	if d.s.Engine.Level != "cost" && chosen.Build != nil {
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

// bestCandidate returns the candidate of a planner that ends first, or that has fewest slots of those within the topologies
// that the scenario allows.
func (d *exchangeSystem) bestCandidate(ctx context.Context, name string) (*plan.Candidate, error) {
	maxTopologies, cost := d.s.Policy.Reconfigurations, d.exposedTime
	if maxTopologies > 0 {
		cost = func(c *plan.Candidate) engine.Time {
			if c.Reconfigurations > maxTopologies {
				return plan.Never
			}
			return c.Cost(0, d.slot)
		}
	}

	best, err := d.planning.Best(ctx, name, cost)
	if maxTopologies > 0 && errors.Is(err, plan.ErrNoCandidate) {
		return nil, fmt.Errorf("%w: all take more than policy.reconfigurations = %d topologies",
			reconfigure.ErrUnserved, maxTopologies)
	}

	return best, err
}

// cost returns how long a candidate takes, from the dark; where all-to-alls follow each other a single topology stays.
func (d *exchangeSystem) cost(c *plan.Candidate) engine.Time {
	if d.keepsTopology(c) {
		return c.Cost(0, d.slot)
	}
	return c.Cost(d.domain.Delay, d.slot)
}

// keepsTopology reports whether a candidate finds its topology set up.
func (d *exchangeSystem) keepsTopology(c *plan.Candidate) bool {
	return d.isRepeated && c.Reconfigurations == 1
}

// addMetrics says what the plan costs, and how far that is from the bounds of its number of topologies and of any.
func (a *planningResult) addMetrics() error {
	c, d, m := a.candidate, a.system, a.Row.Metrics
	m["completion_s"] = d.cost(c).Seconds()
	m["reconfigurations"] = float64(c.Reconfigurations)
	m["slots"] = float64(c.Slots)
	if c.Fluid > 0 {
		m["slots"] = c.Fluid
		m["bound_slots_fluid"], m["bound_completion_fluid_s"] = c.FluidBound,
			d.completionBound(true).Seconds()
		a.Row.Labels["schedule"] = "fluid"
	}

	b, err := d.bounds.At(c.Reconfigurations)
	if err != nil {
		return err
	}
	if b.Round > 0 {
		m["bound_slots_round"] = float64(b.Round)
	}
	m["bound_slots_forward"], m["bound_slots_relay"] = float64(b.Forward), float64(b.Relay)
	gap, model, err := d.bounds.Gap(c)
	if err != nil {
		return err
	}
	m["gap"] = gap
	a.Row.Labels["gap_model"], a.Row.Labels["origin"] = model, c.Origin
	if c.Proved && gap > 0 {
		a.Row.Labels["proved"] = proofDescription(c)
	}
	if least := d.completionBound(c.Fluid > 0).Seconds(); least > 0 {
		m["gap_completion"] = (d.cost(c).Seconds() - least) / least
		if a.Row.Labels["gap_completion_model"] = d.rules().Model(); c.Fluid > 0 {
			a.Row.Labels["gap_completion_model"] = plan.FluidModel
		}
	}

	if c.Switches != nil {
		a.Row.Labels["reconfigure"] = "independent"
	}
	return nil
}

// proofDescription says among which plans a candidate is proved to have the fewest slots.
func proofDescription(c *plan.Candidate) string {
	words := "no plan on as many circulants in which all GPUs do alike takes fewer slots"
	if !c.Relay {
		words += " without relaying"
	}
	return words
}

// maxTransmissions is the most that a plan is written out with, of 28 bytes each.
const maxTransmissions = 1 << 27

// buildPlan writes the plan out and checks it.
func (a *planningResult) buildPlan(ctx context.Context, name string) error {
	d := a.system
	if most := float64(a.candidate.Slots) * float64(d.domain.GPUs*d.domain.Switches); most > maxTransmissions || a.candidate.Slots > plan.MaxSlotsPerPhase {
		a.Row.Labels["plan"] = fmt.Sprintf("not written out: %.3g transmissions in %d slots; larger chunks are fewer", most, a.candidate.Slots)
		return nil
	}

	stop := func() bool { return ctx.Err() != nil }
	built, err := a.candidate.Build(int64((d.domain.Delay+d.slot-1)/d.slot), stop)
	if err != nil {
		return err
	}
	p := new(plan.Plan)
	*p = *built // which may be one that was imported, for others too
	if p.Name = name + ": " + a.candidate.Origin; reconfigure.ByName(name).Given {
		p.Name = built.Name
	}
	if err := p.SealWithStop(stop); err != nil {
		return fmt.Errorf("the plan of %s: %w", a.candidate.Origin, err)
	}
	if got := p.TotalSlots(); a.candidate.Switches == nil && got != a.candidate.Slots {
		return fmt.Errorf("the plan of %s takes %d slots and not %d", a.candidate.Origin, got,
			a.candidate.Slots)
	}

	a.plan = p
	a.Row.Metrics["buffer_chunks"] = float64(p.Buffer)
	return nil
}

// simulate simulates the plan as the scenario asks.
func (a *planningResult) simulate(ctx context.Context) error {
	if a.plan != nil {
		return addSimulation(ctx, a.system.s.Engine.Level, a.domain(), a.plan,
			a.system.chunk, &a.Row)
	}
	if metric := map[string]string{"packet": "synchronised_s",
		"flow": "fluid_s"}[a.system.s.Engine.Level]; metric != "" {
		a.Row.Labels[metric] = cmp.Or(a.Row.Labels["plan"],
			"a fluid schedule has no plan to play")
	}
	return nil
}

// domain is the domain as the plan finds it: without a delay where its topology stays.
func (a *planningResult) domain() *scaleup.Domain {
	d := *a.system.domain
	if a.system.keepsTopology(a.candidate) {
		d.Delay = 0
	}
	return &d
}

// addSimulation simulates a plan, of chunks of so many bytes or in steps: at level packet on queues, every transmission in
// its slot or step, and every one as soon as links are free; at level flow as fluid.
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
		row.Metrics["synchronised_s"], row.Metrics["free_running_s"] = end.Seconds(),
			free.Completion.Seconds()
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

// maxDrawnTransmissions is the most transmissions of a plan that are kept for its picture.
const maxDrawnTransmissions = 60_000

// describe adds the plan and its picture.
func (a *planningResult) describe(ctx context.Context, o *assembly.Outcome) {
	d := a.system
	p := result.Simulation{Policy: a.Row.Policy, MakespanS: d.cost(a.candidate).Seconds()}
	if a.plan != nil && o.TimelineTasks > 0 {
		p.Timeline = slotTimeline(a.plan, a.domain(), d.slot, d.chunk, o.TimelineTasks)
	} else if o.TimelineTasks > 0 {
		p.Timeline = &result.Timeline{Omitted: "all, as there is no plan in slots: " + cmp.Or(a.Row.Labels["plan"], "the schedule is fluid")}
	}
	if a.plan != nil {
		p.Schedule = slotSchedule(a.plan, a.candidate.Origin, d.slot, a.domain().Delay)
		o.PlannerPlans = append(o.PlannerPlans, a.plan)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
}

// slotSchedule describes a plan for its picture.
func slotSchedule(p *plan.Plan, origin string, slot, delay engine.Time) *result.Schedule {
	out := &result.Schedule{Origin: origin, GPUs: p.GPUs, Degree: p.Degree,
		SlotS:  slot.Seconds(),
		DelayS: delay.Seconds(), Intervals: p.Switches != nil}
	for i, t := range p.Topologies {
		f := result.SchedulePhase{Slots: int(p.Slots[i]), Busy: make([]int, p.Slots[i])}
		for _, e := range t {
			f.Edges = append(f.Edges, [2]int{int(e.From), int(e.To)})
		}
		out.Phases = append(out.Phases, f)
	}

	for _, t := range p.Tx {
		f := &out.Phases[t.Phase]
		f.Busy[t.Slot]++
		if len(p.Tx) <= maxDrawnTransmissions {
			f.Sent = append(f.Sent, [6]int{int(t.Slot), int(t.From), int(t.To), int(t.Src),
				int(t.Dst), int(t.Chunk)})
		}
	}

	return out
}

// Description says in a line what is done on what.
func (s *Scenario) Description() string {
	f, w := &s.Fabric.ScaleUp, &s.Workload
	switches := "1 optical switch"
	if f.Switches > 1 {
		switches = fmt.Sprintf("%d optical switches", f.Switches)
	}
	text := fmt.Sprintf("%s on %d GPUs with %s, links of %v, %s to reconfigure", w.Kind,
		f.GPUs,
		switches, f.LinkRate, units.ShortTime(f.Delay))
	if s.Title != "" {
		text = s.Title + ": " + text
	}
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
