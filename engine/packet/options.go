package packet

import (
	"fmt"

	"sim/engine"
)

// Control says what happens where packets come faster than a link sends them.
type Control uint8

const (
	// DropTail drops a packet that does not fit the queue of its link: engine.Link.Buffer bytes, of packets that wait
	// and the one being sent. A packet whose last bit leaves when another comes makes room for it. Buffer 0 is
	// unbounded. A link has one queue, whatever its channels. A packet of a closed loop (Greedy, Window, tasks) waits
	// in its host for its first link, in line with the others; it is not dropped there, and counts when it is sent.
	DropTail Control = iota
	// Credit is lossless: the far end of a link has engine.Link.Buffer bytes for each virtual channel, and a packet
	// starts on a channel only when there is room for the whole of it. It gives the room up when it has left over its
	// next link or is delivered, and the link learns of that its latency later. Packets wait by next link and channel,
	// so that none waits behind one that goes elsewhere. Those that come from a source wait in a host queue of their
	// own, which is unbounded. A link serves its queues, one of through traffic and one of host traffic for each
	// channel, round-robin: through traffic first, by channel.
	//
	// Buffer 0 is as much as keeps the link busy: its rate times twice its latency, and two of the largest packets.
	//
	// Where all links have latencies, what happens at one time does so by kinds: links end sending, packets get to the ends
	// of links, credits come, sources inject; and within a kind by the numbers of links and sources. Sources that inject
	// as a packet of theirs begins to be sent come last.
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

// Options says how work is simulated. The zero value simulates unbounded queues, or drop-tail where links have buffers,
// until all is delivered.
type Options struct {
	// Until ends the run, with packets on their way; 0 is when all is delivered.
	Until   engine.Time
	Control Control
	// Seed names the random streams of the run: the choice among paths, and bit errors. Those of sources have their
	// own.
	Seed uint64
	// BitErrorRate is the probability that a bit does not arrive as it was sent, in [0, 1). The far end finds the error
	// and the link sends the packet again, a round trip (twice its latency) after its end. Packets behind it wait, so
	// order is kept: go-back-N, as seen by the packets that get through.
	BitErrorRate float64
	// Rewire replaces the paths in mid-run, ordered by At.
	Rewire []Rewire
	// Packets injected from MeasureFrom on and before MeasureUntil count for Stats.Delay. MeasureUntil 0 is without
	// end.
	MeasureFrom, MeasureUntil engine.Time
	// EndMeasured ends the run soon after MeasureUntil (within an eighth of the measured time) when no packet that
	// counts is on its way.
	EndMeasured bool
	// SampleEvery is the time between samples of the queues; 0 takes none.
	SampleEvery engine.Time
	// TaskRank makes links of a RunGraph send, of the packets that wait, those of the task with the lowest rank first,
	// and of equal ranks in the order in which they came, under DropTail on links that do not change. nil is first come,
	// first served.
	TaskRank []int32
	// Reference is a trace of the graph as fluid, with rates. Links then send packets in the order in which the fluid
	// has sent their last bytes: packet-by-packet generalised processor sharing (Parekh and Gallager 1993), after what
	// the fluid does on the whole network. It is an alternative to TaskRank, as which it counts. See Slack.
	Reference *engine.Trace
	// React has links change in a run of a graph as a consequence of what has happened in it; nil is never. See Reaction.
	React Reaction
	// Stop is asked now and then; the run ends with ErrStopped when it returns true. nil is never.
	Stop func() bool
	// MaxBytes is the memory that a run may take; 0 is DefaultMaxBytes. What it takes is estimated before it begins,
	// and counted as packets are injected.
	MaxBytes int64

	// Workers is how many goroutines may simulate at a time; 0 is 1. Stop is then asked by one of them. It changes no
	// result.
	Workers int

	lpEvents      int  // for tests: simulate links apart after so many events whenever that can be, or if negative never
	forceParallel bool // for tests: divide work among Workers however little there is
	forceQueues   bool // for tests: serve packets one by one though they could be booked
}

// Reaction returns changes of links that follow from the ends of tasks. It is called at the start, at each time at
// which tasks end, after all other events of that time and with those tasks in the order in which they ended, and at the
// time wake that it returned last, before the other events of that time.
//
// Changes must be planned, in order, and none earlier than now. They replace the changes that it returned before and
// that have not been made; if it returns none, those remain. Free returns when a link will have sent the packet that it
// is sending: now if it sends none.
type Reaction func(now engine.Time, ended []int32, free func(link int32) engine.Time) (changes []engine.Change, wake engine.Time)

// Rewire replaces the paths of packets from a time on, before other events of that time. Packets that have left their
// source keep their paths, and those that wait at their source take new ones; with Paths.Spread, which the paths from
// the start must have too, all go by the new one.
type Rewire struct {
	At    engine.Time
	Paths *engine.Paths
}

// DefaultMaxBytes is Options.MaxBytes where that is 0: 4 GiB.
const DefaultMaxBytes = 4 << 30
