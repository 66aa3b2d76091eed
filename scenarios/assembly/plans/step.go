package plans

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric/electrical"
	"sim/scenarios/assembly"
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
	t := &stepped{scaled: d, spec: spec}
	t.none, err = t.play(ctx, 0)
	return t, err
}

// play returns how long the step takes when each all-to-all takes so long.
func (t *stepped) play(ctx context.Context, each engine.Time) (engine.Time, error) {
	it, err := training.Build(t.spec, training.Extent{})
	if err != nil {
		return 0, err
	}
	if err := it.AddExchanges(each); err != nil {
		return 0, err
	}
	nic := t.s.Fabric.NICRate
	pods, err := it.Place(training.Layout{
		GPUsPerPod: t.spec.StageGPUs(), Ports: []int{t.spec.StageGPUs()}, PortRate: []units.Rate{nic}, NICRate: []units.Rate{nic}, PodMap: [][]int{nil},
	})
	if err != nil {
		return 0, err
	}
	n, r, err := electrical.Connect(pods, it.Graph)
	if err != nil {
		return 0, err
	}
	trace, err := flow.Run(ctx, it.Graph, n, r, flow.Options{Service: flow.LevelPriority})
	if err != nil {
		return 0, fmt.Errorf("simulating the step: %w", err)
	}
	return trace.Makespan, nil
}

// ExchangeTime returns how long the plan of the first planner of s takes for its all-to-all, of which one follows another.
func ExchangeTime(ctx context.Context, s *Scenario) (engine.Time, error) {
	d, err := buildScaled(ctx, s, 1)
	if err != nil {
		return 0, err
	}
	d.repeated = true
	list, err := d.planning.Candidates(ctx, s.Policy.Planners[0])
	if err != nil {
		return 0, err
	}
	chosen, err := d.choose(list)
	if err != nil {
		return 0, err
	}
	return d.cost(chosen), nil
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
func (t *stepped) Decide(ctx context.Context, name string, workers int) (assembly.Answer, error) {
	a, err := t.scaled.Decide(ctx, name, workers)
	if err != nil {
		return nil, err
	}
	p, ok := a.(*planned)
	if !ok {
		return a, nil
	}
	m := p.row.Metrics
	each := t.cost(p.chosen)
	m["all_to_all_s"] = each.Seconds()
	delete(m, "completion_s")
	end, err := t.play(ctx, each)
	if err != nil {
		return nil, err
	}
	m["makespan_s"] = end.Seconds()
	m["exchange_exposed_s"] = (end - t.none).Seconds()
	return p, nil
}
