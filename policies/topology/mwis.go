package topology

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// mostUseful returns, by bundle, a number of circuits beyond which more carry nothing in any simulation whose makespan
// is at most upper: Alg. 2, intersected with what the NICs can fill and the ports leave (docs/model.md, "delta-fast":
// alone it is as loose as 104 circuits for 8 NICs).
func (p *Problem) mostUseful(ctx context.Context, upper engine.Time) []int {
	return p.concurrency(ctx, upper, p.Useful)
}

// concurrency is Alg. 2 (XUpperBoundEstimation): by bundle, the number of circuits that the transfers which can be
// under way together in one of its directions fill. It ends early for a bundle that has reached its limit; nil is no
// limits, the algorithm as printed.
//
// The weight of a transfer, the paper's number of flows, is here its full rate over that of a circuit, which is the
// same where NICs and ports are equally fast.
func (p *Problem) concurrency(ctx context.Context, upper engine.Time, limit []int) []int {
	c := newConcurrency(ctx, p, upper)
	most := make([]int, len(p.Fabric.Bundles))
	for e := range p.Fabric.Bundles {
		b := &p.Fabric.Bundles[e]
		enough := math.Inf(1)
		if limit != nil {
			enough = float64(limit[e]) * float64(b.Rate)
		}
		peak := 0.0
		for _, l := range b.Links {
			peak = max(peak, c.peak(c.onLink[l], enough))
		}
		if limit != nil && peak >= enough {
			most[e] = max(1, limit[e])
			continue
		}
		most[e] = max(1, int(math.Ceil(peak/float64(b.Rate)-1e-9)))
	}
	return most
}

// crowd is the most transfers that Alg. 2 weighs against each other in an interval where there is a limit to fall back
// on: its cost grows with their square, its worth falls.
const crowd = 1024

// crowdWords is the most words that the relation of a link may take there.
const crowdWords = 1 << 22

// concurrency is the state of Alg. 2.
type concurrency struct {
	ctx        context.Context // what is found is worth nothing once it has ended
	p          *Problem
	spans      flow.Spans
	start, end []engine.Time // EST and LCT by task of the graph
	order      []int32       // tasks of the graph by EST, a topological order
	place      []int32       // of each task in order
	onLink     [][]int32     // transfers of each link, in that order
	mask       []uint64      // scratch of relate
	antichain  antichain
}

func newConcurrency(ctx context.Context, p *Problem, upper engine.Time) *concurrency {
	n := len(p.Graph.Tasks)
	c := &concurrency{ctx: ctx, p: p, spans: p.fullSpans(), mask: make([]uint64, n), place: make([]int32, n),
		start: make([]engine.Time, n), end: make([]engine.Time, n)}
	ids := p.transfers()
	earliest, latest := p.timeWindows(c.spans, ids, upper)
	for i, id := range ids {
		c.start[id], c.end[id] = earliest[i], latest[i]
	}
	c.order = slices.Clone(p.Graph.Order())
	slices.SortStableFunc(c.order, func(a, b int32) int {
		switch {
		case c.spans.Head[a] < c.spans.Head[b]:
			return -1
		case c.spans.Head[a] > c.spans.Head[b]:
			return 1
		}
		return 0
	})
	c.onLink = make([][]int32, len(p.Fabric.Network.Links))
	for k, id := range c.order {
		c.place[id] = int32(k)
	}
	at := p.position(ids)
	for _, id := range c.order {
		// an empty window is no transfer of a simulation within the upper bound
		if at[id] < 0 || c.start[id] >= c.end[id] {
			continue
		}
		for _, u := range p.Fabric.Routes.Of(id) {
			if int(u.Resource) < len(c.onLink) {
				c.onLink[u.Resource] = append(c.onLink[u.Resource], id)
			}
		}
	}
	return c
}

// peak returns the largest rate that transfers which can be under way together add up to, or at least enough. tasks are
// those of one link, by EST.
//
// It scans the intervals between the bounds of their windows (Lines 6 to 9); those after a start and before an end hold
// all the others.
func (c *concurrency) peak(tasks []int32, enough float64) float64 {
	best := 0.0
	for _, id := range tasks {
		best = max(best, c.spans.Full[id])
	}
	if best >= enough {
		return best
	}
	var rel *relation
	var active []int32 // indices into tasks
	for next := 0; next < len(tasks) && c.ctx.Err() == nil; {
		now := c.start[tasks[next]]
		active = slices.DeleteFunc(active, func(i int32) bool { return c.end[tasks[i]] <= now })
		for next < len(tasks) && c.start[tasks[next]] <= now {
			active = append(active, int32(next))
			next++
		}
		until, sum := never, 0.0
		for _, i := range active {
			until = min(until, c.end[tasks[i]])
			sum += c.spans.Full[tasks[i]]
		}
		if sum <= best || next < len(tasks) && c.start[tasks[next]] < until {
			continue
		}
		if len(active) > crowd && !math.IsInf(enough, 1) {
			return enough
		}
		if rel == nil {
			rows, words := c.overlaps(tasks)
			if words > crowdWords && !math.IsInf(enough, 1) {
				return enough
			}
			rel = c.relate(tasks, rows)
		}
		weight := func(i int32) float64 { return c.spans.Full[tasks[i]] }
		best = max(best, greedyAntichain(active, rel, weight))
		if best < enough && best < sum {
			best = max(best, c.antichain.heaviest(active, rel, weight))
		}
		if best >= enough {
			return best
		}
	}
	return best
}
