package packet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
)

// ErrSlack is wrapped by Slack where it knows no bound.
var ErrSlack = errors.New("packet: no bound on what packets take longer than fluid")

// Slack returns a bound on by how much longer RunGraph takes for g than a fluid that it has for Options.Reference.
//
// Call a packet late at a link by so much as it comes there after the fluid has sent its last byte. A link serves those
// packets first that the fluid has sent first. So all that it sends, in a period of work that ends with a packet,
// before that packet and beside one that was begun before, the fluid has sent since the period began less the greatest
// lateness of them, but for a packet of each transfer that it had begun; and the packet leaves late by no more than
// that lateness and one packet for each transfer that shares the link as fluid and one more. A transfer begins late by
// what those that it waits for end late. Lateness at a link is therefore the greatest so far of those tasks that take
// it, which Slack follows in the order of the fluid's time; latencies of links add to it.
//
// It fails, with ErrSlack, where links follow each other in a circle, as lateness could then add up without end, and
// where flows have several paths.
func Slack(g *engine.Graph, n *engine.Network, flows []engine.Flow, paths *engine.Paths, packetBytes int32, fluid *engine.Trace) (engine.Time, error) {
	if g.MessageOverhead > 0 {
		return 0, fmt.Errorf("%w: starting messages takes time", ErrSlack)
	}
	if paths.Spread != nil || paths.First != nil {
		return 0, fmt.Errorf("%w: flows have several paths", ErrSlack)
	}
	l := &latenessBounds{paths: make(map[engine.Flow][]int32, len(flows)), bound: make([]float64, len(n.Links)), linkDelay: make([]float64, len(n.Links)), successors: make([][]int32, len(n.Links))}
	for f, ends := range flows {
		l.addPath(n, paths, int32(f), ends)
	}
	if !l.sortLinks() {
		return 0, fmt.Errorf("%w: links follow each other in a circle", ErrSlack)
	}
	starts, ends := tasksByTime(g, fluid.Start), tasksByTime(g, fluid.End)
	for link, maxTransfers := range l.maxSharing(g, fluid, starts, ends) {
		l.linkDelay[link] = float64(maxTransfers+1)*8*float64(packetBytes)/n.Links[link].Rate*float64(engine.Second) + float64(n.Links[link].Latency)
	}
	return l.propagate(g, fluid, starts, ends), nil
}

// tasksByTime returns the tasks of a graph by their times, equal ones as they wait for each other.
func tasksByTime(g *engine.Graph, times []engine.Time) []int32 {
	order := slices.Clone(g.Order())
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(times[a], times[b]) })
	return order
}

// maxSharing returns the most transfers that take each link at the same time as fluid.
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

// latenessBounds is how late packets are, at most, in ticks.
type latenessBounds struct {
	paths      map[engine.Flow][]int32 // links, by flow
	successors [][]int32               // by link: those that some flow takes after it
	linkDelay  []float64               // by link: what it adds
	bound      []float64               // by link: of what comes there, so far
	order      []int32                 // by link, room for ordered
}

// addPath follows the path of a flow.
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

// sortLinks reports whether links have an order in which all flows take them.
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

// propagate goes through the fluid's time: by the end of a transfer all that began before has made its links late.
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
	return engine.Time(maxEnd) + engine.Time(len(g.Tasks)) // that many ticks the fluid rounds by
}

// taskLinks returns the links of a task, none of what is no transfer.
func (l *latenessBounds) taskLinks(g *engine.Graph, id int32) []int32 {
	t := &g.Tasks[id]
	if t.Kind != engine.Transfer || t.Bytes == 0 {
		return nil
	}
	return l.paths[engine.Flow{Src: t.Src, Dst: t.Dst}]
}

// increase makes what comes to a link late, and what goes on from there.
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
