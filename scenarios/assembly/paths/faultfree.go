// This file compares a fabric with faults with the same fabric without faults, under the same
// router.

package paths

import (
	"context"
	"fmt"

	"sim/fabric/links"
	"sim/policies/routing"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// compareWithFaultFree adds the metrics that compare the iteration time with the
// time of the same iteration under the same router on the fabric without faults.
// Collective calls are expanded again for that fabric.
func (a *routingResult) compareWithFaultFree(ctx context.Context) error {
	r := a.system

	// The metric fault_ratio, a ratio of link loads so far, becomes a ratio of times.
	end, done := a.Row.Metrics[r.endMetric()]
	if r.iteration == nil || a.faultFreeLoad == 0 || r.s.Engine.Level == "static" {
		return nil
	}
	delete(a.Row.Metrics, "fault_ratio")
	if !done {
		return nil
	}

	// The paths without faults were computed with the decision. Simulate the
	// iteration on them.
	r.mu.Lock()
	reference := r.faultFree[a.Row.Policy]
	r.mu.Unlock()
	faultFree := &routingResult{
		system: reference.system, routerNetwork: reference.system.Whole, paths: reference.paths,
	}
	faultFree.Row = result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
	var noChange *routing.Decision // of paths during the run
	if err := faultFree.simulate(ctx, noChange); err != nil {
		return fmt.Errorf("without faults: %w", err)
	}

	if faultFreeEnd, done := faultFree.Row.Metrics[r.endMetric()]; done {
		a.Row.Metrics["fault_ratio"] = faultFreeEnd / end
		a.Row.Metrics["step_slowdown"] = end/faultFreeEnd - 1
	}
	return nil
}

// faultFreeSystem returns the same workload on the fabric without faults. It is
// built once.
func (r *routingSystem) faultFreeSystem(ctx context.Context) (*routingSystem, error) {
	return r.faultFreeSystemOnce.Get(ctx, func() (system *routingSystem, err error) {
		s := *r.s
		s.Fabric.BrokenParts = links.BrokenParts{}
		system = &routingSystem{s: &s, faultFree: map[string]faultFreeRouting{}}
		if system.System, err = s.Fabric.Build(); err == nil {
			system.load, err = system.buildLoad(ctx)
		}
		if err == nil {
			err = system.lengthenPasses(ctx)
		}
		return system, err
	})
}

// faultFreeMaxLoad returns the maximum link load of a router on the fabric without
// faults. It is computed once per router.
//
// The result is 0 if the comparison makes no sense: without faults, if nodes are
// down and therefore other flows exist, if the fault occurs in mid-run, or for a
// collective call without [workload.step]. A call is expanded again for the fabric
// without faults.
func (r *routingSystem) faultFreeMaxLoad(ctx context.Context, row *routing.Row) (float64, error) {
	unusedCall := r.load.call != nil && r.s.Workload.Step == (input.Step{})
	if !r.s.Fabric.Faulty() || r.Down != nil || r.s.Fabric.FailAt > 0 || unusedCall {
		return 0, nil
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if cached, ok := r.faultFree[row.Name]; ok {
		return cached.maxLoad, nil
	}

	// Collective calls depend on the fabric, so their transfers are expanded again.
	// reference is the system without faults; other workloads are the same on it.
	reference := r
	var err error
	callsInGraph := r.iteration != nil && r.iteration.Spec.CallsInGraph()
	if r.load.call != nil || callsInGraph {
		if reference, err = r.faultFreeSystem(ctx); err != nil {
			return 0, fmt.Errorf("without faults: %w", err)
		}
	}

	// The router chooses paths on the whole network, as it does with faults.
	d, sums, err := reference.callRouter(ctx, row, reference.Whole)
	if err == nil {
		reference, err = reference.pinCallLinks(ctx, reference.Whole, d)
	}
	if err != nil {
		return 0, fmt.Errorf("without faults: %w", err)
	}

	loads, err := reference.measureLoads(ctx, reference.Whole, d, sums)
	if err != nil {
		return 0, err
	}
	maxLoad := maxLinkLoad(loads)
	r.faultFree[row.Name] = faultFreeRouting{reference, d.Paths, sums, maxLoad}
	return maxLoad, nil
}
