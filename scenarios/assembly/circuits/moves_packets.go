package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric"
	"sim/policies/topology"
)

// movePackets returns what moves the circuits of a decision in the last of its known iterations when packets have ended
// (see topology.Controller), and the circuits as they begin.
func (in *instance) movePackets(ctx context.Context, d *topology.Decision) (*topology.LiveController, *engine.Network, error) {
	last := d.Moves.Last()
	controller, err := in.controllers(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	c, err := controller(last)
	if err != nil {
		return nil, nil, err
	}
	n, err := in.network(d, last)
	if err != nil {
		return nil, nil, err
	}
	for l := range n.Links {
		n.Links[l].Rate = n.Links[l].Peak // until the controller is asked, before anything is sent
	}
	n.Changes = nil
	return c.Live(), n, nil
}

// controllers returns a function that returns the controller of the k-th iteration of a decision whose circuits move, on
// the complete DAG. That fails where the complete DAG does not end when the reduced one does.
func (in *instance) controllers(ctx context.Context, d *topology.Decision) (func(k int) (*topology.Controller, error), error) {
	p, err := topology.NewProblem(in.graph, in.optical)
	if err != nil {
		return nil, err
	}
	p.Switching = in.problem.Switching
	it, err := in.problem.PlanIterations(ctx, d)
	if err != nil {
		return nil, err
	}
	same := make([]int, len(in.optical.Bundles))
	for e := range same {
		same[e] = e
	}
	return func(k int) (*topology.Controller, error) {
		c, err := it.Controller(ctx, p, d, same, k)
		if err != nil {
			return nil, err
		}
		run, _ := c.PlannedRun()
		return c, in.agree(run.Makespan, d.Moves.Runs[k].Makespan)
	}, nil
}

// asPackets returns the reaction of the packets of a job that stands for one to the job itself on its circuits; nil for
// nil. A task of the job has ended when all parts of it have.
func asPackets(k *fabric.Packets, tasks int, react packet.Reaction) packet.Reaction {
	if react == nil {
		return nil
	}
	parts := make([]int32, tasks)
	for _, of := range k.Origin {
		parts[of]++
	}
	var whole []int32
	return func(now engine.Time, ended []int32, free func(link int32) engine.Time) ([]engine.Change, engine.Time) {
		whole = whole[:0]
		for _, part := range ended {
			of := k.Origin[part]
			if parts[of]--; parts[of] == 0 {
				whole = append(whole, of)
			}
		}
		changes, wake := react(now, whole, func(link int32) engine.Time { return free(link + k.Circuits) })
		for i := range changes {
			changes[i].Link += k.Circuits
		}
		return changes, wake
	}
}
