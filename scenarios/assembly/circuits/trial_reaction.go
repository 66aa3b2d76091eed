package circuits

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/internal/once"
	"sim/policies/topology"
)

// reaction is a controller that decides anew when circuits are lost, by the policy that decided before, on the ports
// that are left. It is safe for concurrent use.
type reaction struct {
	plan    *instance
	policy  topology.Policy
	options topology.Options

	known once.Map[string, []int] // by ports: circuits by bundle of the plan; nil if the ports connect no longer all that must be
}

// react returns the controller of a policy; nil where decisions are kept.
func (r *trials) react(policy topology.Policy, o topology.Options) *reaction {
	if r.s.Replay.React != "redecide" {
		return nil
	}
	o.Workers = 1 // trials go side by side
	return &reaction{plan: r.plan, policy: policy, options: o}
}

// decide returns what is decided with so many ports a pod of the plan.
func (c *reaction) decide(ctx context.Context, ports []int) ([]int, error) {
	return c.known.Get(ctx, fmt.Sprint(ports), func() ([]int, error) {
		o := *c.plan.problem.Fabric
		o.Pods = slices.Clone(o.Pods)
		for i := range o.Pods {
			o.Pods[i].Ports = ports[i]
		}
		p, err := topology.NewProblem(c.plan.problem.Graph, &o)
		if err != nil {
			return nil, none(err)
		}
		p.Switching = c.plan.problem.Switching
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
func (r *trials) redecide(ctx context.Context, c *reaction, left []int, lost []circuit) ([]int, error) {
	pods := int32(len(r.plan.optical.Pods))
	ports := make([][]int, len(r.optical.Pods)/int(pods))
	for k := range ports {
		for _, pod := range r.plan.optical.Pods {
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
	of, err := r.bundles()
	if err != nil {
		return nil, err
	}
	decided, out := make([][]int, len(ports)), make([]int, len(left))
	for k := range ports {
		if decided[k], err = c.decide(ctx, ports[k]); decided[k] == nil {
			return left, err
		}
	}
	for e, b := range r.optical.Bundles {
		out[e] = min(decided[b.A/pods][of[e]], decided[b.B/pods][of[e]])
	}
	return out, nil
}

// moves are the changes of circuits from one topology to another that is decided at a time: what is given up stops at
// once, what is added carries after the reconfiguration delay.
func (r *trials) moves(at engine.Time, from, to []int) []engine.Change {
	s := r.s.Fabric.SwitchingModel()
	if slices.Equal(from, to) {
		return nil
	}
	meanwhile := make([]int, len(from))
	for e := range meanwhile {
		if !s.StopsAll || s.Delay == 0 {
			meanwhile[e] = min(from[e], to[e])
		}
	}
	return append(r.changes(at, from, meanwhile), r.changes(at+s.Delay, meanwhile, to)...)
}

// changes are those of links from some circuits to others at a time.
func (r *trials) changes(at engine.Time, from, to []int) (all []engine.Change) {
	for e, n := range to {
		if n == from[e] {
			continue
		}
		b := &r.optical.Bundles[e]
		for _, l := range b.Links {
			all = append(all, engine.Change{At: at, Link: l, Rate: float64(n) * r.optical.Rate(e)})
		}
	}
	return all
}

// afterwards is what follows the iteration in which circuits are lost.
type afterwards struct {
	ends  []engine.Time // by trial: iterations on what was decided anew
	moved int           // trials in which that is another topology than what was left
}
