// This file estimates the tasks, packet hops, memory and time of simulations, and rejects
// simulations beyond the limits.

package assembly

import (
	"fmt"
	"strings"

	"sim/internal/text"
	"sim/scenarios/assembly/composition"
	"sim/workloads/trace"
)

// Cost is the estimated cost of simulating one decision, without the search for the
// decision.
type Cost struct {
	Tasks   float64 // transfers, computes and joins of task graphs
	Hops    float64 // links crossed by packets, summed over packets
	Bytes   float64 // memory; 0 if not estimated
	Seconds float64 // CPU time of one core
}

// Unit costs, measured on one core.
//
// LinkTask and PodTask are the costs of one task of a graph on links and between pods,
// measured for ring all-reduces among 256 to 1,024 ranks at level flow. FoldedTransfer is the
// cost of a transfer that is simulated with identical ones, measured for 2,048 ranks.
//
// ScheduledHop and QueuedHop are the costs of one packet hop over links whose departures are
// scheduled in advance, and over queued links (package packet).
//
// Flow is the cost of one flow between nodes. FlowHop is the cost per flow and per link of all
// paths if each flow ends at its own time at level flow, measured for 65,280 and 261,632
// transfers through one switch. EqualFlowHop is this cost if all flows have one size, so that
// many end together, measured for 16,256 to 261,632 flows on fat trees and tori. UniformHop is
// the cost of a link of a path if all flows keep their rates, and FoldedHop if the flows of one
// node stand for all.
//
// Job and Failure are the costs of one job and one failure of a fleet, measured for 0.5 million
// jobs and 0.8 million failures.
var (
	LinkTask       = Cost{Tasks: 1, Bytes: 1000, Seconds: 4e-6}
	PodTask        = Cost{Tasks: 1, Bytes: 2000, Seconds: 8e-6}
	FoldedTransfer = Cost{Tasks: 1, Bytes: 100, Seconds: 0.5e-6}
	ScheduledHop   = Cost{Hops: 1, Seconds: 1 / 8e6}
	QueuedHop      = Cost{Hops: 1, Seconds: 1 / 3e6}
	Flow           = Cost{Bytes: 96}
	FlowHop        = Cost{Seconds: 4e-10}
	EqualFlowHop   = Cost{Seconds: 4e-11}
	UniformHop     = Cost{Bytes: 16, Seconds: 5e-8}
	FoldedHop      = Cost{Seconds: 1.5e-8}
	Job            = Cost{Bytes: 1000, Seconds: 16e-6}
	Failure        = Cost{Bytes: 500, Seconds: 7e-6}
)

// Budget is the memory and the time of one core that a simulation may take. Scenarios whose
// estimate exceeds it are rejected before they are simulated.
type Budget struct{ Bytes, Seconds float64 }

// DefaultBudget is the memory of a workstation and ten hours.
var DefaultBudget = Budget{Bytes: 8 << 30, Seconds: 10 * 3600}

// budget is the budget of the process.
var budget = DefaultBudget

// SetBudget replaces the budget. It must be called before scenarios are loaded. Packets may take
// half of the memory, because the task graph and the paths take the other half.
func SetBudget(b Budget) {
	budget, composition.MaxPacketBytes = b, int64(b.Bytes/2)
	trace.SetMemory(b.Bytes)
}

// Scale returns n times the cost.
func (c Cost) Scale(n float64) Cost {
	return Cost{n * c.Tasks, n * c.Hops, n * c.Bytes, n * c.Seconds}
}

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost {
	return Cost{c.Tasks + d.Tasks, c.Hops + d.Hops, c.Bytes + d.Bytes, c.Seconds + d.Seconds}
}

// MaxCount returns the maximum number of items of this cost within the memory of the budget.
func (c Cost) MaxCount() int { return int(budget.Bytes / c.Bytes) }

// IsAffordable reports whether the cost is within the budget.
func (c Cost) IsAffordable() bool { return c.Bytes <= budget.Bytes && c.Seconds <= budget.Seconds }

// Max returns the cost that takes more time.
func (c Cost) Max(d Cost) Cost {
	if d.Seconds > c.Seconds {
		return d
	}
	return c
}

// CheckLimits returns an error if the cost exceeds the budget. The string subject names the
// work in the plural, and remedy states what reduces it.
func (c Cost) CheckLimits(subject, remedy string) error {
	if c.IsAffordable() {
		return nil
	}
	limit, flag := Cost{Bytes: budget.Bytes}, "--max-memory"
	if c.Bytes <= budget.Bytes {
		limit, flag = Cost{Seconds: budget.Seconds}, "--max-time"
	}
	return fmt.Errorf("%s take about %v to simulate; want %s, for at most %v, or allow more with %s",
		subject, c, remedy, limit, flag)
}

// String lists the nonzero parts of the cost.
func (c Cost) String() string {
	var parts []string
	add := func(value float64, text string) {
		if value > 0 {
			parts = append(parts, text)
		}
	}
	add(c.Tasks, fmt.Sprintf("%.3g tasks", c.Tasks))
	add(c.Hops, fmt.Sprintf("%.3g hops of packets", c.Hops))
	add(c.Bytes, trace.Size(c.Bytes)+" of memory")
	add(c.Seconds, text.Roughly(c.Seconds))
	return strings.Join(parts, ", ")
}
