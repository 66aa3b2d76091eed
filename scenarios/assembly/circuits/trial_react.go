package circuits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/once"
	"sim/policies/topology"
)

// reaction is a controller that decides anew when circuits are lost, by the policy that decided before, on the ports
// that are left. It is safe for concurrent use.
type reaction struct {
	plan    *instance
	policy  topology.Policy
	options topology.Options

	mu    sync.Mutex
	known map[string]*once.Value[redecision] // by ports
}

// redecision is what was decided anew; without circuits where the ports connect no longer all that must be.
type redecision struct {
	circuits []int // by bundle of the plan
	err      error
}

// react returns the controller of a policy; nil where decisions are kept.
func (r *trials) react(policy topology.Policy, o topology.Options) *reaction {
	if r.s.Replay.React != "redecide" {
		return nil
	}
	o.Workers = 1 // trials go side by side
	return &reaction{plan: r.plan, policy: policy, options: o, known: map[string]*once.Value[redecision]{}}
}

// decide returns what is decided with so many ports a pod of the plan.
func (c *reaction) decide(ctx context.Context, ports []int) ([]int, error) {
	c.mu.Lock()
	key := fmt.Sprint(ports)
	if c.known[key] == nil {
		c.known[key] = new(once.Value[redecision])
	}
	v := c.known[key]
	c.mu.Unlock()
	d, err := v.Get(ctx, func() redecision {
		o := *c.plan.problem.Fabric
		o.Pods = slices.Clone(o.Pods)
		for i := range o.Pods {
			o.Pods[i].Ports = ports[i]
		}
		p, err := topology.NewProblem(c.plan.problem.Graph, &o)
		if errors.Is(err, topology.ErrPorts) {
			return redecision{}
		} else if err != nil {
			return redecision{err: err}
		}
		p.Switching = c.plan.problem.Switching
		d, err := c.policy.Choose(ctx, p, c.options)
		if err != nil {
			return redecision{err: err}
		}
		return redecision{circuits: d.Circuits}
	})
	if err == nil {
		err = d.err
	}
	return d.circuits, err
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
	decided := make([]map[[2]int32]int, len(ports))
	for k := range ports {
		x, err := c.decide(ctx, ports[k])
		if err != nil {
			return nil, err
		}
		if x == nil {
			return left, nil
		}
		decided[k] = map[[2]int32]int{}
		for e, b := range r.plan.optical.Bundles {
			decided[k][[2]int32{b.A, b.B}] = x[e]
		}
	}
	out := make([]int, len(left))
	for e, b := range r.optical.Bundles {
		at := [2]int32{b.A % pods, b.B % pods}
		out[e] = min(decided[b.A/pods][at], decided[b.B/pods][at])
	}
	return out, nil
}

// moves are the changes of circuits from one topology to another that is decided at a time: what is given up stops at
// once, what is added carries after the reconfiguration delay.
func (r *trials) moves(at engine.Time, from, to []int) []engine.Change {
	s := r.s.Fabric.Moving()
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

// next simulates the iteration that follows trial i on circuits x.
func (a *afterwards) next(e *flow.Evaluator, r *trials, i int, x []int) error {
	if err := e.SetChanges(nil); err != nil {
		return err
	}
	r.provision(e, x)
	end, ok := e.Makespan(engine.Never)
	if a.ends[i] = end; !ok {
		a.ends[i] = stalled
	}
	return nil
}
