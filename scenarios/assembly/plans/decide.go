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

// planned is a planner's plan, simulated and measured.
type planned struct {
	d      *scaled
	chosen *plan.Candidate
	plan   *plan.Plan // nil at level cost and of fluid schedules
	assembly.PolicyResult
}

// Decide lets one planner plan, and simulates the plan that is best for the delay.
func (d *scaled) Decide(ctx context.Context, name string, _ int, _ float64) (*assembly.PolicyResult, error) {
	a, err := d.decide(ctx, name)
	if err != nil {
		return nil, err
	}
	return &a.PolicyResult, nil
}

// decide is Decide with the plan; without one the answer has a fault.
func (d *scaled) decide(ctx context.Context, name string) (*planned, error) {
	begin := time.Now()
	chosen, err := d.choose(ctx, name)
	if errors.Is(err, reconfigure.ErrUnserved) {
		return &planned{PolicyResult: *assembly.RejectedResult(name, err.Error(), func() schema.Diagnostic { return d.unserving(name, err) })}, nil
	}
	if err != nil {
		return nil, err
	}
	a := &planned{d: d, chosen: chosen}
	a.Row, a.Describe = result.Row{Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{}}, a.describe
	solved := time.Now()
	a.Timings.SolveS = max(d.planning.Took(name), solved.Sub(begin)).Seconds()
	if err := a.measure(); err != nil {
		return nil, err
	}
	if d.s.Engine.Level != "cost" && chosen.Build != nil {
		if err := a.write(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := a.simulate(ctx); err != nil {
		return nil, err
	}
	a.Timings.SimulateS = time.Since(solved).Seconds()
	return a, nil
}

// choose returns the candidate of a planner that ends first, or that has fewest slots of those within the topologies
// that the scenario allows.
func (d *scaled) choose(ctx context.Context, name string) (*plan.Candidate, error) {
	most, cost := d.s.Policy.Reconfigurations, d.exposed
	if most > 0 {
		cost = func(c *plan.Candidate) engine.Time {
			if c.Reconfigurations > most {
				return plan.Never
			}
			return c.Cost(0, d.slot)
		}
	}
	best, err := d.planning.Best(ctx, name, cost)
	if most > 0 && errors.Is(err, plan.ErrNoCandidate) {
		return nil, fmt.Errorf("%w: all take more than policy.reconfigurations = %d topologies", reconfigure.ErrUnserved, most)
	}
	return best, err
}

// cost returns how long a candidate takes, from the dark; where all-to-alls follow each other a single topology stays.
func (d *scaled) cost(c *plan.Candidate) engine.Time {
	if d.stays(c) {
		return c.Cost(0, d.slot)
	}
	return c.Cost(d.domain.Delay, d.slot)
}

// stays reports whether a candidate finds its topology set up.
func (d *scaled) stays(c *plan.Candidate) bool { return d.repeated && c.Reconfigurations == 1 }

// measure says what the plan costs, and how far that is from the bounds of its number of topologies and of any.
func (a *planned) measure() error {
	c, d, m := a.chosen, a.d, a.Row.Metrics
	m["completion_s"] = d.cost(c).Seconds()
	m["reconfigurations"] = float64(c.Reconfigurations)
	m["slots"] = float64(c.Slots)
	if c.Fluid > 0 {
		m["slots"] = c.Fluid
		m["bound_slots_fluid"], m["bound_completion_fluid_s"] = c.FluidBound, d.leastCompletion(true).Seconds()
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
		a.Row.Labels["proved"] = provedWords(c)
	}
	if least := d.leastCompletion(c.Fluid > 0).Seconds(); least > 0 {
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

// provedWords says among which plans a candidate is proved to have the fewest slots.
func provedWords(c *plan.Candidate) string {
	words := "no plan on as many circulants in which all GPUs do alike takes fewer slots"
	if !c.Relay {
		words += " without relaying"
	}
	return words
}

// mostTransmissions is the most that a plan is written out with, of 28 bytes each.
const mostTransmissions = 1 << 27

// write writes the plan out and checks it.
func (a *planned) write(ctx context.Context, name string) error {
	d := a.d
	if most := float64(a.chosen.Slots) * float64(d.domain.GPUs*d.domain.Switches); most > mostTransmissions || a.chosen.Slots > plan.MaxSlotsPerPhase {
		a.Row.Labels["plan"] = fmt.Sprintf("not written out: %.3g transmissions in %d slots; larger chunks are fewer", most, a.chosen.Slots)
		return nil
	}
	stop := func() bool { return ctx.Err() != nil }
	built, err := a.chosen.Build(int64((d.domain.Delay+d.slot-1)/d.slot), stop)
	if err != nil {
		return err
	}
	p := new(plan.Plan)
	*p = *built // which may be one that was imported, for others too
	if p.Name = name + ": " + a.chosen.Origin; reconfigure.ByName(name).Given {
		p.Name = built.Name
	}
	if err := p.SealWithStop(stop); err != nil {
		return fmt.Errorf("the plan of %s: %w", a.chosen.Origin, err)
	}
	if got := p.TotalSlots(); a.chosen.Switches == nil && got != a.chosen.Slots {
		return fmt.Errorf("the plan of %s takes %d slots and not %d", a.chosen.Origin, got, a.chosen.Slots)
	}
	a.plan = p
	a.Row.Metrics["buffer_chunks"] = float64(p.Buffer)
	return nil
}

// simulate simulates the plan as the scenario asks.
func (a *planned) simulate(ctx context.Context) error {
	if a.plan != nil {
		return simulated(ctx, a.d.s.Engine.Level, a.domain(), a.plan, a.d.chunk, &a.Row)
	}
	if metric := map[string]string{"packet": "synchronised_s", "flow": "fluid_s"}[a.d.s.Engine.Level]; metric != "" {
		a.Row.Labels[metric] = cmp.Or(a.Row.Labels["plan"], "a fluid schedule has no plan to play")
	}
	return nil
}

// domain is the domain as the plan finds it: without a delay where its topology stays.
func (a *planned) domain() *scaleup.Domain {
	d := *a.d.domain
	if a.d.stays(a.chosen) {
		d.Delay = 0
	}
	return &d
}

// simulated simulates a plan, of chunks of so many bytes or in steps: at level packet on queues, every transmission in
// its slot or step, and every one as soon as links are free; at level flow as fluid.
func simulated(ctx context.Context, level string, d *scaleup.Domain, p *plan.Plan, chunk int64, row *result.Row) error {
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
		row.Metrics["synchronised_s"], row.Metrics["free_running_s"] = end.Seconds(), free.Completion.Seconds()
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

// mostSent is the most transmissions of a plan that are kept for its picture.
const mostSent = 60_000

// describe adds the plan and its picture.
func (a *planned) describe(ctx context.Context, o *assembly.Outcome) {
	d := a.d
	p := result.Simulation{Policy: a.Row.Policy, MakespanS: d.cost(a.chosen).Seconds()}
	if a.plan != nil && o.TimelineTasks > 0 {
		p.Timeline = inSlots(a.plan, a.domain(), d.slot, d.chunk, o.TimelineTasks)
	} else if o.TimelineTasks > 0 {
		p.Timeline = &result.Timeline{Omitted: "all, as there is no plan in slots: " + cmp.Or(a.Row.Labels["plan"], "the schedule is fluid")}
	}
	if a.plan != nil {
		p.Schedule = schedule(a.plan, a.chosen.Origin, d.slot, a.domain().Delay)
		o.PlannerPlans = append(o.PlannerPlans, a.plan)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
}

// schedule describes a plan for its picture.
func schedule(p *plan.Plan, origin string, slot, delay engine.Time) *result.Schedule {
	out := &result.Schedule{Origin: origin, GPUs: p.GPUs, Degree: p.Degree, SlotS: slot.Seconds(), DelayS: delay.Seconds(), Intervals: p.Switches != nil}
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
		if len(p.Tx) <= mostSent {
			f.Sent = append(f.Sent, [6]int{int(t.Slot), int(t.From), int(t.To), int(t.Src), int(t.Dst), int(t.Chunk)})
		}
	}
	return out
}

// Words says in a line what is done on what.
func (s *Scenario) Words() string {
	f, w := &s.Fabric.ScaleUp, &s.Workload
	switches := "1 optical switch"
	if f.Switches > 1 {
		switches = fmt.Sprintf("%d optical switches", f.Switches)
	}
	text := fmt.Sprintf("%s on %d GPUs with %s, links of %v, %s to reconfigure", w.Kind, f.GPUs, switches, f.LinkRate, units.ShortTime(f.Delay))
	if s.Title != "" {
		text = s.Title + ": " + text
	}
	switch {
	case w.IsTraining:
		return text + fmt.Sprintf(", %s of %s a stage, %d stages, %d micro-batches, %s sizes", assembly.Plural(w.EP, "expert rank"), w.Arch.Name, w.PP, w.Microbatches, w.Exchange.Sizes)
	case s.Gathers():
		return text + fmt.Sprintf(", %v", w.Exchange.Message)
	case w.Exchange.Sizes == input.ListedSizes:
		return text + fmt.Sprintf(", sizes from a matrix in chunks of %v", w.Exchange.Chunk)
	}
	return text + fmt.Sprintf(", %s sizes of %v in chunks of %v", w.Exchange.Sizes, w.Exchange.Message, w.Exchange.Chunk)
}
