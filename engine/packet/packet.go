// Package packet simulates traffic packet by packet: every packet is stored at every node that it passes and forwarded
// on the next link of its path when the whole of it is there and the link takes it (store-and-forward).
//
// There are four loops. If queues are unbounded and first in, first out, and links do not change, the times of a packet
// on a link are known when it is put on the link: one event per hop (booked.go). If, besides, all packets have one size,
// all times are multiples of a unit, and packets go from part to part of the network and never back, each part is
// simulated for a window before the next, and parts that do not need each other at the same time (parts.go, window.go).
// Everything else, which is finite queues, credits, ranks of tasks, errors and changes, is served packet by packet
// (served.go); under credits over latencies each link alone for a latency and more, while there is much to do (apart.go).
//
// Time is in whole picoseconds; what serialising a packet takes beyond whole ticks is carried to the next one behind
// it, so rates do not drift. Events of one time happen in the order in which they were set, or where all links have
// latencies under credits, in that of kinds (Credit), so a result depends on nothing but its input.
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
	var starts *engine.Starts
	if g != nil {
		var err error
		if w, o, err = byTask(g, w, o); err != nil {
			return nil, nil, err
		}
		if starts, err = g.WithStarts(); err != nil {
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
