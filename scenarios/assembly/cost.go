package assembly

import (
	"fmt"

	"sim/internal/text"
)

// Cost is an estimate of what it takes to simulate one decision. The search for the decision is not part of it.
type Cost struct {
	Tasks   float64 // transfers, computes and joins of task graphs
	Hops    float64 // links crossed by packets, summed over packets
	Bytes   float64 // of memory; 0 if not estimated
	Seconds float64 // of one processor
}

// LinkTask and PodTask are the costs of a task of a graph on links and between pods. They were measured of ring all-reduces
// among 256 to 1,024 ranks at flow level, of the whole command. BookedHop and ServedHop are the costs of a hop of a packet
// on links that book packets on arrival, and on links that serve packets one by one.
var (
	LinkTask  = Cost{Tasks: 1, Bytes: 1000, Seconds: 4e-6}
	PodTask   = Cost{Tasks: 1, Bytes: 2000, Seconds: 8e-6}
	BookedHop = Cost{Hops: 1, Seconds: 1 / 8e6}
	ServedHop = Cost{Hops: 1, Seconds: 1 / 3e6}
)

// MaxBytes bounds the memory of a simulation, and MaxHops its hops of packets: some ten hours.
const (
	MaxBytes = 8 << 30
	MaxHops  = 1e11
)

// Times returns n times the cost.
func (c Cost) Times(n float64) Cost { return Cost{n * c.Tasks, n * c.Hops, n * c.Bytes, n * c.Seconds} }

// Plus returns the sum of two costs.
func (c Cost) Plus(d Cost) Cost {
	return Cost{c.Tasks + d.Tasks, c.Hops + d.Hops, c.Bytes + d.Bytes, c.Seconds + d.Seconds}
}

// Max returns how many times the cost is within the limits. The cost is of one task or one hop.
func (c Cost) Max() int {
	if c.Hops > 0 {
		return int(MaxHops / c.Hops)
	}
	return int(MaxBytes / c.Bytes)
}

// Excess fails if n times the cost exceeds the limits. The text what is a format of n that names the work, and fewer
// words what would lessen it.
func (c Cost) Excess(n float64, what, fewer string) error {
	all := c.Times(n)
	if all.Bytes <= MaxBytes && all.Hops <= MaxHops {
		return nil
	}
	return fmt.Errorf(what+", which take about %v to simulate; want %s, for at most %s", n, all, fewer, text.Count(c.Max()))
}

// Events returns the hops of packets or, if there are none, the tasks.
func (c Cost) Events() string {
	if c.Hops > 0 {
		return fmt.Sprintf("%.2g hops of packets", c.Hops)
	}
	return fmt.Sprintf("%.2g tasks", c.Tasks)
}

// String returns the memory and the time.
func (c Cost) String() string {
	if c.Bytes == 0 {
		return text.Roughly(c.Seconds)
	}
	return fmt.Sprintf("%.3g GB of memory and %s", c.Bytes/1e9, text.Roughly(c.Seconds))
}
