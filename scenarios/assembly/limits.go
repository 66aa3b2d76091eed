package assembly

import (
	"fmt"

	"sim/engine"
	"sim/engine/units"
)

// What packets are simulated with: the first five are package packet's own limits.
const (
	SlowestLink   = units.Rate(8e3)
	LargestPacket = units.Bytes(1 << 28)
	LongestPlay   = engine.Never / 4 // when the last packet may be injected
	LongestHop    = engine.Never / 8 // latency
	MostWrong     = 0.99             // probability that a packet arrives wrong: beyond, retries have no end
	MostHopped    = 1e11             // hops of packets: some ten hours
	HopsText      = "100 billion"    // MostHopped in words
	MostSamples   = 1 << 24          // lengths of queues that are kept: a file of some 300 MB
)

// MostCounted bounds the bytes of all messages, as package collective does.
const MostCounted = float64(1<<63-1) / 8

// The memory and time that the simulation of one policy is estimated to take, by the transfers, computes and joins
// of a task graph: on links, and between pods. They were measured of ring all-reduces among 256 to 1,024 ranks at flow level, of the
// whole command. Packets take time by their hops besides (MostHopped).
const (
	TaskBytes         = 1_000
	PodTaskBytes      = 2_000
	TasksPerSecond    = 250_000
	PodTasksPerSecond = 125_000
)

// MaxGraphBytes and MaxGraphSeconds bound these estimates. MaxTasks and MaxPodTasks are the sizes of graphs within them.
const (
	MaxGraphBytes   = 8 << 30
	MaxGraphSeconds = 3600
	MaxTasks        = min(MaxGraphBytes/TaskBytes, MaxGraphSeconds*TasksPerSecond)
	MaxPodTasks     = min(MaxGraphBytes/PodTaskBytes, MaxGraphSeconds*PodTasksPerSecond)
)

// TaskCost says what so many transfers, computes and joins are estimated to take on links, and what they may.
func TaskCost(n float64) string { return cost(n*TaskBytes, n/TasksPerSecond) }

// PodTaskCost is TaskCost between pods.
func PodTaskCost(n float64) string { return cost(n*PodTaskBytes, n/PodTasksPerSecond) }

func cost(bytes, seconds float64) string {
	return fmt.Sprintf("take about %.3g GB of memory and %.3g s to simulate, of %.3g GB and %d s that they may", bytes/1e9, seconds, float64(MaxGraphBytes)/1e9, MaxGraphSeconds)
}
