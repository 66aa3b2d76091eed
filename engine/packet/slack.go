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
func Slack(g *engine.Graph, n *engine.Network, flows []engine.Flow, paths *engine.Paths, bytes int32, fluid *engine.Trace) (engine.Time, error) {
	if g.MessageOverhead > 0 {
		return 0, fmt.Errorf("%w: starting messages takes time", ErrSlack)
	}
	if paths.Spread != nil || paths.First != nil {
		return 0, fmt.Errorf("%w: flows have several paths", ErrSlack)
	}
	l := &lateness{path: make(map[engine.Flow][]int32, len(flows)), late: make([]float64, len(n.Links)), own: make([]float64, len(n.Links)), next: make([][]int32, len(n.Links))}
	for f, ends := range flows {
		l.add(n, paths, int32(f), ends)
	}
	if !l.ordered() {
		return 0, fmt.Errorf("%w: links follow each other in a circle", ErrSlack)
	}
	begins, ends := inOrder(g, fluid.Start), inOrder(g, fluid.End)
	for link, share := range l.sharing(g, fluid, begins, ends) {
		l.own[link] = float64(share+1)*8*float64(bytes)/n.Links[link].Rate*float64(engine.Second) + float64(n.Links[link].Latency)
	}
	return l.follow(g, fluid, begins, ends), nil
}

// inOrder returns the tasks of a graph by their times, equal ones as they wait for each other.
func inOrder(g *engine.Graph, at []engine.Time) []int32 {
	order := slices.Clone(g.Order())
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(at[a], at[b]) })
	return order
}

// sharing returns the most transfers that take each link at the same time as fluid.
func (l *lateness) sharing(g *engine.Graph, fluid *engine.Trace, begins, ends []int32) []int {
	now, most := make([]int, len(l.own)), make([]int, len(l.own))
	for _, id := range begins {
		for len(ends) > 0 && fluid.End[ends[0]] < fluid.Start[id] {
			for _, link := range l.of(g, ends[0]) {
				now[link]--
			}
			ends = ends[1:]
		}
		for _, link := range l.of(g, id) {
			now[link]++
			most[link] = max(most[link], now[link])
		}
	}
	return most
}

// lateness is how late packets are, at most, in ticks.
type lateness struct {
	path map[engine.Flow][]int32 // links, by flow
	next [][]int32               // by link: those that some flow takes after it
	own  []float64               // by link: what it adds
	late []float64               // by link: of what comes there, so far
	last []int32                 // by link, room for ordered
}

// add follows the path of a flow.
func (l *lateness) add(n *engine.Network, paths *engine.Paths, f int32, ends engine.Flow) {
	var path []int32
	at := ends.Src
	for _, s := range paths.Steps(paths.ClassOf(f)) {
		link := paths.Out(at, s)
		if k := len(path); k > 0 && !slices.Contains(l.next[path[k-1]], link) {
			l.next[path[k-1]] = append(l.next[path[k-1]], link)
		}
		path = append(path, link)
		at = n.Links[link].To
	}
	if _, ok := l.path[ends]; !ok {
		l.path[ends] = path
	}
}

// ordered reports whether links have an order in which all flows take them.
func (l *lateness) ordered() bool {
	before := make([]int, len(l.next))
	for _, next := range l.next {
		for _, link := range next {
			before[link]++
		}
	}
	for link, n := range before {
		if n == 0 {
			l.last = append(l.last, int32(link))
		}
	}
	for k := 0; k < len(l.last); k++ {
		for _, link := range l.next[l.last[k]] {
			if before[link]--; before[link] == 0 {
				l.last = append(l.last, link)
			}
		}
	}
	return len(l.last) == len(l.next)
}

// follow goes through the fluid's time: by the end of a transfer all that began before has made its links late.
func (l *lateness) follow(g *engine.Graph, fluid *engine.Trace, begins, ends []int32) engine.Time {
	end, most := make([]float64, len(g.Tasks)), 0.0
	start := func(id int32) (late float64) {
		for _, e := range g.In(id) {
			late = max(late, end[e.From])
		}
		return late
	}
	for _, id := range ends {
		for len(begins) > 0 && (fluid.Start[begins[0]] < fluid.End[id] || begins[0] == id) {
			if path := l.of(g, begins[0]); len(path) > 0 {
				l.raise(path[0], start(begins[0]))
			}
			begins = begins[1:]
		}
		end[id] = start(id)
		if path := l.of(g, id); len(path) > 0 {
			link := path[len(path)-1]
			end[id] = max(end[id], l.late[link]+l.own[link])
		}
		most = max(most, end[id])
	}
	return engine.Time(most) + engine.Time(len(g.Tasks)) // that many ticks the fluid rounds by
}

// of returns the links of a task, none of what is no transfer.
func (l *lateness) of(g *engine.Graph, id int32) []int32 {
	t := &g.Tasks[id]
	if t.Kind != engine.Transfer || t.Bytes == 0 {
		return nil
	}
	return l.path[engine.Flow{Src: t.Src, Dst: t.Dst}]
}

// raise makes what comes to a link late, and what goes on from there.
func (l *lateness) raise(link int32, late float64) {
	if late < l.late[link] || late == 0 && l.late[link] > 0 {
		return
	}
	l.late[link] = late
	for _, next := range l.next[link] {
		if on := late + l.own[link]; on > l.late[next] {
			l.raise(next, on)
		}
	}
}
