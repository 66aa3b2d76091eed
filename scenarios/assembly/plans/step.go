// This file simulates a training step whose all-to-alls follow the plan of a planner.

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

// stepSystem is a training step in which all-to-alls between tokens and experts
// stay inside scale-up domains, one domain per stage. All other communication uses
// an ideal fabric between domains. It implements assembly.System.
type stepSystem struct {
	*exchangeSystem
	spec                 training.Spec
	timeWithoutExchanges engine.Time // iteration time if all-to-alls take no time
}

// newStepSystem returns the system of a training step.
func newStepSystem(ctx context.Context, s *Scenario, workers int) (*stepSystem, error) {
	spec := s.Workload.Spec
	exchange := *s
	exchange.Workload.Exchange.Message = units.Bytes(spec.ExpertBytes())
	d, err := newExchangeSystem(ctx, &exchange, workers)
	if err != nil {
		return nil, err
	}

	d.isRepeated = true
	const layers = 1 // one layer computes between two all-to-alls
	if d.leadTimes, err = s.leadTimes(&spec, layers); err != nil {
		return nil, err
	}

	t := &stepSystem{exchangeSystem: d, spec: spec}
	t.timeWithoutExchanges, err = t.simulateStep(ctx, [exchangesPerLayer]engine.Time{})
	return t, err
}

// leadTimes returns exchangeSystem.leadTimes. Switches may reconfigure during the
// compute that precedes an all-to-all, if the all-to-all is known in advance.
// layers is the number of layers of this compute. A lead time is at most the
// reconfiguration delay.
func (s *Scenario) leadTimes(
	spec *training.Spec, layers float64,
) (times [exchangesPerLayer]engine.Time, err error) {
	if !s.Fabric.ScaleUp.ReconfiguresInAdvance() {
		return times, nil
	}

	for i, pass := range []training.Phase{training.Forward, training.Backward} {
		if times[2*i], times[2*i+1], err = spec.ExchangeGaps(pass); err != nil {
			return times, err
		}
	}

	if s.Fabric.ScaleUp.KnownInAdvance == "returns" { // the first dispatch is not known
		times[0] = 0
	}
	for i := range times {
		times[i] = min(engine.Time(float64(times[i])*layers), s.Fabric.ScaleUp.Delay)
	}
	return times, nil
}

// exchangeTimes returns the exposed durations of the four all-to-alls of a layer
// with a candidate: their cost less the part of the first reconfiguration that
// compute hides.
func (d *exchangeSystem) exchangeTimes(c *plan.Candidate) (each [exchangesPerLayer]engine.Time) {
	// A plan with DelaySlots contains its delays as whole slots.
	hidesDelay := !d.keepsTopology(c) && c.DelaySlots == 0
	for i := range each {
		each[i] = d.cost(c)
		if hidesDelay {
			each[i] -= d.leadTimes[i]
		}
	}
	return each
}

// exposedTime returns the mean exposed duration of the four all-to-alls with a
// candidate.
func (d *exchangeSystem) exposedTime(c *plan.Candidate) engine.Time {
	hidden := engine.Time(0)
	for _, t := range d.exchangeTimes(c) {
		hidden += d.cost(c) - t
	}
	return d.cost(c) - hidden/exchangesPerLayer
}

// simulateStep returns the iteration time if the all-to-alls of a layer have the
// given durations.
func (t *stepSystem) simulateStep(
	ctx context.Context, each [exchangesPerLayer]engine.Time,
) (engine.Time, error) {
	it, err := training.Build(t.spec, training.BuildOptions{})
	if err != nil {
		return 0, err
	}
	if err := it.AddExchanges(each); err != nil {
		return 0, err
	}

	// Each stage is a pod with one port per GPU.
	nic := t.s.Fabric.ScaleUp.NICRate
	gpus := t.spec.StageGPUs()
	pods, err := it.Place(training.Layout{
		GPUsPerPod: gpus,
		Replicas:   []training.ReplicaLayout{{Pod: fabric.Pod{Ports: gpus, Rate: nic}, NIC: nic}},
	})
	if err != nil {
		return 0, err
	}

	n, r, err := electrical.Connect(pods, it.Graph)
	if err != nil {
		return 0, err
	}
	job := &composition.Job{Graph: it.Graph}
	decision := composition.NewRouteDecision(n, r, flow.Options{Service: flow.LevelPriority})
	out, err := composition.Simulate(ctx, "flow", job, decision)
	if err != nil {
		return 0, fmt.Errorf("simulating the step: %w", err)
	}
	return out.Trace.Makespan, nil
}

// ExchangeTimes returns the exposed durations of the four all-to-alls of a layer
// under the first planner of s. The all-to-alls follow each other. layers is the
// number of layers of the compute between them.
func ExchangeTimes(
	ctx context.Context, s *Scenario, layers float64,
) (each [exchangesPerLayer]engine.Time, err error) {
	const workers = 1
	d, err := newExchangeSystem(ctx, s, workers)
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

// Reference returns the metrics of the domain, and the iteration time without
// all-to-alls. It implements assembly.System.
func (t *stepSystem) Reference() map[string]float64 {
	m := t.exchangeSystem.Reference()
	m["makespan_s"] = t.timeWithoutExchanges.Seconds()
	return m
}

// Decide calls one planner for the all-to-all, and simulates the step with its
// plan. It implements assembly.System.
//
// A plan with one topology never reconfigures again. Any other plan sets up each
// of its topologies in every all-to-all, because the return needs the circuits in
// the opposite direction.
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

	// completion_s is for a single all-to-all; for a step it is renamed.
	m := p.Row.Metrics
	cost, each := t.cost(p.candidate), t.exchangeTimes(p.candidate)
	m["all_to_all_s"] = cost.Seconds()
	delete(m, "completion_s")

	end, err := t.simulateStep(ctx, each)
	if err != nil {
		return nil, err
	}

	if t.s.Fabric.ScaleUp.ReconfiguresInAdvance() {
		// Compare with the step in which no reconfiguration is hidden.
		exposedEnd := end
		if all := [exchangesPerLayer]engine.Time{cost, cost, cost, cost}; all != each {
			if exposedEnd, err = t.simulateStep(ctx, all); err != nil {
				return nil, err
			}
		}
		m["hidden_s"] = (exposedEnd - end).Seconds()
	}

	m["makespan_s"] = end.Seconds()
	m["exchange_exposed_s"] = (end - t.timeWithoutExchanges).Seconds()
	return &p.PolicyResult, nil
}
