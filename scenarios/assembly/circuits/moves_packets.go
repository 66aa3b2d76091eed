package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric"
	"sim/policies/topology"
)

// newLiveController returns what moves the circuits of a decision in the last of its known iterations when packets have ended
// (see topology.Controller), and the circuits as they begin.
func (sys *circuitSystem) newLiveController(ctx context.Context, d *topology.Decision) (*topology.LiveController, *engine.Network, error) {
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
	for l := range n.Links {
		n.Links[l].Rate = n.Links[l].Peak // until the controller is asked, before anything is sent
	}
	n.Changes = nil
	return c.Live(), n, nil
}

// newControllers returns a function that returns the controller of the k-th iteration of a decision whose circuits move, on
// the complete DAG. That fails where the complete DAG does not end when the reduced one does.
func (sys *circuitSystem) newControllers(ctx context.Context, d *topology.Decision) (func(k int) (*topology.Controller, error), error) {
	p, err := topology.NewProblem(sys.graph, sys.optical)
	if err != nil {
		return nil, err
	}
	p.Switching = sys.problem.Switching
	it, err := sys.problem.PlanIterations(ctx, d)
	if err != nil {
		return nil, err
	}
	identity := make([]int, len(sys.optical.Bundles))
	for e := range identity {
		identity[e] = e
	}
	return func(k int) (*topology.Controller, error) {
		c, err := it.Controller(ctx, p, d, identity, k)
		if err != nil {
			return nil, err
		}
		run, _ := c.PlannedRun()
		return c, sys.checkReduction(run.Makespan, d.Moves.Runs[k].Makespan)
	}, nil
}

// reactToParts returns the reaction of the packets of a job that stands for one to the job itself on its circuits; nil for
// nil. A task of the job has ended when all parts of it have.
func reactToParts(k *fabric.Packets, tasks int, react packet.Reaction) packet.Reaction {
	if react == nil {
		return nil
	}
	parts := make([]int32, tasks)
	for _, task := range k.Origin {
		parts[task]++
	}
	var complete []int32
	return func(now engine.Time, ended []int32, free func(link int32) engine.Time) ([]engine.Change, engine.Time) {
		complete = complete[:0]
		for _, part := range ended {
			task := k.Origin[part]
			if parts[task]--; parts[task] == 0 {
				complete = append(complete, task)
			}
		}
		changes, wake := react(now, complete, func(link int32) engine.Time { return free(link + k.Circuits) })
		for i := range changes {
			changes[i].Link += k.Circuits
		}
		return changes, wake
	}
}
