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

// Flow is what packets of one source to one destination have in common.
type Flow struct {
	Src, Dst int32 // nodes
}

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

// Table leads packets by the node they are at and the one they are for.
type Table struct {
	Degree int
	Link   []int32 // by node and port: the link out of it; -1 where there is none
	Port   []uint8 // by node and destination
}

// NoPort in a Table stands for a destination that cannot be reached.
const NoPort = 255

// Paths leads packets by their flow: flow f takes the links
// Links[Start[f]:Start[f+1]].
type Paths struct {
	Start []int64
	Links []int32
}

// Work is traffic and its ways, of which there is one of Table and Paths.
type Work struct {
	Flows   []Flow
	Sources []Source
	Table   *Table
	Paths   *Paths
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
	Most           int32       // packets on it and before it at once
}

// Run plays w on n. It fails with ErrWork where the two do not fit; buffers,
// channels and changes of n are not looked at.
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
	for i, l := range n.Links {
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
	if w.Paths != nil {
		return checkPaths(n, w)
	}
	return checkTable(n, w)
}

func checkPaths(n *engine.Network, w *Work) error {
	if len(w.Paths.Start) != len(w.Flows)+1 || w.Paths.Start[0] < 0 || w.Paths.Start[len(w.Flows)] > int64(len(w.Paths.Links)) || len(w.Paths.Links) > math.MaxInt32 {
		return fmt.Errorf("%w: %d flows have paths from %d on", ErrWork, len(w.Flows), len(w.Paths.Start))
	}
	for i, f := range w.Flows {
		a, b := w.Paths.Start[i], w.Paths.Start[i+1]
		if a > b {
			return fmt.Errorf("%w: the path of flow %d ends before it begins", ErrWork, i)
		}
		at := f.Src
		for _, l := range w.Paths.Links[a:b] {
			if l < 0 || int(l) >= len(n.Links) || n.Links[l].From != at || n.Links[l].Rate == 0 {
				return fmt.Errorf("%w: the path of flow %d from node %d to %d cannot take link %d at node %d", ErrWork, i, f.Src, f.Dst, l, at)
			}
			at = n.Links[l].To
		}
		if at != f.Dst {
			return fmt.Errorf("%w: the path of flow %d from node %d to %d ends at %d", ErrWork, i, f.Src, f.Dst, at)
		}
	}
	return nil
}

func checkTable(n *engine.Network, w *Work) error {
	t := w.Table
	if nodes := int(n.Nodes); t.Degree < 1 || t.Degree > NoPort || len(t.Link) != nodes*t.Degree || len(t.Port) != nodes*nodes {
		return fmt.Errorf("%w: a table of %d ports and %d entries for %d nodes", ErrWork, len(t.Link), len(t.Port), n.Nodes)
	}
	for i, l := range t.Link {
		if l >= 0 && (int(l) >= len(n.Links) || int(n.Links[l].From) != i/t.Degree) || l < -1 {
			return fmt.Errorf("%w: port %d of node %d is no link out of it", ErrWork, i%t.Degree, i/t.Degree)
		}
	}
	for i, f := range w.Flows {
		if f.Src < 0 || f.Dst < 0 || f.Src >= n.Nodes || f.Dst >= n.Nodes {
			return fmt.Errorf("%w: flow %d from node %d to %d of %d nodes", ErrWork, i, f.Src, f.Dst, n.Nodes)
		}
	}
	return t.walk(n, w.Flows)
}

// walk fails where a flow does not arrive. Each entry of the table is looked at
// once a destination: good holds the nodes from which it is known to be reached.
func (t *Table) walk(n *engine.Network, flows []Flow) error {
	by := make(map[int32][]int32)
	var order []int32
	for _, f := range flows {
		if by[f.Dst] == nil {
			order = append(order, f.Dst)
		}
		by[f.Dst] = append(by[f.Dst], f.Src)
	}
	good := make([]bool, n.Nodes)
	for _, dst := range order {
		clear(good)
		good[dst] = true
		for _, src := range by[dst] {
			at := src
			for hops := int32(0); !good[at]; hops++ {
				port := t.Port[int(at)*int(n.Nodes)+int(dst)]
				if int(port) >= t.Degree || t.Link[int(at)*t.Degree+int(port)] < 0 || n.Links[t.Link[int(at)*t.Degree+int(port)]].Rate == 0 || hops >= n.Nodes {
					return fmt.Errorf("%w: packets from node %d to %d do not get beyond %d", ErrWork, src, dst, at)
				}
				at = n.Links[t.Link[int(at)*t.Degree+int(port)]].To
			}
			for at := src; !good[at]; {
				good[at] = true
				at = n.Links[t.Link[int(at)*t.Degree+int(t.Port[int(at)*int(n.Nodes)+int(dst)])]].To
			}
		}
	}
	return nil
}
