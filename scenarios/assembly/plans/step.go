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

// stepped is a training step whose all-to-alls between tokens and experts stay inside scale-up domains, one a stage,
// built. Everything else goes between domains over an ideal fabric.
type stepped struct {
	*scaled
	spec training.Spec
	none engine.Time // the step with all-to-alls that take no time
}

// buildStepped builds the step of s.
func buildStepped(ctx context.Context, s *Scenario, workers int) (*stepped, error) {
	spec := s.Workload.Spec
	all := *s
	all.Workload.Exchange.Message = units.Bytes(spec.ExpertBytes())
	d, err := buildScaled(ctx, &all, workers)
	if err != nil {
		return nil, err
	}
	d.repeated = true
	if d.ahead, err = s.ahead(&spec, 1); err != nil {
		return nil, err
	}
	t := &stepped{scaled: d, spec: spec}
	t.none, err = t.play(ctx, [4]engine.Time{})
	return t, err
}

// ahead returns how long before each of the four all-to-alls of a layer, there and back in both passes, switches may
// begin to reconfigure for it: while what comes before it computes of so many layers, where it is known.
func (s *Scenario) ahead(spec *training.Spec, layers float64) (ahead [4]engine.Time, err error) {
	if !s.Fabric.ScaleUp.ReconfiguresAhead() {
		return ahead, nil
	}
	for i, pass := range []training.Phase{training.Forward, training.Backward} {
		if ahead[2*i], ahead[2*i+1], err = spec.ExchangeGaps(pass); err != nil {
			return ahead, err
		}
	}
	if s.Fabric.ScaleUp.KnownAhead == "returns" {
		ahead[0] = 0
	}
	for i := range ahead {
		ahead[i] = min(engine.Time(float64(ahead[i])*layers), s.Fabric.ScaleUp.Delay)
	}
	return ahead, nil
}

// times returns what a candidate takes of each of the four all-to-alls of a layer, less what of reconfigurations for its
// first topology lies behind computing.
func (d *scaled) times(c *plan.Candidate) (each [4]engine.Time) {
	hides := !d.stays(c) && c.DelaySlots == 0 // else its delays are whole slots
	for i := range each {
		if each[i] = d.cost(c); hides {
			each[i] -= d.ahead[i]
		}
	}
	return each
}

// exposed is what a candidate takes on average of the all-to-alls, less what of it lies behind computing.
func (d *scaled) exposed(c *plan.Candidate) engine.Time {
	hidden := engine.Time(0)
	for _, t := range d.times(c) {
		hidden += d.cost(c) - t
	}
	return d.cost(c) - hidden/4
}

// play returns how long the step takes when the all-to-alls of a layer take so long.
func (t *stepped) play(ctx context.Context, each [4]engine.Time) (engine.Time, error) {
	it, err := training.Build(t.spec, training.BuildOptions{})
	if err != nil {
		return 0, err
	}
	if err := it.AddExchanges(each); err != nil {
		return 0, err
	}
	nic := t.s.Fabric.ScaleUp.NICRate
	gpus := t.spec.StageGPUs()
	pods, err := it.Place(training.Layout{GPUsPerPod: gpus, Replicas: []training.ReplicaLayout{{Pod: fabric.Pod{Ports: gpus, Rate: nic}, NIC: nic}}})
	if err != nil {
		return 0, err
	}
	n, r, err := electrical.Connect(pods, it.Graph)
	if err != nil {
		return 0, err
	}
	out, err := composition.Simulate(ctx, "flow", &composition.Job{Graph: it.Graph}, composition.NewRouteDecision(n, r, flow.Options{Service: flow.LevelPriority}))
	if err != nil {
		return 0, fmt.Errorf("simulating the step: %w", err)
	}
	return out.Trace.Makespan, nil
}

// ExchangeTimes returns how long the plan of the first planner of s takes for its all-to-all, of which one follows
// another: of the four of a layer, there and back in both passes, less what lies behind computing so many layers.
func ExchangeTimes(ctx context.Context, s *Scenario, layers float64) (each [4]engine.Time, err error) {
	d, err := buildScaled(ctx, s, 1)
	if err != nil {
		return each, err
	}
	d.repeated = true
	if d.ahead, err = s.ahead(&s.Workload.Spec, layers); err != nil {
		return each, err
	}
	chosen, err := d.choose(ctx, s.Policy.Planners[0])
	if err != nil {
		return each, err
	}
	return d.times(chosen), nil
}

func (t *stepped) Reference() map[string]float64 {
	m := t.scaled.Reference()
	m["makespan_s"] = t.none.Seconds()
	return m
}

// decide lets one planner plan the all-to-all, and simulates the step with it.
//
// A plan of one topology never reconfigures again; all others set up each of their topologies in every all-to-all,
// since the way back needs the links turned round.
func (t *stepped) Decide(ctx context.Context, name string, _ int, _ float64) (*assembly.PolicyResult, error) {
	p, err := t.decide(ctx, name)
	if err != nil {
		return nil, err
	}
	if p.Rejection != nil {
		return &p.PolicyResult, nil
	}
	m := p.Row.Metrics
	whole, each := t.cost(p.chosen), t.times(p.chosen)
	m["all_to_all_s"] = whole.Seconds()
	delete(m, "completion_s")
	end, err := t.play(ctx, each)
	if err != nil {
		return nil, err
	}
	if t.s.Fabric.ScaleUp.ReconfiguresAhead() {
		shown := end
		if all := [4]engine.Time{whole, whole, whole, whole}; all != each {
			if shown, err = t.play(ctx, all); err != nil {
				return nil, err
			}
		}
		m["hidden_s"] = (shown - end).Seconds()
	}
	m["makespan_s"] = end.Seconds()
	m["exchange_exposed_s"] = (end - t.none).Seconds()
	return &p.PolicyResult, nil
}
