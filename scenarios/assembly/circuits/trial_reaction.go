// This file simulates the reaction to lost circuits in trials: a controller decides a new
// topology with the remaining ports, and moves circuits to it.

package circuits

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/internal/once"
	"sim/policies/topology"
)

// lossController reacts to lost circuits. It calls the allocator of the plan again, with
// the ports that remain. It is safe for concurrent use.
type lossController struct {
	planSystem *circuitSystem
	policy     topology.Policy
	options    topology.Options

	// decisions caches the circuits, indexed by bundle of the plan, by the remaining
	// ports. nil means that the ports do not connect all pods that exchange data.
	decisions once.Map[string, []int]
}

// newLossController returns the controller for a policy; nil if trials keep their
// topology.
func (r *trials) newLossController(policy topology.Policy, o topology.Options) *lossController {
	if r.scenario.Trials.Reaction != "redecide" {
		return nil
	}
	o.Workers = 1 // the trials themselves run in parallel
	return &lossController{planSystem: r.planSystem, policy: policy, options: o}
}

// decide returns the circuits that the allocator chooses with the given ports, indexed by
// pod of the plan. It returns nil if there is no feasible topology.
func (c *lossController) decide(ctx context.Context, ports []int) ([]int, error) {
	return c.decisions.Get(ctx, fmt.Sprint(ports), func() ([]int, error) {
		// The problem of the plan with the remaining ports of each pod.
		o := *c.planSystem.problem.Fabric
		o.Pods = slices.Clone(o.Pods)
		for i := range o.Pods {
			o.Pods[i].Ports = ports[i]
		}
		p, err := topology.NewProblem(c.planSystem.problem.Graph, &o)
		if err != nil {
			return nil, ignoreInfeasible(err)
		}
		p.Switching = c.planSystem.problem.Switching

		d, err := c.policy.Choose(ctx, p, c.options)
		if err != nil {
			return nil, err
		}
		return d.Circuits, nil
	})
}

// redecide returns the topology of a trial after the controller's decision. A lost
// circuit makes a port unusable in each of its pods. If the remaining ports do not
// connect all pods that exchange data, redecide returns the remaining circuits.
//
// If one replica of the plan stands for all, each simulated replica decides separately. A
// bundle between two replicas has the minimum of their decisions.
func (r *trials) redecide(
	ctx context.Context, controller *lossController, remaining []int, lost []circuitLoss,
) ([]int, error) {
	// Remaining ports, indexed by replica and pod of the plan.
	pods := int32(len(r.planSystem.optical.Pods))
	ports := make([][]int, len(r.optical.Pods)/int(pods))
	for k := range ports {
		for _, pod := range r.planSystem.optical.Pods {
			ports[k] = append(ports[k], pod.Ports)
		}
	}
	for _, l := range lost {
		b := &r.optical.Bundles[l.bundle]
		ports[b.A/pods][b.A%pods] -= b.Ends
		if b.B != b.A {
			ports[b.B/pods][b.B%pods] -= b.Ends
		}
	}

	bundles, err := r.planBundles()
	if err != nil {
		return nil, err
	}

	// A replica whose ports do not suffice ends the attempt.
	perReplica := make([][]int, len(ports))
	for k := range ports {
		if perReplica[k], err = controller.decide(ctx, ports[k]); perReplica[k] == nil {
			return remaining, err
		}
	}
	circuits := make([]int, len(remaining))
	for e, b := range r.optical.Bundles {
		// Inside a replica, both decisions are the same.
		byA, byB := perReplica[b.A/pods], perReplica[b.B/pods]
		circuits[e] = min(byA[bundles[e]], byB[bundles[e]])
	}
	return circuits, nil
}

// moveChanges returns the rate changes of a move between two topologies that starts at
// the given time. Circuits that are removed stop immediately. Circuits that are added
// carry data after the reconfiguration delay. If the switch stops all circuits during the
// move, none carries data in that time.
func (r *trials) moveChanges(time engine.Time, from, to []int) []engine.Change {
	s := r.scenario.Fabric.SwitchingModel()
	if slices.Equal(from, to) {
		return nil
	}
	during := make([]int, len(from)) // circuits that carry data during the delay
	for e := range during {
		if !s.StopsAll || s.Delay == 0 {
			during[e] = min(from[e], to[e])
		}
	}
	removals := r.rateChanges(time, from, during)
	return append(removals, r.rateChanges(time+s.Delay, during, to)...)
}

// rateChanges returns the changes of link rates from one topology to another at a time.
func (r *trials) rateChanges(time engine.Time, from, to []int) (all []engine.Change) {
	for e, n := range to {
		if n == from[e] {
			continue
		}
		b := &r.optical.Bundles[e]
		for _, l := range b.Links {
			rate := float64(n) * r.optical.Rate(e)
			all = append(all, engine.Change{At: time, Link: l, Rate: rate})
		}
	}
	return all
}

// laterIterations holds the iterations that follow the loss of circuits, on the
// controller's topology.
type laterIterations struct {
	ends     []engine.Time // makespan, indexed by trial
	numMoved int           // trials in which the controller moved circuits
}
