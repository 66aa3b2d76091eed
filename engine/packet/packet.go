// Package packet simulates traffic packet by packet. Networks store and forward: a packet
// is received completely at each node of its path before it is sent on the next link.
//
// Run simulates traffic sources, and RunGraph simulates a task graph. Both call the same
// code: sources and the transfers of tasks inject packets through injector.go, which is
// also the place where a transport protocol would differ.
//
// Start reading with Work, Source and Options. Then sim (sim.go) and its event loop show
// the order of events.
//
// # Links
//
// There are two kinds of links. All links of a run are of the same kind.
//
//   - Scheduled links (scheduled.go) have unbounded first-in, first-out queues and never
//     change. All times of a packet on such a link are known when it is enqueued, so a
//     hop is one event.
//   - Queued links (queued.go) support everything else: finite queues, credits
//     (credits.go), task ranks (priority.go), bit errors, and links or paths that change
//     (linkchange.go). The end of a transmission, the arrival at the far end and the
//     return of a credit are separate events.
//
// # Event loop and windows
//
// The event loop (sim.runEvents) can simulate every run. It takes events from a calendar
// queue (calendar.go) in their order.
//
// Two faster simulators yield identical results. Both simulate a group of links for a
// window of simulated time before the next group. The state of the group stays in the
// cache, packets bypass the calendar, and several workers can simulate different groups
// at the same time. sim.runUntil selects the simulator.
//
//   - componentSim (component*.go) simulates scheduled links, one strongly connected
//     component of links after another. Packets that leave a component must never return
//     to it. Examples are the rings of a torus under dimension-order routing. Further
//     conditions: one packet size, all times are multiples of a unit, sources are
//     periodic or greedy, each component is a ring or a single link, and queues are not
//     sampled. On one core it is 1.4 to 1.6 times as fast as the event loop on an 8x8x8
//     torus, and 2.6 times on 16x16x16. Greedy sources gain nothing on 8x8x8. Two workers
//     are 1.7 times as fast as one.
//   - lpSim (lp*.go) simulates queued links with credits. Each link is a logical process.
//     Every packet or credit that reaches a link within the minimum latency was sent
//     before, so the link is independent of all others for that time. Conditions: every
//     link has a latency, each flow has one path, no source has a flow window, and either
//     all sources are greedy or none is. On 8x8x8 it is 2.4 to 4 times as fast as the
//     event loop, and two workers are 1.9 times as fast as one.
//
// Neither simulates task graphs, because the end of a task can start tasks anywhere in
// the network. Both use the event loop while windows contain few events. componentSim
// needs at least one event per window and eight links (isDense). lpSim needs one per six
// links to begin (runWhileSparse), and fewer to continue (runUntil).
//
// Loops prefetch the state of later events into the cache (prefetch.go). componentSim
// always does: this gains 5 % on 8x8x8 and a factor of 1.5 on 16x16x16. lpSim prefetches
// for greedy sources, which gains 5 to 11 %. All loops prefetch on networks with
// thousands of links, which gains a factor of 1.1 to 1.6.
//
// # Time
//
// Time is counted in picoseconds, called ticks. The fraction of a tick that remains of a
// serialisation time is carried over to the next packet, so rates do not drift.
// Simultaneous events occur in the order in which they were scheduled. If all links have
// latencies and use credits, simultaneous events are ordered by kind instead (see
// Credit). A result therefore depends only on the input.
//
// The package handles links, paths, sources and task graphs. Paths are chosen in
// policies/routing, nodes are defined in fabric, and engine/flow simulates at the flow
// level.
package packet

import (
	"errors"

	"sim/engine"
)

// Work is the traffic of a run and the paths that it takes.
//
// If a class of flows has several paths, each packet takes one at random with the
// probabilities Paths.Share. The random numbers come from one stream of the run, in the
// order of injection. With Paths.Spread, a packet draws its next link at each node, from
// the same stream in the order of arrival.
type Work struct {
	Flows   []engine.Flow
	Sources []Source
	Paths   *engine.Paths
}

// ErrWork is wrapped by the error of a run whose work, network and options do not fit
// each other.
var ErrWork = errors.New("packet: unsupported work")

// ErrStopped is returned if Options.Stop ended the run.
var ErrStopped = errors.New("packet: stopped")

// minRate is the minimum rate of a link in bits per second. At lower rates, the ticks per
// byte do not fit into a fixed-point number with 32 fractional bits.
const minRate = 8e3

// Run simulates the sources of w on n. Its error wraps ErrWork if the two do not fit each
// other, for example if n has groups of links with a shared rate. It also wraps ErrWork
// if the run would exceed Options.MaxBytes. The error is a *Deadlock if no event is left
// while packets are still queued.
func Run(n *engine.Network, w *Work, o Options) (*Stats, error) {
	// There are no tasks, and each source has a packet size of its own.
	var noGraph *engine.Graph
	const taskPacketBytes = 0
	_, s, err := simulate(n, w, noGraph, taskPacketBytes, o)
	return s, err
}

// simulate simulates the sources of w and, if g is not nil, the tasks of g. Transfers of
// tasks are split into packets of packetBytes.
func simulate(n *engine.Network, w *Work, g *engine.Graph, packetBytes int32, o Options) (*engine.Trace, *Stats, error) {
	if err := check(n, w, g, packetBytes, &o); err != nil {
		return nil, nil, err
	}

	maxPacket := max(int64(packetBytes), w.maxPacket())
	var starts *engine.MessageStarts // g with tasks that model the message overhead; nil without overhead

	// Renumber the flows of a graph so that flow i belongs to task i.
	if g != nil {
		var err error
		if w, o, err = workByTask(g, w, o); err != nil {
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

	s, err := newSim(n, w, o, maxPacket)
	if err != nil {
		return nil, nil, err
	}
	defer s.releaseMemory()

	if g != nil {
		s.tasks = newTaskState(g, packetBytes)
	}

	if o.Progress != nil {
		s.share = s.newShare(w, g)
	}

	// Each of the two faster simulators is nil if the run does not meet its conditions.
	s.components, s.lps = s.newComponentSim(w), s.newLPSim()
	s.scheduleSenders()
	err = s.simulate()

	// The windows of lpSim need memory for future events that the event loop does not
	// need. Retry without lpSim, which a negative lpEvents disables.
	if s.outOfMemory && !s.stopped && s.lps != nil {
		s.releaseMemory()
		*s = sim{}
		o.Workers, o.lpEvents = 1, -1
		return simulate(n, w, g, packetBytes, o)
	}

	if err != nil {
		return nil, nil, err
	}
	stats, err := s.finish()
	if err != nil || g == nil {
		return nil, stats, err
	}

	isOver := s.calendar.isEmpty()
	trace, err := s.tasks.result(stats, isOver)
	if err != nil {
		return nil, nil, err
	}
	if starts != nil {
		trace = starts.Trace(trace)
	}
	return trace, stats, nil
}
