package packet

import (
	"fmt"
	"slices"

	"sim/engine"
)

// Process says when a source injects packets.
type Process uint8

const (
	// Periodic injects at Start and every Every ticks after it (on-off sources, and sources paced at a rate).
	Periodic Process = iota
	// Poisson injects after exponential times of mean Every, the first of them from Start on.
	Poisson
	// Greedy injects as fast as links take packets. For each link that is the first of some flow's path (of its first
	// path, where it has several), the source keeps one packet waiting from Start on, and puts the next there when that
	// one begins to be sent, as long as flows over that link have packets left. In that order packets stand behind
	// through traffic that was there before them.
	Greedy
	// Window keeps Window packets of each flow in flight: Window of each at Start, in turns, and another one Ack after
	// each arrives or is dropped.
	Window
)

var processNames = [...]string{"periodic", "poisson", "greedy", "window"}

// String returns the name used in scenarios and results.
func (p Process) String() string {
	if int(p) < len(processNames) {
		return processNames[p]
	}
	return fmt.Sprintf("process %d", p)
}

// Order says which flow's packet a source injects next.
type Order uint8

const (
	// Together injects a packet of every flow at once (Periodic), or makes every flow a process of its own (Poisson).
	Together Order = iota
	// RoundRobin takes flows in turn.
	RoundRobin
	// Random takes every flow once a round, each round in another pseudo-random order.
	Random
	// Sequential takes flow after flow, all packets of each (message after message).
	Sequential
	// Uniform takes any flow at random at every injection: a node that sends to uniformly random destinations.
	Uniform
)

var orderNames = [...]string{"together", "round-robin", "random", "sequential", "uniform"}

// String returns the name used in scenarios and results.
func (o Order) String() string {
	if int(o) < len(orderNames) {
		return orderNames[o]
	}
	return fmt.Sprintf("order %d", o)
}

// ParseOrder returns the injection order of that name.
func ParseOrder(name string) (Order, error) {
	if i := slices.Index(orderNames[:], name); i >= 0 {
		return Order(i), nil
	}
	return 0, fmt.Errorf("packet: unknown injection order %q, want one of %v", name, orderNames)
}

// Source injects packets of flows. What its process and order do not use must be zero.
type Source struct {
	First, End int32 // flows First..End-1
	Process    Process
	Order      Order // of Periodic, Poisson and Greedy; Greedy needs another than Together
	// Offset turns the order: RoundRobin and Sequential begin at flow First+Offset and go round.
	Offset int32
	Bytes  int32 // of a packet on the wire
	// Last is the size in bytes, on the wire, of the last packet of each flow: at most Bytes, 0 if it equals Bytes.
	// It needs a Count of each flow: Poisson processes, the order Uniform and sources without end have none.
	Last int32
	// Count is the packets of each flow; with Uniform, their mean over flows. 0 with Stop set is without end.
	Count int64
	Start engine.Time
	Stop  engine.Time // no packet is injected from then on; 0 is never. Periodic and Poisson.
	// Every is the time between injections in ticks; fractions are kept. With Together it is the time between packets
	// of a flow, else between packets of the source.
	Every  float64
	Window int32       // packets of a flow in flight
	Ack    engine.Time // from a packet's arrival to the next one's injection
	// Seed names the random streams of the source, with the number of its first flow, or of each flow where each is a
	// process.
	Seed uint64
}

// last returns the size of the last packet of each flow, in bytes.
func (s *Source) last() int32 {
	if s.Last == 0 {
		return s.Bytes
	}
	return s.Last
}
