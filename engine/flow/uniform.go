package flow

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
)

// ErrUneven is wrapped by Even where transfers might get other rates while they run.
var ErrUneven = errors.New("flow: transfers are not even")

// Even returns when each of many transfers ends, flow f on its path, where all begin at once, are of so many bytes, and
// arrive as they are sent. It fails with ErrUneven where some take several paths, links change, or groups share
// capacity, and with ErrStalled where a link is down.
//
// These are the ends of Run, in a fraction of its memory, as rates never change: transfers end in the order of falling
// rates. A link that is full at a level has none of a higher one, and so loses none before all on it end; what is lost by
// links that are full above, or never, is of no use to those left on them, which others bind.
func Even(ctx context.Context, n *engine.Network, w *engine.Paths, flows []engine.Flow, bytes int64) ([]engine.Time, error) {
	if w.First != nil || w.Spread != nil || len(n.Changes) > 0 || len(n.Groups) > 0 || bytes <= 0 {
		return nil, fmt.Errorf("%w: they take several paths, links change, groups share capacity, or they are empty", ErrUneven)
	}
	if err := n.Validate(); err != nil {
		return nil, err
	}
	z := uniformRun{n: n, paths: w, flows: flows, links: make([]uniformLink, len(n.Links)), portEnd: make([]int32, len(w.Link))}
	for port, l := range w.Link {
		if l >= 0 {
			z.portEnd[port] = n.Links[l].To
		}
	}
	for l := range z.links {
		z.links[l].free = n.Links[l].Rate * perTick
	}
	if err := z.indexFlows(ctx); err != nil {
		return nil, err
	}
	return z.run(ctx, 8*float64(bytes))
}

// uniformRun is the work of Even.
type uniformRun struct {
	n         *engine.Network
	paths     *engine.Paths
	flows     []engine.Flow
	portEnd   []int32 // by node and port: where its link leads
	links     []uniformLink
	linkFlows []int32 // flows by link: those of l are on[links[l].from:links[l].end]
}

// uniformLink is a link with what it can still give.
type uniformLink struct {
	free      float64
	unfixed   int32 // flows on it without a rate
	isStale   bool
	from, end int
}

// eachLink calls f with the links of a flow's path, once for each time that it takes one.
func (z *uniformRun) eachLink(flow int32, f func(link int32)) {
	node := z.flows[flow].Src
	for k := z.paths.Start[z.paths.ClassOf(flow)]; z.paths.Step[k] != engine.Arrived; k++ {
		port := int(node)*z.paths.Degree + z.paths.Step[k].Port()
		f(z.paths.Link[port])
		node = z.portEnd[port]
	}
}

// indexFlows lists the flows of each link.
func (z *uniformRun) indexFlows(ctx context.Context) error {
	for f := range int32(len(z.flows)) {
		if f%pollEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if z.paths.Start[z.paths.ClassOf(f)] < 0 {
			return fmt.Errorf("flow: no path leads flow %d", f)
		}
		z.eachLink(f, func(link int32) { z.links[link].unfixed++ })
	}
	total := 0
	for l := range z.links {
		z.links[l].from, z.links[l].end = total, total
		total += int(z.links[l].unfixed)
	}
	z.linkFlows = make([]int32, total)
	for f := range int32(len(z.flows)) {
		if f%pollEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		z.eachLink(f, func(link int32) {
			z.linkFlows[z.links[link].end] = f
			z.links[link].end++
		})
	}
	return nil
}

// run fills the links in rounds of rising levels, as fill does, and returns when the flows end.
func (z *uniformRun) run(ctx context.Context, bits float64) ([]engine.Time, error) {
	ends, queue := make([]engine.Time, len(z.flows)), engine.NewQueue(len(z.links))
	reschedule := func(l int32) {
		if a := &z.links[l]; a.unfixed > 0 {
			queue.Set(l, levelKey(max(0, a.free/float64(a.unfixed))))
		} else {
			queue.Remove(l)
		}
	}
	for l := range z.links {
		reschedule(int32(l))
	}
	var saturated, stale []int32
	for queue.Len() > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		share := minLevel(queue)
		if share == 0 {
			l, _ := queue.Pop()
			return nil, fmt.Errorf("%w: flow %d waits for %s (down)", ErrStalled, z.linkFlows[z.links[l].from], z.n.ResourceName(l))
		}
		end := max(1, ceilTicks(bits/share))
		for saturated = saturated[:0]; minLevel(queue) <= share*(1+relTol); {
			l, _ := queue.Pop()
			saturated = append(saturated, l)
		}
		stale = stale[:0]
		for _, l := range saturated {
			for _, f := range z.linkFlows[z.links[l].from:z.links[l].end] {
				if ends[f] > 0 {
					continue
				}
				ends[f] = end
				z.eachLink(f, func(link int32) {
					a := &z.links[link]
					if a.free -= share; a.free < relTol*z.n.Links[link].Rate*perTick {
						a.free = 0 // no crumbs of rounding
					}
					if a.unfixed--; !a.isStale {
						a.isStale, stale = true, append(stale, link)
					}
				})
			}
		}
		for _, l := range stale {
			z.links[l].isStale = false
			reschedule(l)
		}
	}
	return ends, nil
}
