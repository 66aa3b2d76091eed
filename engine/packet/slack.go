package packet

// This file bounds the makespan of a run in which packets are sent in the order of the
// flow level (Options.Reference).

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
)

// ErrSlack is wrapped by the error of Slack if no bound is known.
var ErrSlack = errors.New("packet: no bound on the delay relative to the flow level")

// Slack returns an upper bound of the makespan of RunGraph minus the makespan of fluid,
// if fluid is its Options.Reference.
//
// The lateness of a packet at a link is the time at which it arrives there minus the time
// at which its last byte was sent at the flow level. A link sends those packets first
// whose last bytes are sent first at the flow level.
//
// Consider a busy period of the link that ends with a given packet. Apart from one
// transmission that had already started, the link sends only packets that precede the
// given packet at the flow level. Let L be the maximum lateness of these packets. At the
// flow level, their bytes are sent after the start of the period minus L and before the
// end of the given packet. The only exception is one packet per transfer that was in
// progress at that start. So the given packet leaves late by at most L plus n+1 packets,
// where n is the number of transfers that share the link at the flow level.
//
// A transfer starts late by at most the lateness with which its predecessors end. The
// lateness at a link is therefore bounded by the maximum, so far, over the tasks that use
// it. Slack computes this maximum in the order of time at the flow level, and adds the
// latencies of links.
//
// The error wraps ErrSlack if links follow each other in a cycle, because lateness could
// then accumulate without limit. It also wraps ErrSlack if flows have several paths or if
// messages have a start overhead.
func Slack(g *engine.Graph, n *engine.Network, flows []engine.Flow, paths *engine.Paths, packetBytes int32, fluid *engine.Trace) (engine.Time, error) {
	if g.MessageOverhead > 0 {
		return 0, fmt.Errorf("%w: messages have a start overhead", ErrSlack)
	}
	if paths.Spread != nil || paths.First != nil {
		return 0, fmt.Errorf("%w: flows have several paths", ErrSlack)
	}

	l := &latenessBounds{paths: make(map[engine.Flow][]int32, len(flows)), bound: make([]float64, len(n.Links)), linkDelay: make([]float64, len(n.Links)), successors: make([][]int32, len(n.Links))}
	for f, ends := range flows {
		l.addPath(n, paths, int32(f), ends)
	}

	if !l.sortLinks() {
		return 0, fmt.Errorf("%w: links follow each other in a cycle", ErrSlack)
	}

	starts, ends := tasksByTime(g, fluid.Start), tasksByTime(g, fluid.End)
	for link, maxTransfers := range l.maxSharing(g, fluid, starts, ends) {
		l.linkDelay[link] = float64(maxTransfers+1)*8*float64(packetBytes)/n.Links[link].Rate*float64(engine.Second) + float64(n.Links[link].Latency)
	}
	return l.propagate(g, fluid, starts, ends), nil
}

// tasksByTime returns the tasks of a graph ordered by time, and tasks with equal times in
// a topological order.
func tasksByTime(g *engine.Graph, times []engine.Time) []int32 {
	order := slices.Clone(g.Order())
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(times[a], times[b]) })
	return order
}

// maxSharing returns for each link the maximum number of transfers that use it at the
// same time at the flow level.
func (l *latenessBounds) maxSharing(g *engine.Graph, fluid *engine.Trace, starts, ends []int32) []int {
	current, maxCount := make([]int, len(l.linkDelay)), make([]int, len(l.linkDelay))
	for _, id := range starts {
		for len(ends) > 0 && fluid.End[ends[0]] < fluid.Start[id] {
			for _, link := range l.taskLinks(g, ends[0]) {
				current[link]--
			}
			ends = ends[1:]
		}
		for _, link := range l.taskLinks(g, id) {
			current[link]++
			maxCount[link] = max(maxCount[link], current[link])
		}
	}
	return maxCount
}

// latenessBounds holds upper bounds of the lateness of packets in ticks; see Slack.
type latenessBounds struct {
	paths      map[engine.Flow][]int32 // links of each flow
	successors [][]int32               // indexed by link: links that some flow takes next
	linkDelay  []float64               // indexed by link: lateness that the link adds
	bound      []float64               // indexed by link: lateness of packets that arrive there, so far
	order      []int32                 // scratch of sortLinks
}

// addPath adds the path of a flow.
func (l *latenessBounds) addPath(n *engine.Network, paths *engine.Paths, f int32, ends engine.Flow) {
	var path []int32
	node := ends.Src
	for _, s := range paths.Steps(paths.ClassOf(f)) {
		link := paths.Out(node, s)
		if k := len(path); k > 0 && !slices.Contains(l.successors[path[k-1]], link) {
			l.successors[path[k-1]] = append(l.successors[path[k-1]], link)
		}
		path = append(path, link)
		node = n.Links[link].To
	}
	if _, ok := l.paths[ends]; !ok {
		l.paths[ends] = path
	}
}

// sortLinks reports whether the links have a topological order (Kahn's algorithm).
func (l *latenessBounds) sortLinks() bool {
	numPredecessors := make([]int, len(l.successors))
	for _, next := range l.successors {
		for _, link := range next {
			numPredecessors[link]++
		}
	}

	for link, n := range numPredecessors {
		if n == 0 {
			l.order = append(l.order, int32(link))
		}
	}

	for k := 0; k < len(l.order); k++ {
		for _, link := range l.successors[l.order[k]] {
			if numPredecessors[link]--; numPredecessors[link] == 0 {
				l.order = append(l.order, link)
			}
		}
	}
	return len(l.order) == len(l.successors)
}

// propagate computes the bounds in the order of time at the flow level, and returns the
// bound of the makespan. When a transfer ends, all transfers that started before it have
// contributed to the bounds of its links.
func (l *latenessBounds) propagate(g *engine.Graph, fluid *engine.Trace, starts, ends []int32) engine.Time {
	end, maxEnd := make([]float64, len(g.Tasks)), 0.0
	start := func(id int32) (bound float64) {
		for _, e := range g.In(id) {
			bound = max(bound, end[e.From])
		}
		return bound
	}

	for _, id := range ends {
		for len(starts) > 0 && (fluid.Start[starts[0]] < fluid.End[id] || starts[0] == id) {
			if path := l.taskLinks(g, starts[0]); len(path) > 0 {
				l.increase(path[0], start(starts[0]))
			}
			starts = starts[1:]
		}

		end[id] = start(id)
		if path := l.taskLinks(g, id); len(path) > 0 {
			link := path[len(path)-1]
			end[id] = max(end[id], l.bound[link]+l.linkDelay[link])
		}
		maxEnd = max(maxEnd, end[id])
	}
	return engine.Time(maxEnd) + engine.Time(len(g.Tasks)) // rounding at the flow level: at most one tick per task
}

// taskLinks returns the links of a transfer, or nil for other tasks.
func (l *latenessBounds) taskLinks(g *engine.Graph, id int32) []int32 {
	t := &g.Tasks[id]
	if t.Kind != engine.Transfer || t.Bytes == 0 {
		return nil
	}
	return l.paths[engine.Flow{Src: t.Src, Dst: t.Dst}]
}

// increase raises the bound at a link, and the bounds at its successors accordingly.
func (l *latenessBounds) increase(link int32, bound float64) {
	if bound < l.bound[link] || bound == 0 && l.bound[link] > 0 {
		return
	}
	l.bound[link] = bound
	for _, next := range l.successors[link] {
		if nextBound := bound + l.linkDelay[link]; nextBound > l.bound[next] {
			l.increase(next, nextBound)
		}
	}
}
