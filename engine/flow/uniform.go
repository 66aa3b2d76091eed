package flow

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
)

// ErrNotUniform is wrapped by UniformEnds if rates could change while transfers run.
var ErrNotUniform = errors.New("flow: transfers are not even")

// UniformEnds returns the end of each transfer of a uniform load: all transfers start at time 0,
// have the same size in bytes and take one path each. Transfer f is flow f on its path. It
// returns ErrNotUniform if a flow has several paths, links change, or groups share capacity,
// and ErrStalled if a link is down.
//
// The ends are identical to the ends of Run but need a fraction of its memory, because rates never
// change: transfers end in order of falling rates. A link that saturates at some level carries
// no transfer of a higher level. It therefore loses no transfer before the transfers that it
// limits end, and these end together. The capacity that then becomes free does not help the
// remaining transfers on the link, because other links limit them.
func UniformEnds(
	ctx context.Context, n *engine.Network, w *engine.Paths, flows []engine.Flow, bytes int64) ([]engine.Time, error) {

	if w.First != nil || w.Spread != nil || len(n.Changes) > 0 || len(n.Groups) > 0 || bytes <= 0 {
		return nil, fmt.Errorf("%w: they take several paths, links change, groups share capacity, or they are empty",
			ErrNotUniform)
	}
	if err := n.Validate(); err != nil {
		return nil, err
	}

	z := uniformRun{n: n, paths: w, flows: flows,
		links: make([]uniformLink, len(n.Links)), portEnd: make([]int32, len(w.Link))}
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

// uniformRun is the state of UniformEnds.
type uniformRun struct {
	n       *engine.Network
	paths   *engine.Paths
	flows   []engine.Flow
	portEnd []int32 // node at the end of a port's link, indexed by node*Degree+port
	links   []uniformLink
	// linkFlows holds the flows, grouped by link: linkFlows[links[l].from:links[l].end] are
	// the flows on link l.
	linkFlows []int32
}

// uniformLink is a link during progressive filling.
type uniformLink struct {
	free      float64 // capacity not assigned yet, in bits per tick
	unfixed   int32   // number of flows without a rate
	isStale   bool    // its key in the queue is outdated
	from, end int     // range in uniformRun.linkFlows
}

// eachLink calls f with each link of a flow's path, in order. A link that the path takes twice
// is passed twice.
func (z *uniformRun) eachLink(flow int32, f func(link int32)) {
	node := z.flows[flow].Src
	for k := z.paths.Start[z.paths.ClassOf(flow)]; z.paths.Step[k] != engine.Arrived; k++ {
		port := int(node)*z.paths.Degree + z.paths.Step[k].Port()
		f(z.paths.Link[port])
		node = z.portEnd[port]
	}
}

// indexFlows groups the flows by link.
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

	// Lay out the ranges of the links, and fill them.
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

// run computes the fair shares by progressive filling, as fillProgressively does, and returns
// the end of each flow.
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

	// Each round saturates the links with the lowest fair share and fixes the flows on them.
	var saturated, stale []int32
	for queue.Len() > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		share := minLevel(queue)
		if share == 0 {
			l, _ := queue.Pop()
			return nil, fmt.Errorf("%w: flow %d waits for %s (down)",
				ErrStalled, z.linkFlows[z.links[l].from], z.n.ResourceName(l))
		}
		end := max(1, ceilTicks(bits/share))
		for saturated = saturated[:0]; minLevel(queue) <= share*(1+relTol); {
			l, _ := queue.Pop()
			saturated = append(saturated, l)
		}

		// Fix the flows of these links and subtract them from all their links.
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
						a.free = 0 // remove rounding errors
					}
					if a.unfixed--; !a.isStale {
						a.isStale, stale = true, append(stale, link)
					}
				})
			}
		}

		// Update the levels at which these links saturate.
		for _, l := range stale {
			z.links[l].isStale = false
			reschedule(l)
		}
	}
	return ends, nil
}
