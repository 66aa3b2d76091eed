// Package packet simulates traffic packet by packet. A packet is stored at every node on its path, and forwarded on the
// next link when the whole of it has arrived and the link accepts it (store-and-forward).
//
// Run simulates traffic sources, RunGraph a task graph. Both are one function: a source and a transfer of a task inject
// packets through the same code (inject.go), which also says where a transport would differ.
//
// # Links
//
// All links of a run are of one kind.
//
//   - Booked (booked.go): queues are unbounded and first in, first out, and links do not change. The times of a packet on a
//     link are then known when the packet is put on the link, so a hop is one event.
//   - Served (served.go): everything else, which is finite queues, credits (credit.go), ranks of tasks (ranked.go), bit
//     errors, and links or paths that change (change.go). The end of sending, the arrival after a latency and the
//     return of a credit are events. What links of this kind do is the same in both loops that simulate them.
//
// # Loops
//
// The loop of events (sim.events) simulates every run: it takes events from a calendar queue in their order. Two loops of
// windows give identical results in less time. They simulate some links for a window of simulated time before the next
// links, so that the state of these links stays in the cache, packets bypass the calendar, and workers simulate different
// links at the same time. sim.run chooses.
//
//   - Parts (parts.go, window.go, worker.go) simulates booked links. Packets go from part to part of the network and never
//     back, such as from ring to ring under dimension-order routing, so a part can be ahead of the parts behind it. It runs
//     if all packets have one size, if all times are multiples of a unit, if sources are periodic or greedy, if every
//     part is a ring or a link, and if queues are not sampled. On one core it is 1.4 to 1.6 times as fast as the loop
//     of events on 8x8x8 and 2.6 times on 16x16x16; greedy sources gain nothing on 8x8x8. Two workers are 1.7 times as
//     fast as one.
//   - Links apart (apart.go, crew.go, alone.go) simulates served links under credits. Every packet and credit that comes to
//     a link within the least latency was sent before, so a link needs no other link for that long. It runs if every link
//     has a latency, if each flow has one path, and if sources are all greedy or all not, without windows. On
//     8x8x8 it is 2.4 to 4 times as fast as the loop of events, and two workers are 1.9 times as fast as one.
//
// Neither runs a task graph, whose tasks begin when packets arrive elsewhere. Both return to the loop of events while
// little happens in a window: parts if at most an eighth of the links has an event in it, links apart by a count of
// events.
//
// Loops read ahead for the cache (bring.go). Parts always do, which gains 5 % on 8x8x8 and a factor of 1.5 on 16x16x16, and
// links apart with greedy sources, 5 to 11 %. The others do on networks of thousands of links, where it gains a factor of
// 1.1 to 1.6.
//
// # Time
//
// Time is in whole picoseconds; what serialising a packet takes beyond whole ticks is carried to the next packet behind
// it, so rates do not drift. Events of one time happen in the order in which they were set, or if all links have
// latencies under credits, in the order of their kinds (Credit), so a result depends on nothing but its input.
//
// The package knows links, paths, sources and task graphs. It leaves which path packets go to policies/routing, what
// the nodes are to fabric, and fluid rates to engine/flow.
package packet

import (
	"errors"

	"sim/engine"
)

// Work is traffic and the paths that lead it.
//
// Where a class of flows has several paths, every packet takes one at random by their shares, drawn from one stream of
// the run in the order of injection. With Paths.Spread it draws a link at each node, from the same stream in the order
// of arrival.
type Work struct {
	Flows   []engine.Flow
	Sources []Source
	Paths   *engine.Paths
}

// ErrWork is wrapped where work does not fit the network, or itself.
var ErrWork = errors.New("packet: this work cannot be simulated")

// ErrStopped is returned where Options.Stop ended a run.
var ErrStopped = errors.New("packet: stopped")

// slowest is the least rate of a link in bits per second: ticks a byte fit 62 bits with 32 behind the point.
const slowest = 8e3

// Run simulates w on n. It fails with ErrWork where the two do not fit, where n has groups that links share, and where
// the run would not fit Options.MaxBytes; with *Deadlock when events run out while packets wait.
func Run(n *engine.Network, w *Work, o Options) (*Stats, error) {
	_, s, err := simulate(n, w, nil, 0, o)
	return s, err
}

// simulate simulates the sources of w, and the tasks of g in packets of so many bytes if g is not nil.
func simulate(n *engine.Network, w *Work, g *engine.Graph, bytes int32, o Options) (*engine.Trace, *Stats, error) {
	if err := check(n, w, g, bytes, &o); err != nil {
		return nil, nil, err
	}
	largest := max(int64(bytes), w.largest())
	var starts *engine.MessageStarts
	if g != nil {
		var err error
		if w, o, err = byTask(g, w, o); err != nil {
			return nil, nil, err
		}
		if starts, err = g.WithMessageStarts(); err != nil {
			return nil, nil, err
		}
		if starts != nil {
			g = starts.Graph
			w, o = withStarts(starts, w, o)
		}
	}
	z, err := newSim(n, w, o, largest)
	if err != nil {
		return nil, nil, err
	}
	defer z.leave()
	if g != nil {
		z.job = newJob(g, bytes)
	}
	z.parts, z.apart = z.newParts(w), z.newApart()
	z.schedule()
	err = z.simulate()
	if z.full && !z.stopped && z.apart != nil { // windows ahead take memory that one loop does without
		z.leave()
		*z = sim{}
		o.Workers, o.apart = 1, -1
		return simulate(n, w, g, bytes, o)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := z.finish()
	if err != nil || g == nil {
		return nil, s, err
	}
	trace, err := z.job.result(s, z.calendar.empty())
	if err != nil {
		return nil, nil, err
	}
	if starts != nil {
		trace = starts.Trace(trace)
	}
	return trace, s, nil
}
