package packet

// This file defines the traffic sources of Run. injector.go simulates them.

import (
	"fmt"
	"slices"

	"sim/engine"
)

// Process defines when a source injects packets.
type Process uint8

const (
	// Periodic injects at Start and then every Every ticks. It models on-off sources and
	// sources paced at a rate.
	Periodic Process = iota
	// Poisson injects after exponentially distributed times with mean Every, beginning at
	// Start.
	Poisson
	// Greedy injects as fast as links accept packets. The source keeps one packet queued
	// at each link that is the first link of some flow's path, from Start on. If a flow
	// has several paths, its first path counts. When the packet starts to be sent, the
	// source enqueues the next one, while flows over that link have packets left. Its
	// packets queue behind through traffic that arrived earlier.
	Greedy
	// Window keeps Window packets of each flow in flight. At Start it injects Window
	// packets of each flow, one flow after another in each round. Then it injects one
	// packet Ack after each packet that arrives or is dropped.
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

// Order defines which flow the next packet of a source belongs to.
type Order uint8

const (
	// Together injects one packet of every flow at the same time (Periodic), or makes
	// every flow a separate process (Poisson).
	Together Order = iota
	// RoundRobin takes the flows in turn.
	RoundRobin
	// Random takes every flow once per round, in another pseudo-random order in each
	// round.
	Random
	// Sequential sends all packets of one flow before the next flow, that is message
	// after message.
	Sequential
	// Uniform draws a flow at random for each injection. It models a node that sends to
	// uniformly random destinations.
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

// ParseOrder returns the order with the given name.
func ParseOrder(name string) (Order, error) {
	if i := slices.Index(orderNames[:], name); i >= 0 {
		return Order(i), nil
	}
	return 0, fmt.Errorf("packet: unknown injection order %q, want one of %v", name, orderNames)
}

// Source injects packets of a range of flows. Fields that its process and order do not
// use must be zero.
type Source struct {
	First, End int32 // flows: First <= flow < End
	Process    Process
	Order      Order // for Periodic, Poisson and Greedy; Greedy excludes Together and Uniform
	// Offset rotates the order: RoundRobin and Sequential start at flow First+Offset.
	Offset int32
	Bytes  int32 // packet size on the wire
	// Last is the size of the last packet of each flow in bytes on the wire, at most
	// Bytes; 0 means Bytes. It requires a Count per flow, which Poisson processes, the
	// order Uniform and sources without end do not have.
	Last int32
	// Count is the number of packets per flow. With Uniform it is the mean over the
	// flows. If Stop is set, 0 means no limit.
	Count int64
	Start engine.Time
	Stop  engine.Time // end of injection, exclusive; 0 means no end; for Periodic and Poisson
	// Every is the time between injections in ticks, including fractions. With Together
	// it is the time between packets of one flow, otherwise between packets of the
	// source.
	Every  float64
	Window int32       // packets in flight per flow
	Ack    engine.Time // from the arrival of a packet to the injection of the next one
	// Seed initialises the random streams of the source, together with the number of the
	// flow (Poisson with Together) or of the first flow (otherwise).
	Seed uint64
}

// last returns the size of the last packet of each flow in bytes.
func (s *Source) last() int32 {
	if s.Last == 0 {
		return s.Bytes
	}
	return s.Last
}
