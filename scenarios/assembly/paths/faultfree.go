package paths

import (
	"context"
	"fmt"

	"sim/fabric/links"
	"sim/policies/routing"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// compareWithFaultFree compares the time of an iteration with that of the same one under the same router where nothing is
// down, whose collective calls the algorithm expands for that fabric.
func (a *routingResult) compareWithFaultFree(ctx context.Context) error {
	r := a.system
	end, done := a.Row.Metrics[r.endMetric()]
	if r.iteration == nil || a.faultFreeLoad == 0 || r.s.Engine.Level == "static" {
		return nil
	}
	delete(a.Row.Metrics, "fault_ratio")
	if !done {
		return nil
	}
	r.mu.Lock()
	whole := r.faultFree[a.Row.Policy]
	r.mu.Unlock()
	h := &routingResult{system: whole.system, visible: whole.system.Whole, paths: whole.paths}
	h.Row = result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
	if err := h.simulate(ctx, nil); err != nil {
		return fmt.Errorf("without faults: %w", err)
	}
	if before, done := h.Row.Metrics[r.endMetric()]; done {
		a.Row.Metrics["fault_ratio"], a.Row.Metrics["step_slowdown"] = before/end,
			end/before-1
	}
	return nil
}

// faultFreeSystem returns the same step on the fabric where nothing is down.
func (r *routingSystem) faultFreeSystem(ctx context.Context) (*routingSystem, error) {
	return r.faultFreeSystemOnce.Get(ctx, func() (h *routingSystem, err error) {
		s := *r.s
		s.Fabric.BrokenParts = links.BrokenParts{}
		h = &routingSystem{s: &s, faultFree: map[string]faultFreeRouting{}}
		if h.System, err = s.Fabric.Build(); err == nil {
			h.load, err = h.buildLoad(ctx)
		}
		if err == nil {
			err = h.lengthenPasses(ctx)
		}
		return h, err
	})
}

// faultFreeMaxLoad returns the load of the most loaded link that the router reaches where no link is down, 0 where it
// makes no sense to compare. A collective call is expanded again for that fabric. Without [workload.step] its load is 0.
func (r *routingSystem) faultFreeMaxLoad(ctx context.Context, row *routing.Row) (float64, error) {
	if !r.s.Fabric.Faulty() || r.Down != nil || r.s.Fabric.FailAt > 0 ||
		r.load.call != nil && r.s.Workload.Step == (input.Step{}) {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.faultFree[row.Name]; ok {
		return v.maxLoad, nil
	}
	h, err := r, error(nil)
	if r.load.call != nil || r.iteration != nil && r.iteration.Spec.CallsInGraph() {
		if h, err = r.faultFreeSystem(ctx); err != nil {
			return 0, fmt.Errorf("without faults: %w", err)
		}
	}

	d, sums, err := h.callRouter(ctx, row, h.Whole)
	if err == nil {
		h, err = h.pinCallLinks(ctx, h.Whole, d)
	}
	if err != nil {
		return 0, fmt.Errorf("without faults: %w", err)
	}
	loads, err := h.measureLoads(ctx, h.Whole, d, sums)
	if err != nil {
		return 0, err
	}
	top := maxLinkLoad(loads)
	r.faultFree[row.Name] = faultFreeRouting{h, d.Paths, sums, top}
	return top, nil
}
