package packet

// This file defines the options of Run and RunGraph.

import (
	"fmt"

	"sim/engine"
)

// Control defines what happens if packets arrive faster than a link can send them.
type Control uint8

const (
	// DropTail drops a packet that does not fit into the queue of its link. The queue
	// holds engine.Link.Buffer bytes, including the packet being sent; a Buffer of 0 is
	// unbounded. If the last bit of a packet leaves when another packet arrives, the
	// space of the first one is free.
	//
	// A link has one queue for all its channels. Packets of closed loops (Greedy, Window,
	// tasks) wait in their host for the first link, in line with the other packets. They
	// are not dropped there, and use queue space only from the start of their
	// transmission.
	DropTail Control = iota
	// Credit is lossless. The far end of a link has engine.Link.Buffer bytes per virtual
	// channel. The link starts to send a packet on a channel only if the complete packet
	// fits. The space is freed when the packet has been sent over its next link or has
	// been delivered. It becomes available to the link one latency later, when the credit
	// has returned.
	//
	// Packets are queued by next link and channel, so no packet blocks another one with a
	// different next link. Packets from sources have separate, unbounded host queues. A
	// link serves its queues in round-robin order: first the queues of through traffic,
	// one per channel, then the host queues, one per channel.
	//
	// A Buffer of 0 means that each channel can keep its link busy. The buffer is then
	// the rate times twice the latency, plus two of the largest packets.
	//
	// If all links have latencies, simultaneous events are ordered by kind: ends of
	// transmissions, arrivals, credit returns, injections. Events of one kind are ordered
	// by link or source. Sources that inject a packet because their previous packet
	// starts to be sent come last.
	Credit
)

var controlNames = [...]string{"drop-tail", "credit"}

// String returns the name used in scenarios and results.
func (c Control) String() string {
	if int(c) < len(controlNames) {
		return controlNames[c]
	}
	return fmt.Sprintf("control %d", c)
}

// Options defines how work is simulated. The zero value simulates unbounded queues until
// all packets are delivered, or drop-tail queues if links have buffers.
type Options struct {
	// Until ends the run while packets may still be in flight. 0 means until all are
	// delivered.
	Until   engine.Time
	Control Control
	// Seed initialises the random streams of the run: the choice among paths, and bit
	// errors. Sources have their own seeds.
	Seed uint64
	// BitErrorRate is the probability in [0, 1) that a bit is received incorrectly. The
	// far end detects the error, and the link sends the packet again one round trip
	// (twice its latency) after the end of the transmission. Packets behind it wait, so
	// their order is preserved (go-back-N). Under a transport, the packet is lost instead.
	BitErrorRate float64
	// Rewire replaces the paths during the run. It is ordered by At.
	Rewire []Rewire
	// Packets injected at MeasureFrom <= t < MeasureUntil are counted in Stats.Delay. A
	// MeasureUntil of 0 means no end.
	MeasureFrom, MeasureUntil engine.Time
	// EndMeasured ends the run soon after MeasureUntil, when no measured packet is in
	// flight. The check is repeated after each eighth of the measured time.
	EndMeasured bool
	// SampleEvery is the time between samples of the queues. 0 means no samples.
	SampleEvery engine.Time
	// TaskRank, indexed by task, is the priority of packets in a RunGraph: links send the
	// packet with the lowest rank first, and equal ranks in the order of their arrival.
	// It requires DropTail and links that change only as planned. nil means first come,
	// first served.
	TaskRank []int32
	// Reference is a trace of the graph at the flow level, with rates. Links then send
	// packets in the order in which their last bytes are sent at the flow level. This is
	// packet-by-packet generalised processor sharing (Parekh and Gallager, 1993),
	// relative to the flow rates in the full network. It excludes TaskRank. See Slack.
	Reference *engine.Trace
	// Transport controls and repeats the packets of transfers; nil means that lost packets
	// are never sent again.
	Transport *Transport
	// React changes links of a RunGraph in response to the ends of tasks; nil means no
	// changes. See Reaction.
	React Reaction
	// Stop is called regularly, by one goroutine at a time. If it returns true, the run
	// ends with ErrStopped. nil means never.
	Stop func() bool
	// Progress receives the completed share of the run, from 0 to 1, like Stop, if the share is
	// known. It may be nil.
	Progress func(share float64)
	// MaxBytes limits the memory of a run; 0 means DefaultMaxBytes. The memory is
	// estimated before the run and counted when packets are injected.
	MaxBytes int64

	// Workers is the maximum number of goroutines that simulate at the same time; 0 means
	// 1. It does not affect the result.
	Workers int

	// For tests. lpEvents > 0 makes lpSim use windows after that number of events, and
	// lpEvents < 0 disables it. forceParallel divides the work among Workers even if it
	// is small. forceQueues uses queued links even if scheduled links suffice.
	lpEvents      int
	forceParallel bool
	forceQueues   bool
}

// Reaction returns changes of links that result from the ends of tasks. It is called
//
//   - at the start of the run,
//   - at each time at which tasks end, after all other events of that time, with these
//     tasks in the order in which they ended,
//   - and at the time wake that it returned last, before the other events of that time.
//
// Changes must be planned and ordered by time, and none may be earlier than now. They
// replace all earlier changes that have not been applied yet. If changes is nil, those
// remain. free returns the time at which a link finishes its current transmission, or now
// if it is idle.
type Reaction func(now engine.Time, ended []int32, free func(link int32) engine.Time) (changes []engine.Change, wake engine.Time)

// Rewire replaces the paths of packets at time At, before the other events of that time.
// Packets that have left their source keep their paths. Packets that are still queued at
// their source take new ones. With Paths.Spread, all packets follow the new Paths; the
// initial paths must then have Spread as well.
type Rewire struct {
	At    engine.Time
	Paths *engine.Paths
}

// DefaultMaxBytes is the memory limit if Options.MaxBytes is 0: 4 GiB.
const DefaultMaxBytes = 4 << 30
