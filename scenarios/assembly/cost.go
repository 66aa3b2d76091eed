package assembly

import (
	"fmt"
	"strings"

	"sim/internal/text"
	"sim/workloads/trace"
)

// Cost is the estimated cost of simulating one decision, without the search for the decision.
type Cost struct {
	Tasks   float64 // transfers, computes and joins of task graphs
	Hops    float64 // links crossed by packets, summed over packets
	Bytes   float64 // of memory; 0 if not estimated
	Seconds float64 // of one processor
}

// LinkTask and PodTask are the costs of one task of a graph on links and between pods, measured for ring all-reduces among
// 256 to 1,024 ranks at level flow. BookedHop and ServedHop are the costs of one packet hop over scheduled links and over
// queued links (package packet). Flow is the cost of one flow between nodes. Job and Failure are the costs of one job and
// one failure of a fleet, measured for 0.5 million jobs and 0.8 million failures.
var (
	LinkTask     = Cost{Tasks: 1, Bytes: 1000, Seconds: 4e-6}
	PodTask      = Cost{Tasks: 1, Bytes: 2000, Seconds: 8e-6}
	ScheduledHop = Cost{Hops: 1, Seconds: 1 / 8e6}
	QueuedHop    = Cost{Hops: 1, Seconds: 1 / 3e6}
	Flow         = Cost{Bytes: 96}
	Job          = Cost{Bytes: 1000, Seconds: 16e-6}
	Failure      = Cost{Bytes: 500, Seconds: 7e-6}
)

// MaxBytes bounds the memory of a simulation, and MaxHops its hops of packets: some ten hours.
const (
	MaxBytes = 8 << 30
	MaxHops  = 1e11
)

// Scale returns n times the cost.
func (c Cost) Scale(n float64) Cost { return Cost{n * c.Tasks, n * c.Hops, n * c.Bytes, n * c.Seconds} }

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost {
	return Cost{c.Tasks + d.Tasks, c.Hops + d.Hops, c.Bytes + d.Bytes, c.Seconds + d.Seconds}
}

// MaxCount returns how many times the cost fits the memory.
func (c Cost) MaxCount() int { return int(MaxBytes / c.Bytes) }

// CheckLimits fails if the cost exceeds the limits. The text what names the work in the plural, and fewer words what lessens it.
func (c Cost) CheckLimits(subject, remedy string) error {
	limit := Cost{Bytes: MaxBytes}
	if c.Hops > MaxHops {
		limit = Cost{Hops: MaxHops}
	} else if c.Bytes <= MaxBytes {
		return nil
	}
	return fmt.Errorf("%s take about %v to simulate; want %s, for at most %v", subject, c, remedy, limit)
}

// String lists the parts that are not 0.
func (c Cost) String() string {
	var parts []string
	for _, part := range []struct {
		of   float64
		text string
	}{
		{c.Tasks, fmt.Sprintf("%.3g tasks", c.Tasks)}, {c.Hops, fmt.Sprintf("%.3g hops of packets", c.Hops)}, {c.Bytes, trace.Size(c.Bytes) + " of memory"}, {c.Seconds, text.Roughly(c.Seconds)},
	} {
		if part.of > 0 {
			parts = append(parts, part.text)
		}
	}
	return strings.Join(parts, ", ")
}
