// Package packet plays traffic packet by packet: every packet is stored at every
// node that it passes and forwarded on the next link of its way when the whole
// of it is there and the packets before it have left (store-and-forward, first
// in, first out).
//
// Time is in whole picoseconds; what serialising a packet takes beyond whole
// ticks is carried to the next one behind it, so rates do not drift. Events of
// one time happen in the order in which they were set, so a result depends on
// nothing but its input.
//
// The package knows links, ways and sources. It leaves which way packets go to
// policies/routing, what the nodes are to fabric, and fluid rates to
// engine/flow.
package packet

import (
	"errors"
	"fmt"
	"math"

	"sim/engine"
)

// Source injects packets of flows, one of each in their order, again and again.
type Source struct {
	First, End int32 // flows First..End-1
	Bytes      int32 // of a packet on the wire
	Count      int64 // packets of each flow
	Start      engine.Time
	// Every is the time between packets of a flow, in ticks; fractions are
	// kept. With Seed set it is the mean of exponential times between them (a
	// Poisson process of each flow, the first after such a time too); the
	// stream of a flow depends on Seed and its number alone.
	Every float64
	Seed  uint64
}

// Work is traffic and its ways, of which there is one of Table and Paths.
type Work struct {
	Flows   []engine.Flow
	Sources []Source
	Table   *engine.Table
	Paths   *engine.Paths
}

// Options says how work is played.
type Options struct {
	// Until ends the play, with packets on their way; 0 is when all is
	// delivered.
	Until engine.Time
}

// ErrWork is wrapped where work does not fit the network, or itself.
var ErrWork = errors.New("packet: this work cannot be played")

// Stats is what became of the packets.
type Stats struct {
	Injected, Delivered, Dropped int64
	Bytes                        int64       // delivered
	Hops                         int64       // links passed by packets
	End                          engine.Time // of the last event that was played
	Delay                        Delay       // of the delivered, from injection to the whole packet's arrival
	Links                        []LinkStats // by link
}

// InFlight returns the packets that were neither delivered nor dropped.
func (s *Stats) InFlight() int64 { return s.Injected - s.Delivered - s.Dropped }

// LinkStats is what a link carried.
type LinkStats struct {
	Packets, Bytes int64       // that arrived at its end
	Busy           engine.Time // that it was sending them
	MaxQueue       int32       // packets on it and before it at once
}

// slowest is the least rate of a link in bits per second: ticks a byte fit 62 bits
// with 32 behind the point.
const slowest = 8e3

// Run plays w on n. It fails with ErrWork where the two do not fit, and where n
// asks for what is not played here: finite buffers, virtual channels, shared
// groups, and changes on the way.
func Run(n *engine.Network, w *Work, o Options) (*Stats, error) {
	if err := check(n, w); err != nil {
		return nil, err
	}
	z := newSim(n, w)
	until := o.Until
	if until <= 0 {
		until = engine.Never
	}
	z.run(until)
	return z.stats(), nil
}

func check(n *engine.Network, w *Work) error {
	if err := n.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrWork, err)
	}
	if (w.Table == nil) == (w.Paths == nil) {
		return fmt.Errorf("%w: want either a table or paths to lead packets", ErrWork)
	}
	if len(n.Groups) > 0 || len(n.Changes) > 0 {
		return fmt.Errorf("%w: it has %d groups that links share and %d changes; want links alone, as they are", ErrWork, len(n.Groups), len(n.Changes))
	}
	for i, l := range n.Links {
		if l.Buffer != 0 || l.Channels > 1 || l.Rate > 0 && l.Rate < slowest {
			return fmt.Errorf("%w: %s has a buffer of %d B, %d channels and %g b/s; want an unbounded queue, one channel and at least %g b/s",
				ErrWork, n.ResourceName(int32(i)), l.Buffer, l.Channels, l.Rate, slowest)
		}
		if l.From < 0 || l.To < 0 || l.From >= n.Nodes || l.To >= n.Nodes || l.Latency < 0 {
			return fmt.Errorf("%w: %s leads from %d to %d of %d nodes in %v", ErrWork, n.ResourceName(int32(i)), l.From, l.To, n.Nodes, l.Latency)
		}
	}
	for i, s := range w.Sources {
		if s.First < 0 || s.End > int32(len(w.Flows)) || s.First > s.End || s.Bytes < 1 || s.Count < 0 || s.Start < 0 ||
			!(s.Every >= 0) || s.Every > math.MaxInt64/4 || float64(s.Start)+s.Every*float64(s.Count) > math.MaxInt64/4 {
			return fmt.Errorf("%w: source %d sends %d packets of %d B of flows %d..%d (of %d) from %v on every %g ticks",
				ErrWork, i, s.Count, s.Bytes, s.First, s.End-1, len(w.Flows), s.Start, s.Every)
		}
	}
	var err error
	if w.Paths != nil {
		err = w.Paths.Check(n, w.Flows)
	} else {
		err = w.Table.Check(n, w.Flows)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWork, err)
	}
	return nil
}
