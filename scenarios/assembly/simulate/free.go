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

// Free simulates a sealed plan on engine/packet without slots, as the paper's evaluation does (Sec. 5.1): all chunks of
// a phase start with it and take the ways that the plan gives them, stored and forwarded; a link sends the waiting
// chunk of the lowest number in its flow first, of those the first that came (at the start, that which the plan sends
// first); a phase ends when its flows have ended, and the next starts R later. Contention is no error: it takes its
// time. Of plans in steps, a message starts when its link is free and its sender has what it sends; chunk is of no
// matter, and the result has the completion alone.
//
// Errors: ErrSimulate for a plan that does not fit the domain or moves a chunk from where it is not.
func Free(ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64) (*Result, error) {
	if p.Steps != nil {
		end, err := simulateSteps(ctx, p, true, false)
		return &Result{Completion: end}, err
	}

	if chunk > maxPacket {
		return nil, fmt.Errorf("%w: chunks of %d B; a packet has at most %d B",
			ErrSimulate, chunk,
			maxPacket)
	}

	largest, hops := int32(0), int64(0)
	r, err := simulatePhases(ctx, d, p, chunk, func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error) {
		takes, stats, err := u.simulateFree(ctx, n, s, int32(chunk))
		if err != nil {
			return 0, err
		}
		hops += stats.Hops
		for _, l := range stats.Links {
			largest = max(largest, l.MaxThrough)
		}
		return takes, nil
	})

	if r != nil {
		r.LargestQueue, r.Hops = largest, hops
	}
	return r, err
}

// simulateFree simulates a phase.
func (u *planReader) simulateFree(
	ctx context.Context, n *engine.Network, s *planPhase, chunk int32,
) (engine.Time, *packet.Stats, error) {
	if len(s.tx) == 0 {
		return 0, &packet.Stats{}, nil
	}
	list, path := u.chunkPaths(s)
	sortByChunk(s, list)
	g := &engine.Graph{}
	g.Grow(len(list), 0)
	flows, walks := make([]engine.Flow, len(list)), s.newPaths()
	walks.Start, walks.Step = make([]int64, 0, len(list)),
		make([]engine.Step, 0, len(path)+len(list))
	rank := make([]int32, len(list))
	for k, l := range list {
		way := path[l.from:l.to]
		flows[k] = engine.Flow{Src: n.Links[way[0]].From, Dst: n.Links[way[len(way)-1]].To}
		rank[k] = s.tx[l.tx].Chunk
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: flows[k].Src,
			Dst: flows[k].Dst, Flows: 1,
			Bytes: int64(chunk)})
		walks.Start = append(walks.Start, int64(len(walks.Step)))
		for _, link := range way {
			walks.Step = append(walks.Step, s.steps[link])
		}
		walks.Step = append(walks.Step, engine.Arrived)
	}

	if err := g.Freeze(); err != nil {
		return 0, nil, err
	}
	out, err := composition.Simulate(ctx, "packet", &composition.Job{Graph: g},
		composition.NewPathDecision(n, flows, walks, chunk, packet.Options{TaskRank: rank}))
	if err != nil {
		return 0, nil, err
	}
	return out.Trace.Makespan, out.Stats, nil
}
