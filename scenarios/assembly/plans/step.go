package plans

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/fabric/electrical"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/workloads/training"
)

// stepSystem is a training step whose all-to-alls between tokens and experts stay inside scale-up domains, one a stage,
// built. Everything else goes between domains over an ideal fabric.
type stepSystem struct {
	*exchangeSystem
	spec                 training.Spec
	timeWithoutExchanges engine.Time // the step with all-to-alls that take no time
}

// newStepSystem builds the step of s.
func newStepSystem(ctx context.Context, s *Scenario, workers int) (*stepSystem, error) {
	spec := s.Workload.Spec
	all := *s
	all.Workload.Exchange.Message = units.Bytes(spec.ExpertBytes())
	d, err := newExchangeSystem(ctx, &all, workers)
	if err != nil {
		return nil, err
	}
	d.isRepeated = true
	if d.leadTimes, err = s.leadTimes(&spec, 1); err != nil {
		return nil, err
	}
	t := &stepSystem{exchangeSystem: d, spec: spec}
	t.timeWithoutExchanges, err = t.simulateStep(ctx, [4]engine.Time{})
	return t, err
}

// leadTimes returns how long before each of the four all-to-alls of a layer, there and back in both passes, switches may
// begin to reconfigure for it: while what comes before it computes of so many layers, where it is known.
func (s *Scenario) leadTimes(
	spec *training.Spec, layers float64,
) (times [4]engine.Time, err error) {
	if !s.Fabric.ScaleUp.ReconfiguresAhead() {
		return times, nil
	}
	for i, pass := range []training.Phase{training.Forward, training.Backward} {
		if times[2*i], times[2*i+1], err = spec.ExchangeGaps(pass); err != nil {
			return times, err
		}
	}

	if s.Fabric.ScaleUp.KnownAhead == "returns" {
		times[0] = 0
	}
	for i := range times {
		times[i] = min(engine.Time(float64(times[i])*layers), s.Fabric.ScaleUp.Delay)
	}
	return times, nil
}

// exchangeTimes returns what a candidate takes of each of the four all-to-alls of a layer, less what of reconfigurations for its
// first topology lies behind computing.
func (d *exchangeSystem) exchangeTimes(c *plan.Candidate) (each [4]engine.Time) {
	hides := !d.keepsTopology(c) && c.DelaySlots == 0 // else its delays are whole slots
	for i := range each {
		if each[i] = d.cost(c); hides {
			each[i] -= d.leadTimes[i]
		}
	}
	return each
}

// exposedTime is what a candidate takes on average of the all-to-alls, less what of it lies behind computing.
func (d *exchangeSystem) exposedTime(c *plan.Candidate) engine.Time {
	hidden := engine.Time(0)
	for _, t := range d.exchangeTimes(c) {
		hidden += d.cost(c) - t
	}
	return d.cost(c) - hidden/4
}

// simulateStep returns how long the step takes when the all-to-alls of a layer take so long.
func (t *stepSystem) simulateStep(ctx context.Context, each [4]engine.Time) (engine.Time, error) {
	it, err := training.Build(t.spec, training.BuildOptions{})
	if err != nil {
		return 0, err
	}
	if err := it.AddExchanges(each); err != nil {
		return 0, err
	}
	nic := t.s.Fabric.ScaleUp.NICRate
	gpus := t.spec.StageGPUs()
	pods, err := it.Place(training.Layout{GPUsPerPod: gpus,
		Replicas: []training.ReplicaLayout{{Pod: fabric.Pod{Ports: gpus, Rate: nic},
			NIC: nic}}})
	if err != nil {
		return 0, err
	}
	n, r, err := electrical.Connect(pods, it.Graph)
	if err != nil {
		return 0, err
	}
	out, err := composition.Simulate(ctx, "flow", &composition.Job{Graph: it.Graph},
		composition.NewRouteDecision(n, r, flow.Options{Service: flow.LevelPriority}))
	if err != nil {
		return 0, fmt.Errorf("simulating the step: %w", err)
	}
	return out.Trace.Makespan, nil
}

// ExchangeTimes returns how long the plan of the first planner of s takes for its all-to-all, of which one follows
// another: of the four of a layer, there and back in both passes, less what lies behind computing so many layers.
func ExchangeTimes(
	ctx context.Context, s *Scenario, layers float64,
) (each [4]engine.Time, err error) {
	d, err := newExchangeSystem(ctx, s, 1)
	if err != nil {
		return each, err
	}
	d.isRepeated = true
	if d.leadTimes, err = s.leadTimes(&s.Workload.Spec, layers); err != nil {
		return each, err
	}
	chosen, err := d.bestCandidate(ctx, s.Policy.Planners[0])
	if err != nil {
		return each, err
	}
	return d.exchangeTimes(chosen), nil
}

func (t *stepSystem) Reference() map[string]float64 {
	m := t.exchangeSystem.Reference()
	m["makespan_s"] = t.timeWithoutExchanges.Seconds()
	return m
}

// decide lets one planner plan the all-to-all, and simulates the step with it.
//
// A plan of one topology never reconfigures again; all others set up each of their topologies in every all-to-all,
// since the way back needs the links turned round.
func (t *stepSystem) Decide(
	ctx context.Context, name string, _ int, _ float64,
) (*assembly.PolicyResult, error) {
	p, err := t.decide(ctx, name)
	if err != nil {
		return nil, err
	}
	if p.Rejection != nil {
		return &p.PolicyResult, nil
	}
	m := p.Row.Metrics
	whole, each := t.cost(p.candidate), t.exchangeTimes(p.candidate)
	m["all_to_all_s"] = whole.Seconds()
	delete(m, "completion_s")
	end, err := t.simulateStep(ctx, each)
	if err != nil {
		return nil, err
	}
	if t.s.Fabric.ScaleUp.ReconfiguresAhead() {
		shown := end
		if all := [4]engine.Time{whole, whole, whole, whole}; all != each {
			if shown, err = t.simulateStep(ctx, all); err != nil {
				return nil, err
			}
		}
		m["hidden_s"] = (shown - end).Seconds()
	}

	m["makespan_s"] = end.Seconds()
	m["exchange_exposed_s"] = (end - t.timeWithoutExchanges).Seconds()
	return &p.PolicyResult, nil
}
