package circuits

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/internal/once"
	"sim/policies/topology"
)

// lossController is a controller that decides anew when circuits are lost, by the policy that decided before, on the ports
// that are left. It is safe for concurrent use.
type lossController struct {
	planSystem *circuitSystem
	policy     topology.Policy
	options    topology.Options

	decisions once.Map[string, []int] // by ports: circuits by bundle of the plan; nil if the ports connect no longer all that must be
}

// newLossController returns the controller of a policy; nil where decisions are kept.
func (r *trials) newLossController(policy topology.Policy, o topology.Options) *lossController {
	if r.scenario.Replay.React != "redecide" {
		return nil
	}
	o.Workers = 1 // trials go side by side
	return &lossController{planSystem: r.planSystem, policy: policy, options: o}
}

// decide returns what is decided with so many ports a pod of the plan.
func (c *lossController) decide(ctx context.Context, ports []int) ([]int, error) {
	return c.decisions.Get(ctx, fmt.Sprint(ports), func() ([]int, error) {
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

// redecide returns the circuits of a trial that are decided when some are lost, which take a port of each pod at their
// ends along; what is left where these can no longer connect all. Where one replica of the plan stands for all, each decides
// for itself, and circuits between two are as many as both want.
func (r *trials) redecide(ctx context.Context, controller *lossController, remaining []int, lost []circuitLoss) ([]int, error) {
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
	perReplica, circuits := make([][]int, len(ports)), make([]int, len(remaining))
	for k := range ports {
		if perReplica[k], err = controller.decide(ctx, ports[k]); perReplica[k] == nil {
			return remaining, err
		}
	}
	for e, b := range r.optical.Bundles {
		circuits[e] = min(perReplica[b.A/pods][bundles[e]], perReplica[b.B/pods][bundles[e]])
	}
	return circuits, nil
}

// moveChanges are the changes of circuits from one topology to another that is decided at a time: what is given up stops at
// once, what is added carries after the reconfiguration delay.
func (r *trials) moveChanges(time engine.Time, from, to []int) []engine.Change {
	s := r.scenario.Fabric.SwitchingModel()
	if slices.Equal(from, to) {
		return nil
	}
	during := make([]int, len(from))
	for e := range during {
		if !s.StopsAll || s.Delay == 0 {
			during[e] = min(from[e], to[e])
		}
	}
	return append(r.rateChanges(time, from, during), r.rateChanges(time+s.Delay, during, to)...)
}

// rateChanges are those of links from some circuits to others at a time.
func (r *trials) rateChanges(time engine.Time, from, to []int) (all []engine.Change) {
	for e, n := range to {
		if n == from[e] {
			continue
		}
		b := &r.optical.Bundles[e]
		for _, l := range b.Links {
			all = append(all, engine.Change{At: time, Link: l, Rate: float64(n) * r.optical.Rate(e)})
		}
	}
	return all
}

// laterIterations is what follows the iteration in which circuits are lost.
type laterIterations struct {
	ends     []engine.Time // by trial: iterations on what was decided anew
	numMoved int           // trials in which that is another topology than what was left
}
