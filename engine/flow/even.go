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
	z := even{n: n, w: w, flows: flows, links: make([]evenLink, len(n.Links)), to: make([]int32, len(w.Link))}
	for port, l := range w.Link {
		if l >= 0 {
			z.to[port] = n.Links[l].To
		}
	}
	for l := range z.links {
		z.links[l].free = n.Links[l].Rate * perTick
	}
	if err := z.index(ctx); err != nil {
		return nil, err
	}
	return z.run(ctx, 8*float64(bytes))
}

// even is the work of Even.
type even struct {
	n     *engine.Network
	w     *engine.Paths
	flows []engine.Flow
	to    []int32 // by node and port: where its link leads
	links []evenLink
	on    []int32 // flows by link: those of l are on[links[l].from:links[l].end]
}

// evenLink is a link with what it can still give.
type evenLink struct {
	free      float64
	open      int32 // flows on it without a rate
	stale     bool
	from, end int
}

// each calls f with the links of a flow's path, once for each time that it takes one.
func (z *even) each(flow int32, f func(link int32)) {
	at := z.flows[flow].Src
	for k := z.w.Start[z.w.ClassOf(flow)]; z.w.Step[k] != engine.Arrived; k++ {
		port := int(at)*z.w.Degree + z.w.Step[k].Port()
		f(z.w.Link[port])
		at = z.to[port]
	}
}

// index lists the flows of each link.
func (z *even) index(ctx context.Context) error {
	for f := range int32(len(z.flows)) {
		if f%pollEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if z.w.Start[z.w.ClassOf(f)] < 0 {
			return fmt.Errorf("flow: no path leads flow %d", f)
		}
		z.each(f, func(link int32) { z.links[link].open++ })
	}
	total := 0
	for l := range z.links {
		z.links[l].from, z.links[l].end = total, total
		total += int(z.links[l].open)
	}
	z.on = make([]int32, total)
	for f := range int32(len(z.flows)) {
		if f%pollEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		z.each(f, func(link int32) {
			z.on[z.links[link].end] = f
			z.links[link].end++
		})
	}
	return nil
}

// run fills the links in rounds of rising levels, as fill does, and returns when the flows end.
func (z *even) run(ctx context.Context, bits float64) ([]engine.Time, error) {
	ends, fills := make([]engine.Time, len(z.flows)), engine.NewQueue(len(z.links))
	place := func(l int32) {
		if a := &z.links[l]; a.open > 0 {
			fills.Set(l, key(max(0, a.free/float64(a.open))))
		} else {
			fills.Remove(l)
		}
	}
	for l := range z.links {
		place(int32(l))
	}
	var tight, stale []int32
	for fills.Len() > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		share := top(fills)
		if share == 0 {
			l, _ := fills.Pop()
			return nil, fmt.Errorf("%w: flow %d waits for %s (down)", ErrStalled, z.on[z.links[l].from], z.n.ResourceName(l))
		}
		end := max(1, ticks(bits/share))
		for tight = tight[:0]; top(fills) <= share*(1+together); {
			l, _ := fills.Pop()
			tight = append(tight, l)
		}
		stale = stale[:0]
		for _, l := range tight {
			for _, f := range z.on[z.links[l].from:z.links[l].end] {
				if ends[f] > 0 {
					continue
				}
				ends[f] = end
				z.each(f, func(link int32) {
					a := &z.links[link]
					if a.free -= share; a.free < together*z.n.Links[link].Rate*perTick {
						a.free = 0 // no crumbs of rounding
					}
					if a.open--; !a.stale {
						a.stale, stale = true, append(stale, link)
					}
				})
			}
		}
		for _, l := range stale {
			z.links[l].stale = false
			place(l)
		}
	}
	return ends, nil
}
