// This file moves circuits during packet-level simulations of the complete DAG. The
// controllers of package topology trigger the moves when transfers end.

package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric"
	"sim/policies/topology"
)

// newLiveController returns the controller that moves the circuits of a decision during a
// packet-level simulation of its last planned iteration. It also returns the network at
// the start.
func (sys *circuitSystem) newLiveController(
	ctx context.Context, d *topology.Decision,
) (*topology.LiveController, *engine.Network, error) {
	last := d.Moves.Last()
	controller, err := sys.newControllers(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	c, err := controller(last)
	if err != nil {
		return nil, nil, err
	}

	n, err := sys.movingNetwork(d, last)
	if err != nil {
		return nil, nil, err
	}
	// The controller sets all rates before the first packet is sent.
	for l := range n.Links {
		n.Links[l].Rate = n.Links[l].Peak
	}
	n.Changes = nil
	return c.Live(), n, nil
}

// newControllers returns a function that returns the controller of iteration k of a
// decision whose circuits move, on the complete DAG. The function fails if that iteration
// does not end when the inter-pod DAG ends.
func (sys *circuitSystem) newControllers(
	ctx context.Context, d *topology.Decision,
) (func(k int) (*topology.Controller, error), error) {
	p, err := topology.NewProblem(sys.graph, sys.optical)
	if err != nil {
		return nil, err
	}
	p.Switching = sys.problem.Switching
	it, err := sys.problem.PlanIterations(ctx, d)
	if err != nil {
		return nil, err
	}

	// The complete DAG has the bundles of the plan.
	identity := make([]int, len(sys.optical.Bundles))
	for e := range identity {
		identity[e] = e
	}
	return func(k int) (*topology.Controller, error) {
		c, err := it.Controller(ctx, p, d, identity, k)
		if err != nil {
			return nil, err
		}
		run, _ := c.PlanRun()
		return c, sys.checkReduction(run.Makespan, d.Moves.Runs[k].Makespan)
	}, nil
}

// reactToParts adapts a reaction of the job's graph to the graph at level packet. A
// reaction is called when tasks end, and returns changes of links and the time of its next
// call (packet.Reaction).
//
// In the graph at level packet, a task of the job consists of several parts, and has ended
// when all its parts have ended. Circuit l has link number l+k.Circuits there. The result
// is nil if react is nil.
func reactToParts(k *fabric.Packets, tasks int, react packet.Reaction) packet.Reaction {
	if react == nil {
		return nil
	}
	parts := make([]int32, tasks) // parts that have not ended, indexed by task of the job
	for _, task := range k.Origin {
		parts[task]++
	}

	var complete []int32
	return func(
		now engine.Time, ended []int32, free func(link int32) engine.Time,
	) ([]engine.Change, engine.Time) {
		complete = complete[:0]
		for _, part := range ended {
			task := k.Origin[part]
			if parts[task]--; parts[task] == 0 {
				complete = append(complete, task)
			}
		}

		freeCircuit := func(link int32) engine.Time { return free(link + k.Circuits) }
		changes, wake := react(now, complete, freeCircuit)
		for i := range changes {
			changes[i].Link += k.Circuits
		}
		return changes, wake
	}
}
