// This file simulates plans in slots at level packet, without synchronised slots.

package simulate

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/composition"
)

// Free simulates a plan on engine/packet without slots, like the evaluation of the
// paper (Sec. 5.1). The plan must be sealed.
//
// All chunks of a phase start with it and take their paths of the plan, stored and
// forwarded at each GPU. A link sends the waiting chunk with the lowest number in
// its flow first. Of equal numbers, the first to arrive comes first; at the start,
// this is the order of the plan. A phase ends when its chunks have arrived, and
// the next phase starts R later. Contention is not an error; it takes time.
//
// In plans in steps, a message starts when its link is free and its sender has the
// content. chunk is not used, and the result contains only the completion time.
//
// The error is ErrSimulate if the plan does not fit the domain, or moves a chunk
// from a GPU that does not have it.
func Free(ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64) (*Result, error) {
	if p.Steps != nil {
		end, err := simulateSteps(ctx, p, stepMode{isFree: true})
		return &Result{Completion: end}, err
	}

	if chunk > maxPacket {
		return nil, fmt.Errorf("%w: chunks of %d B; a packet has at most %d B", ErrSimulate, chunk, maxPacket)
	}

	largest, hops := int32(0), int64(0)
	run := func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error) {
		duration, stats, err := u.simulateFree(ctx, n, s, int32(chunk))
		if err != nil {
			return 0, err
		}
		hops += stats.Hops
		for _, l := range stats.Links {
			largest = max(largest, l.MaxThrough)
		}
		return duration, nil
	}

	r, err := simulatePhases(ctx, d, p, chunk, run)

	if r != nil {
		r.LargestQueue, r.Hops = largest, hops
	}
	return r, err
}

// simulateFree simulates a phase. It returns the duration and the statistics of
// packets.
func (u *planReader) simulateFree(
	ctx context.Context, n *engine.Network, s *planPhase, chunk int32,
) (engine.Time, *packet.Stats, error) {
	if len(s.tx) == 0 {
		return 0, &packet.Stats{}, nil
	}

	// Every chunk of the phase is one transfer of one packet. The links of a path
	// are its steps.
	list, links := u.chunkPaths(s)
	sortByChunk(s, list)

	g := &engine.Graph{}
	g.Grow(len(list), 0)
	flows, paths := make([]engine.Flow, len(list)), s.newPaths()
	paths.Start = make([]int64, 0, len(list))
	paths.Step = make([]engine.Step, 0, len(links)+len(list))
	rank := make([]int32, len(list)) // priority on links, by task

	for k, l := range list {
		path := links[l.from:l.to]
		flows[k] = engine.Flow{Src: n.Links[path[0]].From, Dst: n.Links[path[len(path)-1]].To}
		rank[k] = s.tx[l.tx].Chunk
		g.AddTask(engine.Task{
			Kind: engine.Transfer, Src: flows[k].Src, Dst: flows[k].Dst, Flows: 1,
			Bytes: int64(chunk),
		})

		paths.Start = append(paths.Start, int64(len(paths.Step)))
		for _, link := range path {
			paths.Step = append(paths.Step, s.steps[link])
		}
		paths.Step = append(paths.Step, engine.Arrived)
	}

	if err := g.Freeze(); err != nil {
		return 0, nil, err
	}
	job := &composition.Job{Graph: g}
	decision := composition.NewPathDecision(n, flows, paths, chunk, packet.Options{TaskRank: rank})
	out, err := composition.Simulate(ctx, "packet", job, decision)
	if err != nil {
		return 0, nil, err
	}
	return out.Trace.Makespan, out.Stats, nil
}
